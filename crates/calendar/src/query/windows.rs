//! Reads of windows.

use backoffice_core::db::{KeyColumn, Prepared};
use backoffice_core::list::{Page, Window as PageWindow};
use backoffice_core::scope::{Owned, Within};
use backoffice_core::{RequestContext, Result, Scope, Timestamp};
use diesel::dsl::{Filter, count_star};
use diesel::pg::Pg;
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl, SelectableHelper};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use time::Duration;
use uuid::Uuid;

use crate::busy::BusyQuery;
use crate::day::Day;
use crate::model::Window;
use crate::plan::LONGEST;
use crate::schema::calendar_windows as windows;
use crate::subject::ResourceType;

type InScope = Filter<Filter<windows::table, Owned<windows::tenant_id>>, Within<windows::organization_id>>;

/// Returns the windows that are visible to the caller.
pub(crate) fn in_scope(scope: &Scope) -> InScope {
    windows::table
        .filter(scope.owns(windows::tenant_id))
        .filter(scope.within(windows::organization_id))
}

/// The windows that a list shows.
#[derive(Debug, Clone, Default)]
pub(crate) struct WindowFilter {
    pub(crate) ids: Option<Vec<Uuid>>,
    pub(crate) from: Option<Day>,
    pub(crate) to: Option<Day>,
    pub(crate) resource_type: Option<ResourceType>,
    pub(crate) resource_ids: Option<Vec<Uuid>>,
    pub(crate) reason_codes: Option<Vec<&'static str>>,
    pub(crate) series_id: Option<Uuid>,
}

/// Returns an instant before a day begins in any zone, and one after it begins in every zone.
fn margin(day: Day) -> (Timestamp, Timestamp) {
    let midnight = Timestamp::UNIX_EPOCH.after(Duration::days(day.days_since(Day::EPOCH)));
    (midnight.before(Duration::days(2)), midnight.after(Duration::days(2)))
}

fn requested<'a>(scope: &Scope, filter: &WindowFilter) -> windows::BoxedQuery<'a, Pg> {
    let mut query = in_scope(scope).into_boxed();
    if let Some(ids) = &filter.ids {
        query = query.filter(windows::id.one_of(ids.clone()));
    }
    if let Some(from) = filter.from {
        // A window is not longer than `LONGEST` days: the instants bound the range of the index.
        let earliest = margin(from).0.before(Duration::days(LONGEST));
        query = query
            .filter(windows::end_date_exclusive.gt(from))
            .filter(windows::start_at.gt(earliest));
    }
    if let Some(to) = filter.to {
        query = query
            .filter(windows::start_date.lt(to))
            .filter(windows::start_at.lt(margin(to).1));
    }
    query = of_resources(query, filter.resource_type, filter.resource_ids.as_deref());
    if let Some(codes) = &filter.reason_codes {
        query = query.filter(windows::reason_code.eq_any(codes.clone()));
    }
    if let Some(series) = filter.series_id {
        query = query.filter(windows::series_id.eq(series));
    }
    query
}

/// Keeps the windows of resources of this type, and of these resources. The index of resources begins with the type.
fn of_resources<'a>(
    mut query: windows::BoxedQuery<'a, Pg>,
    resource_type: Option<ResourceType>,
    ids: Option<&[Uuid]>,
) -> windows::BoxedQuery<'a, Pg> {
    if let Some(resource_type) = resource_type {
        query = query.filter(windows::resource_type.eq(resource_type.as_str()));
    } else if ids.is_some() {
        query = query.filter(ResourceType::any_in("calendar_windows.resource_type"));
    }
    match ids {
        Some(ids) => query.filter(windows::resource_id.one_of(ids.to_vec())),
        None => query,
    }
}

/// Returns a page of windows by start and id, and their total: two pipelined statements.
pub(crate) async fn list(
    connection: &AsyncPgConnection,
    ctx: &RequestContext,
    filter: &WindowFilter,
    page: PageWindow,
) -> Result<Page<Window>> {
    let rows = requested(ctx.scope(), filter)
        .order((windows::start_at, windows::id))
        .select(Window::as_select());
    let total = requested(ctx.scope(), filter).select(count_star());
    let rows = page.limited(rows).load(&mut &*connection);
    page.fetch(ctx, connection, rows, || Prepared(total).get_result(&mut &*connection))
        .await
}

/// Returns the window with this id, if it is visible.
pub(crate) async fn find(connection: &AsyncPgConnection, scope: &Scope, id: Uuid) -> Result<Option<Window>> {
    let found = in_scope(scope).filter(windows::id.eq(id)).select(Window::as_select());
    Ok(found.first(&mut &*connection).await.optional()?)
}

/// Returns the series of a window, if the window is visible and belongs to one.
pub(crate) async fn series_of(connection: &AsyncPgConnection, scope: &Scope, id: Uuid) -> Result<Option<Uuid>> {
    let found = in_scope(scope).filter(windows::id.eq(id)).select(windows::series_id);
    let series: Option<Option<Uuid>> = found.first(&mut &*connection).await.optional()?;
    Ok(series.flatten())
}

/// Returns the windows that meet an interval, by start and id.
pub(crate) async fn busy(connection: &AsyncPgConnection, scope: &Scope, request: &BusyQuery) -> Result<Vec<Window>> {
    let longest = Duration::days(LONGEST + 2);
    let query = in_scope(scope)
        .filter(windows::start_at.lt(request.to))
        .filter(windows::start_at.gt(request.from.before(longest)))
        .filter(windows::end_at.gt(request.from))
        .into_boxed::<Pg>();
    let rows = of_resources(query, request.resource_type, request.resource_ids.as_deref())
        .order((windows::start_at, windows::id))
        .limit(request.limit)
        .select(Window::as_select());
    Ok(Prepared(rows).load(&mut &*connection).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_without_a_type_are_searched_among_all_types() {
        let statement = |resource_type, resource_ids| {
            let filter = WindowFilter {
                resource_type,
                resource_ids,
                ..WindowFilter::default()
            };
            let query = requested(&Scope::tenant(Uuid::nil()), &filter);
            diesel::debug_query::<Pg, _>(&query).to_string()
        };
        let all = "calendar_windows.resource_type = any('{worker,equipment,vehicle}')";
        let ids = || Some(vec![Uuid::from_u128(1)]);

        assert!(statement(None, ids()).contains(all));
        assert!(!statement(Some(ResourceType::Vehicle), ids()).contains(all));
        assert!(!statement(None, None).contains(all));
    }
}
