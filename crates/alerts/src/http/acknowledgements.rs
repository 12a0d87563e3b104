//! Acknowledgements of alerts, for everybody.

use backoffice_core::http::{Json, Path, PathId, Routes, requires};
use backoffice_core::{RequestContext, Result};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::items::{AcknowledgedItem, NamedId};
use crate::acl;
use crate::commands::{AcknowledgeAlert, Acknowledgement, UnacknowledgeAlert};
use crate::error::with_code;
use crate::model::Alert;

const ACKNOWLEDGE: &str = "/alerts/alerts/{id}/acknowledge";

pub(super) fn routes(routes: &mut Routes) {
    routes
        .post(ACKNOWLEDGE, requires(&[acl::MANAGE]), acknowledge_alert)
        .about("Acknowledge an alert: its conflict is known and intended")
        .rejects(&[404, 409, 422]);
    routes
        .delete(ACKNOWLEDGE, requires(&[acl::MANAGE]), unacknowledge_alert)
        .about("Withdraw the acknowledgement of an alert")
        .rejects(&[404, 409, 422]);
}

/// The acknowledgement of an alert.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct AlertAcknowledgementState {
    /// The alert.
    id: Uuid,
    /// The acknowledgement; null after it was withdrawn.
    #[schema(required = true)]
    acknowledged: Option<AcknowledgedItem>,
}

async fn acknowledge_alert(
    ctx: RequestContext,
    path: Path<PathId>,
    body: Json<Acknowledgement>,
) -> Result<Json<AlertAcknowledgementState>> {
    let command = AcknowledgeAlert::new(path.0.id, &body.0)?;
    let name = ctx.identity().name.clone();
    let response = |alert: Alert| {
        let by = NamedId::from_columns(alert.acknowledged_by, name.clone());
        Json(AlertAcknowledgementState {
            id: alert.id,
            acknowledged: alert.acknowledged_at.map(|at| AcknowledgedItem {
                at,
                by,
                note: alert.acknowledgement,
            }),
        })
    };
    with_code(ctx.execute(&command, response).await)
}

async fn unacknowledge_alert(ctx: RequestContext, path: Path<PathId>) -> Result<Json<AlertAcknowledgementState>> {
    let id = path.0.id;
    let command = UnacknowledgeAlert { alert: id };
    let response = |()| Json(AlertAcknowledgementState { id, acknowledged: None });
    with_code(ctx.execute(&command, response).await)
}
