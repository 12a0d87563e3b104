//! The principal behind a key: one statement over all keys with its prefix.

use backoffice_core::db::Prepared;
use backoffice_core::identity::{ActorKind, Identity};
use backoffice_core::{Result, Timestamp};
use diesel::sql_types::{Binary, Bool, Jsonb, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel::{OptionalExtension, QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use serde_json::Value;
use uuid::Uuid;

/// An ancestor that is deleted, has expired or was purged is missing from the count `usable`, so the keys that it created are not usable.
const CANDIDATES: &str = "select k.tenant_id, k.id, k.organization_id, k.name, k.key_hash, least(k.expires_at, line.ends) as expires_at, \
    k.deleted_at is null and (k.expires_at is null or k.expires_at > $2) \
    and line.usable = cardinality(k.creator_keys) \
    and exists (select 1 from directory_tenants t \
        where t.tenant_id = k.tenant_id and t.id = k.tenant_id and t.is_active and t.deleted_at is null) \
    and (k.organization_id is null or exists (select 1 from directory_organizations o \
        where o.tenant_id = k.tenant_id and o.id = k.organization_id and o.is_active and o.deleted_at is null)) as is_usable, \
    coalesce((select jsonb_agg(jsonb_build_object('id', r.id, 'name', r.name, 'features', a.features, \
        'organizations', a.organizations) order by r.name_norm, r.id) \
     from api_keys_key_roles l \
     join auth_roles r on r.tenant_id = l.role_tenant_id and r.id = l.role_id \
     left join auth_role_acls a on a.tenant_id = r.tenant_id and a.role_id = r.id \
     where l.tenant_id = k.tenant_id and l.key_id = k.id), '[]') as roles \
    from api_keys_keys k cross join lateral ( \
        select count(*) as usable, min(c.expires_at) as ends from api_keys_keys c \
        where c.tenant_id = k.tenant_id and c.id = any(k.creator_keys) and c.deleted_at is null \
          and (c.expires_at is null or c.expires_at > $2)) line where ";

/// A key with the presented prefix.
#[derive(Debug, QueryableByName)]
pub(crate) struct Candidate {
    #[diesel(sql_type = SqlUuid)]
    tenant_id: Uuid,
    #[diesel(sql_type = SqlUuid)]
    id: Uuid,
    #[diesel(sql_type = Nullable<SqlUuid>)]
    organization_id: Option<Uuid>,
    #[diesel(sql_type = Text)]
    name: String,
    #[diesel(sql_type = Binary)]
    pub(crate) key_hash: Vec<u8>,
    #[diesel(sql_type = Nullable<Timestamptz>)]
    pub(crate) expires_at: Option<Timestamp>,
    /// Whether the key and each of its ancestors are live and not expired, and its tenant and organization are live and active.
    #[diesel(sql_type = Bool)]
    pub(crate) is_usable: bool,
    #[diesel(sql_type = Jsonb)]
    roles: Value,
}

/// Returns all keys with this prefix, in all tenants.
pub(crate) async fn candidates(connection: &AsyncPgConnection, prefix: &str, now: Timestamp) -> Result<Vec<Candidate>> {
    let statement = sql_query(format!("{CANDIDATES}k.key_prefix = $1"))
        .bind::<Text, _>(prefix)
        .bind::<Timestamptz, _>(now);
    Ok(Prepared(statement).load(&mut &*connection).await?)
}

/// Returns this key, if it is usable.
pub(crate) async fn usable(
    connection: &AsyncPgConnection,
    tenant: Uuid,
    key: Uuid,
    now: Timestamp,
) -> Result<Option<Candidate>> {
    let statement = sql_query(format!("{CANDIDATES}k.id = $1 and k.tenant_id = $3"))
        .bind::<SqlUuid, _>(key)
        .bind::<Timestamptz, _>(now)
        .bind::<SqlUuid, _>(tenant);
    let found: Option<Candidate> = Prepared(statement).get_result(&mut &*connection).await.optional()?;
    Ok(found.filter(|key| key.is_usable))
}

impl Candidate {
    /// Converts the key to a principal, which is confined to the key's organization even if its roles are not.
    pub(crate) fn into_identity(self) -> Result<Identity> {
        let (mut rights, roles) = backoffice_auth::rights_of_roles(self.roles)?;
        if let Some(own) = self.organization_id {
            rights = rights.confined_to(own);
        }
        Ok(Identity {
            kind: ActorKind::ApiKey,
            id: Some(self.id),
            name: Some(self.name),
            tenant: self.tenant_id,
            organization: self.organization_id,
            rights,
            roles,
            session: None,
        })
    }
}
