//! The users whom rules notify.

use std::collections::{HashMap, HashSet};

use backoffice_auth::normalized_address;
use backoffice_core::db::Prepared;
use backoffice_core::{Feature, Result};
use diesel::sql_types::{Array, BigInt, Bool, Nullable, Text, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

use super::PlannedNotification;

/// Most users whom the notifications of one transaction may name; those named by id or address come first.
const MOST: i64 = 10_000;
/// Most recipients of a notification.
const MOST_OF_ONE: usize = 1000;
/// Most recipients of all notifications of a run together.
const MOST_OF_RUN: usize = 10_000;

/// A live user of the tenant.
#[derive(Debug, Clone, QueryableByName)]
pub(crate) struct NamedUser {
    #[diesel(sql_type = SqlUuid)]
    pub(crate) id: Uuid,
    #[diesel(sql_type = Text)]
    email: String,
    /// Normalized names.
    #[diesel(sql_type = Array<Text>)]
    roles: Vec<String>,
    /// Whether the user acts in the whole tenant.
    #[diesel(sql_type = Bool)]
    is_unlimited: bool,
    /// The organizations in which the user acts otherwise, without those below them.
    #[diesel(sql_type = Nullable<Array<SqlUuid>>)]
    organizations: Option<Vec<Uuid>>,
}

/// A user's own access control list counts, if there is one, else those of the user's roles. A list without features adds no organizations.
const FIND: &str = "\
with listed as (
    select u.id, u.email_norm from auth_users u
    where u.tenant_id = $1 and u.is_active and u.deleted_at is null and (u.id = any($2) or u.email_norm = any($3))
), holders as (
    select u.id, u.email_norm from auth_users u
    where u.tenant_id = $1 and u.is_active and u.deleted_at is null
        and exists (select 1 from auth_user_roles l join auth_roles r on r.tenant_id = l.role_tenant_id and r.id = l.role_id
            where l.tenant_id = $1 and l.user_id = u.id and r.name_norm = any($4))
    order by u.id limit $5
), named as (
    select id, email_norm from listed
    union all
    (select h.id, h.email_norm from holders h where not exists (select from listed l where l.id = h.id)
    order by h.id limit greatest($5 - (select count(*) from listed), 0))
), lists as (
    select n.id, a.is_super_admin, a.organizations from named n
        join auth_user_acls a on a.tenant_id = $1 and a.user_id = n.id
    where a.is_super_admin or cardinality(a.features) > 0
    union all
    select n.id, a.is_super_admin, a.organizations from named n
        join auth_user_roles l on l.tenant_id = $1 and l.user_id = n.id
        join auth_role_acls a on a.tenant_id = l.role_tenant_id and a.role_id = l.role_id
    where (a.is_super_admin or cardinality(a.features) > 0)
        and not exists (select 1 from auth_user_acls o where o.tenant_id = $1 and o.user_id = n.id)
)
select n.id, n.email_norm as email,
    array(select r.name_norm from auth_user_roles l join auth_roles r on r.tenant_id = l.role_tenant_id and r.id = l.role_id
        where l.tenant_id = $1 and l.user_id = n.id) as roles,
    exists (select 1 from lists where lists.id = n.id and (is_super_admin or organizations is null)) as is_unlimited,
    (select array_agg(o) from lists, unnest(lists.organizations) o where lists.id = n.id) as organizations
from named n order by n.id";

/// The users whom the notifications of a run name, by what may name them.
#[derive(Debug, Default)]
pub(crate) struct NamedUsers {
    users: Vec<NamedUser>,
    by_id: HashMap<Uuid, Vec<usize>>,
    by_email: HashMap<String, Vec<usize>>,
    by_role: HashMap<String, Vec<usize>>,
}

impl From<Vec<NamedUser>> for NamedUsers {
    fn from(users: Vec<NamedUser>) -> Self {
        let mut named = Self::default();
        for (index, user) in users.iter().enumerate() {
            named.by_id.entry(user.id).or_default().push(index);
            named.by_email.entry(user.email.clone()).or_default().push(index);
            for role in &user.roles {
                named.by_role.entry(role.clone()).or_default().push(index);
            }
        }
        named.users = users;
        named
    }
}

/// Finds all users whom these notifications name, with one statement.
pub(crate) async fn find(
    connection: &mut AsyncPgConnection,
    tenant: Uuid,
    planned: impl Iterator<Item = &PlannedNotification>,
) -> Result<NamedUsers> {
    let (mut ids, mut emails, mut roles) = (HashSet::new(), HashSet::new(), HashSet::new());
    for one in planned {
        ids.extend(one.users.iter().filter_map(|user| user.parse::<Uuid>().ok()));
        emails.extend(
            one.users
                .iter()
                .filter(|user| user.contains('@'))
                .map(|user| normalized_address(user)),
        );
        roles.extend(one.roles.iter().map(|role| role.to_lowercase()));
    }
    if ids.is_empty() && emails.is_empty() && roles.is_empty() {
        return Ok(NamedUsers::default());
    }
    let statement = sql_query(FIND)
        .bind::<SqlUuid, _>(tenant)
        .bind::<Array<SqlUuid>, _>(ids.into_iter().collect::<Vec<_>>())
        .bind::<Array<Text>, _>(emails.into_iter().collect::<Vec<_>>())
        .bind::<Array<Text>, _>(roles.into_iter().collect::<Vec<_>>())
        .bind::<BigInt, _>(MOST);
    let users: Vec<NamedUser> = Prepared(statement).load(connection).await?;
    Ok(users.into())
}

/// The recipients that the notifications of a run may still have. The runs for all records that one transaction changes share them.
#[derive(Debug)]
pub(crate) struct RecipientsLeft(usize);

impl Default for RecipientsLeft {
    fn default() -> Self {
        Self(MOST_OF_RUN)
    }
}

impl RecipientsLeft {
    /// Takes the recipients of a notification. Returns whether that many were left; takes none otherwise.
    #[must_use]
    pub(crate) fn take(&mut self, number: usize) -> bool {
        let rest = self.0.checked_sub(number);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }
}

/// The recipients of a notification, and the names behind which there are none, or more than it may have.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Recipients {
    pub(crate) users: Vec<Uuid>,
    pub(crate) skipped: Vec<String>,
}

/// Selects the recipients of a notification among the users whose scope `covers` the organization of the rule.
pub(crate) fn select(
    planned: &PlannedNotification,
    found: &NamedUsers,
    covers: impl Fn(Option<&[Uuid]>) -> bool,
) -> Recipients {
    let is_covered = |user: &&NamedUser| {
        let held = user.organizations.as_deref().unwrap_or_default();
        covers((!user.is_unlimited).then_some(held))
    };
    let (mut chosen, mut known) = (Recipients::default(), HashSet::new());
    let mut add = |name: &str, named: Option<&Vec<usize>>| {
        let named = named.into_iter().flatten();
        let mut users = named
            .filter_map(|index| found.users.get(*index))
            .filter(is_covered)
            .peekable();
        if users.peek().is_none() {
            chosen.skipped.push(name.to_owned());
        }
        for user in users.filter(|user| known.insert(user.id)) {
            if chosen.users.len() >= MOST_OF_ONE {
                chosen.skipped.push(name.to_owned());
                break;
            }
            chosen.users.push(user.id);
        }
    };
    for name in &planned.users {
        match name.parse::<Uuid>() {
            Ok(id) => add(name, found.by_id.get(&id)),
            Err(_) => add(name, found.by_email.get(&normalized_address(name))),
        }
    }
    for role in &planned.roles {
        add(&format!("role:{role}"), found.by_role.get(&role.to_lowercase()));
    }
    chosen
}

/// Returns the e-mail address of a user.
pub(crate) async fn email_of(connection: &mut AsyncPgConnection, tenant: Uuid, user: Uuid) -> Result<Option<String>> {
    #[derive(QueryableByName)]
    struct Email {
        #[diesel(sql_type = Text)]
        email: String,
    }
    let statement = sql_query("select email from auth_users where tenant_id = $1 and id = $2 and deleted_at is null")
        .bind::<SqlUuid, _>(tenant)
        .bind::<SqlUuid, _>(user);
    let found: Vec<Email> = Prepared(statement).load(connection).await?;
    Ok(found.into_iter().next().map(|one| one.email))
}

/// The users whose lists grant a feature of this module in an organization or in the whole tenant, at most 1000.
const HOLDERS: &str = "\
with recursive above as (
    select $3::uuid as id
    union
    select o.parent_id from directory_organizations o join above on o.tenant_id = $1 and o.id = above.id
)
select u.id from auth_users u where u.tenant_id = $1 and u.is_active and u.deleted_at is null and (
    exists (select 1 from auth_user_acls a where a.tenant_id = $1 and a.user_id = u.id and (a.is_super_admin or a.features && $2
            and (a.organizations is null or a.organizations && array(select id from above))))
    or not exists (select 1 from auth_user_acls a where a.tenant_id = $1 and a.user_id = u.id)
        and exists (select 1 from auth_user_roles l
            join auth_role_acls a on a.tenant_id = l.role_tenant_id and a.role_id = l.role_id
            where l.tenant_id = $1 and l.user_id = u.id and (a.is_super_admin or a.features && $2
                and (a.organizations is null or a.organizations && array(select id from above)))))
order by u.id limit 1000";

/// Returns the users of a tenant who hold a feature in this organization; `None`: in the whole tenant.
pub(crate) async fn holders(
    connection: &mut AsyncPgConnection,
    tenant: Uuid,
    feature: Feature,
    organization: Option<Uuid>,
) -> Result<Vec<Uuid>> {
    #[derive(QueryableByName)]
    struct Holder {
        #[diesel(sql_type = SqlUuid)]
        id: Uuid,
    }
    let mut grants = vec!["*".to_owned(), feature.id.to_owned()];
    let dots = feature.id.match_indices('.');
    grants.extend(dots.map(|(at, _)| format!("{}.*", feature.id.get(..at).unwrap_or_default())));
    grants.push(format!("{}.*", feature.id));
    let statement = sql_query(HOLDERS)
        .bind::<SqlUuid, _>(tenant)
        .bind::<Array<Text>, _>(grants)
        .bind::<Nullable<SqlUuid>, _>(organization);
    let found: Vec<Holder> = Prepared(statement).load(connection).await?;
    Ok(found.into_iter().map(|one| one.id).collect())
}
