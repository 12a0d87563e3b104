//! Sets of rules and their members.

use backoffice_core::db::{KeyColumn, Prepared};
use backoffice_core::list::{ListRequest, Page, SortField, Sortable, Start};
use backoffice_core::scope::{Owned, Within};
use backoffice_core::{RequestContext, Result, Scope};
use diesel::dsl::{Eq, Filter, count_star, exists};
use diesel::pg::Pg;
use diesel::{
    BoolExpressionMethods, ExpressionMethods, JoinOnDsl, OptionalExtension, PgTextExpressionMethods, QueryDsl,
    Queryable, SelectableHelper,
};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::model::{RuleSet, SetMember};
use crate::schema::{
    business_rules_rules as rules, business_rules_set_members as members, business_rules_sets as sets,
};

impl Sortable for RuleSet {
    const SORT_FIELDS: &'static [SortField] = &[
        SortField::new("setId", "business_rules_sets.set_key"),
        SortField::new("setName", "business_rules_sets.set_name"),
        SortField::time("createdAt", "business_rules_sets.created_at"),
        SortField::time("updatedAt", "business_rules_sets.updated_at"),
    ];
}

/// A member of a set, with the rule.
#[derive(Debug, Clone, Queryable, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = BusinessRuleSetMember)]
pub struct MemberItem {
    /// The id of the member.
    pub id: Uuid,
    /// The id of the rule.
    pub rule_id: Uuid,
    /// The key of the rule.
    pub rule_key: String,
    /// The name of the rule.
    pub rule_name: String,
    /// The position.
    pub sequence: i32,
    /// Whether the rule runs with the set.
    pub enabled: bool,
}

type InScope = Filter<Filter<sets::table, Owned<sets::tenant_id>>, Within<sets::organization_id>>;
type MembersInScope = Filter<Filter<members::table, Owned<members::tenant_id>>, Within<members::organization_id>>;
type OwnRule = Filter<Filter<rules::table, Eq<rules::tenant_id, members::tenant_id>>, Eq<rules::id, members::rule_id>>;
type VisibleMembers = Filter<MembersInScope, exists<Filter<OwnRule, Within<rules::organization_id>>>>;

/// Returns the sets that are visible to the caller.
pub(crate) fn in_scope(scope: &Scope) -> InScope {
    sets::table
        .filter(scope.owns(sets::tenant_id))
        .filter(scope.within(sets::organization_id))
}

/// Returns the members of sets that are visible to the caller, also those whose rule is not.
fn members_in_scope(scope: &Scope) -> MembersInScope {
    members::table
        .filter(scope.owns(members::tenant_id))
        .filter(scope.within(members::organization_id))
}

/// Returns the members that are visible to the caller: they see the set and the rule.
pub(crate) fn visible_members(scope: &Scope) -> VisibleMembers {
    let rule = rules::table
        .filter(rules::tenant_id.eq(members::tenant_id))
        .filter(rules::id.eq(members::rule_id));
    members_in_scope(scope).filter(exists(rule.filter(scope.within(rules::organization_id))))
}

fn requested<'a>(scope: &Scope, request: &ListRequest) -> sets::BoxedQuery<'a, Pg> {
    let mut query = in_scope(scope).into_boxed();
    if let Some(pattern) = &request.pattern {
        query = query.filter(sets::set_name.ilike(pattern.clone()));
    }
    if let Some(ids) = &request.ids {
        query = query.filter(sets::id.one_of(ids.clone()));
    }
    query
}

/// Returns a page and the total number of sets, which is counted once for each version of the sets.
///
/// # Errors
/// When the database can't be reached.
pub async fn list(
    connection: &AsyncPgConnection,
    ctx: &RequestContext,
    request: &ListRequest,
) -> Result<Page<RuleSet>> {
    let (window, scope) = (request.window, ctx.scope());
    let keys = request.order.then("business_rules_sets.id");
    let rows = async |start: Start| {
        let page = start
            .of::<sets::table, _>(requested(scope, request))
            .order(keys.expression());
        start
            .limited(page.select(RuleSet::as_select()))
            .load(&mut &*connection)
            .await
    };
    let total = requested(scope, request).select(count_star());
    let id = |row: &RuleSet| (row.tenant_id, row.id);
    window
        .fetch_from(ctx, connection, keys, id, rows, || {
            Prepared(total).get_result(&mut &*connection)
        })
        .await
}

/// Returns the set with this id, if it is visible.
///
/// # Errors
/// When the database can't be reached.
pub async fn find(connection: &AsyncPgConnection, scope: &Scope, id: Uuid) -> Result<Option<RuleSet>> {
    let found = in_scope(scope).filter(sets::id.eq(id)).select(RuleSet::as_select());
    Ok(found.first(&mut &*connection).await.optional()?)
}

/// Returns the members of a visible set in the order in which they run. Members whose rule the caller may not see are left out.
///
/// # Errors
/// When the database can't be reached.
pub async fn members_of(connection: &AsyncPgConnection, scope: &Scope, set: Uuid) -> Result<Vec<MemberItem>> {
    let same_rule = rules::tenant_id
        .eq(members::tenant_id)
        .and(rules::id.eq(members::rule_id));
    Ok(members_in_scope(scope)
        .inner_join(rules::table.on(same_rule))
        .filter(scope.within(rules::organization_id))
        .filter(members::set_id.eq(set))
        .order((members::sequence, members::id))
        .select((
            members::id,
            members::rule_id,
            rules::rule_key,
            rules::rule_name,
            members::sequence,
            members::enabled,
        ))
        .load(&mut &*connection)
        .await?)
}

/// Returns a member of a set, if the set and the rule are visible.
///
/// # Errors
/// When the database can't be reached.
pub async fn find_member(
    connection: &AsyncPgConnection,
    scope: &Scope,
    set: Uuid,
    id: Uuid,
) -> Result<Option<SetMember>> {
    let found = visible_members(scope)
        .filter(members::set_id.eq(set))
        .filter(members::id.eq(id))
        .select(SetMember::as_select());
    Ok(found.first(&mut &*connection).await.optional()?)
}

/// Returns the rules of a set that run with it, in their order.
///
/// # Errors
/// When the database can't be reached.
pub(crate) async fn running(connection: &AsyncPgConnection, scope: &Scope, set: Uuid) -> Result<Vec<Uuid>> {
    Ok(members_in_scope(scope)
        .filter(members::set_id.eq(set))
        .filter(members::enabled)
        .order((members::sequence, members::id))
        .select(members::rule_id)
        .load(&mut &*connection)
        .await?)
}
