//! Recomputes alerts in the transactions of commands, undo and redo, and in those in which the platform extends series.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use backoffice_calendar::{Changed, ExtendedSubject, ExtensionObserver, Observer, Subject, lock_subjects};
use backoffice_core::command::Tx;
use backoffice_core::db::Prepared;
use backoffice_core::events::Event;
use backoffice_core::jobs::{NewJob, enqueue_with};
use backoffice_core::{Result, Timestamp};
use backoffice_dispatch::AlertsOf;
use diesel::sql_types::{Array, Timestamptz, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::future::BoxFuture;
use uuid::Uuid;

use super::{After, AlertsOfChanged, Behind, ChangedPart, Moment, find_behind, recompute, recompute_changed};
use crate::config::AlertsConfig;
use crate::jobs::RecomputeSubjects;
use crate::model::KIND;

/// Recomputes the alerts of all subjects that a transaction concerns.
pub(crate) const RECOMPUTE: Observer = Observer {
    id: "alerts.recompute",
    run: |tx, changes| Box::pin(observe(tx, changes)),
};

/// Recomputes the alerts of a subject for which the platform has created further windows of a series.
pub(crate) const RECOMPUTE_EXTENDED: ExtensionObserver = ExtensionObserver {
    id: "alerts.recompute_extended",
    run: |connection, extended| Box::pin(observe_extension(connection, extended)),
};

/// Finds the alerts of assignments for the responses of `dispatch`.
pub(crate) const ALERTS_OF: AlertsOf = AlertsOf { find: alerts_of };

/// Recomputes the changed subjects, which are locked, and the first ones behind changed job sites and calendars. A job recomputes the others. Of a subject
/// with changed assignments and windows only, it recomputes the alerts that these concern.
async fn observe(tx: &mut Tx<'_>, changes: &[Changed]) -> Result<()> {
    let (mut subjects, mut behind) = (BTreeSet::new(), Behind::default());
    let mut parts: BTreeMap<Subject, ChangedPart> = BTreeMap::new();
    for change in changes {
        match *change {
            Changed::Subject(subject) => drop(subjects.insert(subject)),
            Changed::Window { subject, id } => drop(parts.entry(subject).or_default().windows.insert(id)),
            Changed::Assignment { subject, id, is_new } => parts.entry(subject).or_default().add_assignment(id, is_new),
            Changed::JobSite { id, .. } => behind.job_sites.push(id),
            Changed::WorkingCalendar { organization } => behind.organizations.push(organization),
        }
    }
    if !behind.is_empty() {
        subjects.extend(lock_behind(tx, behind).await?);
    }
    let changed = parts.values().flat_map(|part| &part.assignments);
    let alerts_of: AlertsOfChanged = changed.map(|id| (*id, BTreeSet::new())).collect();
    parts.retain(|subject, _| !subjects.contains(subject));
    let call = tx.context().call();
    let moment = Moment {
        call,
        tenant: tx.tenant(),
        now: call.now,
    };
    let (subjects, parts) = (Vec::from_iter(subjects), Vec::from_iter(parts));
    let recomputed = recompute_changed(tx.conn(), moment, &subjects, &parts, alerts_of).await?;
    tx.keep_written(Uuid::nil(), LastAlerts(Arc::new(recomputed.alerts_of)));
    if recomputed.has_changes {
        tx.changed(KIND);
    }
    for event in recomputed.events {
        tx.emit(event);
    }
    Ok(())
}

async fn observe_extension(connection: &mut AsyncPgConnection, extended: ExtendedSubject<'_>) -> Result<Vec<Event>> {
    let ExtendedSubject { call, tenant, subject } = extended;
    let now = call.now;
    let recomputed = recompute(connection, Moment { call, tenant, now }, &[subject]).await?;
    Ok(recomputed.events)
}

async fn lock_behind(tx: &mut Tx<'_>, behind: Behind) -> Result<Vec<Subject>> {
    let most = tx.context().call().provided::<AlertsConfig>()?.inline_subjects;
    let (tenant, now) = (tx.tenant(), tx.context().now());
    let mut found = find_behind(tx.conn(), tenant, now, &behind, None, most.saturating_add(1)).await?;
    if found.len() > most {
        found.truncate(most);
        let job = RecomputeSubjects {
            behind,
            after: found.last().map(After::from),
        };
        enqueue_with(tx, &NewJob::of_system(tenant, job)).await?;
    }
    lock_subjects(tx, &found).await?;
    Ok(found)
}

/// The alerts of the assignments that the last recomputation of a transaction was about: the response to a write needs no statement for them.
#[derive(Clone)]
struct LastAlerts(Arc<AlertsOfChanged>);

impl LastAlerts {
    /// Returns the alerts of these assignments, if all of them are known.
    fn of(&self, assignments: &[Uuid]) -> Option<Vec<Uuid>> {
        let known: Option<Vec<_>> = assignments.iter().map(|id| self.0.get(id)).collect();
        let alerts: BTreeSet<Uuid> = known?.into_iter().flatten().copied().collect();
        Some(Vec::from_iter(alerts))
    }
}

#[derive(QueryableByName)]
struct Found {
    #[diesel(sql_type = SqlUuid)]
    alert_id: Uuid,
}

const FIND_ALERTS: &str = "\
select distinct x.alert_id from alerts_assignments x
join alerts_alerts l on l.tenant_id = x.tenant_id and l.id = x.alert_id and l.resolved_at is null and l.expires_at > $3
where x.tenant_id = $1 and x.assignment_id = any(array(select unnest($2::uuid[]))) and x.end_at > $3
order by x.alert_id";

fn alerts_of<'a>(tx: &'a mut Tx<'_>, assignments: &'a [Uuid]) -> BoxFuture<'a, Result<Vec<Uuid>>> {
    Box::pin(async move {
        let last = tx.take_fresh::<LastAlerts>(&[Uuid::nil()]).unwrap_or_default();
        if let Some(alerts) = last.as_slice().first().and_then(|last| last.of(assignments)) {
            return Ok(alerts);
        }
        let now: Timestamp = tx.context().now();
        let statement = sql_query(FIND_ALERTS)
            .bind::<SqlUuid, _>(tx.tenant())
            .bind::<Array<SqlUuid>, _>(assignments)
            .bind::<Timestamptz, _>(now);
        let found: Vec<Found> = Prepared(statement).load(tx.conn()).await?;
        Ok(found.into_iter().map(|row| row.alert_id).collect())
    })
}
