//! Updates series from a day on, and ends them before a day.

use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::db::Recurring;
use backoffice_core::input::{Input, Validator};
use backoffice_core::{Error, Feature, Patch, Rejection, Result};
use diesel::sql_query;
use diesel::sql_types::{Bool, Date as SqlDate, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use super::series::{SeriesFields, SeriesWindows, add_days, expand, horizon, today};
use crate::day::Day;
use crate::model::{Series, SeriesRow, read_series, write_rows};
use crate::plan::{Absent, Plan};
use crate::recurrence::{MOST_OCCURRENCES, Rule};
use crate::{acl, resource_check};

/// What an update does with the occurrences from a day on.
#[derive(Debug, Clone)]
enum SeriesChange {
    /// They get these fields.
    Replace(Box<SeriesFields>),
    /// They are deleted.
    End,
}

/// Changes the occurrences of a series from a day on. Earlier windows stay as they were, and so do windows that were changed individually.
#[derive(Debug, Clone)]
pub struct UpdateSeries {
    id: Uuid,
    from: Option<Day>,
    change: SeriesChange,
}

impl UpdateSeries {
    /// Validates the fields, as far as possible without the stored row.
    ///
    /// # Errors
    /// 400 for invalid fields.
    pub fn new(id: Uuid, fields: SeriesFields) -> Result<Self> {
        let mut validator = Validator::default();
        fields.validate(&mut validator);
        let from = fields.from(&mut validator);
        validator.check()?;
        Ok(Self {
            id,
            from,
            change: SeriesChange::Replace(Box::new(fields)),
        })
    }

    /// Creates the command that ends the series before a day.
    #[must_use]
    pub const fn ending(id: Uuid, from: Day) -> Self {
        Self {
            id,
            from: Some(from),
            change: SeriesChange::End,
        }
    }
}

impl Command for UpdateSeries {
    const ID: &'static str = "calendar.series.update";
    const CLASS: Class = Class::Edit;
    const LABEL: &'static str = "Update series";
    const FEATURES: &'static [Feature] = &[acl::MANAGE];
    type Entity = Series;
    type Output = SeriesWindows;

    fn target(&self) -> Target {
        Target::Existing(self.id)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<SeriesWindows> {
        let stored = read_series(tx, &[self.id]).await?.pop();
        let stored = stored.ok_or_else(|| Rejection::not_found("Series not found").code("series_not_found"))?;
        let today = today(tx, stored.row.organization_id).await?;
        let from = self.from.unwrap_or(today);
        let count = match &self.change {
            SeriesChange::Replace(fields) => replace(tx, &stored, fields, (from, today)).await?,
            SeriesChange::End => {
                end(tx, &stored, from).await?;
                0
            }
        };
        Ok(SeriesWindows { id: self.id, count })
    }
}

/// Gives the occurrences from a day on these fields. Returns the number of windows that were created.
async fn replace(tx: &mut Tx<'_>, stored: &Series, fields: &SeriesFields, (from, today): (Day, Day)) -> Result<usize> {
    let mut row = stored.row.clone();
    fill(&mut row, fields, from)?;
    if row == stored.row && !has_earlier_rule(stored, from) {
        return Ok(0);
    }
    if row.subject() != stored.row.subject() {
        resource_check::check(tx, row.subject()).await?;
    }
    row.updated_at = tx.now();
    let before = complete_before(tx, &stored.row, from).await?;
    delete_from(tx, row.id, from, false).await?;
    row.effective_from = from;
    let days = expand(&mut row, horizon(tx, today))?;
    write_rows(tx, vec![row.clone()]).await?;
    Ok(before + add_days(tx, &row, days).await?)
}

/// Returns whether an earlier rule than the present one applies to any occurrence from a day on.
fn has_earlier_rule(stored: &Series, from: Day) -> bool {
    let (row, windows) = (&stored.row, &stored.exceptions);
    from < row.effective_from
        && (row.start_date < row.effective_from
            || windows
                .iter()
                .any(|window| window.is_earlier && window.series_date >= from))
}

/// Creates the windows before a day that are still missing because they are behind the horizon: later, the series has another rule.
async fn complete_before(tx: &mut Tx<'_>, row: &SeriesRow, from: Day) -> Result<usize> {
    let created = row.created_until;
    let Some(last) = from.plus_days(-1).filter(|last| *last > created) else {
        return Ok(0);
    };
    let (days, _) = row.occurrences_after(created, last, MOST_OCCURRENCES + 1);
    if days.len() > MOST_OCCURRENCES {
        let message = format!("must leave at most {MOST_OCCURRENCES} occurrences between {created} and this day");
        return Err(Rejection::invalid_field("from", message, "too_many_occurrences").into());
    }
    add_days(tx, row, days).await
}

/// Ends a series before a day.
async fn end(tx: &mut Tx<'_>, stored: &Series, from: Day) -> Result<()> {
    let mut row = stored.row.clone();
    let last = from.plus_days(-1).unwrap_or(Day::EPOCH);
    row.ends_on = Some(row.ends_on.map_or(last, |end| end.min(last)));
    // A series that has ended before may still have later windows that do not follow from its rule.
    let has_later = stored.exceptions.iter().any(|window| window.series_date >= from);
    if row == stored.row && !has_later {
        return Ok(());
    }
    row.updated_at = tx.now();
    delete_from(tx, row.id, from, true).await?;
    // All occurrences up to its last day exist, unless it ends after the horizon.
    let is_complete = row.ends_on.is_some_and(|end| end <= row.created_until);
    row.created_until = if is_complete { Day::LAST } else { row.created_until };
    write_rows(tx, vec![row]).await
}

const DELETE_FROM: &str = "delete from calendar_windows where tenant_id = $1 and series_id = $2 and series_date >= $3 \
    and (not is_exception or $4)";

/// Deletes the windows from a day on.
async fn delete_from(tx: &mut Tx<'_>, series: Uuid, from: Day, with_exceptions: bool) -> Result<()> {
    let tenant = tx.tenant();
    sql_query(DELETE_FROM)
        .bind::<SqlUuid, _>(tenant)
        .bind::<SqlUuid, _>(series)
        .bind::<SqlDate, _>(from)
        .bind::<Bool, _>(with_exceptions)
        .prepared()
        .execute(tx.conn())
        .await?;
    Ok(())
}

/// Writes the fields of a request into a series whose occurrences change from a day on. A new rule counts from that day, and so does the present one if
/// it began later, unless the request names the first day.
fn fill(row: &mut SeriesRow, fields: &SeriesFields, from: Day) -> Result<()> {
    let mut validator = Validator::default();
    let stored = row.plan();
    let plan = fields.plan().merged(Absent::Stored(&stored), &mut validator);
    let Some(mut plan) = plan else {
        validator.check()?;
        return Err(Error::internal("an invalid field was not reported"));
    };
    let rule = match &fields.rrule {
        Patch::Set(text) => validator.accept("rrule", Rule::parse(text, Day::EPOCH)),
        Patch::Keep | Patch::Clear => None,
    };
    let has_new_rule = rule.is_some_and(|rule| rule.as_str() != row.rrule);
    if !fields.start_date.is_keep() {
        row.named_start_date = None;
    } else if has_new_rule || from < plan.start_date {
        move_start(row, &mut plan, from, &mut validator);
    }
    if let Patch::Set(text) = &fields.rrule {
        let first = plan.start_date;
        if let Some(rule) = validator.accept("rrule", Rule::parse(text, first)) {
            row.rrule = rule.as_str().to_owned();
            row.ends_on = rule.until();
        }
    }
    validator.check()?;
    row.set_plan(plan);
    Ok(())
}

/// Moves the first day to the one from which occurrences change, but not before the one that a client named.
fn move_start(row: &mut SeriesRow, plan: &mut Plan, from: Day, validator: &mut Validator) {
    let named = row.named_start_date.unwrap_or(plan.start_date).min(plan.start_date);
    let first = from.max(named);
    let length = plan.end_date_exclusive.days_since(plan.start_date);
    let Some(end) = first.plus_days(length) else {
        let message = format!("must be at least {length} days before {}", Day::LAST);
        validator.reject("from", message, "invalid_date_range");
        return;
    };
    plan.start_date = first;
    plan.end_date_exclusive = end;
    row.named_start_date = (first != named).then_some(named);
}
