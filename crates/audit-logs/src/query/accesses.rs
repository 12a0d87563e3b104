//! Reads of the access log. Every statement starts from [`visible`], which limits it to the entries that the caller may see.

use backoffice_core::collections::{self, BESIDE_ACCESS_LOG, Version};
use backoffice_core::config;
use backoffice_core::db::{Connection, KeyColumn, Prepared};
use backoffice_core::ids::PLATFORM_TENANT;
use backoffice_core::list::{Added, AddedRows, Limited};
use backoffice_core::{Result, Timestamp, version_times};
use diesel::pg::Pg;
use diesel::sql_types::{Array, BigInt, Text, Timestamptz, Uuid as SqlUuid};
use diesel::{
    BoolExpressionMethods, ExpressionMethods, NullableExpressionMethods, QueryDsl, QueryResult, Queryable, Selectable,
    SelectableHelper, dsl,
};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::future::try_join;
use serde_json::Value;
use uuid::Uuid;

use super::{lowest_id, organization_name, tenant_name, visible_entries};
use crate::filter::AccessFilter;
use crate::foreign::{
    audit_access_logs as logs, directory_organizations as organizations, directory_tenants as tenants,
};
use crate::visibility::Viewer;

/// An entry.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = logs, check_for_backend(Pg))]
pub(crate) struct AccessRow {
    pub(crate) tenant_id: Uuid,
    pub(crate) id: Uuid,
    pub(crate) organization_id: Option<Uuid>,
    pub(crate) actor_kind: String,
    pub(crate) actor_id: Option<Uuid>,
    pub(crate) actor_name: Option<String>,
    pub(crate) resource_kind: String,
    pub(crate) resource_id: String,
    pub(crate) access_type: String,
    pub(crate) fields: Vec<String>,
    pub(crate) context: Option<Value>,
    pub(crate) created_at: Timestamp,
}

/// An entry with the names of its tenant and organization, if these exist.
pub(crate) type NamedRow = (AccessRow, Option<String>, Option<String>);

type Boxed<'a> = dsl::IntoBoxed<'a, logs::table, Pg>;

/// Milliseconds by which an entry's id may be older than its `created_at`: the longest window that can be configured.
const LONGEST_WINDOW: i64 = config::LONGEST_WINDOW as i64 * 1000;

visible_entries!(logs);

fn filtered<'a>(viewer: Viewer<'a>, filter: &'a AccessFilter) -> Boxed<'a> {
    let mut query = visible(viewer);
    if let Some(id) = filter.id {
        query = query.filter(logs::id.eq(id));
    }
    if let Some(ids) = &filter.ids {
        query = query.filter(logs::id.one_of(ids));
    }
    if let Some(organization) = filter.organization {
        query = query.filter(logs::organization_id.eq(organization));
    }
    if let Some(actor) = filter.actor {
        query = query.filter(logs::actor_id.eq(actor));
    }
    if let Some(kind) = &filter.resource_kind {
        query = query.filter(logs::resource_kind.eq(kind));
    }
    if let Some(access) = &filter.access_type {
        query = query.filter(logs::access_type.eq(access));
    }
    // The ids exclude the partitions of months outside the range and in the future.
    let end = filter.before.map_or(i64::MAX, Timestamp::unix_millis);
    query = query.filter(logs::id.lt(lowest_id(end.min(viewer.horizon()))));
    if let Some(before) = filter.before {
        query = query.filter(logs::created_at.lt(before));
    }
    if let Some(after) = filter.after {
        query = query.filter(logs::created_at.gt(after).and(logs::id.ge(lowest_of(after))));
    }
    query
}

/// Returns the lowest id of entries that were added at this time.
fn lowest_of(time: Timestamp) -> Uuid {
    lowest_id(time.unix_millis() - LONGEST_WINDOW)
}

/// Returns an aggregate of the versions that count for the log. Sub-queries hide the number of tenants and kinds from PostgreSQL, which would
/// otherwise plan each execution.
macro_rules! of_versions {
    ($aggregate:expr, $tenants:expr) => {
        dsl::sql::<BigInt>(concat!(
            "(select ",
            $aggregate,
            " from core_collections c where c.tenant_id = any(array(select unnest("
        ))
        .bind::<Array<SqlUuid>, _>($tenants.to_vec())
        .sql("))) and c.kind = any(array(select unnest(")
        .bind::<Array<Text>, _>(BESIDE_ACCESS_LOG.to_vec())
        .sql("))))")
    };
}

/// Counts entries, and reads the version of the log: one statement.
async fn count(
    mut connection: &AsyncPgConnection,
    viewer: Viewer<'_>,
    filter: &AccessFilter,
    added: Added,
) -> Result<AddedRows> {
    let mut entries = filtered(viewer, filter);
    if let Some(from) = added.from {
        entries = entries.filter(logs::created_at.ge(from).and(logs::id.ge(lowest_of(from))));
    }
    let before = dsl::sql::<BigInt>("count(*) filter (where audit_access_logs.created_at < ")
        .bind::<Timestamptz, _>(added.split)
        .sql(")");
    let own = viewer.ctx.identity().tenant;
    let tenants = collections::counting(viewer.ctx.scope().visible_tenants.one().unwrap_or(own), own);
    let number = of_versions!("coalesce(sum(c.version), 0)::bigint", tenants);
    let times = of_versions!(version_times!(sum "c.updated_at"), tenants);
    let statement = entries.select((before, dsl::count_star(), number, times));
    let (before, all, number, times) = Prepared(statement).get_result(&mut connection).await?;
    let (before, all): (i64, i64) = (before, all);
    Ok(AddedRows {
        before,
        since: all - before,
        version: Version::new(number, times),
    })
}

/// Returns the rows of the window: one statement.
async fn rows(
    mut connection: &AsyncPgConnection,
    viewer: Viewer<'_>,
    filter: &AccessFilter,
) -> QueryResult<Vec<NamedRow>> {
    let newest_first = || (logs::created_at.desc(), logs::id.desc());
    let shown = (AccessRow::as_select(), tenant_name!(logs), organization_name!(logs));
    let (size, start) = (filter.paging.size, filter.paging.start);
    let list = filtered(viewer, filter).order(newest_first());
    // The primary key finds an entry by its id within one tenant.
    let is_of_tenant = viewer.ctx.scope().visible_tenants.one().is_some();
    if start == 0 || !is_of_tenant {
        let page = Limited::new(list.select(shown), size, start);
        return page.load(&mut connection).await;
    }
    // The ids first: PostgreSQL would look up the names beside the skipped entries too.
    let page = list.select(logs::id).limit(size).offset(start);
    let named = visible(viewer).filter(logs::id.eq_any(page)).order(newest_first());
    Prepared(named.select(shown)).load(&mut connection).await
}

/// Returns the rows of the window and the total: two pipelined statements, and a third one if the version of the log has changed.
pub(crate) async fn page(
    connection: &Connection,
    viewer: Viewer<'_>,
    filter: &AccessFilter,
) -> Result<(Vec<NamedRow>, i64)> {
    let shared: &AsyncPgConnection = connection;
    let rows = async { Ok(rows(shared, viewer, filter).await?) };
    let total = viewer
        .ctx
        .count_added(async |added| count(shared, viewer, filter, added).await);
    try_join(rows, total).await
}
