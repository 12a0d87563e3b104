//! The extension of series: windows that the platform creates as time passes. They follow from rules that clients have written, so nothing but a volatile field
//! of the series differs, and no command runs: there is no log entry, the version of the series stays, and so do its undo tokens and its `updatedAt`.

use backoffice_core::db::Recurring;
use backoffice_core::events::{Event, announce, touch};
use backoffice_core::{Call, Error, Result, Scope, Timestamp};
use diesel::sql_types::Uuid as SqlUuid;
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl, QueryableByName, SelectableHelper, update};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::future::BoxFuture;
use uuid::Uuid;

use crate::config::horizon_days;
use crate::day::Day;
use crate::derivation::lock_zones_of;
use crate::model::{SERIES, SeriesRow, WINDOW, Window, insert_windows};
use crate::recurrence::MOST_OCCURRENCES;
use crate::schema::calendar_series as series;
use crate::subject::{Subject, lock_subjects_of};

/// A resource for which the platform has created further windows of a series.
#[derive(Debug, Clone, Copy)]
pub struct ExtendedSubject<'a> {
    /// The call of the job.
    pub call: &'a Call,
    /// The tenant.
    pub tenant: Uuid,
    /// The resource.
    pub subject: Subject,
}

/// Work that a module does in every transaction in which the platform creates further windows of a series: what an
/// [`Observer`](crate::Observer) does in the transactions of commands. The subject is locked
/// ([`lock_subjects_of`](crate::lock_subjects_of)). Observers run in the order of their registration; an error rolls the transaction back, and the
/// next run of the job repeats it.
#[derive(Clone, Copy)]
pub struct ExtensionObserver {
    /// `<module>.<what>`.
    pub id: &'static str,
    /// The work. It returns the events that are announced with the transaction.
    pub run: for<'a> fn(&'a mut AsyncPgConnection, ExtendedSubject<'a>) -> BoxFuture<'a, Result<Vec<Event>>>,
}

impl std::fmt::Debug for ExtensionObserver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExtensionObserver")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// A series whose windows end before the horizon.
#[derive(Debug, Clone, Copy, QueryableByName)]
pub(crate) struct DueSeries {
    #[diesel(sql_type = SqlUuid)]
    pub(crate) tenant_id: Uuid,
    #[diesel(sql_type = SqlUuid)]
    pub(crate) organization_id: Uuid,
    #[diesel(sql_type = SqlUuid)]
    pub(crate) id: Uuid,
}

/// Creates the windows of a series up to the horizon of today, in a transaction of its own, behind the locks that commands on the series take.
pub(crate) async fn extend(call: &Call, now: Timestamp, due: DueSeries) -> Result<()> {
    let (tenant, organization) = (due.tenant_id, due.organization_id);
    let mut transaction = call.database().transaction(&Scope::tenant(tenant)).await?;
    let connection: &mut AsyncPgConnection = transaction.connection();
    let mut zones = lock_zones_of(connection, call.platform(), tenant, &[organization]).await?;
    let row = series::table
        .filter(series::tenant_id.eq(tenant))
        .filter(series::id.eq(due.id))
        .filter(series::organization_id.eq(organization))
        .select(SeriesRow::as_select())
        .for_update();
    let row: Option<SeriesRow> = row.first(&mut *connection).await.optional()?;
    let (Some(row), Some(zone)) = (row, zones.remove(&organization)) else {
        return Ok(());
    };
    let today = Day::from_date(zone.local_date(now));
    let today = today.ok_or_else(|| Error::internal("the present day is not supported"))?;
    let horizon = today.plus_days(horizon_days(call.platform())).unwrap_or(Day::LAST);
    if horizon <= row.created_until {
        return Ok(());
    }
    let (days, is_complete) = row.occurrences_after(row.created_until, horizon, MOST_OCCURRENCES);
    // A rule with more occurrences than one step creates continues with the next run.
    let created_until = match days.last() {
        Some(last) if days.len() == MOST_OCCURRENCES => *last,
        _ if is_complete => Day::LAST,
        _ => horizon,
    };
    let mut windows: Vec<Window> = days.into_iter().filter_map(|day| row.window(day, now)).collect();
    for window in &mut windows {
        window.derive(&zone);
    }
    let added = insert_windows(connection, &windows).await?;
    let own = series::table
        .filter(series::tenant_id.eq(tenant))
        .filter(series::id.eq(due.id));
    update(own)
        .set(series::created_until.eq(created_until))
        .prepared()
        .execute(&mut *connection)
        .await?;
    if added > 0 {
        let subject = row.subject();
        observe(connection, ExtendedSubject { call, tenant, subject }).await?;
    }
    touch(connection, call, tenant, &[SERIES, WINDOW]).await?;
    transaction.commit().await?;
    metrics::counter!("calendar_occurrences_made_total").increment(u64::try_from(added).unwrap_or(0));
    Ok(())
}

/// Locks the subject, runs the observers and announces their events.
async fn observe(connection: &mut AsyncPgConnection, extended: ExtendedSubject<'_>) -> Result<()> {
    let ExtendedSubject { call, tenant, subject } = extended;
    lock_subjects_of(connection, tenant, &[subject]).await?;
    let observers: Vec<ExtensionObserver> = call.platform().extensions::<ExtensionObserver>().copied().collect();
    let mut events = Vec::new();
    for observer in observers {
        events.extend((observer.run)(&mut *connection, extended).await?);
    }
    if !events.is_empty() {
        announce(connection, call, tenant, None, &events).await?;
    }
    Ok(())
}
