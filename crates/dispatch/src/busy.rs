//! Assignments as busy intervals of the calendar.

use backoffice_calendar::{Busy, BusyInterval, BusyQuery, Day, ResourceType};
use backoffice_core::db::{KeyColumn, Prepared};
use backoffice_core::{Result, Scope, Timestamp};
use diesel::pg::Pg;
use diesel::{BoolExpressionMethods, ExpressionMethods, JoinOnDsl, QueryDsl};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::future::BoxFuture;
use time::Duration;
use uuid::Uuid;

use crate::model::is_live;
use crate::query;
use crate::schema::{
    dispatch_assignments as assignments, dispatch_job_sites as job_sites, dispatch_resources as resources,
};

/// Live assignments.
pub(crate) const ASSIGNMENTS: Busy = Busy {
    source: "assignment",
    included_as: "assignments",
    find,
};

/// Longer than any assignment.
const LONGEST: Duration = Duration::days(367);

type Row = (
    (Uuid, Uuid, Timestamp, Timestamp),
    (Option<Day>, Option<Day>),
    (String, String, Option<String>),
    Timestamp,
);

fn find<'a>(
    connection: &'a AsyncPgConnection,
    scope: &'a Scope,
    request: &'a BusyQuery,
) -> BoxFuture<'a, Result<Vec<BusyInterval>>> {
    Box::pin(async move {
        let mut rows = query::assignments::in_scope(scope)
            .inner_join(
                job_sites::table.on(job_sites::tenant_id
                    .eq(assignments::tenant_id)
                    .and(job_sites::id.eq(assignments::job_site_id))),
            )
            .inner_join(
                resources::table.on(resources::tenant_id
                    .eq(assignments::tenant_id)
                    .and(resources::id.eq(assignments::subject_id))),
            )
            .filter(is_live())
            .filter(assignments::start_at.lt(request.to))
            .filter(assignments::start_at.gt(request.from.before(LONGEST)))
            .filter(assignments::end_at.gt(request.from))
            .into_boxed::<Pg>();
        if let Some(resource_type) = request.resource_type {
            rows = rows.filter(assignments::subject_type.eq(resource_type.as_str()));
        } else if request.resource_ids.is_some() {
            rows = rows.filter(ResourceType::any_in("dispatch_assignments.subject_type"));
        }
        if let Some(ids) = &request.resource_ids {
            rows = rows.filter(assignments::subject_id.one_of(ids));
        }
        if let Some(ids) = &request.job_site_ids {
            rows = rows.filter(assignments::job_site_id.one_of(ids));
        }
        let rows = rows
            .order((assignments::start_at, assignments::id))
            .limit(request.limit)
            .select((
                (
                    assignments::id,
                    assignments::subject_id,
                    assignments::start_at,
                    assignments::end_at,
                ),
                (assignments::start_date, assignments::end_date_exclusive),
                (resources::name, job_sites::name, job_sites::address),
                assignments::updated_at,
            ));
        let rows: Vec<Row> = Prepared(rows).load(&mut &*connection).await?;
        Ok(rows.into_iter().map(interval).collect())
    })
}

fn interval(
    ((id, resource_id, start_at, end_at), (first, end), (resource, site, address), updated_at): Row,
) -> BusyInterval {
    BusyInterval {
        id,
        resource_id,
        start_at,
        end_at,
        days: first.zip(end),
        summary: format!("{resource}: {site}"),
        location: Some(address.unwrap_or(site)),
        updated_at,
    }
}
