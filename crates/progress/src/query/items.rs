//! Items of a job that the caller has found already.

use backoffice_core::Result;
use backoffice_core::db::Prepared;
use backoffice_core::list::{Page, Window};
use diesel::dsl::count_star;
use diesel::pg::Pg;
use diesel::{ExpressionMethods, QueryDsl, Queryable, Selectable, SelectableHelper};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

use crate::model::{ItemState, JobRow};
use crate::schema::progress_job_items as items;

/// Failed items that are shown with their job.
const MOST_FAILED: i64 = 100;

/// An item of a job.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = items, check_for_backend(Pg))]
pub struct ItemRow {
    /// Its place, from 0.
    pub position: i32,
    /// Kind of the resource.
    pub resource_kind: String,
    /// The resource.
    pub resource_id: Uuid,
    /// See [`ItemState`].
    pub state: String,
    /// The entry that says what was changed.
    pub log_id: Option<Uuid>,
    /// Why it failed, as a status.
    pub error_status: Option<i16>,
    /// The same for programs.
    pub error_code: Option<String>,
    /// The same for people.
    pub error_message: Option<String>,
}

/// Which items are listed; empty lists match nothing.
#[derive(Debug, Clone, Default)]
pub struct ItemFilter {
    /// Only those about these resources.
    pub resources: Option<Vec<Uuid>>,
    /// Only those in any of these states.
    pub states: Option<Vec<ItemState>>,
}

fn filtered<'a>(job: &JobRow, filter: &ItemFilter) -> items::BoxedQuery<'a, Pg> {
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

fn in_states<'a>(job: &JobRow, states: &[ItemState]) -> items::BoxedQuery<'a, Pg> {
    let filter = ItemFilter {
        resources: None,
        states: Some(states.to_vec()),
    };
    filtered(job, &filter)
}

/// A page of items by position and their total: two statements, sent together.
///
/// # Errors
/// When the database can't be reached.
pub async fn list(
    connection: &AsyncPgConnection,
    job: &JobRow,
    filter: &ItemFilter,
    window: Window,
) -> Result<Page<ItemRow>> {
    let page = filtered(job, filter)
        .order(items::position)
        .limit(window.limit())
        .offset(window.offset())
        .select(ItemRow::as_select());
    let total = filtered(job, filter).select(count_star());
    let page = Prepared(page).load::<ItemRow>(&mut &*connection);
    let total = Prepared(total).get_result::<i64>(&mut &*connection);
    let (rows, total) = futures_util::future::try_join(page, total).await?;
    Ok(window.page(rows, total))
}

/// The first items that failed.
///
/// # Errors
/// When the database can't be reached.
pub async fn first_failed(connection: &AsyncPgConnection, job: &JobRow) -> Result<Vec<ItemRow>> {
    // Those who watch a large job ask often, and none has failed as a rule.
    if job.failed_count == 0 {
        return Ok(Vec::new());
    }
    let failed = in_states(job, &[ItemState::Failed])
        .order(items::position)
        .limit(MOST_FAILED)
        .select(ItemRow::as_select());
    Ok(Prepared(failed).load(&mut &*connection).await?)
}

/// The resources that failed or that nobody came to, in their order.
///
/// # Errors
/// When the database can't be reached.
pub(crate) async fn left(connection: &AsyncPgConnection, job: &JobRow) -> Result<Vec<Uuid>> {
    let left = in_states(job, &[ItemState::Failed, ItemState::Pending])
        .order(items::position)
        .select(items::resource_id);
    Ok(Prepared(left).load(&mut &*connection).await?)
}
