//! Named sidebar settings of a user; at most one is active in each locale.

use backoffice_core::command::{Depth, Entity, EntityRef, LockedRow, Locker, Snapshot, Snapshots, Tx};
use backoffice_core::db::{KeyColumn, Recurring, ReplaceRow};
use backoffice_core::{Result, Timestamp};
use diesel::{ExpressionMethods, Insertable, QueryDsl, Queryable, Selectable, SelectableHelper};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::schema::auth_sidebar_variants as variants;
use crate::sidebar::{SidebarSettings, query};
use crate::stored::{parent_in, rows_of, snapshots, written_rows};
use crate::users::model::User;

/// Named sidebar settings, visible only to their user: a live row of `auth_sidebar_variants`. A deleted row remains as a tombstone; writing it
/// restores it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Queryable, Selectable, Insertable)]
#[diesel(table_name = variants, treat_none_as_default_value = false, check_for_backend(diesel::pg::Pg))]
#[serde(rename_all = "camelCase")]
pub struct SidebarVariant {
    /// Tenant of the user.
    pub tenant_id: Uuid,
    /// The id.
    pub id: Uuid,
    /// The user.
    pub user_id: Uuid,
    /// The locale.
    pub locale: String,
    /// The name, unique among the user's in the locale without regard to case.
    pub name: String,
    #[serde(skip)]
    pub(crate) name_norm: String,
    /// The settings.
    pub settings: SidebarSettings,
    /// Whether the settings of the variant apply.
    pub is_active: bool,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

impl SidebarVariant {
    /// Returns the row with the name in the form in which names are compared, which snapshots leave out.
    pub(super) fn normalized(self) -> Self {
        Self {
            name_norm: self.name.to_lowercase(),
            ..self
        }
    }
}

impl Entity for SidebarVariant {
    const KIND: &'static str = "auth.sidebar_variant";
    const NOT_FOUND: &'static str = "Variant not found";
    const IS_PERSONAL: bool = true;
    const TOMBSTONES: Option<&'static str> = Some("auth_sidebar_variants");

    /// Locks the user first, so that only one transaction at a time changes which variant is active.
    async fn lock(locker: Locker<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        let (tenant, user) = (locker.tenant(), locker.context().user_id()?);
        query::lock_user(locker.connection(), tenant, user).await?;
        let rows = variants::table
            .filter(variants::tenant_id.eq(tenant))
            .filter(variants::user_id.eq(user))
            .filter(variants::id.one_of(ids))
            .filter(variants::deleted_at.is_null())
            .order(variants::id)
            .select((variants::id, variants::tenant_id))
            .for_update();
        Ok(rows.load(&mut locker.connection()).await?)
    }

    async fn load(tx: &mut Tx<'_>, ids: &[Uuid], _depth: Depth) -> Result<Snapshots> {
        let tenant = tx.tenant();
        let rows: Vec<SidebarVariant> = variants::table
            .filter(variants::tenant_id.eq(tenant))
            .filter(variants::id.one_of(ids))
            .filter(variants::deleted_at.is_null())
            .select(SidebarVariant::as_select())
            .load(tx.conn())
            .await?;
        snapshots(&rows, |row| row.id)
    }

    async fn store(tx: &mut Tx<'_>, snapshots: &[Snapshot]) -> Result<Vec<String>> {
        let rows: Vec<Self> = rows_of(tx, snapshots)?;
        Self::write(tx, &rows.into_iter().map(Self::normalized).collect::<Vec<_>>()).await?;
        Ok(Vec::new())
    }

    async fn remove(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<()> {
        let (tenant, now) = (tx.tenant(), tx.now());
        diesel::update(
            variants::table
                .filter(variants::tenant_id.eq(tenant))
                .filter(variants::id.one_of(ids))
                .filter(variants::deleted_at.is_null()),
        )
        .set((
            variants::is_active.eq(false),
            variants::deleted_at.eq(now),
            variants::updated_at.eq(now),
        ))
        .prepared()
        .execute(tx.conn())
        .await?;
        Ok(())
    }

    fn parent(snapshot: &Snapshot) -> Option<EntityRef> {
        parent_in(snapshot, "userId", User::KIND)
    }

    /// Leaves out the user and the locale, which never change.
    fn fields_of_constraint(constraint: &str) -> &'static [&'static str] {
        match constraint {
            "auth_sidebar_variants_tenant_id_user_id_locale_name_norm_key" => &["name"],
            "auth_sidebar_variants_tenant_id_user_id_active_locale_key" => &["isActive"],
            _ => &[],
        }
    }
}

written_rows!(SidebarVariant, variants);
