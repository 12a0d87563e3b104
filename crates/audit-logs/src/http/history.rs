//! Undo and redo.

use backoffice_core::http::{Json, Routes, requires};
use backoffice_core::input::Input;
use backoffice_core::{Rejection, RequestContext, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::acl;
use crate::visibility::Viewer;

pub(super) fn routes(routes: &mut Routes) {
    routes
        .post(
            "/audit_logs/audit-logs/actions/undo",
            requires(&[acl::UNDO_SELF]),
            undo_action,
        )
        .across_tenants()
        .about("Undo an action")
        .invalid("Invalid undo token")
        .rejects(&[422]);
    routes
        .post(
            "/audit_logs/audit-logs/actions/redo",
            requires(&[acl::REDO_SELF]),
            redo_action,
        )
        .across_tenants()
        .about("Redo an undone action")
        .invalid("Invalid log id")
        .rejects(&[422]);
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct UndoRequest {
    /// The token of an entry that the caller has received, of an action that can be undone now.
    #[serde(default)]
    #[schema(
        value_type = String,
        required = true,
        pattern = r"^ *[A-Za-z0-9_-]{21}[AQgw]\.[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048] *$"
    )]
    undo_token: Value,
}

impl Input for UndoRequest {}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Undone {
    ok: bool,
    /// The entry that was undone.
    log_id: Uuid,
    /// The entry of the undo.
    trace_log_id: Uuid,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct RedoRequest {
    /// The undone entry: the latest one of its resource, which can be redone now.
    #[serde(default)]
    #[schema(value_type = Uuid, required = true)]
    log_id: Value,
}

impl Input for RedoRequest {}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Redone {
    ok: bool,
    /// The entry of the redo.
    log_id: Uuid,
    /// The token to undo it.
    undo_token: Option<String>,
    /// The entry that was redone.
    source_log_id: Uuid,
}

async fn undo_action(ctx: RequestContext, body: Json<UndoRequest>) -> Result<Json<Undone>> {
    Viewer::new(&ctx)?;
    let Some(token) = body.0.undo_token.as_str() else {
        return Err(Rejection::bad_request("Invalid undo token").into());
    };
    ctx.undo(token, acl::UNDO_TENANT, |outcome| {
        Json(Undone {
            ok: true,
            log_id: outcome.source_log_id,
            trace_log_id: outcome.log_id,
        })
    })
    .await
}

async fn redo_action(ctx: RequestContext, body: Json<RedoRequest>) -> Result<Json<Redone>> {
    Viewer::new(&ctx)?;
    let Some(log_id) = body.0.log_id.as_str().and_then(|id| id.trim().parse::<Uuid>().ok()) else {
        return Err(Rejection::bad_request("Invalid log id").into());
    };
    ctx.redo(log_id, acl::REDO_TENANT, |outcome| {
        Json(Redone {
            ok: true,
            log_id: outcome.log_id,
            undo_token: outcome.undo_token,
            source_log_id: outcome.source_log_id,
        })
    })
    .await
}
