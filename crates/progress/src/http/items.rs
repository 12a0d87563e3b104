//! The items of a job.

use backoffice_core::http::{CheckedQuery, Json, Path, Query, QueryInput};
use backoffice_core::list::{ById, CommaList, Page, PageQuery};
use backoffice_core::{RequestContext, Result, Violations};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::job_id::JobId;
use super::words::{ItemStates, JobItemState};
use crate::model::ItemState;
use crate::query::items::{ItemFilter, ItemRow};
use crate::{Error, query};

/// Parameters of the list of items; `id` and `ids` are ids of resources.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub(super) struct ItemQuery {
    /// Page number from 1.
    #[param(minimum = 1, maximum = 2_147_483_647, default = 1)]
    page: Option<u32>,
    /// Rows per page.
    #[param(minimum = 1, maximum = 100, default = 50)]
    page_size: Option<u32>,
    /// Any of `pending`, `succeeded`, `skipped` and `failed`: comma list or repeated.
    #[param(value_type = Option<Vec<ItemStates>>, inline)]
    state: Option<Vec<String>>,
}

impl ItemQuery {
    fn states(&self, violations: &mut Violations) -> Option<Vec<ItemState>> {
        let states = self.state.as_ref().map(|lists| {
            let lists = lists.iter().map(String::as_str);
            CommaList::new("state").parsed(lists, "must be states of items", ItemState::parse)
        });
        violations.keep(states.transpose())
    }
}

impl QueryInput for ItemQuery {
    fn validate(&self, violations: &mut Violations) {
        self.states(violations);
    }
}

/// An item of a job.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ItemOfJob {
    /// Position in the job, from 0.
    position: i32,
    /// Kind of the resource. Modules define the kinds: the set is open.
    resource_kind: String,
    resource_id: Uuid,
    /// `pending`, `succeeded`, `skipped` or `failed`.
    #[schema(value_type = JobItemState)]
    state: String,
    /// The log entry of the change.
    log_id: Option<Uuid>,
    /// The error of a failed item.
    error: Option<ItemError>,
}

/// The error of a failed item.
#[derive(Debug, Serialize, ToSchema)]
struct ItemError {
    /// HTTP status of the error.
    status: i16,
    code: Option<String>,
    message: Option<String>,
}

impl From<ItemRow> for ItemOfJob {
    fn from(row: ItemRow) -> Self {
        let (code, message) = (row.error_code, row.error_message);
        Self {
            position: row.position,
            resource_kind: row.resource_kind,
            resource_id: row.resource_id,
            state: row.state,
            log_id: row.log_id,
            error: row.error_status.map(|status| ItemError { status, code, message }),
        }
    }
}

pub(super) async fn list_items(
    ctx: RequestContext,
    path: Path<JobId>,
    query: CheckedQuery<ItemQuery>,
    by_id: Query<ById>,
) -> Result<Json<Page<ItemOfJob>>> {
    let query = query.0;
    let mut violations = Violations::default();
    let window = violations.keep(PageQuery::new(query.page, query.page_size).window());
    let filter = ItemFilter {
        resources: violations.keep(by_id.0.requested()),
        states: query.states(&mut violations),
    };
    violations.check()?;
    let id = path.0.get()?;
    let connection = ctx.read().await?;
    let job = query::jobs::find(&connection, &ctx, id).await?.ok_or(Error::NotFound)?;
    let page = query::items::list(&connection, &ctx, &job, &filter, window).await?;
    Ok(Json(page.map(ItemOfJob::from)))
}
