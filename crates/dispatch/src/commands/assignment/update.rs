//! Updates assignments.

use backoffice_core::command::{BatchCommand, BatchItem, Class, Command, Entity, EntityRef, Target, Tx};
use backoffice_core::input::{Input, Validator};
use backoffice_core::{Detail, Feature, Rejection, Result};
use uuid::Uuid;

use super::alerts::alerts_of;
use super::resolve::resolve;
use super::{AssignmentChanges, AssignmentFields, AssignmentWritten, time};
use crate::model::{Assignment, StatedAssignment};
use crate::references::ChangedAssignment;
use crate::{acl, intervals, reject_conflicts};

/// Updates an assignment.
#[derive(Debug, Clone)]
pub struct UpdateAssignment {
    id: Uuid,
    fields: AssignmentFields,
    shift_minutes: Option<i32>,
    reject_conflicts: bool,
}

impl UpdateAssignment {
    /// Validates the input, as far as possible without the stored assignment. With `reject_conflicts`, a critical conflict rejects the command.
    ///
    /// # Errors
    /// 400 for invalid fields.
    pub fn new(id: Uuid, input: AssignmentChanges, reject_conflicts: bool) -> Result<Self> {
        let mut validator = Validator::default();
        input.validate_update(&mut validator);
        validator.check()?;
        Ok(Self {
            id,
            fields: input.0,
            shift_minutes: None,
            reject_conflicts,
        })
    }

    /// Creates the command for an item of a bulk operation, with validated fields.
    pub(crate) const fn of_bulk(id: Uuid, fields: AssignmentFields, shift_minutes: Option<i32>) -> Self {
        Self {
            id,
            fields,
            shift_minutes,
            reject_conflicts: false,
        }
    }

    /// Returns the requested fields, for interceptors.
    #[must_use]
    pub const fn fields(&self) -> &AssignmentFields {
        &self.fields
    }

    /// Returns the assignment as it will be stated, or the violated rules.
    fn changed(&self, before: &Assignment) -> Result<StatedAssignment, Vec<Detail>> {
        let mut after = StatedAssignment::from(before.clone());
        let mut validator = Validator::default();
        self.fields.fill(&mut after, &mut validator);
        if let Some(minutes) = self.shift_minutes
            && !time::shift(&mut after, (before.start_at, before.end_at), minutes)
        {
            validator.reject(
                "shiftMinutes",
                "must stay within the years 1970 to 2199",
                "invalid_interval",
            );
        }
        let details = validator.into_details();
        match details.is_empty() {
            true => Ok(after),
            false => Err(details),
        }
    }
}

impl Command for UpdateAssignment {
    const ID: &'static str = "dispatch.assignment.update";
    const CLASS: Class = Class::Edit;
    const LABEL: &'static str = "Update assignment";
    const FEATURES: &'static [Feature] = &[acl::MANAGE];
    const LOCKS_FIRST: bool = true;
    type Entity = Assignment;
    type Output = AssignmentWritten;

    fn target(&self) -> Target {
        Target::Existing(self.id)
    }

    async fn affects_behind_lock(&self, tx: &mut Tx<'_>) -> Result<Vec<EntityRef>> {
        intervals::keep_zone_of(tx, self.id, self.fields.has_dates()).await?;
        Ok(Vec::new())
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<AssignmentWritten> {
        let before = Assignment::read(tx, &[self.id]).await?.pop();
        let before = before.ok_or_else(|| Rejection::not_found(Assignment::NOT_FOUND))?;
        let after = self.changed(&before).map_err(Rejection::invalid)?;
        let before = StatedAssignment::from(before);
        if after != before {
            let after = StatedAssignment {
                updated_at: tx.now(),
                ..after
            };
            let resolved = resolve(tx, &[(Some(&before), &after)]).await?;
            let rows = resolved
                .into_iter()
                .collect::<Result<Vec<_>, _>>()
                .map_err(Rejection::invalid)?;
            for written in Assignment::write(tx, &rows).await? {
                tx.keep_written(written.id, written);
            }
            if self.reject_conflicts {
                reject_conflicts::check(tx, &rows, Some(&before)).await?;
            }
        }
        Ok(AssignmentWritten {
            id: self.id,
            alert_ids: Vec::new(),
        })
    }

    async fn complete(&self, tx: &mut Tx<'_>, output: AssignmentWritten) -> Result<AssignmentWritten> {
        let alert_ids = alerts_of(tx, &[output.id]).await?;
        Ok(AssignmentWritten { alert_ids, ..output })
    }
}

impl BatchCommand for UpdateAssignment {
    async fn apply_all(tx: &mut Tx<'_>, items: &[BatchItem<'_, Self>]) -> Result<Vec<(Uuid, Rejection)>> {
        let ids: Vec<Uuid> = items.iter().map(|item| item.id).collect();
        let mut failed = Vec::new();
        let mut changes: Vec<(StatedAssignment, StatedAssignment)> = Vec::new();
        for before in Assignment::read(tx, &ids).await? {
            let Some(item) = items.iter().find(|item| item.id == before.id) else {
                continue;
            };
            match item.command.changed(&before) {
                Ok(after) => changes.push((before.into(), after)),
                Err(details) => failed.push((item.id, Rejection::invalid(details))),
            }
        }
        let now = tx.now();
        changes.retain(|(before, after)| before != after);
        for (_, after) in &mut changes {
            after.updated_at = now;
        }
        let changed: Vec<ChangedAssignment<'_>> = changes.iter().map(|(before, after)| (Some(before), after)).collect();
        let mut rows = Vec::with_capacity(changed.len());
        for (resolved, (_, after)) in resolve(tx, &changed).await?.into_iter().zip(&changes) {
            match resolved {
                Ok(row) => rows.push(row),
                Err(details) => failed.push((after.id, Rejection::invalid(details))),
            }
        }
        if !rows.is_empty() {
            Assignment::write(tx, &rows).await?;
        }
        Ok(failed)
    }
}
