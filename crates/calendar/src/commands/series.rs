//! Creates and deletes series, and the bodies of requests.

use backoffice_core::command::{Class, Command, Entity, Target, Tx};
use backoffice_core::input::{Input, Validator};
use backoffice_core::{Error, Feature, Patch, Placement, Rejection, RequestContext, Result, Timestamp};
use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::config::horizon_days;
use crate::day::Day;
use crate::derivation::lock_zones;
use crate::documented::{CalendarReasonCode, CalendarResourceType, body};
use crate::model::{Series, SeriesRow, add_windows, write_rows};
use crate::plan::{Absent, Plan, PlanFields};
use crate::recurrence::{MOST_OCCURRENCES, Rule};
use crate::{acl, resource_check};

/// The fields of a series: absent fields keep their values.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
#[schema(as = CalendarSeriesFields)]
pub struct SeriesFields {
    /// The id of the path.
    #[schema(value_type = Uuid)]
    pub id: Patch<String>,
    /// Type of the resource.
    #[schema(value_type = CalendarResourceType)]
    pub resource_type: Patch<String>,
    /// The resource.
    #[schema(value_type = Uuid)]
    pub resource_id: Patch<String>,
    /// First day of the first occurrence.
    #[schema(value_type = Day)]
    pub start_date: Patch<String>,
    /// Day after the last one of the first occurrence, at most 1096 days later.
    #[schema(value_type = Day)]
    pub end_date_exclusive: Patch<String>,
    /// A reason of the type of the resource.
    #[schema(value_type = CalendarReasonCode)]
    pub reason_code: Patch<String>,
    /// At most 500 characters; null clears.
    #[schema(value_type = Option<String>, max_length = 500)]
    pub note: Patch<String>,
    /// Recurrence rule (RFC 5545) over days: FREQ from DAILY to YEARLY, INTERVAL, BYDAY, BYMONTHDAY, BYMONTH, BYSETPOS, WKST, COUNT or UNTIL (a date).
    #[schema(value_type = String, max_length = 500, example = "FREQ=WEEKLY;INTERVAL=2;BYDAY=FR")]
    pub rrule: Patch<String>,
    /// First day of the occurrences that change, by default today; earlier ones stay.
    #[schema(value_type = Day)]
    pub from: Patch<String>,
}

impl SeriesFields {
    pub(super) fn plan(&self) -> PlanFields<'_> {
        PlanFields {
            resource_type: &self.resource_type,
            resource_id: &self.resource_id,
            start_date: &self.start_date,
            end_date_exclusive: &self.end_date_exclusive,
            reason_code: &self.reason_code,
            note: &self.note,
        }
    }

    /// Validates the fields of a creation.
    fn checked_new(&self, validator: &mut Validator) -> Option<(Plan, Rule)> {
        let plan = self.plan().merged(Absent::Missing, validator);
        let first = plan.as_ref().map_or(Day::EPOCH, |plan| plan.start_date);
        let rule = match &self.rrule {
            Patch::Set(text) => validator.accept("rrule", Rule::parse(text, first)),
            Patch::Keep | Patch::Clear => {
                validator.reject("rrule", "is required", "invalid_recurrence");
                None
            }
        };
        Some((plan?, rule?))
    }

    /// Returns the day from which an update changes occurrences, if the request names it.
    pub(super) fn from(&self, validator: &mut Validator) -> Option<Day> {
        let Patch::Set(text) = &self.from else {
            if self.from.is_clear() {
                validator.reject("from", "must not be null", "invalid_date");
            }
            return None;
        };
        let day = Day::parse(text);
        if day.is_none() {
            validator.reject("from", Day::EXPECTED, "invalid_date");
        }
        day
    }
}

impl Input for SeriesFields {
    fn require(&self, validator: &mut Validator) {
        self.checked_new(validator);
    }

    fn validate(&self, validator: &mut Validator) {
        super::validate_id(&self.id, validator);
        self.plan().merged(Absent::Unknown, validator);
        match &self.rrule {
            // The first day is not known yet: the earliest one accepts every UNTIL.
            Patch::Set(text) => {
                validator.accept("rrule", Rule::parse(text, Day::EPOCH));
            }
            Patch::Clear => validator.reject("rrule", "must not be null", "invalid_recurrence"),
            Patch::Keep => {}
        }
        self.from(validator);
    }
}

body! {
    /// The body of a creation.
    NewSeries(SeriesFields)
    requires ["resourceType", "resourceId", "startDate", "endDateExclusive", "reasonCode", "rrule"], without ["id", "from"];
    require
}

body! {
    /// The body of an update.
    SeriesChanges(SeriesFields) requires [], without [];
    validate
}

/// The id of a series and the number of windows that were created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeriesWindows {
    /// The series.
    pub id: Uuid,
    /// The windows.
    pub count: usize,
}

/// Returns the last day up to which windows are created now.
pub(super) fn horizon(tx: &Tx<'_>, today: Day) -> Day {
    let days = horizon_days(tx.context().platform());
    today.plus_days(days).unwrap_or(Day::LAST)
}

/// Returns the present day in the zone of an organization, which stays locked.
pub(super) async fn today(tx: &mut Tx<'_>, organization: Uuid) -> Result<Day> {
    let now = tx.context().now();
    let zones = lock_zones(tx, &[organization]).await?;
    let day = zones
        .get(&organization)
        .and_then(|zone| Day::from_date(zone.local_date(now)));
    day.ok_or_else(|| Error::internal("the present day is not supported"))
}

/// Creates the windows of a series that follow from its rule, up to the horizon, and sets `created_until`. Returns the days.
pub(super) fn expand(row: &mut SeriesRow, horizon: Day) -> Result<Vec<Day>> {
    let (days, is_complete) = row.occurrences(horizon, MOST_OCCURRENCES + 1);
    if days.len() > MOST_OCCURRENCES {
        let message = format!("must have at most {MOST_OCCURRENCES} occurrences until {horizon}; add COUNT or UNTIL");
        return Err(Rejection::invalid_field("rrule", message, "too_many_occurrences").into());
    }
    row.created_until = if is_complete { Day::LAST } else { horizon };
    Ok(days)
}

/// Inserts the windows of these days.
pub(super) async fn add_days(tx: &mut Tx<'_>, row: &SeriesRow, days: Vec<Day>) -> Result<usize> {
    let now = tx.now();
    let windows = days.into_iter().filter_map(|day| row.window(day, now)).collect();
    let added = add_windows(tx, windows).await?;
    metrics::counter!("calendar_occurrences_made_total").increment(u64::try_from(added).unwrap_or(0));
    Ok(added)
}

/// Creates a series with its windows up to the horizon.
#[derive(Debug, Clone)]
pub struct CreateSeries {
    row: SeriesRow,
}

impl CreateSeries {
    /// Validates the fields and finds the organization.
    ///
    /// # Errors
    /// 400 for invalid fields or without an organization.
    pub fn new(ctx: &RequestContext, fields: &SeriesFields) -> Result<Self> {
        let mut validator = Validator::default();
        let checked = fields.checked_new(&mut validator);
        validator.check()?;
        let (plan, rule) = checked.ok_or_else(|| Error::internal("an invalid field was not reported"))?;
        let placement = Placement::for_new(ctx, None)?;
        let mut row = blank(placement, ctx.new_id(), ctx.now());
        row.effective_from = plan.start_date;
        row.set_plan(plan);
        row.rrule = rule.as_str().to_owned();
        row.ends_on = rule.until();
        Ok(Self { row })
    }
}

fn blank(placement: Placement, id: Uuid, now: Timestamp) -> SeriesRow {
    SeriesRow {
        tenant_id: placement.tenant,
        id,
        organization_id: placement.organization,
        resource_type: crate::subject::ResourceType::Worker,
        resource_id: Uuid::nil(),
        start_date: Day::EPOCH,
        end_date_exclusive: Day::EPOCH,
        named_start_date: None,
        rrule: String::new(),
        ends_on: None,
        exdates: Vec::new(),
        effective_from: Day::EPOCH,
        reason_code: String::new(),
        note: None,
        created_until: Day::EPOCH,
        created_at: now,
        updated_at: now,
    }
}

impl Command for CreateSeries {
    const ID: &'static str = "calendar.series.create";
    const CLASS: Class = Class::Create;
    const LABEL: &'static str = "Create series";
    const FEATURES: &'static [Feature] = &[acl::MANAGE];
    type Entity = Series;
    type Output = SeriesWindows;

    fn target(&self) -> Target {
        Target::New {
            tenant: self.row.tenant_id,
            id: self.row.id,
        }
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<SeriesWindows> {
        let mut row = self.row.clone();
        Placement::lock(tx, row.organization_id).await?;
        let today = today(tx, row.organization_id).await?;
        resource_check::check(tx, row.subject()).await?;
        let horizon = horizon(tx, today);
        let days = expand(&mut row, horizon)?;
        write_rows(tx, vec![row.clone()]).await?;
        let count = add_days(tx, &row, days).await?;
        Ok(SeriesWindows { id: row.id, count })
    }
}

/// Deletes a series with all of its windows.
#[derive(Debug, Clone, Copy)]
pub struct DeleteSeries {
    id: Uuid,
}

impl DeleteSeries {
    /// Creates the command.
    #[must_use]
    pub const fn new(id: Uuid) -> Self {
        Self { id }
    }
}

impl Command for DeleteSeries {
    const ID: &'static str = "calendar.series.delete";
    const CLASS: Class = Class::Delete;
    const LABEL: &'static str = "Delete series";
    const FEATURES: &'static [Feature] = &[acl::MANAGE];
    type Entity = Series;
    type Output = ();

    fn target(&self) -> Target {
        Target::Existing(self.id)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        Series::remove(tx, &[self.id]).await
    }
}
