//! Users who hold a feature, for modules that notify them.

use backoffice_core::db::Prepared;
use backoffice_core::{Feature, Result};
use diesel::sql_types::{Array, Text, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = SqlUuid)]
    id: Uuid,
}

/// The ACL of a user counts instead of those of their roles. An ACL grants its features in its organizations and below them. `$users` is a condition on
/// users `u`.
macro_rules! holders {
    ($users:literal) => {
        concat!(
            "with recursive up as ( \
                 select o.id, o.parent_id from directory_organizations o where o.tenant_id = $1 and o.id = $2 \
                 union \
                 select o.id, o.parent_id from up join directory_organizations o on o.tenant_id = $1 and o.id = up.parent_id \
             ), granting as ( \
                 select u.id from auth_user_acls a join auth_users u on u.tenant_id = a.tenant_id and u.id = a.user_id \
                 where a.tenant_id = $1 and u.is_active and u.deleted_at is null",
            $users,
            "    and (a.is_super_admin \
                     or (a.features && $3 and (a.organizations is null or a.organizations && array(select id from up)))) \
                 union \
                 select u.id from auth_users u \
                 join auth_user_roles l on l.tenant_id = u.tenant_id and l.user_id = u.id \
                 join auth_role_acls a on a.tenant_id = l.role_tenant_id and a.role_id = l.role_id \
                 where u.tenant_id = $1 and u.is_active and u.deleted_at is null \
                     and not exists (select from auth_user_acls own where own.tenant_id = u.tenant_id and own.user_id = u.id)",
            $users,
            "    and (a.is_super_admin \
                     or (a.features && $3 and (a.organizations is null or a.organizations && array(select id from up)))) \
             ) \
             select id from granting order by id"
        )
    };
}

const HOLDERS: &str = holders!("");
const HOLDERS_BETWEEN: &str = holders!(" and u.id > $4 and u.id <= $5");

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

/// Returns those of the users of [`find_holders`] whose ids come after the first one given, up to the second one. Its cost does not depend on the number
/// of other users.
///
/// # Errors
/// When the database can't be reached.
pub async fn find_holders_between(
    connection: &mut AsyncPgConnection,
    tenant: Uuid,
    feature: Feature,
    organization: Uuid,
    (after, last): (Uuid, Uuid),
) -> Result<Vec<Uuid>> {
    let statement = sql_query(HOLDERS_BETWEEN)
        .bind::<SqlUuid, _>(tenant)
        .bind::<SqlUuid, _>(organization)
        .bind::<Array<Text>, _>(covering(feature.id))
        .bind::<SqlUuid, _>(after)
        .bind::<SqlUuid, _>(last);
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
