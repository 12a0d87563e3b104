//! Numbers of alerts.

use std::collections::BTreeMap;

use backoffice_core::Result;
use backoffice_core::db::Prepared;
use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Text};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use serde::Serialize;
use utoipa::ToSchema;

use super::filter::{AlertFilter, OPEN, READ, Viewer, bound, condition, visible};
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

/// Counts what a list shows, and what the viewer has not read, with one statement.
pub(crate) async fn count(connection: &AsyncPgConnection, viewer: &Viewer, filter: &AlertFilter) -> Result<Counts> {
    let (visible, listed) = (visible(viewer), condition(viewer, filter));
    let open = format!("{visible} and {OPEN}");
    let total = match listed == open {
        true => "(select alerts from open)".to_owned(),
        false => format!("(select count(*) from alerts_alerts a where {listed})"),
    };
    // Marks are counted from the marks, of which a user usually has fewer than there are alerts.
    let text = format!(
        "with open as materialized (select count(*) as alerts from alerts_alerts a where {open}), \
         read as materialized (select count(*) as alerts from alerts_reads r \
             join alerts_alerts a on a.tenant_id = r.tenant_id and a.id = r.alert_id \
             where r.tenant_id = $1 and r.user_id = $3 and {open}) \
         select {total} as total, (select alerts from open) - (select alerts from read) as unread"
    );
    Ok(Prepared(bound(text, viewer, filter))
        .get_result(&mut &*connection)
        .await?)
}

/// The numbers of open alerts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AlertSummary)]
pub(crate) struct Summary {
    /// Alerts that the caller has not read.
    pub(crate) unread_count: i64,
    /// Alerts by kind, every kind.
    by_kind: BTreeMap<&'static str, i64>,
    /// Alerts by urgency, every urgency.
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
    let visible = visible(viewer);
    let text = format!(
        "select a.kind, count(*) as alerts, count(*) filter (where not {READ}) as unread \
         from alerts_alerts a where {visible} and {OPEN} group by a.kind"
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
