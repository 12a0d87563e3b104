//! Users who hold a feature, for modules that notify them.

use backoffice_core::db::Prepared;
use backoffice_core::ids::PLATFORM_TENANT;
use backoffice_core::{Feature, Result};
use diesel::sql_types::{Array, BigInt, Bool, Text, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = SqlUuid)]
    id: Uuid,
}

/// The ACL of a user counts instead of those of their roles. An ACL grants its features in its organizations and below them.
const HOLDERS: &str = "\
with recursive up as (
    select o.id, o.parent_id from directory_organizations o where o.tenant_id = $1 and o.id = $2
    union
    select o.id, o.parent_id from up join directory_organizations o on o.tenant_id = $1 and o.id = up.parent_id
), granting as (
    select u.id from auth_user_acls a join auth_users u on u.tenant_id = a.tenant_id and u.id = a.user_id
    where a.tenant_id = $1 and u.is_active and u.deleted_at is null
        and (a.is_super_admin or (a.features && $3 and (a.organizations is null or a.organizations && array(select id from up))))
    union
    select u.id from auth_users u
    join auth_user_roles l on l.tenant_id = u.tenant_id and l.user_id = u.id
    join auth_role_acls a on a.tenant_id = l.role_tenant_id and a.role_id = l.role_id
    where u.tenant_id = $1 and u.is_active and u.deleted_at is null
        and not exists (select from auth_user_acls own where own.tenant_id = u.tenant_id and own.user_id = u.id)
        and (a.is_super_admin or (a.features && $3 and (a.organizations is null or a.organizations && array(select id from up))))
)
select id from granting order by id";

/// Examines the `$5` users that follow user `$4` in the order of their ids, one by one, until `$6` of them hold the feature, and returns these. Also
/// returns the last of the `$5` users, unless there are fewer.
const NEXT_HOLDERS: &str = "\
with recursive up as (
    select o.id, o.parent_id from directory_organizations o where o.tenant_id = $1 and o.id = $2
    union
    select o.id, o.parent_id from up join directory_organizations o on o.tenant_id = $1 and o.id = up.parent_id
), granting as materialized (
    select a.tenant_id, a.role_id from auth_role_acls a
    where a.tenant_id in ($1, $7)
        and (a.is_super_admin or (a.features && $3 and (a.organizations is null or a.organizations && array(select id from up))))
), holders as (
    select u.id from (
        select u.tenant_id, u.id, u.is_active, u.deleted_at from auth_users u
        where u.tenant_id = $1 and u.id > $4 order by u.tenant_id, u.id limit $5
    ) u
    where u.is_active and u.deleted_at is null and case
        when exists (select from auth_user_acls own where own.tenant_id = u.tenant_id and own.user_id = u.id) then exists (
            select from auth_user_acls a
            where a.tenant_id = u.tenant_id and a.user_id = u.id and (a.is_super_admin
                or (a.features && $3 and (a.organizations is null or a.organizations && array(select id from up)))))
        else exists (
            select from auth_user_roles l
            where l.tenant_id = u.tenant_id and l.user_id = u.id
                and exists (select from granting g where g.tenant_id = l.role_tenant_id and g.role_id = l.role_id)
            offset 0)
    end
    order by u.tenant_id, u.id limit $6
)
select id, true as holds from holders
union all
(select u.id, false from auth_users u where u.tenant_id = $1 and u.id > $4 order by u.tenant_id, u.id offset $5 - 1 limit 1)";

/// A part of the users of a tenant, in the order of their ids.
#[derive(Debug)]
pub struct Holders {
    /// The active users of the part who hold the feature, by id.
    pub users: Vec<Uuid>,
    /// The user after whom the next part begins; `None` after the last part.
    pub next_after: Option<Uuid>,
}

#[derive(QueryableByName)]
struct Examined {
    #[diesel(sql_type = SqlUuid)]
    id: Uuid,
    #[diesel(sql_type = Bool)]
    holds: bool,
}

/// Users of a tenant that one call of [`find_next_holders`] examines at most.
const MOST_EXAMINED: i64 = 10_000;

/// Returns, of the users whose ids come after this one, the first who hold the feature in the organization as [`find_holders`] says: at most this number
/// of them among the next 10,000 users. Its cost does not depend on the number of the tenant's other users.
///
/// # Errors
/// When the database can't be reached.
pub async fn find_next_holders(
    connection: &mut AsyncPgConnection,
    tenant: Uuid,
    feature: Feature,
    organization: Uuid,
    after: Option<Uuid>,
    most: usize,
) -> Result<Holders> {
    let statement = sql_query(NEXT_HOLDERS)
        .bind::<SqlUuid, _>(tenant)
        .bind::<SqlUuid, _>(organization)
        .bind::<Array<Text>, _>(covering(feature.id))
        .bind::<SqlUuid, _>(after.unwrap_or_default())
        .bind::<BigInt, _>(MOST_EXAMINED)
        .bind::<BigInt, _>(i64::try_from(most).unwrap_or(MOST_EXAMINED))
        .bind::<SqlUuid, _>(PLATFORM_TENANT);
    let rows: Vec<Examined> = Prepared(statement).load(connection).await?;
    let last_examined = rows.iter().find(|row| !row.holds).map(|row| row.id);
    let mut users: Vec<Uuid> = rows.into_iter().filter(|row| row.holds).map(|row| row.id).collect();
    users.sort_unstable();
    let next_after = if users.len() < most {
        last_examined
    } else {
        users.last().copied()
    };
    Ok(Holders { users, next_after })
}

/// Returns the active users of the tenant who hold the feature in the organization, by id.
///
/// # Errors
/// When the database can't be reached.
pub async fn find_holders(
    connection: &mut AsyncPgConnection,
    tenant: Uuid,
    feature: Feature,
    organization: Uuid,
) -> Result<Vec<Uuid>> {
    let statement = sql_query(HOLDERS)
        .bind::<SqlUuid, _>(tenant)
        .bind::<SqlUuid, _>(organization)
        .bind::<Array<Text>, _>(covering(feature.id));
    let rows: Vec<Row> = Prepared(statement).load(connection).await?;
    Ok(rows.into_iter().map(|row| row.id).collect())
}

/// Returns the grants that cover a feature: itself, the wildcard of its own name, and the wildcards above it.
fn covering(feature: &str) -> Vec<String> {
    let above = feature
        .match_indices('.')
        .map(|(at, _)| format!("{}.*", &feature[..at]));
    let own = ["*".to_owned(), feature.to_owned(), format!("{feature}.*")];
    own.into_iter().chain(above).collect()
}

#[cfg(test)]
mod tests {
    use backoffice_core::acl::matches;

    use super::*;

    #[test]
    fn a_feature_is_covered_by_itself_and_by_wildcards() {
        let grants = covering("auth.roles.list");

        assert_eq!(
            grants,
            ["*", "auth.roles.list", "auth.roles.list.*", "auth.*", "auth.roles.*"]
        );
        assert!(grants.iter().all(|grant| matches(grant, "auth.roles.list")));
    }
}
