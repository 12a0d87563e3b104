//! The preferences of a user.

use backoffice_core::command::{Depth, Entity, LockedRow, Locker, Snapshot, Snapshots, Tx};
use backoffice_core::db::{KeyColumn, Recurring};
use backoffice_core::{Result, Timestamp};
use diesel::sql_types::{Array, Text, Uuid as SqlUuid};
use diesel::upsert::excluded;
use diesel::{ExpressionMethods, Insertable, QueryDsl, Queryable, Selectable, SelectableHelper};
use diesel::{delete, insert_into, sql_query};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use crate::schema::notifications_preferences as preferences;
use crate::types::{Channels, NotificationType};

/// The channels that a user has chosen for a type: a row of `notifications_preferences`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Queryable, Selectable, Insertable)]
#[diesel(table_name = preferences, treat_none_as_default_value = false, check_for_backend(diesel::pg::Pg))]
#[serde(rename_all = "camelCase")]
pub struct Preference {
    /// Tenant of the user.
    #[serde(skip)]
    pub tenant_id: Uuid,
    /// The id.
    pub id: Uuid,
    /// The user.
    #[serde(skip)]
    pub user_id: Uuid,
    /// Name of the type.
    #[serde(rename = "type")]
    pub type_: String,
    /// In the application.
    pub in_app: bool,
    /// As a push message.
    pub push: bool,
    /// By mail.
    pub email: bool,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    #[serde(skip, default = "unknown")]
    pub updated_at: Timestamp,
}

const fn unknown() -> Timestamp {
    Timestamp::UNIX_EPOCH
}

impl Preference {
    /// Returns the channels.
    #[must_use]
    pub fn channels(&self) -> Channels {
        Channels {
            in_app: self.in_app,
            push: self.push,
            email: self.email,
        }
    }
}

/// Returns the channels of a type for the user with these preferences.
pub(crate) fn channels_of(stored: &[Preference], of: &NotificationType) -> Channels {
    let own = stored.iter().find(|row| row.type_ == of.id);
    own.map_or(of.channels, Preference::channels)
}

/// All preferences of a user, visible only to that user. The id is that of the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Preferences {
    /// The tenant.
    pub tenant_id: Uuid,
    /// The user.
    pub user_id: Uuid,
    /// The rows, ordered by type.
    pub items: Vec<Preference>,
}

impl Entity for Preferences {
    const KIND: &'static str = "notifications.preference";
    /// Derived from the user and the rows, and absent from the snapshots of earlier releases. The rows are compared with their times of creation.
    const VOLATILE: &'static [&'static str] = &["createdAt", "id", "organizationId", "updatedAt"];
    const NOT_FOUND: &'static str = "Preferences not found";
    const IS_PERSONAL: bool = true;

    /// Locks the user, whether there are preferences or not.
    async fn lock(locker: Locker<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        let (tenant, user) = (locker.tenant(), locker.context().user_id()?);
        backoffice_auth::lock_user(locker.connection(), tenant, user).await?;
        let own = ids.iter().filter(|id| **id == user);
        Ok(own.map(|id| LockedRow::new(*id, tenant)).collect())
    }

    async fn load(tx: &mut Tx<'_>, ids: &[Uuid], _depth: Depth) -> Result<Snapshots> {
        let tenant = tx.tenant();
        let rows: Vec<Preference> = preferences::table
            .filter(preferences::tenant_id.eq(tenant))
            .filter(preferences::user_id.one_of(ids))
            .order((preferences::user_id, preferences::type_))
            .select(Preference::as_select())
            .load(tx.conn())
            .await?;
        rows.chunk_by(|one, next| one.user_id == next.user_id)
            .map(|rows| {
                let user = rows.first().map_or(Uuid::nil(), |row| row.user_id);
                let all = Self {
                    tenant_id: tenant,
                    user_id: user,
                    items: rows.to_vec(),
                };
                let snapshot = Snapshot::of(&all)?
                    .with_organization(None)
                    .with_field("id", json!(user))
                    .with_field("createdAt", json!(rows.iter().map(|row| row.created_at).min()))
                    .with_field("updatedAt", json!(rows.iter().map(|row| row.updated_at).max()));
                Ok((user, snapshot))
            })
            .collect()
    }

    async fn store(tx: &mut Tx<'_>, snapshots: &[Snapshot]) -> Result<Vec<String>> {
        let mut rows: Vec<Preference> = Vec::new();
        let mut users: Vec<Uuid> = Vec::new();
        for snapshot in snapshots {
            let all: Self = snapshot.row()?;
            users.push(all.user_id);
            rows.extend(all.items.into_iter().map(|row| Preference {
                user_id: all.user_id,
                ..row
            }));
        }
        sql_query(DELETE_OTHERS)
            .bind::<SqlUuid, _>(tx.tenant())
            .bind::<Array<SqlUuid>, _>(users)
            .bind::<Array<SqlUuid>, _>(rows.iter().map(|row| row.user_id).collect::<Vec<_>>())
            .bind::<Array<Text>, _>(rows.iter().map(|row| row.type_.clone()).collect::<Vec<_>>())
            .prepared()
            .execute(tx.conn())
            .await?;
        write(tx, rows).await?;
        Ok(Vec::new())
    }

    async fn remove(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<()> {
        let own = preferences::table.filter(preferences::tenant_id.eq(tx.tenant()));
        delete(own.filter(preferences::user_id.one_of(ids)))
            .execute(tx.conn())
            .await?;
        Ok(())
    }

    fn audience(snapshot: &Snapshot) -> Option<Uuid> {
        snapshot.row::<Self>().ok().map(|all| all.user_id)
    }
}

/// Deletes the rows of users that are not among the given ones.
const DELETE_OTHERS: &str = "delete from notifications_preferences p where p.tenant_id = $1 and p.user_id = any($2) \
    and not exists (select from unnest($3, $4) as kept (user_id, type) where kept.user_id = p.user_id and kept.type = p.type)";

/// Inserts rows, or replaces those of the same users and types.
pub(crate) async fn write(tx: &mut Tx<'_>, rows: Vec<Preference>) -> Result<()> {
    let (tenant, now) = (tx.tenant(), tx.now());
    let owned = |row: Preference| Preference {
        tenant_id: tenant,
        updated_at: now,
        ..row
    };
    let rows: Vec<Preference> = rows.into_iter().map(owned).collect();
    insert_into(preferences::table)
        .values(&rows)
        .on_conflict((preferences::tenant_id, preferences::user_id, preferences::type_))
        .do_update()
        .set((
            preferences::id.eq(excluded(preferences::id)),
            preferences::in_app.eq(excluded(preferences::in_app)),
            preferences::push.eq(excluded(preferences::push)),
            preferences::email.eq(excluded(preferences::email)),
            preferences::created_at.eq(excluded(preferences::created_at)),
            preferences::updated_at.eq(excluded(preferences::updated_at)),
        ))
        .prepared_if(rows.len() == 1)
        .execute(tx.conn())
        .await?;
    Ok(())
}
