//! Creates many assignments, all or none.

use backoffice_core::command::{Class, Command, Entity, EntityRef, Target, Tx};
use backoffice_core::input::{Input, Validator};
use backoffice_core::{Error, Feature, Placement, RequestContext, Result};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::NewAssignment;
use super::alerts::alerts_of;
use super::create::stated;
use super::resolve::resolve;
use crate::model::{Assignment, StatedAssignment};
use crate::references::ChangedAssignment;
use crate::{acl, intervals, reject_conflicts};

/// Most assignments of a request.
const MOST: usize = 500;

/// Assignments to create.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct NewAssignments {
    /// 1 to 500 assignments.
    #[schema(min_items = 1, max_items = 500)]
    pub items: Vec<NewAssignment>,
}

impl Input for NewAssignments {
    fn require(&self, validator: &mut Validator) {
        self.each(validator, NewAssignment::require);
    }

    fn validate(&self, validator: &mut Validator) {
        match self.items.len() {
            0 => validator.reject("items", "must have at least 1 item", "too_short"),
            1..=MOST => self.each(validator, NewAssignment::validate),
            _ => validator.reject("items", format!("must have at most {MOST} items"), "too_long"),
        }
    }
}

impl NewAssignments {
    fn each(&self, validator: &mut Validator, check: fn(&NewAssignment, &mut Validator)) {
        for (index, item) in self.items.iter().enumerate().take(MOST) {
            validator.set_prefix(format!("items[{index}]."));
            check(item, validator);
        }
        validator.set_prefix("");
    }
}

/// The written assignments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AssignmentsWritten {
    /// The assignments, in the order of the request.
    pub ids: Vec<Uuid>,
    /// The open alerts that contain any of them.
    pub alert_ids: Vec<Uuid>,
}

/// Creates assignments. The entry of the log is about the first one; undo removes all of them.
#[derive(Debug, Clone)]
pub struct BulkCreateAssignments {
    tenant: Uuid,
    organization: Uuid,
    first: Uuid,
    rows: Vec<StatedAssignment>,
    reject_conflicts: bool,
}

impl BulkCreateAssignments {
    /// Validates the input and finds the placement of the assignments. With `reject_conflicts`, a critical conflict of any of them rejects the
    /// command.
    ///
    /// # Errors
    /// 400 for invalid fields or without an organization.
    pub fn new(ctx: &RequestContext, input: &NewAssignments, reject_conflicts: bool) -> Result<Self> {
        let mut validator = Validator::default();
        input.validate_new(&mut validator);
        validator.check()?;
        let placement = Placement::for_new(ctx, None)?;
        let rows: Vec<_> = input.items.iter().map(|item| stated(ctx, placement, &item.0)).collect();
        let first = rows
            .first()
            .ok_or_else(|| Error::internal("a bulk creation without items"))?
            .id;
        Ok(Self {
            tenant: placement.tenant,
            organization: placement.organization,
            first,
            rows,
            reject_conflicts,
        })
    }

    fn ids(&self) -> Vec<Uuid> {
        self.rows.iter().map(|row| row.id).collect()
    }
}

impl Command for BulkCreateAssignments {
    const ID: &'static str = "dispatch.assignment.bulk_create";
    const CLASS: Class = Class::Create;
    const LABEL: &'static str = "Create assignments";
    const FEATURES: &'static [Feature] = &[acl::MANAGE];
    const LOCKS_FIRST: bool = true;
    type Entity = Assignment;
    type Output = AssignmentsWritten;

    fn target(&self) -> Target {
        Target::New {
            tenant: self.tenant,
            id: self.first,
        }
    }

    async fn affects_behind_lock(&self, tx: &mut Tx<'_>) -> Result<Vec<EntityRef>> {
        intervals::keep_zone(tx, &self.rows).await?;
        Ok(Vec::new())
    }

    fn also_creates(&self) -> Vec<EntityRef> {
        let others = self.rows.iter().skip(1);
        others
            .map(|row| EntityRef {
                kind: Assignment::KIND,
                id: row.id,
            })
            .collect()
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<AssignmentsWritten> {
        Placement::lock(tx, self.organization).await?;
        let changes: Vec<ChangedAssignment<'_>> = self.rows.iter().map(|row| (None, row)).collect();
        let (mut rows, mut validator) = (Vec::with_capacity(self.rows.len()), Validator::default());
        for (index, resolved) in resolve(tx, &changes).await?.into_iter().enumerate() {
            match resolved {
                Ok(row) => rows.push(row),
                Err(details) => {
                    validator.set_prefix(format!("items[{index}]."));
                    for detail in details {
                        validator.reject(&detail.path, detail.message, detail.code);
                    }
                }
            }
        }
        validator.check()?;
        Assignment::write(tx, &rows).await?;
        if self.reject_conflicts {
            reject_conflicts::check(tx, &rows, None).await?;
        }
        Ok(AssignmentsWritten {
            ids: self.ids(),
            alert_ids: Vec::new(),
        })
    }

    async fn complete(&self, tx: &mut Tx<'_>, output: AssignmentsWritten) -> Result<AssignmentsWritten> {
        let alert_ids = alerts_of(tx, &output.ids).await?;
        Ok(AssignmentsWritten { alert_ids, ..output })
    }
}
