//! Jobs that a caller sees.

use backoffice_core::RequestContext;
use backoffice_core::scope::{Owned, Within};
use diesel::dsl::{And, AsExprOf, Eq, IsNotDistinctFrom, Or};
use diesel::sql_types::Bool;
use diesel::{BoolExpressionMethods, ExpressionMethods, IntoSql, PgExpressionMethods};
use uuid::Uuid;

use crate::acl;
use crate::schema::progress_jobs as jobs;

type Own = And<Eq<jobs::actor_kind, &'static str>, IsNotDistinctFrom<jobs::actor_id, Option<Uuid>>>;
type OfOthers = And<AsExprOf<bool, Bool>, Within<jobs::organization_id>>;

/// The condition of [`seen_by`].
pub type Seen = And<Owned<jobs::tenant_id>, Or<Own, OfOthers>>;

/// The jobs that the caller sees: its own, whatever organization is selected, and those of its organizations if it holds
/// `progress.view_tenant`. Every statement on jobs for a caller has this condition.
#[must_use]
pub fn seen_by(ctx: &RequestContext) -> Seen {
    let scope = ctx.scope();
    let identity = ctx.identity();
    let own = jobs::actor_kind
        .eq(identity.kind.as_str())
        .and(jobs::actor_id.is_not_distinct_from(identity.id));
    let others = ctx
        .holds(acl::VIEW_TENANT)
        .into_sql::<Bool>()
        .and(scope.within(jobs::organization_id));
    scope.owns(jobs::tenant_id).and(own.or(others))
}
