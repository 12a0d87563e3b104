//! Which conflicts an assignment would have.

use backoffice_calendar::Day;
use backoffice_core::http::{Json, Routes, requires};
use backoffice_core::input::{Input, Validator};
use backoffice_core::{Patch, Placement, RequestContext, Result, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::acl;
use crate::check::{FoundConflict, check};
use crate::commands::AssignmentFields;
use crate::documented::{AssignmentStatus, ResourceTypeName};
use crate::model::StatedAssignment;

pub(super) fn routes(routes: &mut Routes) {
    routes
        .post("/dispatch/assignments/check", requires(&[acl::VIEW]), check_assignment)
        .about("List the conflicts that an assignment would have, without storing it")
        .without_command();
}

/// An assignment to check: the fields of a new one, and the id of the stored one that it would replace.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
struct CheckedAssignment {
    /// An assignment that is left out: the one that would be changed.
    #[schema(value_type = Option<Uuid>)]
    id: Patch<Uuid>,
    /// A job site of the organization.
    #[schema(value_type = Uuid, required = true)]
    job_site_id: Patch<Uuid>,
    /// Type of the subject.
    #[schema(value_type = ResourceTypeName, required = true)]
    subject_type: Patch<String>,
    /// A resource of this type in the organization of the job site.
    #[schema(value_type = Uuid, required = true)]
    subject_id: Patch<Uuid>,
    /// The start, together with `endAt`.
    #[schema(value_type = Timestamp)]
    start_at: Patch<String>,
    /// The end, after the start and at most 366 days later.
    #[schema(value_type = Timestamp)]
    end_at: Patch<String>,
    /// The first day, together with `endDateExclusive`.
    #[schema(value_type = Option<Day>)]
    start_date: Patch<String>,
    /// The day after the last one, at most 366 days after the first one.
    #[schema(value_type = Option<Day>)]
    end_date_exclusive: Patch<String>,
    /// The status; `planned` by default.
    #[schema(value_type = AssignmentStatus)]
    status: Patch<String>,
    /// At most 1000 characters.
    #[schema(value_type = Option<String>, max_length = 1000)]
    note: Patch<String>,
}

impl CheckedAssignment {
    fn fields(&self) -> AssignmentFields {
        let one = self.clone();
        AssignmentFields {
            job_site_id: one.job_site_id,
            subject_type: one.subject_type,
            subject_id: one.subject_id,
            start_at: one.start_at,
            end_at: one.end_at,
            start_date: one.start_date,
            end_date_exclusive: one.end_date_exclusive,
            status: one.status,
            note: one.note,
        }
    }
}

impl Input for CheckedAssignment {
    fn require(&self, validator: &mut Validator) {
        self.fields().require(validator);
    }

    fn validate(&self, validator: &mut Validator) {
        self.fields().validate(validator);
    }
}

/// The conflicts.
#[derive(Debug, Clone, Serialize, ToSchema)]
struct CheckedConflicts {
    /// The conflicts, by urgency; empty if there are none.
    conflicts: Vec<FoundConflict>,
}

async fn check_assignment(ctx: RequestContext, body: Json<CheckedAssignment>) -> Result<Json<CheckedConflicts>> {
    let (fields, mut validator) = (body.0.fields(), Validator::default());
    fields.validate_new(&mut validator);
    validator.check()?;
    let mut stated = StatedAssignment::blank(Placement::UNKNOWN, Uuid::nil(), ctx.now());
    fields.fill(&mut stated, &mut Validator::default());
    let conflicts = check(&ctx, &stated, body.0.id.value()).await?;
    Ok(Json(CheckedConflicts { conflicts }))
}
