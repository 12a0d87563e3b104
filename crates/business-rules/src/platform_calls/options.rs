//! What actions that call the platform may name: endpoints, and keys whose roles the caller could grant.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use backoffice_core::db::Prepared;
use backoffice_core::http::{Access, EndpointInfo};
use backoffice_core::{Platform, RequestContext, Result};
use diesel::sql_types::{Array, Integer, Jsonb, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use serde::Deserialize;
use uuid::Uuid;

/// Modules whose endpoints rules must not call.
const EXCLUDED: [&str; 8] = [
    "access",
    "auth",
    "api-keys",
    "audit-logs",
    "business-rules",
    "onboarding",
    "api-docs",
    "events",
];
/// The methods of endpoints that rules may call.
pub(crate) const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];
/// Most keys of a list.
const MOST_KEYS: i32 = 1000;

/// The endpoints that rules may call, by path, then by method.
#[derive(Debug, Default)]
pub(crate) struct CallableEndpoints(OnceLock<BTreeMap<(&'static str, String), EndpointInfo>>);

impl CallableEndpoints {
    /// Returns the endpoints, each once.
    pub(crate) fn all(&self, platform: &Platform) -> impl Iterator<Item = &EndpointInfo> {
        self.by_path(platform).values()
    }

    /// Returns whether rules may call this endpoint.
    pub(crate) fn contains(&self, platform: &Platform, method: &str, path: &str) -> bool {
        self.all(platform)
            .any(|info| info.path == path && info.method.as_str() == method)
    }

    fn by_path(&self, platform: &Platform) -> &BTreeMap<(&'static str, String), EndpointInfo> {
        self.0.get_or_init(|| {
            let callable = platform.endpoints().into_iter().filter(is_callable);
            callable
                .map(|info| ((info.path, info.method.to_string()), info))
                .collect()
        })
    }
}

fn is_callable(info: &EndpointInfo) -> bool {
    METHODS.contains(&info.method.as_str())
        && !info.path.contains('{')
        && !matches!(info.access, Access::Public | Access::Optional)
        && !info.streaming
        && !info.downloads
        && info.media.is_empty()
        && !EXCLUDED.contains(&info.module)
}

/// A key that actions of the caller may name, without its secret.
#[derive(Debug)]
pub(crate) struct CallableKey {
    pub(crate) id: Uuid,
    pub(crate) name: String,
    pub(crate) key_prefix: String,
    pub(crate) organization: Option<Uuid>,
    pub(crate) organization_name: Option<String>,
    /// Ids and names.
    pub(crate) roles: Vec<(Uuid, Option<String>)>,
}

/// Returns the keys that actions of the caller may name, by name: at most 1000, and only these if ids are given.
///
/// # Errors
/// When the database can't be reached.
pub(crate) async fn keys(
    connection: &mut AsyncPgConnection,
    ctx: &RequestContext,
    tenant: Uuid,
    ids: Option<&[Uuid]>,
) -> Result<Vec<CallableKey>> {
    let statement = sql_query(KEYS)
        .bind::<SqlUuid, _>(tenant)
        .bind::<Timestamptz, _>(ctx.now())
        .bind::<Nullable<Array<SqlUuid>>, _>(ctx.scope().organizations.clone())
        .bind::<Integer, _>(MOST_KEYS)
        .bind::<Nullable<Array<SqlUuid>>, _>(ids);
    let rows: Vec<KeyRow> = Prepared(statement).load(connection).await?;
    let mut keys = Vec::with_capacity(rows.len());
    for row in rows {
        let roles: Vec<RoleRow> = serde_json::from_value(row.roles)?;
        if !roles.iter().all(|role| is_grantable(ctx, role, row.organization_id)) {
            continue;
        }
        keys.push(CallableKey {
            id: row.id,
            name: row.name,
            key_prefix: row.key_prefix,
            organization: row.organization_id,
            organization_name: row.organization_name,
            roles: roles.into_iter().map(|role| (role.id, role.name)).collect(),
        });
    }
    Ok(keys)
}

#[derive(QueryableByName)]
struct KeyRow {
    #[diesel(sql_type = SqlUuid)]
    id: Uuid,
    #[diesel(sql_type = Text)]
    name: String,
    #[diesel(sql_type = Text)]
    key_prefix: String,
    #[diesel(sql_type = Nullable<SqlUuid>)]
    organization_id: Option<Uuid>,
    #[diesel(sql_type = Nullable<Text>)]
    organization_name: Option<String>,
    #[diesel(sql_type = Jsonb)]
    roles: serde_json::Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RoleRow {
    id: Uuid,
    name: Option<String>,
    is_super_admin: Option<bool>,
    features: Option<Vec<String>>,
    organizations: Option<Vec<Uuid>>,
}

const KEYS: &str = "\
select k.id, k.name, k.key_prefix, k.organization_id,
    (select o.name from directory_organizations o where o.tenant_id = k.tenant_id and o.id = k.organization_id) as organization_name,
    coalesce((select jsonb_agg(jsonb_build_object('id', r.id, 'name', r.name, 'isSuperAdmin', a.is_super_admin, 'features', a.features,
            'organizations', a.organizations) order by r.name_norm, r.id)
        from api_keys_key_roles l join auth_roles r on r.tenant_id = l.role_tenant_id and r.id = l.role_id
        left join auth_role_acls a on a.tenant_id = r.tenant_id and a.role_id = r.id
        where l.tenant_id = k.tenant_id and l.key_id = k.id), '[]') as roles
from api_keys_keys k
where k.tenant_id = $1 and k.deleted_at is null and (k.expires_at is null or k.expires_at > $2)
    and ($3::uuid[] is null or k.organization_id = any($3)) and ($5::uuid[] is null or k.id = any($5))
order by k.name, k.id limit $4";

/// Whether the caller covers everything that a role grants to a key of this organization.
fn is_grantable(ctx: &RequestContext, role: &RoleRow, organization: Option<Uuid>) -> bool {
    let pairs = ctx.pairs();
    if pairs.is_super_admin() {
        return true;
    }
    if role.is_super_admin == Some(true) {
        return false;
    }
    // A key with an organization is confined to it, whatever its roles grant.
    let places: Vec<Option<Uuid>> = match (&role.organizations, organization) {
        (_, Some(own)) => vec![Some(own)],
        (Some(listed), None) => listed.iter().copied().map(Some).collect(),
        (None, None) => vec![None],
    };
    role.features.iter().flatten().all(|feature| {
        let covered = pairs.covering(feature);
        places.iter().all(|place| match (&covered, place) {
            (None, _) => true,
            (Some(covered), Some(place)) => covered.contains(place),
            (Some(_), None) => false,
        })
    })
}
