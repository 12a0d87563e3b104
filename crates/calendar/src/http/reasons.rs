//! The dictionary of reasons.

use backoffice_core::http::{Json, Routes, requires};
use backoffice_core::{RequestContext, Result};
use serde::Serialize;
use utoipa::ToSchema;

use crate::acl;
use crate::query::reasons::{self, Reason};

pub(super) fn routes(routes: &mut Routes) {
    routes
        .get(
            "/calendar/unavailability-reasons",
            requires(&[acl::VIEW]),
            list_unavailability_reasons,
        )
        .shows(&["calendar.reason"])
        .kept()
        .about("List the reasons of unavailability by type of resources");
}

/// All reasons, by type of resources and position.
#[derive(Debug, Serialize, ToSchema)]
#[serde(transparent)]
#[schema(as = CalendarReasons)]
struct Reasons(Vec<Reason>);

async fn list_unavailability_reasons(ctx: RequestContext) -> Result<Json<Reasons>> {
    let connection = ctx.read().await?;
    ctx.read_version_first(&connection).await?;
    let rows = reasons::all(&connection, ctx.scope()).await?;
    Ok(Json(Reasons(rows)))
}
