//! Endpoints of assignments.

use backoffice_core::http::{CheckedQuery, Created, Json, Path, PathId, QueryInput, Routes, requires};
use backoffice_core::input::{Input, Validator};
use backoffice_core::list::{ById, IdList, Page, PageQuery, parameters};
use backoffice_core::{Detail, Error, RequestContext, Result, Timestamp, Violations, crud, missing_as};
use serde::Deserialize;
use time::Duration;
use utoipa::IntoParams;
use uuid::Uuid;

use super::bodies::DeletedRecord;
use super::interval::interval;
use crate::acl;
use crate::commands::{
    AssignmentChanges, AssignmentWritten, AssignmentsWritten, BulkCreateAssignments, CreateAssignment,
    DeleteAssignment, NewAssignment, NewAssignments, UpdateAssignment,
};
use crate::documented::{AssignmentStatuses, ResourceTypeName};
use crate::foreign::WINDOW;
use crate::model::{ASSIGNMENT, Assignment};
use crate::query::assignments::{self, AssignmentFilter};
use crate::values::{ASSIGNMENT_STATUSES, RESOURCE_TYPES};

const LIST: &str = "/dispatch/assignments";
const ONE: &str = "/dispatch/assignments/{id}";
const BULK: &str = "/dispatch/assignments/bulk";
const NOT_FOUND: &str = "assignment_not_found";
/// Rows of a page, if the request does not say how many.
const PAGE_SIZE: u32 = 20;
/// Longest interval of a list.
const LONGEST: Duration = Duration::days(400);

pub(super) fn routes(routes: &mut Routes) {
    routes
        .get(LIST, requires(&[acl::VIEW]), list_assignments)
        .shows(&[ASSIGNMENT, WINDOW])
        .about("List the assignments of an interval, by start");
    routes
        .get(ONE, requires(&[acl::VIEW]), get_assignment)
        .shows(&[ASSIGNMENT])
        .about("An assignment")
        .rejects(&[404]);
    routes
        .post(LIST, requires(&[acl::MANAGE]), create_assignment)
        .about("Create an assignment")
        .rejects(&[409, 422])
        .rejects_with::<Vec<String>>(409, "conflictingAssignmentIds")
        .rejects_with::<Vec<String>>(409, "unavailabilityWindowIds");
    routes
        .put(ONE, requires(&[acl::MANAGE]), update_assignment)
        .about("Change an assignment")
        .rejects(&[404, 409, 422])
        .rejects_with::<Vec<String>>(409, "conflictingAssignmentIds")
        .rejects_with::<Vec<String>>(409, "unavailabilityWindowIds");
    routes
        .delete(ONE, requires(&[acl::MANAGE]), delete_assignment)
        .about("Delete an assignment")
        .rejects(&[404, 409, 422]);
    routes
        .post(BULK, requires(&[acl::MANAGE]), create_assignments)
        .about("Create many assignments, all or none")
        .rejects(&[409, 422])
        .rejects_with::<Vec<String>>(409, "conflictingAssignmentIds")
        .rejects_with::<Vec<String>>(409, "unavailabilityWindowIds");
}

/// Parameters of the list.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct AssignmentQuery {
    /// Page number from 1.
    #[param(minimum = 1, maximum = 2_147_483_647, default = 1)]
    page: Option<u32>,
    /// Rows per page.
    #[param(minimum = 1, maximum = 100, default = 20)]
    page_size: Option<u32>,
    /// Only the assignment with this id.
    #[param(value_type = Option<Uuid>)]
    id: Option<String>,
    /// Only the assignments with these ids, joined by commas, at most 200.
    #[param(value_type = Option<IdList>, inline)]
    ids: Option<String>,
    /// Only assignments that take time after this instant; required without ids.
    #[param(value_type = Option<Timestamp>, inline)]
    from: Option<String>,
    /// Only assignments that take time before this instant, at most 400 days after `from`; required without ids.
    #[param(value_type = Option<Timestamp>, inline)]
    to: Option<String>,
    /// Only assignments to these job sites, joined by commas, at most 200.
    #[param(value_type = Option<IdList>, inline)]
    job_site_ids: Option<String>,
    /// Only assignments of subjects of this type.
    #[param(value_type = Option<ResourceTypeName>, inline)]
    subject_type: Option<String>,
    /// Only assignments of these subjects, joined by commas, at most 200.
    #[param(value_type = Option<IdList>, inline)]
    subject_ids: Option<String>,
    /// Only these statuses, joined by commas.
    #[param(value_type = Option<AssignmentStatuses>, inline)]
    statuses: Option<String>,
    /// Only assignments with, or without a critical conflict: an overlap with another one of the subject, or with its unavailability.
    #[param(value_type = Option<bool>)]
    has_conflicts: Option<String>,
}

impl AssignmentQuery {
    fn filter(&self, violations: &mut Violations) -> AssignmentFilter {
        // A malformed id is an id as well: `from` and `to` are not required beside it.
        let id = self.id.as_deref().map(|text| {
            text.parse::<Uuid>()
                .map_err(|_| Detail::new("id", "must be a UUID", "invalid_value"))
        });
        let by_id = ById {
            id: violations.keep(id.transpose()),
            ids: self.ids.clone(),
        };
        let ids = violations.keep(by_id.requested());
        let interval = interval(("from", self.from.as_deref()), ("to", self.to.as_deref()), violations);
        if self.from.is_none() && self.to.is_none() && self.id.is_none() && self.ids.is_none() {
            for path in ["from", "to"] {
                violations.add(Detail::new(path, "is required without ids", "required"));
            }
        }
        if interval.is_some_and(|(from, to)| to > from.after(LONGEST)) {
            violations.add(Detail::new("to", "must be at most 400 days after from", "out_of_range"));
        }
        AssignmentFilter {
            ids,
            interval,
            job_sites: parameters::ids("jobSiteIds", self.job_site_ids.as_deref(), violations),
            subject_type: parameters::word("subjectType", self.subject_type.as_deref(), RESOURCE_TYPES, violations),
            subjects: parameters::ids("subjectIds", self.subject_ids.as_deref(), violations),
            statuses: parameters::words("statuses", self.statuses.as_deref(), ASSIGNMENT_STATUSES, violations),
            has_conflicts: parameters::flag("hasConflicts", self.has_conflicts.as_deref(), violations),
        }
    }
}

impl QueryInput for AssignmentQuery {
    fn validate(&self, violations: &mut Violations) {
        self.filter(violations);
    }
}

async fn list_assignments(ctx: RequestContext, query: CheckedQuery<AssignmentQuery>) -> Result<Json<Page<Assignment>>> {
    let mut violations = Violations::default();
    let page = PageQuery::new(query.0.page, query.0.page_size.or(Some(PAGE_SIZE)));
    let window = violations.keep(page.window());
    let filter = query.0.filter(&mut violations);
    violations.check()?;
    let connection = ctx.read().await?;
    assignments::list(&connection, &ctx, &filter, window).await.map(Json)
}

async fn get_assignment(ctx: RequestContext, path: Path<PathId>) -> Result<Json<Assignment>> {
    let connection = ctx.read().await?;
    let found = assignments::find(&connection, ctx.scope(), path.0.id).await?;
    missing_as(crud::found::<Assignment, _>(found), NOT_FOUND)
}

/// Parameters of writes.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct WriteQuery {
    /// Rejects the request if it would leave a critical conflict, which is stored and reported otherwise.
    #[param(value_type = Option<bool>)]
    reject_conflicts: Option<String>,
}

impl WriteQuery {
    fn flag(&self, violations: &mut Violations) -> Option<bool> {
        parameters::flag("rejectConflicts", self.reject_conflicts.as_deref(), violations)
    }

    /// Returns the flag. If it is invalid, `rules` validates the body, so that the response names all that is wrong; if nothing else is, the code
    /// names the query as the invalid part of the request: that of other writes is the body.
    fn reject_conflicts(&self, rules: impl FnOnce(&mut Validator)) -> Result<bool> {
        let mut violations = Violations::default();
        let flag = self.flag(&mut violations);
        if violations.is_empty() {
            return Ok(flag.unwrap_or(false));
        }
        let mut validator = Validator::default();
        rules(&mut validator);
        let of_body = validator.into_details();
        let is_alone = of_body.is_empty();
        for detail in of_body {
            violations.add(detail);
        }
        match violations.check() {
            Err(Error::Rejected(rejection)) if is_alone => Err(rejection.code("invalid_query").into()),
            outcome => outcome.map(|()| false),
        }
    }
}

impl QueryInput for WriteQuery {
    fn validate(&self, violations: &mut Violations) {
        self.flag(violations);
    }
}

async fn create_assignment(
    ctx: RequestContext,
    query: CheckedQuery<WriteQuery>,
    body: Json<NewAssignment>,
) -> Result<Created<AssignmentWritten>> {
    let reject_conflicts = query.0.reject_conflicts(|validator| body.0.validate_new(validator))?;
    let command = CreateAssignment::new(&ctx, &body.0, reject_conflicts)?;
    ctx.execute(&command, Created).await
}

async fn update_assignment(
    ctx: RequestContext,
    path: Path<PathId>,
    query: CheckedQuery<WriteQuery>,
    body: Json<AssignmentChanges>,
) -> Result<Json<AssignmentWritten>> {
    let reject_conflicts = query
        .0
        .reject_conflicts(|validator| body.0.validate_update(validator))?;
    let command = UpdateAssignment::new(path.0.id, body.0, reject_conflicts)?;
    missing_as(ctx.execute(&command, Json).await, NOT_FOUND)
}

async fn delete_assignment(ctx: RequestContext, path: Path<PathId>) -> Result<Json<DeletedRecord>> {
    let command = DeleteAssignment { id: path.0.id };
    let deleted = ctx.execute(&command, |()| Json(DeletedRecord::OK)).await;
    missing_as(deleted, NOT_FOUND)
}

async fn create_assignments(
    ctx: RequestContext,
    query: CheckedQuery<WriteQuery>,
    body: Json<NewAssignments>,
) -> Result<Created<AssignmentsWritten>> {
    let reject_conflicts = query.0.reject_conflicts(|validator| body.0.validate_new(validator))?;
    let command = BulkCreateAssignments::new(&ctx, &body.0, reject_conflicts)?;
    ctx.execute(&command, Created).await
}
