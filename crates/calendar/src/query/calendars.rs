//! Reads of working calendars.

use std::collections::BTreeMap;

use backoffice_core::{Platform, Result};
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl, SelectableHelper};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::future::try_join;
use uuid::Uuid;

use crate::day::Day;
use crate::model::{CalendarRow, Holiday, WorkingCalendar};
use crate::schema::{calendar_holidays as holidays, calendar_working_calendars as calendars};
use crate::working_days::WorkingDays;
use crate::{weekdays, zones};

/// Returns the working calendar of an organization, if it has one: two pipelined statements.
pub(crate) async fn find(
    connection: &AsyncPgConnection,
    tenant: Uuid,
    organization: Uuid,
) -> Result<Option<WorkingCalendar>> {
    let row = calendars::table
        .filter(calendars::tenant_id.eq(tenant))
        .filter(calendars::id.eq(organization))
        .select(CalendarRow::as_select());
    let days = holidays::table
        .filter(holidays::tenant_id.eq(tenant))
        .filter(holidays::calendar_id.eq(organization))
        .order(holidays::date)
        .select((holidays::id, holidays::date, holidays::name));
    let (mut one, mut other) = (connection, connection);
    let row = async { row.first::<CalendarRow>(&mut one).await.optional() };
    let (row, days) = try_join(row, days.load::<(Uuid, Day, String)>(&mut other)).await?;
    let days = days.into_iter().map(|(id, date, name)| Holiday { id, date, name });
    Ok(row.map(|row| row.with_holidays(days.collect())))
}

/// Returns the zone, the weekdays that are off and the holidays of an organization; those of the configuration if it has no working calendar.
///
/// # Errors
/// When the database can't be reached.
pub async fn working_days_of(
    connection: &AsyncPgConnection,
    platform: &Platform,
    tenant: Uuid,
    organization: Uuid,
) -> Result<WorkingDays> {
    match find(connection, tenant, organization).await? {
        None => Ok(WorkingDays {
            zone: zones::default_zone(platform),
            off_weekdays: weekdays::DEFAULT_OFF.map(str::to_owned).to_vec(),
            holidays: BTreeMap::new(),
        }),
        Some(calendar) => Ok(WorkingDays {
            zone: zones::stored_zone(&calendar.time_zone)?,
            off_weekdays: calendar.off_weekdays,
            holidays: calendar.holidays.into_iter().map(|one| (one.date, one.name)).collect(),
        }),
    }
}
