//! Reads of the access log. Every statement starts from [`visible`], which limits it to the entries that the caller may see.

use backoffice_core::config;
use backoffice_core::db::{Connection, KeyColumn};
use backoffice_core::ids::PLATFORM_TENANT;
use backoffice_core::{Result, Timestamp};
use diesel::pg::Pg;
use diesel::{
    BoolExpressionMethods, ExpressionMethods, NullableExpressionMethods, QueryDsl, Queryable, Selectable,
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
        let lowest = lowest_id(after.unix_millis() - LONGEST_WINDOW);
        query = query.filter(logs::created_at.gt(after).and(logs::id.ge(lowest)));
    }
    query
}

/// Returns the rows of the window and the total: two pipelined statements.
pub(crate) async fn page(
    connection: &Connection,
    viewer: Viewer<'_>,
    filter: &AccessFilter,
) -> Result<(Vec<NamedRow>, i64)> {
    let list = filtered(viewer, filter)
        .order((logs::created_at.desc(), logs::id.desc()))
        .offset(filter.paging.start)
        .limit(filter.paging.size)
        .select((AccessRow::as_select(), tenant_name!(logs), organization_name!(logs)));
    let shared: &AsyncPgConnection = connection;
    let (mut first, mut second) = (shared, shared);
    let count = filtered(viewer, filter).count().get_result::<i64>(&mut second);
    Ok(try_join(list.load::<NamedRow>(&mut first), count).await?)
}
