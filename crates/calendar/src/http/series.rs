//! Endpoints of series.

use backoffice_core::command::Entity;
use backoffice_core::http::{CheckedQuery, Created, Json, Path, PathId, QueryInput, Routes, requires};
use backoffice_core::{Rejection, RequestContext, Result, Violations, missing_as};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::bodies::DeletedRecord;
use super::windows::check_id;
use crate::acl;
use crate::commands::{CreateSeries, DeleteSeries, NewSeries, SeriesChanges, SeriesWindows, UpdateSeries};
use crate::day::Day;
use crate::model::{SERIES, Series, SeriesRow};
use crate::query::series;

const LIST: &str = "/calendar/availability-series";
const ONE: &str = "/calendar/availability-series/{id}";
const NOT_FOUND: &str = "series_not_found";

pub(super) fn routes(routes: &mut Routes) {
    routes
        .get(ONE, requires(&[acl::VIEW]), get_availability_series)
        .shows(&[SERIES])
        .about("A series of windows of unavailability")
        .rejects(&[404]);
    routes
        .post(LIST, requires(&[acl::MANAGE]), create_availability_series)
        .about("Create a series of windows of unavailability")
        .rejects(&[409, 422]);
    routes
        .put(ONE, requires(&[acl::MANAGE]), update_availability_series)
        .about("Change the windows of a series from a day on")
        .rejects(&[404, 409, 422]);
    routes
        .delete(ONE, requires(&[acl::MANAGE]), delete_availability_series)
        .about("Delete a series with its windows, or end it before a day")
        .rejects(&[404, 409, 422]);
}

/// A series and the number of windows that were created.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[schema(as = CalendarSeriesWindows)]
struct SeriesWindowsItem {
    /// The series.
    id: Uuid,
    /// The number of windows that were created.
    count: usize,
}

impl From<SeriesWindows> for SeriesWindowsItem {
    fn from(written: SeriesWindows) -> Self {
        Self {
            id: written.id,
            count: written.count,
        }
    }
}

/// The day from which a series ends.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct EndQuery {
    /// First day without an occurrence; without it, the series is deleted.
    #[param(value_type = Option<Day>, inline)]
    from: Option<String>,
}

impl EndQuery {
    fn day(&self, violations: &mut Violations) -> Option<Day> {
        Day::from_parameter("from", self.from.as_deref(), violations)
    }
}

impl QueryInput for EndQuery {
    fn validate(&self, violations: &mut Violations) {
        self.day(violations);
    }
}

async fn get_availability_series(ctx: RequestContext, path: Path<PathId>) -> Result<Json<SeriesRow>> {
    let connection = ctx.read().await?;
    let found = series::find(&connection, ctx.scope(), path.0.id).await?;
    missing_as(
        found
            .map(Json)
            .ok_or_else(|| Rejection::not_found(Series::NOT_FOUND).into()),
        NOT_FOUND,
    )
}

async fn create_availability_series(ctx: RequestContext, body: Json<NewSeries>) -> Result<Created<SeriesWindowsItem>> {
    let command = CreateSeries::new(&ctx, &body.0.0)?;
    ctx.execute(&command, |written| Created(written.into())).await
}

async fn update_availability_series(
    ctx: RequestContext,
    path: Path<PathId>,
    body: Json<SeriesChanges>,
) -> Result<Json<SeriesWindowsItem>> {
    check_id(path.0.id, &body.0.0.id)?;
    let command = UpdateSeries::new(path.0.id, body.0.0)?;
    let updated = ctx.execute(&command, |written| Json(written.into())).await;
    missing_as(updated, NOT_FOUND)
}

async fn delete_availability_series(
    ctx: RequestContext,
    path: Path<PathId>,
    query: CheckedQuery<EndQuery>,
) -> Result<Json<DeletedRecord>> {
    let mut violations = Violations::default();
    let from = query.0.day(&mut violations);
    violations.check()?;
    let id = path.0.id;
    let deleted = match from {
        Some(from) => {
            let command = UpdateSeries::ending(id, from);
            ctx.execute(&command, |_| Json(DeletedRecord::OK)).await
        }
        None => ctx.execute(&DeleteSeries::new(id), |()| Json(DeletedRecord::OK)).await,
    };
    missing_as(deleted, NOT_FOUND)
}
