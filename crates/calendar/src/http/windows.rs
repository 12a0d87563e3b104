//! Endpoints of windows.

use backoffice_core::http::{
    CheckedQuery, Created, CreatedId, Json, Path, PathId, Query, QueryInput, Routes, requires,
};
use backoffice_core::list::{ById, IdList, Page, PageQuery, parameters};
use backoffice_core::{Detail, Patch, Rejection, RequestContext, Result, Violations, crud, missing_as};
use serde::Deserialize;
use utoipa::IntoParams;
use uuid::Uuid;

use super::bodies::{ChangedRecord, DeletedRecord};
use crate::acl;
use crate::commands::{DeleteWindow, NewWindow, UpdateWindow, WindowChanges};
use crate::day::Day;
use crate::documented::{CalendarReasonCodes, CalendarResourceType};
use crate::model::{WINDOW, Window};
use crate::query::windows::{self, WindowFilter};
use crate::reasons;
use crate::subject::ResourceType;

const LIST: &str = "/calendar/availability-windows";
const ONE: &str = "/calendar/availability-windows/{id}";
const NOT_FOUND: &str = "window_not_found";
/// Rows of a page by default.
pub(super) const PAGE_SIZE: u32 = 20;

pub(super) fn routes(routes: &mut Routes) {
    routes
        .get(LIST, requires(&[acl::VIEW]), list_availability_windows)
        .shows(&[WINDOW])
        .about("List windows of unavailability by their start");
    routes
        .get(ONE, requires(&[acl::VIEW]), get_availability_window)
        .shows(&[WINDOW])
        .about("A window of unavailability")
        .rejects(&[404]);
    routes
        .post(LIST, requires(&[acl::MANAGE]), create_availability_window)
        .about("Create a window of unavailability")
        .rejects(&[409, 422]);
    routes
        .put(ONE, requires(&[acl::MANAGE]), update_availability_window)
        .about("Change a window of unavailability")
        .rejects(&[404, 409, 422]);
    routes
        .delete(ONE, requires(&[acl::MANAGE]), delete_availability_window)
        .about("Delete a window of unavailability")
        .rejects(&[404, 409, 422]);
}

/// Parameters of the list of windows.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct WindowQuery {
    /// Page number from 1.
    #[param(minimum = 1, maximum = 2_147_483_647, default = 1)]
    page: Option<u32>,
    /// Rows per page.
    #[param(minimum = 1, maximum = 100, default = 20)]
    page_size: Option<u32>,
    /// Only windows that end after the start of this day.
    #[param(value_type = Option<Day>, inline)]
    from: Option<String>,
    /// Only windows that start before this day.
    #[param(value_type = Option<Day>, inline)]
    to: Option<String>,
    /// Only windows of resources of this type.
    #[param(value_type = Option<CalendarResourceType>, inline)]
    resource_type: Option<String>,
    /// Only windows of these resources: ids joined by commas, at most 200.
    #[param(value_type = Option<IdList>, inline)]
    resource_ids: Option<String>,
    /// Only windows with these reasons: codes joined by commas, at most 200.
    #[param(value_type = Option<CalendarReasonCodes>, inline)]
    reason_codes: Option<String>,
    /// Only windows of this series.
    #[param(value_type = Option<Uuid>)]
    series_id: Option<String>,
}

impl WindowQuery {
    fn filter(&self, violations: &mut Violations) -> WindowFilter {
        let series = self.series_id.as_deref().map(|text| {
            let parsed = text
                .parse()
                .map_err(|_| Detail::new("seriesId", "must be a UUID", "invalid_value"));
            violations.keep(parsed)
        });
        WindowFilter {
            ids: None,
            from: Day::from_parameter("from", self.from.as_deref(), violations),
            to: Day::from_parameter("to", self.to.as_deref(), violations),
            resource_type: ResourceType::from_parameter("resourceType", self.resource_type.as_deref(), violations),
            resource_ids: parameters::ids("resourceIds", self.resource_ids.as_deref(), violations),
            reason_codes: parameters::words(
                "reasonCodes",
                self.reason_codes.as_deref(),
                &reasons::codes(),
                violations,
            ),
            series_id: series,
        }
    }
}

impl QueryInput for WindowQuery {
    fn validate(&self, violations: &mut Violations) {
        self.filter(violations);
    }
}

async fn list_availability_windows(
    ctx: RequestContext,
    by_id: Query<ById>,
    query: CheckedQuery<WindowQuery>,
) -> Result<Json<Page<Window>>> {
    let mut violations = Violations::default();
    let page = PageQuery::new(query.0.page, query.0.page_size.or(Some(PAGE_SIZE)));
    let page = violations.keep(page.window());
    let filter = WindowFilter {
        ids: violations.keep(by_id.0.requested()),
        ..query.0.filter(&mut violations)
    };
    violations.check()?;
    let connection = ctx.read().await?;
    windows::list(&connection, &ctx, &filter, page).await.map(Json)
}

async fn get_availability_window(ctx: RequestContext, path: Path<PathId>) -> Result<Json<Window>> {
    let connection = ctx.read().await?;
    let found = windows::find(&connection, ctx.scope(), path.0.id).await?;
    missing_as(crud::found::<Window, _>(found), NOT_FOUND)
}

async fn create_availability_window(ctx: RequestContext, body: Json<NewWindow>) -> Result<Created<CreatedId>> {
    crud::create::<Window>(&ctx, body.0.0).await
}

async fn update_availability_window(
    ctx: RequestContext,
    path: Path<PathId>,
    body: Json<WindowChanges>,
) -> Result<Json<ChangedRecord>> {
    let id = path.0.id;
    check_id(id, &body.0.0.id)?;
    let command = UpdateWindow::new(id, series_of(&ctx, id).await?, body.0.0)?;
    let updated = ctx.execute(&command, |_| Json(ChangedRecord { id })).await;
    missing_as(updated, NOT_FOUND)
}

async fn delete_availability_window(ctx: RequestContext, path: Path<PathId>) -> Result<Json<DeletedRecord>> {
    let id = path.0.id;
    let command = DeleteWindow::new(id, series_of(&ctx, id).await?);
    let deleted = ctx.execute(&command, |()| Json(DeletedRecord::OK)).await;
    missing_as(deleted, NOT_FOUND)
}

/// Returns the series of a window, which never changes.
pub(crate) async fn series_of(ctx: &RequestContext, id: Uuid) -> Result<Option<Uuid>> {
    let connection = ctx.read().await?;
    windows::series_of(&connection, ctx.scope(), id).await
}

/// Rejects an id in a body that differs from that of the path.
pub(super) fn check_id(path: Uuid, body: &Patch<String>) -> Result<()> {
    match body {
        Patch::Keep => Ok(()),
        Patch::Set(text) if text.parse() == Ok(path) => Ok(()),
        Patch::Set(_) | Patch::Clear => {
            let message = "must be the id of the path, or absent";
            Err(Rejection::invalid_field("id", message, "id_mismatch").into())
        }
    }
}
