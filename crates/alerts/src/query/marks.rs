//! Marks of users.

use backoffice_core::db::Prepared;
use backoffice_core::{RequestContext, Result};
use diesel::QueryableByName;
use diesel::sql_types::Uuid as SqlUuid;
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

use super::filter::{AlertFilter, OPEN, Viewer, bound, visible};

#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = SqlUuid)]
    id: Uuid,
}

/// Marks an alert as read, whether it is open or resolved. False if it is not visible.
pub(crate) async fn mark_one(
    connection: &mut AsyncPgConnection,
    ctx: &RequestContext,
    viewer: &Viewer,
    id: Uuid,
) -> Result<bool> {
    let text = format!(
        "with found as (select a.id, a.organization_id from alerts_alerts a where {} and a.id = $11), \
         marked as (insert into alerts_reads (tenant_id, id, organization_id, alert_id, user_id, read_at, created_at, updated_at) \
             select $1, $12, f.organization_id, f.id, $3, $4, $4, $4 from found f \
             on conflict (tenant_id, alert_id, user_id) do nothing) \
         select id from found",
        visible(viewer)
    );
    let statement = bound(text, viewer, &AlertFilter::default())
        .bind::<SqlUuid, _>(id)
        .bind::<SqlUuid, _>(ctx.new_id());
    let found: Vec<Row> = Prepared(statement).load(connection).await?;
    Ok(!found.is_empty())
}

/// Removes the mark of an alert. False if it is not visible.
pub(crate) async fn unmark_one(connection: &mut AsyncPgConnection, viewer: &Viewer, id: Uuid) -> Result<bool> {
    let text = format!(
        "with found as (select a.id from alerts_alerts a where {} and a.id = $11), \
         unmarked as (delete from alerts_reads r using found f where r.tenant_id = $1 and r.alert_id = f.id and r.user_id = $3) \
         select id from found",
        visible(viewer)
    );
    let statement = bound(text, viewer, &AlertFilter::default()).bind::<SqlUuid, _>(id);
    let found: Vec<Row> = Prepared(statement).load(connection).await?;
    Ok(!found.is_empty())
}

/// Marks all open alerts as read; returns those that were unread. The id of a mark follows from the request and the alert.
pub(crate) async fn mark_all(
    connection: &mut AsyncPgConnection,
    ctx: &RequestContext,
    viewer: &Viewer,
) -> Result<Vec<Uuid>> {
    let text = format!(
        "insert into alerts_reads (tenant_id, id, organization_id, alert_id, user_id, read_at, created_at, updated_at) \
         select $1, (substr($11::text, 1, 14) || '7' || substr(md5($11::text || a.id::text)::uuid::text, 16))::uuid, \
             a.organization_id, a.id, $3, $4, $4, $4 \
         from alerts_alerts a where {} and {OPEN} order by a.id \
         on conflict (tenant_id, alert_id, user_id) do nothing returning alert_id as id",
        visible(viewer)
    );
    let statement = bound(text, viewer, &AlertFilter::default()).bind::<SqlUuid, _>(ctx.new_id());
    let marked: Vec<Row> = Prepared(statement).load(connection).await?;
    Ok(marked.into_iter().map(|row| row.id).collect())
}
