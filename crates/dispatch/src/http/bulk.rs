//! The bulk operation on assignments. It responds with a progress job.

use backoffice_core::http::{Created, Json, Routes, requires};
use backoffice_core::input::{Input, Validator, rules};
use backoffice_core::{Patch, RequestContext, Result};
use backoffice_progress::bulk::{Started, checked_ids, start, validate_ids};
use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::acl;
use crate::bulk::{BulkUpdateAssignments, MOST_MINUTES};
use crate::commands::AssignmentFields;
use crate::documented::AssignmentStatus;
use crate::values::{self, ASSIGNMENT_STATUSES};

const PATH: &str = "/dispatch/assignments/bulk-update";

pub(super) fn routes(routes: &mut Routes) {
    routes
        .post(PATH, requires(&[acl::MANAGE]), bulk_update_assignments)
        .about("Change many assignments in the background")
        .rejects(&[409, 422]);
}

/// Assignments and their changes, at least one.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ChangesOfAssignments {
    /// 1 to 10000 assignments; repeated ids count once.
    #[schema(min_items = 1, max_items = 10000)]
    ids: Vec<Uuid>,
    /// The new status.
    #[serde(default)]
    #[schema(value_type = Option<AssignmentStatus>, nullable = false)]
    status: Patch<String>,
    /// The new job site, which is not closed.
    #[serde(default)]
    #[schema(value_type = Option<Uuid>, nullable = false)]
    job_site_id: Patch<Uuid>,
    /// Minutes by which the assignments move. Those that were given by dates keep dates if these are whole days.
    #[serde(default)]
    #[schema(value_type = Option<i32>, nullable = false, minimum = -527_040, maximum = 527_040)]
    shift_minutes: Patch<i32>,
}

impl Input for ChangesOfAssignments {
    fn validate(&self, validator: &mut Validator) {
        validate_ids(&self.ids, validator);
        let statuses = (ASSIGNMENT_STATUSES, "invalid_status");
        values::word(validator, "status", &self.status, &mut String::new(), statuses);
        validator.value("jobSiteId", &self.job_site_id, &mut Uuid::nil(), rules::any);
        validator.value(
            "shiftMinutes",
            &self.shift_minutes,
            &mut 0,
            values::minutes(MOST_MINUTES),
        );
        if self.status.is_keep() && self.job_site_id.is_keep() && self.shift_minutes.is_keep() {
            validator.reject("status", "is required without jobSiteId and shiftMinutes", "required");
        }
    }
}

async fn bulk_update_assignments(ctx: RequestContext, body: Json<ChangesOfAssignments>) -> Result<Created<Started>> {
    let mut validator = Validator::default();
    body.0.validate(&mut validator);
    validator.check()?;
    let ids = checked_ids(body.0.ids)?;
    let fields = AssignmentFields {
        status: body.0.status,
        job_site_id: body.0.job_site_id,
        ..AssignmentFields::default()
    };
    let operation = BulkUpdateAssignments::new(&fields, body.0.shift_minutes.value());
    start(&ctx, operation, ids).await
}
