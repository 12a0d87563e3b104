//! Marks of the recipient. They are not part of the tenant's data: they write no log entry and can't be undone.

use backoffice_core::db::{Prepared, Recurring};
use backoffice_core::http::{Access, Done, Id, Json, Path, Routes};
use backoffice_core::{Rejection, RequestContext, Result};
use diesel::sql_types::{Text, Timestamptz, Uuid as SqlUuid};
use diesel::{ExpressionMethods, QueryDsl, sql_query, update};
use diesel_async::RunQueryDsl;
use serde::Serialize;
use utoipa::ToSchema;

use crate::query::{self, DISMISSED, READ, UNREAD};
use crate::schema::notifications_notifications as notifications;

pub(super) fn routes(routes: &mut Routes) {
    routes
        .post(
            "/notifications/{id}/read",
            Access::Authenticated,
            mark_notification_read,
        )
        .about("Mark a notification of the caller as read; a dismissed one stays dismissed")
        .without_command()
        .rejects(&[404]);
    routes
        .post(
            "/notifications/{id}/unread",
            Access::Authenticated,
            mark_notification_unread,
        )
        .about("Mark a notification of the caller as unread; a dismissed one stays dismissed")
        .without_command()
        .rejects(&[404]);
    routes
        .post(
            "/notifications/{id}/dismiss",
            Access::Authenticated,
            dismiss_notification,
        )
        .about("Dismiss a notification of the caller")
        .without_command()
        .rejects(&[404]);
    routes
        .post("/notifications/read-all", Access::Authenticated, read_all_notifications)
        .about("Mark all unread notifications of the caller as read")
        .without_command();
}

async fn mark_notification_read(ctx: RequestContext, path: Path<Id>) -> Result<Json<Done>> {
    mark(&ctx, path.0, READ).await
}

async fn mark_notification_unread(ctx: RequestContext, path: Path<Id>) -> Result<Json<Done>> {
    mark(&ctx, path.0, UNREAD).await
}

async fn dismiss_notification(ctx: RequestContext, path: Path<Id>) -> Result<Json<Done>> {
    mark(&ctx, path.0, DISMISSED).await
}

/// Changes the status, unless it is the same or the notification is dismissed. Selects the notification, if the recipient has it.
const MARK: &str = "\
with found as (
    select tenant_id, id, status from notifications_notifications
    where tenant_id = $1 and id = $2 and recipient_user_id = $3 and expires_at > $4 for update
), changed as (
    update notifications_notifications n set status = $5, updated_at = $4,
        read_at = case $5 when 'unread' then null when 'read' then $4 else read_at end,
        dismissed_at = case $5 when 'dismissed' then $4 end
    from found where n.tenant_id = found.tenant_id and n.id = found.id and found.status not in ($5, 'dismissed')
)
select from found";

async fn mark(ctx: &RequestContext, id: Id, status: &'static str) -> Result<Json<Done>> {
    let (user, tenant) = (ctx.user_id()?, ctx.identity().tenant);
    let mut connection = ctx.database().unlogged(&query::own_scope(ctx)).await?;
    let statement = sql_query(MARK)
        .bind::<SqlUuid, _>(tenant)
        .bind::<SqlUuid, _>(id.id)
        .bind::<SqlUuid, _>(user)
        .bind::<Timestamptz, _>(ctx.now())
        .bind::<Text, _>(status);
    match Prepared(statement).execute(&mut *connection).await? {
        0 => Err(Rejection::not_found("Notification not found").into()),
        _ => Ok(Json(Done::OK)),
    }
}

/// The number of notifications that were unread.
#[derive(Debug, Clone, Serialize, ToSchema)]
struct MarkedRead {
    updated: usize,
}

async fn read_all_notifications(ctx: RequestContext) -> Result<Json<MarkedRead>> {
    let (user, scope, now) = (ctx.user_id()?, query::own_scope(&ctx), ctx.now());
    let mut connection = ctx.database().unlogged(&scope).await?;
    let updated = update(notifications::table.filter(scope.owns(notifications::tenant_id)))
        .filter(notifications::recipient_user_id.eq(user))
        .filter(notifications::status.eq(UNREAD))
        .filter(notifications::expires_at.gt(now))
        .set((
            notifications::status.eq(READ),
            notifications::read_at.eq(now),
            notifications::updated_at.eq(now),
        ))
        .prepared()
        .execute(&mut *connection)
        .await?;
    Ok(Json(MarkedRead { updated }))
}
