//! Notifications about alerts.

use backoffice_calendar::{Zone, default_zone};
use backoffice_core::command::EntityRef;
use backoffice_core::context::Call;
use backoffice_core::db::Prepared;
use backoffice_core::events::{StoredEvent, Subscriber};
use backoffice_core::jobs::enqueue;
use backoffice_core::{Result, Timestamp};
use backoffice_notifications::{Channels, New, NotificationType, Severity, TypeTexts, dismiss_groups, send_last};
use diesel::sql_types::{Array, BigInt, Nullable, SmallInt, Text, Timestamptz, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use serde::Deserialize;
use uuid::Uuid;

use crate::events::{OPENED as OPENED_EVENT, RESOLVED, UPDATED};
use crate::jobs::NotifyHolders;
use crate::kinds::Urgency;
use crate::link::link_href;
use crate::model::KIND;
use crate::query::readers_of;

/// An alert is new, or counts as new. Only critical ones are pushed.
pub(crate) const OPENED: NotificationType = NotificationType {
    id: "alerts.alert.opened",
    channels: Channels::USUAL,
    texts: &[
        texts(
            "en",
            "New alerts",
            "Alert: {subject}",
            "Assignments in conflict: {count}",
        ),
        texts(
            "pl",
            "Nowe alerty",
            "Alert: {subject}",
            "Przydziały w konflikcie: {count}",
        ),
        texts(
            "es",
            "Alertas nuevas",
            "Alerta: {subject}",
            "Asignaciones en conflicto: {count}",
        ),
        texts(
            "de",
            "Neue Warnungen",
            "Warnung: {subject}",
            "Einsätze im Konflikt: {count}",
        ),
    ],
    values: &[],
};

/// No user has read or acknowledged a critical alert in time.
pub(crate) const ESCALATED: NotificationType = NotificationType {
    id: "alerts.alert.escalated",
    channels: Channels {
        in_app: true,
        push: true,
        email: true,
    },
    texts: &[
        texts(
            "en",
            "Escalated alerts",
            "Escalated alert: {subject}",
            "Nobody has read or acknowledged it. Assignments in conflict: {count}",
        ),
        texts(
            "pl",
            "Eskalowane alerty",
            "Eskalowany alert: {subject}",
            "Nikt go nie przeczytał ani nie potwierdził. Przydziały w konflikcie: {count}",
        ),
        texts(
            "es",
            "Alertas escaladas",
            "Alerta escalada: {subject}",
            "Nadie la ha leído ni confirmado. Asignaciones en conflicto: {count}",
        ),
        texts(
            "de",
            "Eskalierte Warnungen",
            "Eskalierte Warnung: {subject}",
            "Niemand hat sie gelesen oder bestätigt. Einsätze im Konflikt: {count}",
        ),
    ],
    values: &[],
};

/// The types of notifications about an alert, whose group is its id.
pub(crate) const TYPES: [&str; 2] = [OPENED.id, ESCALATED.id];

const fn texts(locale: &'static str, name: &'static str, title: &'static str, body: &'static str) -> TypeTexts {
    TypeTexts {
        locale,
        name,
        title,
        body,
    }
}

/// Enqueues the job that notifies the users who may see an alert, and dismisses the notifications of resolved ones.
pub(crate) const NOTIFY: Subscriber = Subscriber {
    id: "alerts.notify",
    patterns: &[OPENED_EVENT, UPDATED, RESOLVED],
    handler: |connection, call, event| Box::pin(notify(connection, call, event)),
    replay: false,
};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Payload {
    id: Uuid,
    #[serde(default)]
    grown: bool,
    #[serde(default)]
    urgency: String,
}

async fn notify(connection: &mut AsyncPgConnection, call: &Call, event: &StoredEvent) -> Result<()> {
    let payload: Payload = serde_json::from_value(event.payload.clone())?;
    let tenant = event.tenant_id;
    if event.name == RESOLVED {
        return dismiss_groups(connection, call, tenant, &TYPES, &[payload.id.to_string()]).await;
    }
    if event.name == UPDATED && !payload.grown {
        return Ok(());
    }
    let is_urgent = payload.urgency == Urgency::Critical.as_str();
    let job = NotifyHolders::new(payload.id).first_of(tenant, is_urgent);
    enqueue(connection, call, &job).await?;
    Ok(())
}

/// Notifies those of the users who have not read an alert, as the last step of a transaction that has locked it.
pub(crate) async fn notify_unread(
    connection: &mut AsyncPgConnection,
    call: &Call,
    tenant: Uuid,
    alert: &Described,
    users: &[Uuid],
) -> Result<()> {
    let channels = Channels {
        push: alert.urgency() == Urgency::Critical,
        ..OPENED.channels
    };
    let notification_type = NotificationType { channels, ..OPENED };
    let readers = readers_of(connection, tenant, alert.id, users).await?;
    let unread = users.iter().filter(|user| !readers.contains(*user));
    let new: Vec<New> = unread.map(|user| about(notification_type, *user, alert)).collect();
    send_last(connection, call, tenant, &new).await?;
    Ok(())
}

/// An open alert, as notifications describe it.
#[derive(Debug, QueryableByName)]
pub(crate) struct Described {
    #[diesel(sql_type = SqlUuid)]
    pub(crate) id: Uuid,
    #[diesel(sql_type = SqlUuid)]
    pub(crate) organization_id: Uuid,
    /// When it was opened or has grown.
    #[diesel(sql_type = Timestamptz)]
    pub(crate) occurred_at: Timestamp,
    #[diesel(sql_type = SmallInt)]
    urgency_rank: i16,
    #[diesel(sql_type = Text)]
    subject_type: String,
    #[diesel(sql_type = SqlUuid)]
    subject_id: Uuid,
    #[diesel(sql_type = Text)]
    subject_name: String,
    #[diesel(sql_type = BigInt)]
    assignments: i64,
    #[diesel(sql_type = Nullable<Timestamptz>)]
    first_start: Option<Timestamp>,
    #[diesel(sql_type = Nullable<Text>)]
    time_zone: Option<String>,
    #[diesel(sql_type = Text)]
    link: String,
}

impl Described {
    fn urgency(&self) -> Urgency {
        Urgency::from_rank(self.urgency_rank)
    }
}

const DESCRIBE: &str = "\
select a.id, a.organization_id, a.occurred_at, a.urgency_rank, a.subject_type, a.subject_id, a.subject_name, x.assignments, x.first_start,
    c.time_zone, '' as link
from alerts_alerts a
cross join lateral (select count(*) as assignments, min(x.start_at) as first_start from alerts_assignments x
    where x.tenant_id = a.tenant_id and x.alert_id = a.id and x.end_at > $3) x
left join calendar_working_calendars c on c.tenant_id = a.tenant_id and c.id = a.organization_id
where a.tenant_id = $1 and a.id = any($2) and a.resolved_at is null and a.expires_at > $3
order by a.id";

/// Returns those of the alerts that are open.
pub(crate) async fn describe(
    connection: &mut AsyncPgConnection,
    call: &Call,
    tenant: Uuid,
    now: Timestamp,
    ids: &[Uuid],
) -> Result<Vec<Described>> {
    let statement = sql_query(DESCRIBE)
        .bind::<SqlUuid, _>(tenant)
        .bind::<Array<SqlUuid>, _>(ids)
        .bind::<Timestamptz, _>(now);
    let mut alerts: Vec<Described> = Prepared(statement).load(connection).await?;
    let default = default_zone(call.platform());
    for alert in &mut alerts {
        let zone = alert.time_zone.as_deref().and_then(Zone::parse);
        let subject = (alert.subject_type.as_str(), alert.subject_id);
        alert.link = link_href(
            call.platform(),
            zone.as_ref().unwrap_or(&default),
            subject,
            alert.first_start,
        );
    }
    Ok(alerts)
}

/// Returns a notification about an alert. There is one for each alert and recipient, which every repetition refreshes.
pub(crate) fn about(notification_type: NotificationType, recipient: Uuid, alert: &Described) -> New {
    let severity = match alert.urgency() {
        Urgency::Critical => Severity::Error,
        Urgency::Warning => Severity::Warning,
        Urgency::Info => Severity::Info,
    };
    New {
        severity,
        organization: Some(alert.organization_id),
        source: Some(EntityRef {
            kind: KIND,
            id: alert.id,
        }),
        link_href: Some(alert.link.clone()),
        group_key: Some(alert.id.to_string()),
        ..New::of(notification_type, recipient)
    }
    .with("subject", alert.subject_name.clone())
    .with("count", alert.assignments)
}
