//! The action log as a file.

use actix_web::http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use actix_web::web::Bytes;
use backoffice_core::access_log::{AccessType, Record};
use backoffice_core::http::{Query, Routes, Streamed, requires};
use backoffice_core::{RequestContext, Result, Timestamp};
use futures_util::StreamExt;
use futures_util::stream::try_unfold;
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn};
use uuid::Uuid;

use super::{check_organization, documented};
use crate::acl;
use crate::csv;
use crate::filter::{self, ActionFilter};
use crate::query::export::Cursor;
use crate::visibility::Viewer;

pub(super) fn routes(routes: &mut Routes) {
    routes
        .get(
            "/audit_logs/audit-logs/actions/export",
            requires(&[acl::VIEW_SELF]),
            export_actions,
        )
        .about("Export the action log as CSV")
        .reads("audit_logs.action")
        .invalid(filter::INVALID);
}

/// The query as pairs: a parameter may be repeated, and each has its own rules.
#[derive(Debug, Deserialize, garde::Validate)]
#[serde(transparent)]
#[garde(allow_unvalidated)]
struct ExportQuery {
    pairs: Vec<(String, String)>,
}

impl IntoParams for ExportQuery {
    fn into_params(parameter_in_provider: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        documented::<ExportParameters>(parameter_in_provider)
    }
}

/// The parameters, as the API document tells them.
#[derive(IntoParams)]
#[into_params(parameter_in = Query, rename_all = "camelCase")]
#[expect(dead_code, reason = "describes what `ActionFilter` reads by itself")]
struct ExportParameters {
    /// Exactly this organization.
    organization_id: Option<Uuid>,
    /// Actors: ids joined by commas, at most 100. Others than oneself need `audit_logs.view_tenant`.
    actor_user_id: Option<String>,
    /// Kind of the resource, for example `auth.role`.
    #[param(max_length = 100)]
    resource_kind: Option<String>,
    /// Id of the resource.
    #[param(max_length = 200)]
    resource_id: Option<String>,
    /// `create`, `edit`, `delete`, `assign`, joined by commas.
    action_type: Option<String>,
    /// Names of changed fields, joined by commas, at most 50; any of them suffices.
    field_name: Option<String>,
    /// Also entries about parts of the resource.
    include_related: Option<bool>,
    /// Only what the caller could undo now.
    undoable_only: Option<bool>,
    /// Entries at most; more than 1000 counts as 1000.
    #[param(minimum = 1, default = 1000)]
    limit: Option<u32>,
    /// `createdAt` (default), `user`, `action`, `field` or `source`.
    sort_field: Option<String>,
    /// `desc` (default) or `asc`.
    sort_dir: Option<String>,
    /// Only entries before this instant or date.
    before: Option<String>,
    /// Only entries after this instant or date.
    after: Option<String>,
}

async fn export_actions(ctx: RequestContext, query: Query<ExportQuery>) -> Result<Streamed> {
    let viewer = Viewer::new(&ctx)?;
    let filter = ActionFilter::read_export(&query.0.pairs)?;
    viewer.check_actors(filter.actors.as_deref())?;
    let mut connection = ctx.read().await?;
    check_organization(&mut connection, viewer, filter.organization).await?;
    // Before the cursor's transaction, which the client may break off.
    let columns: Map<String, Value> = csv::COLUMNS
        .map(|name| (name.to_owned(), Value::Null))
        .into_iter()
        .collect();
    ctx.log_reads(&connection, AccessType::Export, &[columns], |_| Record::all(None))
        .await?;
    drop(connection);
    let mut cursor = Cursor::open(viewer, &filter).await?;
    // Whatever is wrong with the statement shows here, before the first byte.
    let first = cursor.next().await?;
    let head = futures_util::stream::iter([Ok(Bytes::from(csv::header() + &csv::lines(&first)))]);
    let rest = try_unfold((cursor, first.is_empty()), |(mut cursor, ended)| async move {
        if ended {
            cursor.close().await?;
            return Ok(None);
        }
        let rows = cursor.next().await?;
        let ended = rows.is_empty();
        Ok(Some((Bytes::from(csv::lines(&rows)), (cursor, ended))))
    });
    Ok(Streamed {
        content_type: "text/csv; charset=utf-8",
        headers: vec![
            (CONTENT_DISPOSITION, disposition(ctx.now())?),
            (CACHE_CONTROL, HeaderValue::from_static("no-store")),
            (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        ],
        pieces: head.chain(rest).boxed(),
    })
}

fn disposition(now: Timestamp) -> Result<HeaderValue> {
    let stamp: String = now
        .to_string()
        .chars()
        .take(19)
        .filter(|c| !matches!(c, '-' | ':'))
        .collect();
    HeaderValue::try_from(format!("attachment; filename=\"action-log-{stamp}Z.csv\""))
        .map_err(|error| backoffice_core::Error::internal(error.to_string()))
}
