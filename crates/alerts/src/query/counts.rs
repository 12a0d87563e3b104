//! Numbers of alerts.

use std::collections::BTreeMap;

use backoffice_core::Result;
use backoffice_core::db::Prepared;
use diesel::QueryableByName;
use diesel::sql_types::{Array, BigInt, Text};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use serde::Serialize;
use utoipa::ToSchema;

use super::filter::{AGED, AlertFilter, CURRENT_KIND, OPEN, Viewer, bound, condition, visible};
use crate::documented::{AlertsByKind, AlertsByUrgency};
use crate::kinds::{Kind, Urgency};

/// The numbers beside a page.
#[derive(Debug, Clone, Copy, QueryableByName)]
pub(crate) struct Counts {
    /// Alerts that the filter finds.
    #[diesel(sql_type = BigInt)]
    pub(crate) total: i64,
    /// Open alerts that the viewer has not read, whatever the filter.
    #[diesel(sql_type = BigInt)]
    pub(crate) unread: i64,
}

/// Returns the common table expression `open`: for each kind the visible open alerts, and those of them that the viewer has read. The stored
/// counts include all alerts without `resolved_at`: the expression subtracts those that have ended since, and counts those that have changed their
/// kind since as the new kind. Its cost depends on the alerts that the viewer has read, not on the number of open alerts.
fn open_by_kind(viewer: &Viewer) -> String {
    let visible = visible(viewer);
    format!(
        "open as materialized (select o.kind, sum(o.alerts)::bigint as alerts, sum(o.read)::bigint as read from ( \
             select a.kind, a.alerts, 0 as read from alerts_counts a where {visible} \
             union all \
             select a.kind, -1, 0 from alerts_alerts a where {visible} and a.resolved_at is null and a.expires_at <= $4 \
             union all \
             select c.kind, c.alerts, 0 from alerts_alerts a, \
                 (values ('subject_overlap_different_sites', -1), ('subject_overlap_same_site', 1)) c (kind, alerts) where {visible} and {AGED} \
             union all \
             select {CURRENT_KIND}, 0, 1 from alerts_reads r join alerts_alerts a on a.tenant_id = r.tenant_id and a.id = r.alert_id \
             where r.tenant_id = $1 and r.user_id = $3 and {visible} and {OPEN} \
         ) o group by o.kind)"
    )
}

/// Counts what a list shows, and what the viewer has not read, with one statement.
pub(crate) async fn count(connection: &AsyncPgConnection, viewer: &Viewer, filter: &AlertFilter) -> Result<Counts> {
    let total = match filter.only_open_of_kinds() {
        true => "(select coalesce(sum(o.alerts), 0)::bigint from open o \
                  where ($8 is null or o.kind = any($8)) and ($9 is null or o.kind = any($11)))"
            .to_owned(),
        false => format!(
            "(select count(*) from alerts_alerts a where {})",
            condition(viewer, filter)
        ),
    };
    let text = format!(
        "with {} select {total} as total, (select coalesce(sum(o.alerts - o.read), 0)::bigint from open o) as unread",
        open_by_kind(viewer)
    );
    let urgent: Vec<&str> = match &filter.urgency_ranks {
        None => Vec::new(),
        Some(ranks) => Kind::ALL
            .into_iter()
            .filter(|kind| ranks.contains(&kind.urgency().rank()))
            .map(Kind::as_str)
            .collect(),
    };
    let statement = bound(text, viewer, filter).bind::<Array<Text>, _>(urgent);
    Ok(Prepared(statement).get_result(&mut &*connection).await?)
}

/// The numbers of open alerts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AlertSummary)]
pub(crate) struct Summary {
    /// Alerts that the caller has not read.
    pub(crate) unread_count: i64,
    /// Alerts by kind, every kind.
    #[schema(value_type = AlertsByKind)]
    by_kind: BTreeMap<&'static str, i64>,
    /// Alerts by urgency, every urgency.
    #[schema(value_type = AlertsByUrgency)]
    by_urgency: BTreeMap<&'static str, i64>,
}

#[derive(QueryableByName)]
struct OfKind {
    #[diesel(sql_type = Text)]
    kind: String,
    #[diesel(sql_type = BigInt)]
    alerts: i64,
    #[diesel(sql_type = BigInt)]
    unread: i64,
}

/// Counts the open alerts that the viewer may see.
pub(crate) async fn summarize(connection: &AsyncPgConnection, viewer: &Viewer) -> Result<Summary> {
    let text = format!(
        "with {} select o.kind, o.alerts, o.alerts - o.read as unread from open o",
        open_by_kind(viewer)
    );
    let filter = AlertFilter::default();
    let rows: Vec<OfKind> = Prepared(bound(text, viewer, &filter)).load(&mut &*connection).await?;
    let mut summary = Summary {
        unread_count: 0,
        by_kind: Kind::ALL.into_iter().map(|kind| (kind.as_str(), 0)).collect(),
        by_urgency: Urgency::ALL.into_iter().map(|urgency| (urgency.as_str(), 0)).collect(),
    };
    for row in rows {
        let Some(kind) = Kind::parse(&row.kind) else { continue };
        summary.unread_count += row.unread;
        *summary.by_kind.entry(kind.as_str()).or_default() += row.alerts;
        *summary.by_urgency.entry(kind.urgency().as_str()).or_default() += row.alerts;
    }
    Ok(summary)
}
