//! Marks of users.

use std::collections::HashSet;

use backoffice_core::db::Prepared;
use backoffice_core::{RequestContext, Result, Timestamp};
use diesel::sql_types::{Array, Timestamptz, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

use super::filter::{AlertFilter, OPEN, Viewer, bound, visible};

#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = SqlUuid)]
    id: Uuid,
}

const LOCK: &str = "\
select id from alerts_alerts where tenant_id = $1 and id = $2 and occurred_at = $3 and resolved_at is null for update";

/// Locks an alert until the end of the transaction; false if it was resolved, or has grown since this time. Keeps its marks and notifications apart: a mark
/// refers to the row of its alert, so the transaction that writes it waits for this one, or this one for that. Either the notification is written first,
/// and the next statement of the mark's transaction finds it, or the mark is, and [`readers_of`] finds its user. A transaction locks one alert only,
/// because one that marks several may have locked others of them.
pub(crate) async fn lock_alert(
    connection: &mut AsyncPgConnection,
    tenant: Uuid,
    alert: Uuid,
    occurred_at: Timestamp,
) -> Result<bool> {
    let statement = sql_query(LOCK)
        .bind::<SqlUuid, _>(tenant)
        .bind::<SqlUuid, _>(alert)
        .bind::<Timestamptz, _>(occurred_at);
    let locked: Vec<Row> = Prepared(statement).load(connection).await?;
    Ok(!locked.is_empty())
}

/// Returns those of the users who have read an alert.
pub(crate) async fn readers_of(
    connection: &mut AsyncPgConnection,
    tenant: Uuid,
    alert: Uuid,
    users: &[Uuid],
) -> Result<HashSet<Uuid>> {
    let text = "select user_id as id from alerts_reads \
        where tenant_id = $1 and alert_id = $2 and user_id = any(array(select unnest($3::uuid[])))";
    let statement = sql_query(text)
        .bind::<SqlUuid, _>(tenant)
        .bind::<SqlUuid, _>(alert)
        .bind::<Array<SqlUuid>, _>(users);
    let readers: Vec<Row> = Prepared(statement).load(connection).await?;
    Ok(readers.into_iter().map(|row| row.id).collect())
}

#[derive(QueryableByName)]
struct Mark {
    #[diesel(sql_type = SqlUuid)]
    alert_id: Uuid,
    #[diesel(sql_type = SqlUuid)]
    user_id: Uuid,
}

/// Returns the marks of these alerts: alert and user.
pub(crate) async fn marks_of(
    connection: &mut AsyncPgConnection,
    tenant: Uuid,
    alerts: &[Uuid],
) -> Result<HashSet<(Uuid, Uuid)>> {
    let text = "select alert_id, user_id from alerts_reads \
        where tenant_id = $1 and alert_id = any(array(select unnest($2::uuid[])))";
    let statement = sql_query(text)
        .bind::<SqlUuid, _>(tenant)
        .bind::<Array<SqlUuid>, _>(alerts);
    let marks: Vec<Mark> = Prepared(statement).load(connection).await?;
    Ok(marks.into_iter().map(|mark| (mark.alert_id, mark.user_id)).collect())
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
