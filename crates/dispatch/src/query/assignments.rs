//! Reads of assignments.

use backoffice_calendar::ResourceType;
use backoffice_core::db::{KeyColumn, Prepared};
use backoffice_core::list::{Keys, Page, References, Start, Window};
use backoffice_core::scope::{Owned, Within};
use backoffice_core::{RequestContext, Result, Scope, Timestamp};
use diesel::dsl::{Filter, count_star};
use diesel::pg::Pg;
use diesel::{BoolExpressionMethods, ExpressionMethods, OptionalExtension, QueryDsl, SelectableHelper};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use time::Duration;
use uuid::Uuid;

use crate::conflicts;
use crate::model::Assignment;
use crate::schema::dispatch_assignments as assignments;

/// Longer than any assignment.
const LONGEST: Duration = Duration::days(367);

type InScope = Filter<Filter<assignments::table, Owned<assignments::tenant_id>>, Within<assignments::organization_id>>;

/// Returns the assignments that are visible to the caller.
pub(crate) fn in_scope(scope: &Scope) -> InScope {
    assignments::table
        .filter(scope.owns(assignments::tenant_id))
        .filter(scope.within(assignments::organization_id))
}

/// The assignments that a list shows.
#[derive(Debug, Clone, Default)]
pub struct AssignmentFilter {
    /// Only these; `None` = all.
    pub ids: Option<Vec<Uuid>>,
    /// Only those that take time from the first instant to before the second one.
    pub interval: Option<(Timestamp, Timestamp)>,
    /// Only those on these job sites; `None` = all.
    pub job_sites: Option<Vec<Uuid>>,
    /// Only those with a subject of this type.
    pub subject_type: Option<&'static str>,
    /// Only those of these subjects; `None` = all.
    pub subjects: Option<Vec<Uuid>>,
    /// Any of these states; `None` = all.
    pub statuses: Option<Vec<&'static str>>,
    /// Only those with, or only those without a critical conflict.
    pub has_conflicts: Option<bool>,
}

fn requested<'a>(scope: &Scope, filter: &AssignmentFilter) -> assignments::BoxedQuery<'a, Pg> {
    let mut query = in_scope(scope).into_boxed();
    if let Some(ids) = &filter.ids {
        query = query.filter(assignments::id.one_of(ids.clone()));
    }
    if let Some((from, to)) = filter.interval {
        let starts = assignments::start_at
            .lt(to)
            .and(assignments::start_at.gt(from.before(LONGEST)));
        query = query.filter(starts.and(assignments::end_at.gt(from)));
    }
    if let Some(job_sites) = &filter.job_sites {
        query = query
            .filter(References::any_of(job_sites).condition::<assignments::table>("dispatch_assignments.job_site_id"));
    }
    if let Some(subject_type) = filter.subject_type {
        query = query.filter(assignments::subject_type.eq(subject_type));
    } else if filter.subjects.is_some() {
        query = query.filter(ResourceType::any_in("dispatch_assignments.subject_type"));
    }
    if let Some(subjects) = &filter.subjects {
        query = query
            .filter(References::any_of(subjects).condition::<assignments::table>("dispatch_assignments.subject_id"));
    }
    if let Some(statuses) = &filter.statuses {
        query = query.filter(assignments::status.eq_any(statuses.clone()));
    }
    match filter.has_conflicts {
        Some(true) => query.filter(conflicts::is_in_conflict()),
        Some(false) => query.filter(diesel::dsl::not(conflicts::is_in_conflict())),
        None => query,
    }
}

/// Returns a page of assignments by start, then id, and their total: two pipelined statements.
///
/// # Errors
/// When the database can't be reached.
pub async fn list(
    connection: &AsyncPgConnection,
    ctx: &RequestContext,
    filter: &AssignmentFilter,
    window: Window,
) -> Result<Page<Assignment>> {
    let scope = ctx.scope();
    let keys = Keys::ascending("dispatch_assignments.start_at", "dispatch_assignments.id");
    let rows = async |start: Start| {
        let page = start.of::<assignments::table, _>(requested(scope, filter));
        let page = page.order(keys.expression()).select(Assignment::as_select());
        start.limited(page).load(&mut &*connection).await
    };
    let total = requested(scope, filter).select(count_star());
    let id = |row: &Assignment| (row.tenant_id, row.id);
    window
        .fetch_from(ctx, connection, keys, id, rows, || {
            Prepared(total).get_result(&mut &*connection)
        })
        .await
}

/// Returns the assignment with this id, if it is visible.
///
/// # Errors
/// When the database can't be reached.
pub async fn find(connection: &AsyncPgConnection, scope: &Scope, id: Uuid) -> Result<Option<Assignment>> {
    let found = in_scope(scope)
        .filter(assignments::id.eq(id))
        .select(Assignment::as_select());
    Ok(Prepared(found).get_result(&mut &*connection).await.optional()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_without_a_type_are_searched_among_all_types() {
        let statement = |subject_type, subjects| {
            let filter = AssignmentFilter {
                subject_type,
                subjects,
                ..AssignmentFilter::default()
            };
            let query = requested(&Scope::tenant(Uuid::nil()), &filter);
            diesel::debug_query::<Pg, _>(&query).to_string()
        };
        let all = "dispatch_assignments.subject_type = any('{worker,equipment,vehicle}')";
        let ids = || Some(vec![Uuid::from_u128(1)]);

        assert!(statement(None, ids()).contains(all));
        assert!(!statement(Some("vehicle"), ids()).contains(all));
        assert!(!statement(None, None).contains(all));
    }
}
