//! Creates an assignment.

use backoffice_core::command::{Class, Command, EntityRef, Target, Tx};
use backoffice_core::input::{Input, Validator};
use backoffice_core::{Feature, Placement, Rejection, RequestContext, Result};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::alerts::alerts_of;
use super::resolve::resolve;
use super::{AssignmentFields, NewAssignment};
use crate::model::{Assignment, StatedAssignment};
use crate::{acl, intervals, reject_conflicts};

/// A written assignment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AssignmentWritten {
    /// The assignment.
    pub id: Uuid,
    /// The open alerts that contain it.
    pub alert_ids: Vec<Uuid>,
}

/// Creates an assignment.
#[derive(Debug, Clone)]
pub struct CreateAssignment {
    row: StatedAssignment,
    reject_conflicts: bool,
}

impl CreateAssignment {
    /// Validates the input and finds the placement of the assignment. With `reject_conflicts`, a critical conflict rejects the command.
    ///
    /// # Errors
    /// 400 for invalid fields or without an organization.
    pub fn new(ctx: &RequestContext, input: &NewAssignment, reject_conflicts: bool) -> Result<Self> {
        let mut validator = Validator::default();
        input.validate_new(&mut validator);
        validator.check()?;
        let row = stated(ctx, Placement::for_new(ctx, None)?, &input.0);
        Ok(Self { row, reject_conflicts })
    }
}

/// Returns a new assignment with these validated fields.
pub(super) fn stated(ctx: &RequestContext, placement: Placement, fields: &AssignmentFields) -> StatedAssignment {
    let mut row = StatedAssignment::blank(placement, ctx.new_id(), ctx.now());
    fields.fill(&mut row, &mut Validator::default());
    row
}

impl Command for CreateAssignment {
    const ID: &'static str = "dispatch.assignment.create";
    const CLASS: Class = Class::Create;
    const LABEL: &'static str = "Create assignment";
    const FEATURES: &'static [Feature] = &[acl::MANAGE];
    const LOCKS_FIRST: bool = true;
    type Entity = Assignment;
    type Output = AssignmentWritten;

    fn target(&self) -> Target {
        Target::New {
            tenant: self.row.tenant_id,
            id: self.row.id,
        }
    }

    async fn affects_behind_lock(&self, tx: &mut Tx<'_>) -> Result<Vec<EntityRef>> {
        intervals::keep_zone(tx, std::slice::from_ref(&self.row)).await?;
        Ok(Vec::new())
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<AssignmentWritten> {
        Placement::lock(tx, self.row.organization_id).await?;
        let resolved = resolve(tx, &[(None, &self.row)]).await?;
        let rows = resolved
            .into_iter()
            .collect::<Result<Vec<_>, _>>()
            .map_err(Rejection::invalid)?;
        for written in Assignment::write(tx, &rows).await? {
            tx.keep_written(written.id, written);
        }
        if self.reject_conflicts {
            reject_conflicts::check(tx, &rows, None).await?;
        }
        Ok(AssignmentWritten {
            id: self.row.id,
            alert_ids: Vec::new(),
        })
    }

    async fn complete(&self, tx: &mut Tx<'_>, output: AssignmentWritten) -> Result<AssignmentWritten> {
        let alert_ids = alerts_of(tx, &[output.id]).await?;
        Ok(AssignmentWritten { alert_ids, ..output })
    }
}
