//! The working calendar of the caller's organization, and its working days.

use backoffice_core::http::{CheckedQuery, Json, QueryInput, Routes, requires};
use backoffice_core::list::parameters;
use backoffice_core::{Detail, Rejection, RequestContext, Result, Timestamp, Violations};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::commands::{ReplaceWorkingCalendar, WorkingCalendarFields};
use crate::day::Day;
use crate::documented::CalendarWeekday;
use crate::model::{Holiday, WORKING_CALENDAR, WorkingCalendar};
use crate::plan::LONGEST;
use crate::query::calendars;
use crate::working_days::{OffDay, WorkingDays};
use crate::{acl, weekdays, zones};

const CALENDAR: &str = "/calendar/working-calendar";

pub(super) fn routes(routes: &mut Routes) {
    routes
        .get(CALENDAR, requires(&[acl::VIEW]), get_working_calendar)
        .shows(&[WORKING_CALENDAR])
        .about("The working calendar of the selected organization, or of the caller's own")
        .rejects(&[400]);
    routes
        .put(CALENDAR, requires(&[acl::MANAGE]), replace_working_calendar)
        .about("Replace the working calendar; all windows get the instants of their days in the new time zone")
        .rejects(&[404, 409, 422]);
    routes
        .get("/calendar/working-days", requires(&[acl::VIEW]), list_working_days)
        .shows(&[WORKING_CALENDAR])
        .about("List the working days and the other days of at most 1096 days");
}

/// A working calendar.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = CalendarWorkingCalendar)]
struct WorkingCalendarItem {
    /// IANA name of the time zone.
    time_zone: String,
    /// The weekdays that are off, in the order of the week.
    #[schema(value_type = Vec<CalendarWeekday>)]
    off_weekdays: Vec<String>,
    /// The holidays, by day.
    holidays: Vec<Holiday>,
    /// Time of the last change; null if the organization has no working calendar of its own.
    updated_at: Option<Timestamp>,
}

impl From<WorkingCalendar> for WorkingCalendarItem {
    fn from(calendar: WorkingCalendar) -> Self {
        Self {
            time_zone: calendar.time_zone,
            off_weekdays: calendar.off_weekdays,
            holidays: calendar.holidays,
            updated_at: Some(calendar.updated_at),
        }
    }
}

/// Returns the tenant and the organization whose calendar a request reads or replaces.
fn organization(ctx: &RequestContext) -> Result<(Uuid, Uuid)> {
    match ctx.scope().write_organization {
        Some(organization) if ctx.scope().reads_organization(Some(organization)) => Ok((ctx.tenant()?, organization)),
        _ => Err(Rejection::organization_required().into()),
    }
}

async fn get_working_calendar(ctx: RequestContext) -> Result<Json<WorkingCalendarItem>> {
    let (tenant, organization) = organization(&ctx)?;
    let connection = ctx.read().await?;
    ctx.read_version_first(&connection).await?;
    let stored = calendars::find(&connection, tenant, organization).await?;
    Ok(Json(stored.map_or_else(
        || WorkingCalendarItem {
            time_zone: zones::default_zone(ctx.platform()).name().to_owned(),
            off_weekdays: weekdays::DEFAULT_OFF.map(str::to_owned).to_vec(),
            holidays: Vec::new(),
            updated_at: None,
        },
        WorkingCalendarItem::from,
    )))
}

async fn replace_working_calendar(
    ctx: RequestContext,
    body: Json<WorkingCalendarFields>,
) -> Result<Json<WorkingCalendarItem>> {
    let (_, organization) = organization(&ctx)?;
    let command = ReplaceWorkingCalendar::new(organization, &body.0)?;
    ctx.execute(&command, |stored| Json(WorkingCalendarItem::from(stored)))
        .await
}

/// The requested days.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct DaysQuery {
    /// First day.
    #[param(value_type = Day, inline)]
    from: Option<String>,
    /// Day after the last one, at most 1096 days later.
    #[param(value_type = Day, inline)]
    to: Option<String>,
}

impl DaysQuery {
    fn checked(&self) -> Result<(Day, Day)> {
        let mut violations = Violations::default();
        parameters::required("from", self.from.as_ref(), &mut violations);
        parameters::required("to", self.to.as_ref(), &mut violations);
        let from = Day::from_parameter("from", self.from.as_deref(), &mut violations);
        let to = Day::from_parameter("to", self.to.as_deref(), &mut violations);
        if let (Some(from), Some(to)) = (from, to) {
            let days = to.days_since(from);
            if days <= 0 {
                violations.add(Detail::new("to", "must be later than from", "invalid_date_range"));
            } else if days > LONGEST {
                let message = format!("must be at most {LONGEST} days after from");
                violations.add(Detail::new("to", message, "range_too_long"));
            }
        }
        violations.check()?;
        Ok((from.unwrap_or(Day::EPOCH), to.unwrap_or(Day::EPOCH)))
    }
}

impl QueryInput for DaysQuery {
    fn validate(&self, violations: &mut Violations) {
        if let Err(error) = self.checked() {
            violations.note(error);
        }
    }
}

/// Why the organization does not work on a day.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = CalendarOffDayReason)]
enum OffDayReason {
    Weekday,
    Holiday,
}

/// A day on which the organization does not work.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = CalendarOffDay)]
struct OffDayItem {
    /// The day.
    date: Day,
    /// `weekday` or `holiday`.
    reason: OffDayReason,
    /// Name of the holiday; empty for a weekday.
    name: String,
}

/// The working days and the other days.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = CalendarWorkingDays)]
struct WorkingDayList {
    /// IANA name of the time zone of the days.
    time_zone: String,
    /// The working days.
    working_days: Vec<Day>,
    /// The other days.
    off_days: Vec<OffDayItem>,
}

impl WorkingDayList {
    fn new(calendar: &WorkingDays, from: Day, to: Day) -> Self {
        let mut list = Self {
            time_zone: calendar.zone.name().to_owned(),
            working_days: Vec::new(),
            off_days: Vec::new(),
        };
        let days = (0..to.days_since(from)).filter_map(|offset| from.plus_days(offset));
        for date in days {
            match calendar.off(date) {
                None => list.working_days.push(date),
                Some(off) => {
                    let (reason, name) = match off {
                        OffDay::Weekday => (OffDayReason::Weekday, String::new()),
                        OffDay::Holiday(name) => (OffDayReason::Holiday, name.to_owned()),
                    };
                    list.off_days.push(OffDayItem { date, reason, name });
                }
            }
        }
        list
    }
}

async fn list_working_days(ctx: RequestContext, query: CheckedQuery<DaysQuery>) -> Result<Json<WorkingDayList>> {
    let (from, to) = query.0.checked()?;
    let (tenant, organization) = organization(&ctx)?;
    let connection = ctx.read().await?;
    ctx.read_version_first(&connection).await?;
    let calendar = calendars::working_days_of(&connection, ctx.platform(), tenant, organization).await?;
    Ok(Json(WorkingDayList::new(&calendar, from, to)))
}
