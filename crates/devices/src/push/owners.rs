//! The devices that registered tokens last, among those of all tenants.

use backoffice_core::command::Tx;
use backoffice_core::db::Prepared;
use backoffice_core::ids::PLATFORM_TENANT;
use backoffice_core::vault::SealedColumn;
use backoffice_core::{Call, Platform, Result, Scope};
use diesel::sql_types::{Array, Binary, Bool, Text, Timestamptz, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

/// The column whose fingerprints are comparable over all tenants: those of the platform.
const FINGERPRINT: SealedColumn = SealedColumn {
    table: "devices_push_token_owners",
    column: "fingerprint",
};

/// Returns the code by which equal tokens of all tenants are found.
pub(crate) fn fingerprint(platform: &Platform, token: &str) -> Result<Vec<u8>> {
    let code = platform
        .vault()
        .fingerprint(PLATFORM_TENANT, FINGERPRINT, token.as_bytes())?;
    Ok(code.to_vec())
}

#[derive(QueryableByName)]
struct Noted {
    #[diesel(sql_type = Bool)]
    is_new: bool,
}

/// Notes that a device registered a token last. Returns whether the last registration was of another device, or there was none.
pub(crate) async fn own(tx: &mut Tx<'_>, device: Uuid, provider: &str, token: &str) -> Result<bool> {
    let code = fingerprint(tx.context().platform(), token)?;
    let (tenant, now, id) = (tx.tenant(), tx.now(), tx.new_id());
    let statement = sql_query("select app_own_push_token($1, $2, $3, $4, $5, $6) as is_new")
        .bind::<SqlUuid, _>(tenant)
        .bind::<SqlUuid, _>(device)
        .bind::<Text, _>(provider)
        .bind::<Binary, _>(code)
        .bind::<SqlUuid, _>(id)
        .bind::<Timestamptz, _>(now);
    let noted: Noted = Prepared(statement).get_result(tx.conn()).await?;
    Ok(noted.is_new)
}

/// The device that registered a token last.
#[derive(Debug, Clone, PartialEq, Eq, QueryableByName)]
pub(crate) struct Owner {
    /// The provider.
    #[diesel(sql_type = Text)]
    pub(crate) provider: String,
    /// The code of the token.
    #[diesel(sql_type = Binary)]
    pub(crate) fingerprint: Vec<u8>,
    /// The tenant of the device.
    #[diesel(sql_type = SqlUuid)]
    pub(crate) owner_tenant_id: Uuid,
    /// The device.
    #[diesel(sql_type = SqlUuid)]
    pub(crate) device_row_id: Uuid,
}

/// Returns the owners of tokens, with one statement. A token that was registered before owners were noted has none.
pub(crate) async fn owners(call: &Call, providers: Vec<&str>, codes: Vec<&[u8]>) -> Result<Vec<Owner>> {
    let connection = call.database().read_briefly(&Scope::system()).await?;
    let statement = sql_query(
        "select o.provider, o.fingerprint, o.owner_tenant_id, o.device_row_id from unnest($2, $3) as t (provider, fingerprint) \
         join devices_push_token_owners o on o.tenant_id = $1 and o.provider = t.provider and o.fingerprint = t.fingerprint",
    )
    .bind::<SqlUuid, _>(PLATFORM_TENANT)
    .bind::<Array<Text>, _>(providers)
    .bind::<Array<Binary>, _>(codes);
    Ok(Prepared(statement).get_results(&mut &**connection).await?)
}
