//! Items of a job that is visible to the caller.

use backoffice_core::db::Prepared;
use backoffice_core::list::{Page, Window};
use backoffice_core::{RequestContext, Result};
use diesel::dsl::count_star;
use diesel::pg::Pg;
use diesel::{ExpressionMethods, QueryDsl, Queryable, Selectable, SelectableHelper};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

use crate::model::{ItemState, ProgressJob};
use crate::schema::progress_job_items as items;

/// Maximum number of failed items in the response for a job.
const MOST_FAILED: i64 = 100;

/// An item of a job.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = items, check_for_backend(Pg))]
pub struct ItemRow {
    /// Position in the job, from 0.
    pub position: i32,
    /// The resource kind.
    pub resource_kind: String,
    /// The resource.
    pub resource_id: Uuid,
    /// The state, see [`ItemState`].
    pub state: String,
    /// The log entry of the change.
    pub log_id: Option<Uuid>,
    /// HTTP status of the error.
    pub error_status: Option<i16>,
    /// Machine-readable code of the error.
    pub error_code: Option<String>,
    /// Human-readable message of the error.
    pub error_message: Option<String>,
}

/// Filters of a list of items; empty lists match nothing.
#[derive(Debug, Clone, Default)]
pub struct ItemFilter {
    /// Only items of these resources.
    pub resources: Option<Vec<Uuid>>,
    /// Only items in any of these states.
    pub states: Option<Vec<ItemState>>,
}

fn filtered<'a>(job: &ProgressJob, filter: &ItemFilter) -> items::BoxedQuery<'a, Pg> {
    let mut query = items::table
        .filter(items::tenant_id.eq(job.tenant_id))
        .filter(items::job_id.eq(job.id))
        .into_boxed();
    if let Some(resources) = &filter.resources {
        query = query.filter(items::resource_id.eq_any(resources.clone()));
    }
    if let Some(states) = &filter.states {
        let words: Vec<&'static str> = states.iter().map(|state| state.as_str()).collect();
        query = query.filter(items::state.eq_any(words));
    }
    query
}

fn in_states<'a>(job: &ProgressJob, states: &[ItemState]) -> items::BoxedQuery<'a, Pg> {
    let filter = ItemFilter {
        resources: None,
        states: Some(states.to_vec()),
    };
    filtered(job, &filter)
}

/// Returns a page of items by position and their total: two pipelined statements.
///
/// # Errors
/// When the database can't be reached.
pub async fn list(
    connection: &AsyncPgConnection,
    ctx: &RequestContext,
    job: &ProgressJob,
    filter: &ItemFilter,
    window: Window,
) -> Result<Page<ItemRow>> {
    let page = filtered(job, filter)
        .order(items::position)
        .select(ItemRow::as_select());
    let total = filtered(job, filter).select(count_star());
    let page = window.limited(page).load::<ItemRow>(&mut &*connection);
    let total = || Prepared(total).get_result::<i64>(&mut &*connection);
    window.fetch(ctx, connection, page, total).await
}

/// Returns the first failed items.
///
/// # Errors
/// When the database can't be reached.
pub async fn first_failed(connection: &AsyncPgConnection, job: &ProgressJob) -> Result<Vec<ItemRow>> {
    // Clients poll large jobs often, and usually no item has failed.
    if job.failed_count == 0 {
        return Ok(Vec::new());
    }
    let failed = in_states(job, &[ItemState::Failed])
        .order(items::position)
        .limit(MOST_FAILED)
        .select(ItemRow::as_select());
    Ok(Prepared(failed).load(&mut &*connection).await?)
}

/// Returns the resources of failed and unprocessed items, in their order.
///
/// # Errors
/// When the database can't be reached.
pub(crate) async fn left(connection: &AsyncPgConnection, job: &ProgressJob) -> Result<Vec<Uuid>> {
    let left = in_states(job, &[ItemState::Failed, ItemState::Pending])
        .order(items::position)
        .select(items::resource_id);
    Ok(Prepared(left).load(&mut &*connection).await?)
}
