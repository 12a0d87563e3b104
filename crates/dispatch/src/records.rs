//! The records that this module offers to others: files may be attached to them, and business rules guard and change them.

use backoffice_core::crud;
use backoffice_core::db::KeyColumn;
use backoffice_core::http::Json;
use backoffice_core::records::FieldType::{Boolean, Date, Id, Number, Text, Time};
use backoffice_core::records::{FoundRecord, RecordField, RecordKind};
use backoffice_core::registry::Registry;
use backoffice_core::{RequestContext, Result, Scope, Timestamp};
use diesel::{BoolExpressionMethods, ExpressionMethods, JoinOnDsl, QueryDsl};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::commands::UpdateAssignment;
use crate::model::{ASSIGNMENT, JOB_SITE, JobSite, RESOURCE, Resource};
use crate::schema::{
    dispatch_assignments as assignments, dispatch_job_sites as job_sites, dispatch_resources as resources,
};
use crate::{acl, query};

pub(crate) fn register(registry: &mut Registry) {
    registry.extend(JOB_SITES).extend(RESOURCES).extend(ASSIGNMENTS);
}

const JOB_SITES: RecordKind = RecordKind {
    kind: JOB_SITE,
    title: "Job site",
    view: &[acl::VIEW],
    manage: &[acl::MANAGE],
    find: find_job_sites,
    guardable: true,
    fields: JOB_SITE_FIELDS,
    events: &[],
    write: Some(crud::write::<JobSite>),
};

const RESOURCES: RecordKind = RecordKind {
    kind: RESOURCE,
    title: "Resource",
    view: &[acl::VIEW],
    manage: &[acl::MANAGE],
    find: find_resources,
    guardable: true,
    fields: RESOURCE_FIELDS,
    events: &[],
    write: Some(crud::write::<Resource>),
};

const ASSIGNMENTS: RecordKind = RecordKind {
    kind: ASSIGNMENT,
    title: "Assignment",
    view: &[acl::VIEW],
    manage: &[acl::MANAGE],
    find: find_assignments,
    guardable: true,
    fields: ASSIGNMENT_FIELDS,
    events: &["assigned", "changed", "cancelled"],
    write: Some(write_assignment),
};

const JOB_SITE_FIELDS: &[RecordField] = &[
    RecordField::new("tenantId", Id),
    RecordField::new("id", Id),
    RecordField::new("organizationId", Id),
    RecordField::new("name", Text),
    RecordField::new("code", Text),
    RecordField::new("address", Text),
    RecordField::new("latitude", Number),
    RecordField::new("longitude", Number),
    RecordField::writable("status", Text),
    RecordField::new("startDate", Date),
    RecordField::new("endDateExclusive", Date),
    RecordField::writable("notes", Text),
    RecordField::new("createdAt", Time),
    RecordField::new("updatedAt", Time),
];

const RESOURCE_FIELDS: &[RecordField] = &[
    RecordField::new("tenantId", Id),
    RecordField::new("id", Id),
    RecordField::new("organizationId", Id),
    RecordField::new("type", Text),
    RecordField::new("name", Text),
    RecordField::new("code", Text),
    RecordField::new("userId", Id),
    RecordField::writable("isActive", Boolean),
    RecordField::writable("notes", Text),
    RecordField::new("createdAt", Time),
    RecordField::new("updatedAt", Time),
];

const ASSIGNMENT_FIELDS: &[RecordField] = &[
    RecordField::new("tenantId", Id),
    RecordField::new("id", Id),
    RecordField::new("organizationId", Id),
    RecordField::new("jobSiteId", Id),
    RecordField::new("subjectType", Text),
    RecordField::new("subjectId", Id),
    RecordField::new("startAt", Time),
    RecordField::new("endAt", Time),
    RecordField::new("startDate", Date),
    RecordField::new("endDateExclusive", Date),
    RecordField::writable("status", Text),
    RecordField::writable("note", Text),
    RecordField::new("createdAt", Time),
    RecordField::new("updatedAt", Time),
];

fn write_assignment(ctx: &RequestContext, id: Uuid, fields: Map<String, Value>) -> BoxFuture<'_, Result<()>> {
    Box::pin(async move {
        let command = UpdateAssignment::new(id, crud::input_of(fields)?, false)?;
        ctx.execute(&command, Json).await?;
        Ok(())
    })
}

fn record(id: Uuid, organization: Uuid, label: String) -> FoundRecord {
    FoundRecord {
        id,
        organization,
        label,
    }
}

fn find_job_sites<'a>(
    connection: &'a AsyncPgConnection,
    scope: &'a Scope,
    ids: &'a [Uuid],
) -> BoxFuture<'a, Result<Vec<FoundRecord>>> {
    Box::pin(async move {
        let visible = query::job_sites::in_scope(scope).filter(job_sites::id.one_of(ids));
        let rows = visible.select((job_sites::id, job_sites::organization_id, job_sites::name));
        let rows: Vec<(Uuid, Uuid, String)> = rows.load(&mut &*connection).await?;
        Ok(rows
            .into_iter()
            .map(|(id, within, label)| record(id, within, label))
            .collect())
    })
}

fn find_resources<'a>(
    connection: &'a AsyncPgConnection,
    scope: &'a Scope,
    ids: &'a [Uuid],
) -> BoxFuture<'a, Result<Vec<FoundRecord>>> {
    Box::pin(async move {
        let visible = query::resources::in_scope(scope).filter(resources::id.one_of(ids));
        let rows = visible.select((resources::id, resources::organization_id, resources::name));
        let rows: Vec<(Uuid, Uuid, String)> = rows.load(&mut &*connection).await?;
        Ok(rows
            .into_iter()
            .map(|(id, within, label)| record(id, within, label))
            .collect())
    })
}

/// The label of an assignment consists of its subject, its job site and the day of its start in UTC.
fn find_assignments<'a>(
    connection: &'a AsyncPgConnection,
    scope: &'a Scope,
    ids: &'a [Uuid],
) -> BoxFuture<'a, Result<Vec<FoundRecord>>> {
    Box::pin(async move {
        let rows: Vec<(Uuid, Uuid, Timestamp, String, String)> = query::assignments::in_scope(scope)
            .inner_join(
                job_sites::table.on(job_sites::tenant_id
                    .eq(assignments::tenant_id)
                    .and(job_sites::id.eq(assignments::job_site_id))),
            )
            .inner_join(
                resources::table.on(resources::tenant_id
                    .eq(assignments::tenant_id)
                    .and(resources::id.eq(assignments::subject_id))),
            )
            .filter(assignments::id.one_of(ids))
            .select((
                assignments::id,
                assignments::organization_id,
                assignments::start_at,
                resources::name,
                job_sites::name,
            ))
            .load(&mut &*connection)
            .await?;
        let label = |(id, within, start, resource, site): (Uuid, Uuid, Timestamp, String, String)| {
            record(id, within, format!("{resource}, {site}, {}", start.get().date()))
        };
        Ok(rows.into_iter().map(label).collect())
    })
}
