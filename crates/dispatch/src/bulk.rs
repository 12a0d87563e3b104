//! The bulk operation on assignments.

use backoffice_core::command::{Class, Tx};
use backoffice_core::{Detail, Feature, Patch, Result};
use backoffice_progress::bulk::BulkOperation;
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::commands::{AssignmentFields, UpdateAssignment};
use crate::schema::dispatch_job_sites as job_sites;
use crate::{acl, query};

/// Most minutes by which assignments move: 366 days.
pub(crate) const MOST_MINUTES: i32 = 527_040;

/// Changes the status, the job site or the time of many assignments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BulkUpdateAssignments {
    /// The new status; `None` keeps it.
    pub status: Option<String>,
    /// The new job site; `None` keeps it.
    pub job_site_id: Option<Uuid>,
    /// Minutes by which the assignments move; `None` keeps their time.
    pub shift_minutes: Option<i32>,
}

fn kept_or_set<T>(value: Option<T>) -> Patch<T> {
    value.map_or(Patch::Keep, Patch::Set)
}

impl BulkUpdateAssignments {
    /// Creates the operation from validated fields.
    pub(crate) fn new(fields: &AssignmentFields, shift_minutes: Option<i32>) -> Self {
        Self {
            status: fields.status.clone().value(),
            job_site_id: fields.job_site_id.value(),
            shift_minutes,
        }
    }
}

impl BulkOperation for BulkUpdateAssignments {
    const ID: &'static str = "dispatch.assignment.bulk_update";
    const CLASS: Class = Class::Edit;
    const LABEL: &'static str = "Update assignments";
    const NAME: &'static str = "Update assignments";
    const FEATURES: &'static [Feature] = &[acl::MANAGE];
    type Item = UpdateAssignment;

    fn item(&self, id: Uuid) -> UpdateAssignment {
        let fields = AssignmentFields {
            status: kept_or_set(self.status.clone()),
            job_site_id: kept_or_set(self.job_site_id),
            ..AssignmentFields::default()
        };
        UpdateAssignment::of_bulk(id, fields, self.shift_minutes)
    }

    fn message(total: usize) -> String {
        format!("Bulk update started ({total} assignments).")
    }

    async fn meta(&self, _tx: &mut Tx<'_>) -> Result<Value> {
        Ok(json!(self))
    }

    async fn check(&self, tx: &mut Tx<'_>) -> Result<()> {
        let Some(id) = self.job_site_id else { return Ok(()) };
        let status: Option<String> = query::job_sites::in_scope(tx.scope())
            .filter(job_sites::id.eq(id))
            .select(job_sites::status)
            .first(tx.conn())
            .await
            .optional()?;
        let (message, code) = match status.as_deref() {
            None => ("must be a job site", "job_site_not_found"),
            Some("closed") => ("must not be a closed job site", "job_site_closed"),
            Some(_) => return Ok(()),
        };
        Err(Detail::new("jobSiteId", message, code).into())
    }
}
