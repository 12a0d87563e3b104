//! Marks of the caller. They are not part of the tenant's data: they write no log entry and can't be undone.

use backoffice_core::http::{Json, Path, PathId, Routes, requires};
use backoffice_core::{RequestContext, Result};
use backoffice_notifications::read_groups;
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::error::not_found;
use crate::query::{Viewer, mark_all, mark_one, unmark_one};
use crate::{acl, notify};

const READ: &str = "/alerts/alerts/{id}/read";

pub(super) fn routes(routes: &mut Routes) {
    routes
        .post(READ, requires(&[acl::VIEW]), mark_alert_read)
        .about("Mark an alert as read by the caller")
        .without_command()
        .rejects(&[404]);
    routes
        .delete(READ, requires(&[acl::VIEW]), mark_alert_unread)
        .about("Mark an alert as unread by the caller")
        .without_command()
        .rejects(&[404]);
    routes
        .post("/alerts/alerts/read-all", requires(&[acl::VIEW]), read_all_alerts)
        .about("Mark all open alerts as read by the caller")
        .without_command();
}

/// Whether the caller has read an alert.
#[derive(Debug, Clone, Serialize, ToSchema)]
struct AlertMark {
    /// The alert.
    id: Uuid,
    /// Whether the caller has read it.
    read: bool,
}

/// The number of alerts that were unread.
#[derive(Debug, Clone, Serialize, ToSchema)]
struct AlertsRead {
    updated: usize,
}

async fn mark_alert_read(ctx: RequestContext, path: Path<PathId>) -> Result<Json<AlertMark>> {
    let (id, user, viewer) = (path.0.id, ctx.user_id()?, Viewer::for_request(&ctx)?);
    let mut transaction = ctx.database().transaction(ctx.scope()).await?;
    let connection = transaction.connection();
    if !mark_one(connection, &ctx, &viewer, id).await? {
        return Err(not_found());
    }
    let own = (ctx.identity().tenant, user);
    read_groups(connection, ctx.call(), own, &notify::TYPES, &[id.to_string()]).await?;
    transaction.commit().await?;
    Ok(Json(AlertMark { id, read: true }))
}

async fn mark_alert_unread(ctx: RequestContext, path: Path<PathId>) -> Result<Json<AlertMark>> {
    let (id, _, viewer) = (path.0.id, ctx.user_id()?, Viewer::for_request(&ctx)?);
    let mut connection = ctx.database().unlogged(ctx.scope()).await?;
    match unmark_one(&mut connection, &viewer, id).await? {
        true => Ok(Json(AlertMark { id, read: false })),
        false => Err(not_found()),
    }
}

async fn read_all_alerts(ctx: RequestContext) -> Result<Json<AlertsRead>> {
    let (user, viewer) = (ctx.user_id()?, Viewer::for_request(&ctx)?);
    let mut transaction = ctx.database().transaction(ctx.scope()).await?;
    let connection = transaction.connection();
    let marked = mark_all(connection, &ctx, &viewer).await?;
    if !marked.is_empty() {
        let own = (ctx.identity().tenant, user);
        let groups: Vec<String> = marked.iter().map(Uuid::to_string).collect();
        read_groups(connection, ctx.call(), own, &notify::TYPES, &groups).await?;
    }
    transaction.commit().await?;
    Ok(Json(AlertsRead { updated: marked.len() }))
}
