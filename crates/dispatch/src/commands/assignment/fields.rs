//! The fields of assignments in requests.

use backoffice_core::input::{Input, Validator, rules};
use backoffice_core::{Patch, Placement, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::time;
use crate::documented::{AssignmentStatus, ResourceTypeName, bodies};
use crate::model::StatedAssignment;
use crate::values::{self, ASSIGNMENT_STATUSES, NOTE_LENGTH, RESOURCE_TYPES};
use backoffice_calendar::Day;

/// The changes of an assignment: absent fields keep their values, null clears. Its time is given either by instants or by dates.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AssignmentFields {
    /// A job site of the organization; a new one must not be closed.
    #[schema(value_type = Uuid)]
    pub job_site_id: Patch<Uuid>,
    /// Type of the subject.
    #[schema(value_type = ResourceTypeName)]
    pub subject_type: Patch<String>,
    /// A resource of this type in the organization; a new one must be active.
    #[schema(value_type = Uuid)]
    pub subject_id: Patch<Uuid>,
    /// The start, together with `endAt`.
    #[schema(value_type = Timestamp)]
    pub start_at: Patch<String>,
    /// The end, after the start and at most 366 days later.
    #[schema(value_type = Timestamp)]
    pub end_at: Patch<String>,
    /// The first day, together with `endDateExclusive`. Days begin and end in the organization's time zone.
    #[schema(value_type = Option<Day>)]
    pub start_date: Patch<String>,
    /// The day after the last one, at most 366 days after the first one.
    #[schema(value_type = Option<Day>)]
    pub end_date_exclusive: Patch<String>,
    /// The status; `planned` by default.
    #[schema(value_type = AssignmentStatus)]
    pub status: Patch<String>,
    /// At most 1000 characters.
    #[schema(value_type = Option<String>, max_length = 1000)]
    pub note: Patch<String>,
}

bodies!(AssignmentFields: NewAssignment requires ["jobSiteId", "subjectType", "subjectId"], AssignmentChanges);

impl AssignmentFields {
    /// Whether the time is given by dates.
    pub(crate) fn has_dates(&self) -> bool {
        time::is_given(&self.start_date, &self.end_date_exclusive)
    }

    /// Validates the given fields and writes them into the assignment.
    pub(crate) fn fill(&self, row: &mut StatedAssignment, validator: &mut Validator) {
        validator.value("jobSiteId", &self.job_site_id, &mut row.job_site_id, rules::any);
        let types = (RESOURCE_TYPES, "invalid_resource_type");
        values::word(
            validator,
            "subjectType",
            &self.subject_type,
            &mut row.subject_type,
            types,
        );
        validator.value("subjectId", &self.subject_id, &mut row.subject_id, rules::any);
        time::fill(self, row, validator);
        let statuses = (ASSIGNMENT_STATUSES, "invalid_status");
        values::word(validator, "status", &self.status, &mut row.status, statuses);
        let note = (NOTE_LENGTH, "invalid_note");
        values::optional_text(validator, "note", &self.note, &mut row.note, note);
    }
}

impl Input for AssignmentFields {
    fn require(&self, validator: &mut Validator) {
        validator.require("jobSiteId", &self.job_site_id);
        validator.require("subjectType", &self.subject_type);
        validator.require("subjectId", &self.subject_id);
        time::require(self, validator);
    }

    /// Validates the fields without the stored assignment. Its time is assumed to be complete.
    fn validate(&self, validator: &mut Validator) {
        let mut row = StatedAssignment::blank(Placement::UNKNOWN, Uuid::nil(), Timestamp::UNIX_EPOCH);
        time::assume(self, &mut row);
        self.fill(&mut row, validator);
    }
}
