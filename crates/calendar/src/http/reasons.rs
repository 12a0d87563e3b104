//! The dictionary of reasons.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::{CACHE_CONTROL, HeaderValue};
use backoffice_core::http::{Json, Response, Routes, Schemas, requires};
use backoffice_core::{RequestContext, Result};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa::openapi::path::OperationBuilder;

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
        .about("List the reasons of unavailability by type of resources");
}

/// All reasons, by type of resources and position.
#[derive(Debug, Serialize, ToSchema)]
#[serde(transparent)]
#[schema(as = CalendarReasons)]
struct Reasons(Vec<Reason>);

/// The response with all reasons. The client may keep them and asks whether they have changed.
struct ReasonList(Json<Reasons>);

impl Response for ReasonList {
    fn status(&self) -> StatusCode {
        self.0.status()
    }

    fn to_value(&self) -> Result<Value> {
        self.0.to_value()
    }

    fn into_response(self) -> HttpResponse {
        let mut response = self.0.into_response();
        let value = HeaderValue::from_static("private, no-cache");
        response.headers_mut().insert(CACHE_CONTROL, value);
        response
    }

    fn describe(operation: OperationBuilder, schemas: &mut Schemas) -> OperationBuilder {
        Json::<Reasons>::describe(operation, schemas)
    }
}

async fn list_unavailability_reasons(ctx: RequestContext) -> Result<ReasonList> {
    let connection = ctx.read().await?;
    ctx.read_version_first(&connection).await?;
    let rows = reasons::all(&connection, ctx.scope()).await?;
    Ok(ReasonList(Json(Reasons(rows))))
}
