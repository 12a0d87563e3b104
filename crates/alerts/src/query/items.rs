//! Alerts with the names, read marks and assignments that responses show with them.

use std::collections::BTreeMap;

use backoffice_core::db::Prepared;
use backoffice_core::list::Window;
use backoffice_core::{Result, Timestamp};
use diesel::sql_types::{Array, BigInt, Bool, Jsonb, Nullable, SmallInt, Text, Timestamptz, Uuid as SqlUuid};
use diesel::{OptionalExtension, QueryableByName};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use serde_json::Value;
use uuid::Uuid;

use super::filter::{AlertFilter, CURRENT_KIND, SHOWN_READ, Viewer, bound, condition, visible};
use crate::notify;

/// Assignments of an alert that a list shows at most.
const MOST_IN_LIST: i64 = 500;

/// An alert as it is read.
#[derive(Debug, Clone, QueryableByName)]
pub(crate) struct Item {
    #[diesel(sql_type = SqlUuid)]
    pub(crate) id: Uuid,
    #[diesel(sql_type = Nullable<SqlUuid>)]
    pub(crate) notification_id: Option<Uuid>,
    #[diesel(sql_type = Text)]
    pub(crate) kind: String,
    #[diesel(sql_type = SmallInt)]
    pub(crate) urgency_rank: i16,
    #[diesel(sql_type = Bool)]
    pub(crate) is_read: bool,
    #[diesel(sql_type = Text)]
    pub(crate) subject_type: String,
    #[diesel(sql_type = SqlUuid)]
    pub(crate) subject_id: Uuid,
    #[diesel(sql_type = Text)]
    pub(crate) subject_name: String,
    #[diesel(sql_type = Nullable<SqlUuid>)]
    pub(crate) window_id: Option<Uuid>,
    #[diesel(sql_type = Timestamptz)]
    pub(crate) occurred_at: Timestamp,
    #[diesel(sql_type = Timestamptz)]
    pub(crate) expires_at: Timestamp,
    #[diesel(sql_type = Nullable<Timestamptz>)]
    pub(crate) resolved_at: Option<Timestamp>,
    #[diesel(sql_type = Nullable<Timestamptz>)]
    pub(crate) escalated_at: Option<Timestamp>,
    #[diesel(sql_type = Nullable<Timestamptz>)]
    pub(crate) acknowledged_at: Option<Timestamp>,
    #[diesel(sql_type = Nullable<SqlUuid>)]
    pub(crate) acknowledged_by: Option<Uuid>,
    #[diesel(sql_type = Nullable<Text>)]
    pub(crate) acknowledged_by_name: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    pub(crate) acknowledgement: Option<String>,
    /// By start and id.
    #[diesel(sql_type = Array<SqlUuid>)]
    pub(crate) assignments: Vec<Uuid>,
    #[diesel(sql_type = BigInt)]
    pub(crate) assignment_count: i64,
    #[diesel(sql_type = Nullable<Timestamptz>)]
    pub(crate) first_start: Option<Timestamp>,
    #[diesel(sql_type = Jsonb)]
    sites: Value,
    #[diesel(sql_type = Nullable<Text>)]
    pub(crate) time_zone: Option<String>,
}

impl Item {
    /// Returns the names of the job sites by name, then id.
    pub(crate) fn sites(&self) -> Vec<(Uuid, String)> {
        let sites: BTreeMap<Uuid, String> = serde_json::from_value(self.sites.clone()).unwrap_or_default();
        let mut sites: Vec<(Uuid, String)> = sites.into_iter().collect();
        sites.sort_by(|(a, name), (b, other)| (name, a).cmp(&(other, b)));
        sites
    }
}

/// Completes the rows `p`, which are few. A resolved alert shows all of its assignments, an open one those that have not ended. `$11` is the type of the
/// notifications, `$12` the number of assignments.
fn completed(page: &str) -> String {
    format!(
        "with p as materialized ({page}) \
         select p.id, n.id as notification_id, p.current_kind as kind, p.urgency_rank, p.is_read, p.subject_type, p.subject_id, p.subject_name, p.window_id, \
             p.occurred_at, p.expires_at, p.ended_at as resolved_at, p.escalated_at, p.acknowledged_at, p.acknowledged_by, \
             coalesce(u.name, u.email) as acknowledged_by_name, p.acknowledgement, x.assignments, x.assignment_count, x.first_start, x.sites, \
             c.time_zone \
         from p \
         cross join lateral ( \
             select (coalesce(array_agg(x.assignment_id order by x.start_at, x.assignment_id), '{{}}'))[1:$12::int] as assignments, \
                 count(*) as assignment_count, min(x.start_at) as first_start, \
                 coalesce(jsonb_object_agg(x.job_site_id, s.name) filter (where s.name is not null), '{{}}') as sites \
             from alerts_assignments x \
             left join dispatch_job_sites s on s.tenant_id = x.tenant_id and s.id = x.job_site_id \
             where x.tenant_id = $1 and x.alert_id = p.id and (p.ended_at is not null or x.end_at > $4) \
         ) x \
         left join calendar_working_calendars c on c.tenant_id = $1 and c.id = p.organization_id \
         left join auth_users u on u.tenant_id = $1 and u.id = p.acknowledged_by and u.deleted_at is null \
         left join notifications_notifications n on n.tenant_id = $1 and n.recipient_user_id = $3 and n.type = $11 \
             and n.group_key = p.id::text and n.status <> 'dismissed' and n.expires_at > $4 \
         order by p.urgency_rank, p.occurred_at desc, p.id desc"
    )
}

fn columns() -> String {
    format!(
        "a.*, {CURRENT_KIND} as current_kind, {SHOWN_READ} as is_read, coalesce(a.resolved_at, case when a.expires_at <= $4 then a.expires_at end) as ended_at"
    )
}

/// Returns a page, with one statement: the most urgent alerts first, then the newest.
pub(crate) async fn list(
    connection: &AsyncPgConnection,
    viewer: &Viewer,
    filter: &AlertFilter,
    window: Window,
) -> Result<Vec<Item>> {
    let page = format!(
        "select {} from alerts_alerts a where {} order by a.urgency_rank, a.occurred_at desc, a.id desc limit $13 offset $14",
        columns(),
        condition(viewer, filter)
    );
    let statement = bound(completed(&page), viewer, filter)
        .bind::<Text, _>(notify::OPENED.id)
        .bind::<BigInt, _>(MOST_IN_LIST)
        .bind::<BigInt, _>(window.limit())
        .bind::<BigInt, _>(window.offset());
    Ok(Prepared(statement).load(&mut &*connection).await?)
}

/// Returns the alert with this id, if it is visible, with all of its assignments.
pub(crate) async fn find(connection: &AsyncPgConnection, viewer: &Viewer, id: Uuid) -> Result<Option<Item>> {
    let page = format!(
        "select {} from alerts_alerts a where {} and a.id = $13",
        columns(),
        visible(viewer)
    );
    let statement = bound(completed(&page), viewer, &AlertFilter::default())
        .bind::<Text, _>(notify::OPENED.id)
        .bind::<BigInt, _>(i64::from(i32::MAX))
        .bind::<SqlUuid, _>(id);
    Ok(Prepared(statement).get_result(&mut &*connection).await.optional()?)
}
