//! The principal behind a session or an id: one statement.

use backoffice_core::acl::{AccessList, Rights};
use backoffice_core::db::Prepared;
use backoffice_core::identity::{ActorKind, HeldRole, Identity};
use backoffice_core::{Result, Timestamp};
use diesel::sql_types::{Jsonb, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel::{OptionalExtension, QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

/// The conditions for a sign-in: the user is live, active, confirmed, in a live and active tenant and organization. An SQL fragment that
/// starts with `and` and refers to the user as `u`.
pub(crate) const MAY_SIGN_IN: &str = " and u.deleted_at is null and u.is_active and u.is_confirmed \
    and (u.tenant_id = '00000000-0000-0000-0000-000000000000' or exists ( \
        select 1 from directory_tenants t \
        where t.tenant_id = u.tenant_id and t.id = u.tenant_id and t.is_active and t.deleted_at is null)) \
    and (u.organization_id is null or exists ( \
        select 1 from directory_organizations o where o.tenant_id = u.tenant_id and o.id = u.organization_id \
          and o.is_active and o.deleted_at is null))";

/// Selects a user, the user's own ACL and the ACLs of their roles.
const PRINCIPAL: &str = "select u.tenant_id, u.id, u.organization_id, coalesce(u.name, u.email) as name, \
    (select jsonb_build_object('isSuperAdmin', a.is_super_admin, 'features', a.features, 'organizations', a.organizations) \
     from auth_user_acls a where a.tenant_id = u.tenant_id and a.user_id = u.id) as own, \
    coalesce((select jsonb_agg(jsonb_build_object('id', r.id, 'name', r.name, 'isSuperAdmin', a.is_super_admin, \
        'features', a.features, 'organizations', a.organizations) order by r.name_norm, r.id) \
     from auth_user_roles l \
     join auth_roles r on r.tenant_id = l.role_tenant_id and r.id = l.role_id \
     left join auth_role_acls a on a.tenant_id = r.tenant_id and a.role_id = r.id \
     where l.tenant_id = u.tenant_id and l.user_id = u.id), '[]') as roles";

const OF_SESSION: &str = ", s.id as session, s.expires_at \
    from auth_sessions s join auth_users u on u.tenant_id = s.tenant_id and u.id = s.user_id \
    where s.tenant_id = $1 and s.id = $2 and s.user_id = $3 and s.ended_at is null and s.expires_at > $4";

const OF_USER: &str = ", null::uuid as session, null::timestamptz as expires_at \
    from auth_users u where u.tenant_id = $1 and u.id = $2";

#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = SqlUuid)]
    tenant_id: Uuid,
    #[diesel(sql_type = SqlUuid)]
    id: Uuid,
    #[diesel(sql_type = Nullable<SqlUuid>)]
    organization_id: Option<Uuid>,
    #[diesel(sql_type = Text)]
    name: String,
    #[diesel(sql_type = Nullable<SqlUuid>)]
    session: Option<Uuid>,
    #[diesel(sql_type = Nullable<Timestamptz>)]
    expires_at: Option<Timestamp>,
    #[diesel(sql_type = Nullable<Jsonb>)]
    own: Option<Value>,
    #[diesel(sql_type = Jsonb)]
    roles: Value,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AclOf {
    #[serde(default)]
    id: Uuid,
    #[serde(default)]
    name: String,
    is_super_admin: Option<bool>,
    features: Option<Vec<String>>,
    organizations: Option<Vec<Uuid>>,
}

/// Returns the principal of a live session of this user, and the end of the session.
pub(crate) async fn of_session(
    connection: &AsyncPgConnection,
    tenant: Uuid,
    session: Uuid,
    user: Uuid,
    now: Timestamp,
) -> Result<Option<(Identity, Timestamp)>> {
    let statement = sql_query(format!("{PRINCIPAL}{OF_SESSION}{MAY_SIGN_IN}"))
        .bind::<SqlUuid, _>(tenant)
        .bind::<SqlUuid, _>(session)
        .bind::<SqlUuid, _>(user)
        .bind::<Timestamptz, _>(now);
    let row: Option<Row> = Prepared(statement).get_result(&mut &*connection).await.optional()?;
    match row {
        Some(row) => Ok(row
            .expires_at
            .zip(Some(identity(row)?))
            .map(|(ends, found)| (found, ends))),
        None => Ok(None),
    }
}

/// Returns the principal of this user, if they may sign in.
pub(crate) async fn of_user(connection: &AsyncPgConnection, tenant: Uuid, user: Uuid) -> Result<Option<Identity>> {
    let statement = sql_query(format!("{PRINCIPAL}{OF_USER}{MAY_SIGN_IN}"))
        .bind::<SqlUuid, _>(tenant)
        .bind::<SqlUuid, _>(user);
    let row: Option<Row> = Prepared(statement).get_result(&mut &*connection).await.optional()?;
    row.map(identity).transpose()
}

fn identity(row: Row) -> Result<Identity> {
    let roles: Vec<AclOf> = serde_json::from_value(row.roles)?;
    let rights = counting(row.own, &roles)?;
    Ok(Identity {
        kind: ActorKind::User,
        id: Some(row.id),
        name: Some(row.name),
        tenant: row.tenant_id,
        organization: row.organization_id,
        rights,
        roles: roles.into_iter().map(HeldRole::from).collect(),
        session: row.session,
    })
}

/// Returns the rights of a user's own ACL, else of the ACLs of all their roles.
fn counting(own: Option<Value>, roles: &[AclOf]) -> Result<Rights> {
    let own: Option<AclOf> = own.map(serde_json::from_value).transpose()?;
    Ok(match &own {
        Some(own) => granted(std::slice::from_ref(own)),
        None => granted(roles),
    })
}

/// Returns the same rights for ACLs in the form in which the database returns them.
pub(crate) fn rights_of(own: Option<Value>, roles: Value) -> Result<Rights> {
    let roles: Vec<AclOf> = serde_json::from_value(roles)?;
    counting(own, &roles)
}

/// Returns these roles, and the rights that they grant without their super-admin flags.
pub(crate) fn without_super_admin(roles: Value) -> Result<(Rights, Vec<HeldRole>)> {
    let mut roles: Vec<AclOf> = serde_json::from_value(roles)?;
    for role in &mut roles {
        role.is_super_admin = None;
    }
    let rights = granted(&roles);
    Ok((rights, roles.into_iter().map(HeldRole::from).collect()))
}

impl From<AclOf> for HeldRole {
    fn from(role: AclOf) -> Self {
        Self {
            id: role.id,
            name: role.name,
        }
    }
}

/// Returns the rights that ACLs grant independently of each other, each its features in its own organizations.
fn granted(acls: &[AclOf]) -> Rights {
    if acls.iter().any(|acl| acl.is_super_admin.unwrap_or(false)) {
        return Rights::super_admin();
    }
    Rights::of(acls.iter().map(|acl| {
        AccessList {
            grants: acl.features.iter().flatten().cloned().collect(),
            organizations: acl
                .organizations
                .as_ref()
                .map(|listed| listed.iter().copied().collect()),
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acl(features: &[&str], organizations: Option<&[u128]>) -> AclOf {
        AclOf {
            features: Some(features.iter().map(|feature| (*feature).to_owned()).collect()),
            organizations: organizations.map(|ids| ids.iter().map(|id| Uuid::from_u128(*id)).collect()),
            ..AclOf::default()
        }
    }

    #[test]
    fn acls_stay_separate_and_one_without_features_grants_nothing() {
        let rights = granted(&[acl(&["a.b"], Some(&[1])), acl(&["c.d"], None), acl(&[], None)]);

        let lists: Vec<_> = rights.lists().iter().map(|list| list.organizations.clone()).collect();
        assert_eq!(lists, [Some([Uuid::from_u128(1)].into()), None]);
    }

    #[test]
    fn the_flag_of_a_super_administrator_can_be_ignored() {
        let roles = serde_json::json!([
            {"id": Uuid::from_u128(1), "name": "Root", "isSuperAdmin": true, "features": [], "organizations": null},
            {"id": Uuid::from_u128(2), "name": "Clerk", "features": ["a.b"], "organizations": [Uuid::from_u128(9)]},
            {"id": Uuid::from_u128(3), "name": "Bare", "features": null, "organizations": null},
        ]);

        let (rights, held) = without_super_admin(roles).expect("roles");

        assert!(!rights.is_super_admin);
        assert_eq!(rights.roots(), [Uuid::from_u128(9)].into());
        assert_eq!(held.len(), 3);
    }

    #[test]
    fn without_an_acl_no_rights_are_granted() {
        assert_eq!(granted(&[]), Rights::none());
    }
}
