//! Devices of users. A deactivated device remains as a tombstone, whose id a later registration takes over.

use backoffice_core::command::{Depth, Entity, LockedRow, Locker, Snapshot, Snapshots, Transition, Tx};
use backoffice_core::db::{KeyColumn, Recurring};
use backoffice_core::vault::SealedColumn;
use backoffice_core::{Result, Timestamp};
use diesel::sql_types::{Array, Text, Timestamptz, Uuid as SqlUuid};
use diesel::upsert::excluded;
use diesel::{
    ExpressionMethods, Insertable, QueryDsl, Queryable, Selectable, SelectableHelper, insert_into, sql_query, update,
};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::push::Providers;
use crate::schema::devices_devices as devices;
use crate::{acl, query};

mod restored;

pub(crate) use restored::{RestoredDevice, check_restored};

/// The platforms of devices.
pub const PLATFORMS: &[&str] = &["ios", "android", "web"];
/// The sealed column with the token for push messages.
pub(crate) const PUSH_TOKEN: SealedColumn = SealedColumn {
    table: "devices_devices",
    column: "push_token",
};

/// A device, without its token for push messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Queryable, Selectable, Insertable)]
#[diesel(table_name = devices, treat_none_as_default_value = false, check_for_backend(diesel::pg::Pg))]
#[serde(rename_all = "camelCase")]
pub struct Device {
    /// The tenant.
    pub tenant_id: Uuid,
    /// The id.
    pub id: Uuid,
    /// The owner.
    pub user_id: Uuid,
    /// The owner's organization at the last registration; `None` = the whole tenant.
    pub organization_id: Option<Uuid>,
    /// The name that the client gives to the device: 1 to 255 characters.
    pub device_id: String,
    /// `ios`, `android` or `web`.
    pub platform: String,
    /// Version of the client, at most 64 characters.
    pub client_app_version: Option<String>,
    /// Version of the operating system, at most 64 characters.
    pub os_version: Option<String>,
    /// Language tag, at most 35 characters.
    pub locale: Option<String>,
    /// Name of the provider of push messages, at most 32 characters.
    pub push_provider: Option<String>,
    /// Time of the last change of the token.
    pub push_token_updated_at: Option<Timestamp>,
    /// Time of the last registration or update that reported it.
    pub last_seen_at: Option<Timestamp>,
    /// Time of the first registration.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

impl Device {
    /// Returns a row without values.
    pub(crate) fn unknown() -> Self {
        Self {
            tenant_id: Uuid::nil(),
            id: Uuid::nil(),
            user_id: Uuid::nil(),
            organization_id: None,
            device_id: String::new(),
            platform: String::new(),
            client_app_version: None,
            os_version: None,
            locale: None,
            push_provider: None,
            push_token_updated_at: None,
            last_seen_at: None,
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
        }
    }

    /// Returns the provider of its push messages: its own one, or else the default of its platform.
    pub(crate) fn provider<'a>(&'a self, providers: &'a Providers) -> &'a str {
        providers.of_device(self.push_provider.as_deref(), &self.platform)
    }

    /// Returns whether the two states of a device have different providers. The platform of a device without a provider of its own decides, too.
    pub(crate) fn differs_in_provider(&self, other: &Self, providers: &Providers) -> bool {
        self.push_provider != other.push_provider || self.provider(providers) != other.provider(providers)
    }

    /// Inserts the row, or replaces the stored one, which is live then. The token and the time of its change stay.
    pub(crate) async fn write(&self, tx: &mut Tx<'_>) -> Result<()> {
        Self::write_all(tx, std::slice::from_ref(self)).await
    }

    async fn write_all(tx: &mut Tx<'_>, rows: &[Self]) -> Result<()> {
        insert_into(devices::table)
            .values(rows)
            .on_conflict((devices::tenant_id, devices::id))
            .do_update()
            .set((
                devices::user_id.eq(excluded(devices::user_id)),
                devices::organization_id.eq(excluded(devices::organization_id)),
                devices::device_id.eq(excluded(devices::device_id)),
                devices::created_at.eq(excluded(devices::created_at)),
                devices::platform.eq(excluded(devices::platform)),
                devices::client_app_version.eq(excluded(devices::client_app_version)),
                devices::os_version.eq(excluded(devices::os_version)),
                devices::locale.eq(excluded(devices::locale)),
                devices::push_provider.eq(excluded(devices::push_provider)),
                devices::last_seen_at.eq(excluded(devices::last_seen_at)),
                devices::deleted_at.eq(None::<Timestamp>),
                devices::updated_at.eq(excluded(devices::updated_at)),
            ))
            .prepared_if(rows.len() == 1)
            .execute(tx.conn())
            .await?;
        Ok(())
    }
}

impl Entity for Device {
    const KIND: &'static str = "devices.device";
    const VOLATILE: &'static [&'static str] = &["lastSeenAt", "pushTokenUpdatedAt", "updatedAt"];
    const SECRET: &'static [&'static str] = &["pushKey", "pushToken", "pushTokenHash"];
    const NOT_FOUND: &'static str = "Device not found";
    const TOMBSTONES: Option<&'static str> = Some("devices_devices");

    async fn lock(locker: Locker<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        let context = locker.context();
        query::lock(locker.connection(), context, ids).await
    }

    async fn load(tx: &mut Tx<'_>, ids: &[Uuid], _depth: Depth) -> Result<Snapshots> {
        let rows: Vec<Self> = devices::table
            .filter(devices::tenant_id.eq(tx.tenant()))
            .filter(devices::id.one_of(ids))
            .filter(devices::deleted_at.is_null())
            .select(Self::as_select())
            .load(tx.conn())
            .await?;
        rows.iter().map(|row| Ok((row.id, Snapshot::of(row)?))).collect()
    }

    /// A restored device has no token, because the token of a deactivated device is destroyed. A live device whose former provider is restored loses its
    /// token if another device has registered it with that provider.
    async fn store(tx: &mut Tx<'_>, snapshots: &[Snapshot]) -> Result<Vec<String>> {
        let now = tx.now();
        let rows = snapshots.iter().map(|snapshot| snapshot.row::<Self>());
        let rows: Vec<Self> = rows
            .map(|row| row.map(|row| Self { updated_at: now, ..row }))
            .collect::<Result<_>>()?;
        yield_tokens(tx, &rows).await?;
        Self::write_all(tx, &rows).await?;
        Ok(Vec::new())
    }

    async fn remove(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<()> {
        let (tenant, now) = (tx.tenant(), tx.now());
        let own = devices::table.filter(devices::tenant_id.eq(tenant));
        update(own.filter(devices::id.one_of(ids)))
            .set((
                devices::push_token.eq(None::<Vec<u8>>),
                devices::push_token_hash.eq(None::<Vec<u8>>),
                devices::push_token_updated_at.eq(None::<Timestamp>),
                devices::deleted_at.eq(now),
                devices::updated_at.eq(now),
            ))
            .prepared()
            .execute(tx.conn())
            .await?;
        Ok(())
    }

    /// Requires `devices.manage` of the owner and `devices.admin` of other callers. Owners with `devices.admin` need no other feature. Undo and redo
    /// by other callers are also compared with the rights of the owner.
    async fn guard(tx: &mut Tx<'_>, step: &Transition<'_>) -> Result<()> {
        let (ctx, owner) = (tx.context(), step.to.or(step.from).and_then(Self::audience));
        let is_own = ctx.user_id().is_ok_and(|user| owner == Some(user));
        let needed = match is_own && !ctx.holds(acl::ADMIN) {
            true => acl::MANAGE,
            false => acl::ADMIN,
        };
        ctx.require(&[needed])?;
        match step.restoring {
            true => restored::validate(tx, step).await,
            false => Ok(()),
        }
    }

    fn audience(snapshot: &Snapshot) -> Option<Uuid> {
        snapshot.row::<Self>().ok().map(|row| row.user_id)
    }
}

/// Removes the tokens of the stored rows that other live devices have with the providers of these rows. A device without a provider has the default of
/// its platform.
async fn yield_tokens(tx: &mut Tx<'_>, rows: &[Device]) -> Result<()> {
    let providers = tx.context().call().provided::<Providers>()?;
    let ids: Vec<Uuid> = rows.iter().map(|row| row.id).collect();
    let names: Vec<String> = rows.iter().map(|row| row.provider(&providers).to_owned()).collect();
    let (tenant, now) = (tx.tenant(), tx.now());
    sql_query(YIELD_TOKENS)
        .bind::<SqlUuid, _>(tenant)
        .bind::<Array<SqlUuid>, _>(ids)
        .bind::<Array<Text>, _>(names)
        .bind::<Timestamptz, _>(now)
        .bind::<Text, _>(providers.default_of("ios").to_owned())
        .bind::<Text, _>(providers.default_of("android").to_owned())
        .bind::<Text, _>(providers.default_of("web").to_owned())
        .prepared()
        .execute(tx.conn())
        .await?;
    Ok(())
}

const YIELD_TOKENS: &str = "update devices_devices d set push_token = null, push_token_hash = null, push_token_updated_at = $4 \
    from unnest($2, $3) as restored (id, provider) \
    where d.tenant_id = $1 and d.id = restored.id and d.push_token_hash is not null \
    and exists (select from devices_devices o where o.tenant_id = $1 and o.id <> d.id and o.deleted_at is null \
        and o.push_token_hash = d.push_token_hash and (o.push_provider = restored.provider or o.push_provider is null \
            and case o.platform when 'ios' then $5 when 'android' then $6 else $7 end = restored.provider))";
