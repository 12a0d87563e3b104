//! The instants of assignments that were given by dates.

use std::collections::{BTreeSet, HashMap};

use backoffice_calendar::{Day, Zone, lock_zones};
use backoffice_core::command::Tx;
use backoffice_core::{Error, Result, Timestamp};
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use crate::model::StatedAssignment;
use crate::schema::dispatch_assignments as assignments;

/// Returns the instants of days in a zone; `None` if the days do not exist there.
pub(crate) fn of_days(zone: &Zone, (first, behind): (Day, Day)) -> Option<(Timestamp, Timestamp)> {
    let (start, end) = zone.interval(first.get(), behind.get());
    (start < end).then_some((start, end))
}

/// Returns the instants of assignments: the stated ones, or those of their dates in the zones of their organizations. At most two statements, and none
/// without dates.
pub(crate) async fn derive(tx: &mut Tx<'_>, rows: &[&StatedAssignment]) -> Result<Vec<Option<(Timestamp, Timestamp)>>> {
    let zones = zones(tx, rows.iter().copied()).await?;
    let interval = |row: &&StatedAssignment| match row.dates() {
        Some(dates) => Ok(zones.get(&row.organization_id).and_then(|zone| of_days(zone, dates))),
        None => row
            .start_at
            .zip(row.end_at)
            .map(Some)
            .ok_or_else(|| Error::internal("an assignment without a time")),
    };
    rows.iter().map(interval).collect()
}

/// Keeps the zones in which new assignments are derived until the end of the transaction. The first lock of the transaction: the replacement of a
/// zone locks it before the assignments that it moves.
pub(crate) async fn keep_zone(tx: &mut Tx<'_>, rows: &[StatedAssignment]) -> Result<()> {
    zones(tx, rows.iter()).await.map(|_| ())
}

/// Keeps the zone of a stored assignment until the end of the transaction, if it was given by dates, or `gets_dates`. The first lock of the
/// transaction.
pub(crate) async fn keep_zone_of(tx: &mut Tx<'_>, assignment: Uuid, gets_dates: bool) -> Result<()> {
    let found: Option<(Uuid, Option<Day>)> = assignments::table
        .filter(assignments::tenant_id.eq(tx.tenant()))
        .filter(assignments::id.eq(assignment))
        .select((assignments::organization_id, assignments::start_date))
        .first(tx.conn())
        .await
        .optional()?;
    match found {
        Some((organization, first)) if gets_dates || first.is_some() => {
            lock_zones(tx, &[organization]).await.map(|_| ())
        }
        _ => Ok(()),
    }
}

async fn zones<'a>(tx: &mut Tx<'_>, rows: impl Iterator<Item = &'a StatedAssignment>) -> Result<HashMap<Uuid, Zone>> {
    let by_dates = rows.filter(|row| row.dates().is_some());
    let organizations: BTreeSet<Uuid> = by_dates.map(|row| row.organization_id).collect();
    if organizations.is_empty() {
        return Ok(HashMap::new());
    }
    lock_zones(tx, &organizations.into_iter().collect::<Vec<_>>()).await
}
