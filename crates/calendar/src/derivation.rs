//! Derives the instants of dates, behind the lock of an organization's time zone.

use std::collections::{BTreeSet, HashMap};

use backoffice_core::db::Recurring;
use backoffice_core::{Platform, Result, Timestamp, Tx};
use diesel::sql_types::{Array, Date as SqlDate, Timestamptz, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

use crate::day::Day;
use crate::zones::{Zone, zones_of};

/// Locks the zones of these organizations and returns them: until the end of the transaction, no other transaction replaces them. For every
/// write that derives instants from dates.
///
/// # Errors
/// When the database can't be reached, or the lock is not granted in time.
pub async fn lock_zones(tx: &mut Tx<'_>, organizations: &[Uuid]) -> Result<HashMap<Uuid, Zone>> {
    let (tenant, platform) = (tx.tenant(), tx.context().platform());
    lock_zones_of(tx.conn(), platform, tenant, organizations).await
}

/// Locks zones of a tenant as [`lock_zones`] does, in a transaction that is not that of a command.
pub(crate) async fn lock_zones_of(
    connection: &mut AsyncPgConnection,
    platform: &Platform,
    tenant: Uuid,
    organizations: &[Uuid],
) -> Result<HashMap<Uuid, Zone>> {
    let ordered: Vec<Uuid> = organizations
        .iter()
        .copied()
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    sql_query(
        "select pg_advisory_xact_lock_shared(calendar_zone_lock($1, id)) from unnest($2) with ordinality as t (id, n)",
    )
    .bind::<SqlUuid, _>(tenant)
    .bind::<Array<SqlUuid>, _>(&ordered)
    .prepared()
    .execute(&mut *connection)
    .await?;
    // A statement of its own: it must see what the lock has waited for.
    zones_of(connection, platform, tenant, &ordered).await
}

#[derive(QueryableByName)]
struct StoredDay {
    #[diesel(sql_type = SqlDate)]
    day: Day,
}

const DAYS_OF_WINDOWS: &str = "select start_date as day from calendar_windows where tenant_id = $1 and organization_id = $2 \
    union select end_date_exclusive from calendar_windows where tenant_id = $1 and organization_id = $2";

const DERIVE_WINDOWS: &str = "with starts (day, instant) as materialized (select * from unnest($3, $4)) \
    update calendar_windows w set start_at = s.instant, end_at = e.instant from starts s, starts e \
    where w.tenant_id = $1 and w.organization_id = $2 and s.day = w.start_date and e.day = w.end_date_exclusive \
    and (w.start_at, w.end_at) is distinct from (s.instant, e.instant)";

/// Derives the instants of all windows of an organization again, after its zone was replaced: each date once, all windows with one statement.
/// The caller holds the lock of the zone exclusively.
pub(crate) async fn derive_windows_again(tx: &mut Tx<'_>, organization: Uuid) -> Result<()> {
    let tenant = tx.tenant();
    let days: Vec<StoredDay> = sql_query(DAYS_OF_WINDOWS)
        .bind::<SqlUuid, _>(tenant)
        .bind::<SqlUuid, _>(organization)
        .prepared()
        .load(tx.conn())
        .await?;
    if days.is_empty() {
        return Ok(());
    }
    let zones = lock_zones(tx, &[organization]).await?;
    let zone = zones.get(&organization).cloned().unwrap_or(Zone::UTC);
    let days: Vec<Day> = days.into_iter().map(|row| row.day).collect();
    let instants: Vec<Timestamp> = days.iter().map(|day| zone.start_of_day(day.get())).collect();
    let changed = sql_query(DERIVE_WINDOWS)
        .bind::<SqlUuid, _>(tenant)
        .bind::<SqlUuid, _>(organization)
        .bind::<Array<SqlDate>, _>(days)
        .bind::<Array<Timestamptz>, _>(instants)
        .prepared()
        .execute(tx.conn())
        .await?;
    if changed > 0 {
        tx.changed("calendar.window");
    }
    Ok(())
}
