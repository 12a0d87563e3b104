//! The working calendar of an organization.

use std::collections::HashMap;

use backoffice_core::command::{Depth, Entity, LockedRow, Locker, Snapshot, Snapshots, Transition, Tx};
use backoffice_core::db::{KeyColumn, Recurring};
use backoffice_core::{Feature, Result, Timestamp};
use diesel::pg::Pg;
use diesel::sql_types::{Array, Date as SqlDate, Text, Timestamptz, Uuid as SqlUuid};
use diesel::{ExpressionMethods, QueryDsl, Queryable, Selectable, SelectableHelper, delete, sql_query};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::WORKING_CALENDAR;
use crate::acl;
use crate::changed::{Changed, ZoneChanged};
use crate::day::Day;
use crate::schema::{calendar_holidays as holidays, calendar_working_calendars as calendars};

/// A holiday of a working calendar.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = CalendarHoliday)]
pub struct Holiday {
    /// The id; it stays while the calendar has a holiday on this day.
    pub id: Uuid,
    /// The day.
    pub date: Day,
    /// At most 120 characters, empty if the holiday has no name.
    pub name: String,
}

/// The working calendar of an organization, the entity `calendar.working_calendar`. Its id is that of the organization.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkingCalendar {
    /// The tenant.
    pub tenant_id: Uuid,
    /// The organization.
    pub id: Uuid,
    /// The organization.
    pub organization_id: Uuid,
    /// IANA name of the time zone.
    pub time_zone: String,
    /// The weekdays that are off, in the order of the week.
    pub off_weekdays: Vec<String>,
    /// The holidays, by day.
    pub holidays: Vec<Holiday>,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

/// A row of `calendar_working_calendars`.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = calendars, check_for_backend(Pg))]
pub(crate) struct CalendarRow {
    pub(crate) tenant_id: Uuid,
    pub(crate) id: Uuid,
    pub(crate) organization_id: Uuid,
    pub(crate) time_zone: String,
    pub(crate) off_weekdays: Vec<String>,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
}

impl CalendarRow {
    pub(crate) fn with_holidays(self, holidays: Vec<Holiday>) -> WorkingCalendar {
        WorkingCalendar {
            tenant_id: self.tenant_id,
            id: self.id,
            organization_id: self.organization_id,
            time_zone: self.time_zone,
            off_weekdays: self.off_weekdays,
            holidays,
            created_at: self.created_at,
            updated_at: self.updated_at,
        }
    }
}

/// Locks the zones of organizations exclusively, so that no other transaction derives instants in them.
const LOCK: &str =
    "select pg_advisory_xact_lock(calendar_zone_lock($1, id)) from unnest($2) with ordinality as t (id, n)";

impl Entity for WorkingCalendar {
    const KIND: &'static str = WORKING_CALENDAR;
    const NOT_FOUND: &'static str = "Working calendar not found";
    const VIEW: Option<Feature> = Some(acl::VIEW);

    /// Locks the zone, whether there is a working calendar or not.
    async fn lock(locker: Locker<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        let (tenant, scope) = (locker.tenant(), locker.scope());
        let mut visible: Vec<Uuid> = ids
            .iter()
            .copied()
            .filter(|id| scope.reads_organization(Some(*id)))
            .collect();
        visible.sort_unstable();
        sql_query(LOCK)
            .bind::<SqlUuid, _>(tenant)
            .bind::<Array<SqlUuid>, _>(&visible)
            .prepared()
            .execute(&mut locker.connection())
            .await?;
        Ok(visible.into_iter().map(|id| LockedRow::new(id, tenant)).collect())
    }

    async fn load(tx: &mut Tx<'_>, ids: &[Uuid], _depth: Depth) -> Result<Snapshots> {
        let rows = read(tx, ids).await?;
        rows.iter().map(|row| Ok((row.id, Snapshot::of(row)?))).collect()
    }

    async fn store(tx: &mut Tx<'_>, snapshots: &[Snapshot]) -> Result<Vec<String>> {
        let rows = snapshots.iter().map(Snapshot::row).collect::<Result<Vec<Self>>>()?;
        write(tx, rows).await?;
        Ok(Vec::new())
    }

    async fn remove(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<()> {
        let rows = calendars::table.filter(calendars::tenant_id.eq(tx.tenant()));
        delete(rows.filter(calendars::id.one_of(ids)))
            .execute(tx.conn())
            .await?;
        Ok(())
    }

    async fn after_transition(tx: &mut Tx<'_>, step: &Transition<'_>) -> Result<()> {
        // An organization without a calendar has no zone here: its instants may be those of an earlier `calendar.default_time_zone`.
        if zone(step.from) != zone(step.to) {
            tx.defer(ZoneChanged { organization: step.id });
        }
        tx.defer(Changed::WorkingCalendar { organization: step.id });
        Ok(())
    }
}

/// Returns the zone of a working calendar; `None` without one.
fn zone(snapshot: Option<&Snapshot>) -> Option<&str> {
    snapshot?.get("timeZone")?.as_str()
}

/// Reads working calendars of the transaction's tenant.
pub(crate) async fn read(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<Vec<WorkingCalendar>> {
    let tenant = tx.tenant();
    let rows: Vec<CalendarRow> = calendars::table
        .filter(calendars::tenant_id.eq(tenant))
        .filter(calendars::id.one_of(ids))
        .order(calendars::id)
        .select(CalendarRow::as_select())
        .load(tx.conn())
        .await?;
    let days: Vec<(Uuid, Uuid, Day, String)> = holidays::table
        .filter(holidays::tenant_id.eq(tenant))
        .filter(holidays::calendar_id.one_of(ids))
        .order((holidays::calendar_id, holidays::date))
        .select((holidays::calendar_id, holidays::id, holidays::date, holidays::name))
        .load(tx.conn())
        .await?;
    let mut by_calendar: HashMap<Uuid, Vec<Holiday>> = HashMap::new();
    for (calendar, id, date, name) in days {
        by_calendar
            .entry(calendar)
            .or_default()
            .push(Holiday { id, date, name });
    }
    let complete = |row: CalendarRow| {
        let holidays = by_calendar.remove(&row.id).unwrap_or_default();
        row.with_holidays(holidays)
    };
    Ok(rows.into_iter().map(complete).collect())
}

const WRITE_CALENDAR: &str = "insert into calendar_working_calendars \
        (tenant_id, id, organization_id, time_zone, off_weekdays, created_at, updated_at) \
    select $1, c.id, c.id, c.time_zone, case c.off_weekdays when '' then '{}' else string_to_array(c.off_weekdays, ',') end, c.created_at, $6 \
    from unnest($2, $3, $4, $5) as c (id, time_zone, off_weekdays, created_at) \
    on conflict (tenant_id, id) do update set time_zone = excluded.time_zone, off_weekdays = excluded.off_weekdays, \
        created_at = excluded.created_at, updated_at = excluded.updated_at";

const DELETE_OTHER_HOLIDAYS: &str = "delete from calendar_holidays where tenant_id = $1 and calendar_id = any(array(select unnest($2::uuid[]))) and id <> all($3)";

/// A holiday was created at the time in its id, so that undo and redo give the same row.
const WRITE_HOLIDAYS: &str = "insert into calendar_holidays \
        (tenant_id, id, organization_id, calendar_id, date, name, created_at, updated_at) \
    select $1, h.id, h.calendar_id, h.calendar_id, h.date, h.name, \
        to_timestamp(('x' || translate(left(h.id::text, 13), '-', ''))::bit(48)::bigint / 1000.0), $6 \
    from unnest($2, $3, $4, $5) as h (id, calendar_id, date, name) \
    on conflict (tenant_id, id) do update set date = excluded.date, name = excluded.name, updated_at = excluded.updated_at";

/// Stores working calendars with exactly these holidays, with the instant of the transaction as the time of their change.
pub(crate) async fn write(tx: &mut Tx<'_>, rows: Vec<WorkingCalendar>) -> Result<()> {
    let (tenant, now) = (tx.tenant(), tx.now());
    let ids: Vec<Uuid> = rows.iter().map(|row| row.id).collect();
    sql_query(WRITE_CALENDAR)
        .bind::<SqlUuid, _>(tenant)
        .bind::<Array<SqlUuid>, _>(&ids)
        .bind::<Array<Text>, _>(rows.iter().map(|row| row.time_zone.as_str()).collect::<Vec<_>>())
        .bind::<Array<Text>, _>(rows.iter().map(|row| row.off_weekdays.join(",")).collect::<Vec<_>>())
        .bind::<Array<Timestamptz>, _>(rows.iter().map(|row| row.created_at).collect::<Vec<_>>())
        .bind::<Timestamptz, _>(now)
        .prepared()
        .execute(tx.conn())
        .await?;
    let days: Vec<(Uuid, &Holiday)> = rows
        .iter()
        .flat_map(|row| row.holidays.iter().map(|holiday| (row.id, holiday)))
        .collect();
    let day_ids: Vec<Uuid> = days.iter().map(|(_, holiday)| holiday.id).collect();
    sql_query(DELETE_OTHER_HOLIDAYS)
        .bind::<SqlUuid, _>(tenant)
        .bind::<Array<SqlUuid>, _>(&ids)
        .bind::<Array<SqlUuid>, _>(&day_ids)
        .prepared()
        .execute(tx.conn())
        .await?;
    sql_query(WRITE_HOLIDAYS)
        .bind::<SqlUuid, _>(tenant)
        .bind::<Array<SqlUuid>, _>(&day_ids)
        .bind::<Array<SqlUuid>, _>(days.iter().map(|(calendar, _)| *calendar).collect::<Vec<_>>())
        .bind::<Array<SqlDate>, _>(days.iter().map(|(_, holiday)| holiday.date).collect::<Vec<_>>())
        .bind::<Array<Text>, _>(
            days.iter()
                .map(|(_, holiday)| holiday.name.as_str())
                .collect::<Vec<_>>(),
        )
        .bind::<Timestamptz, _>(now)
        .prepared()
        .execute(tx.conn())
        .await?;
    Ok(())
}
