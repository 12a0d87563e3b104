//! The records that this module offers to others: files may be attached to them, and business rules guard and change them.

use backoffice_core::crud;
use backoffice_core::db::KeyColumn;
use backoffice_core::http::{Done, Json};
use backoffice_core::records::FieldType::{Boolean, Date, Id, List, Number, Text, Time};
use backoffice_core::records::{FoundRecord, RecordField, RecordKind};
use backoffice_core::registry::Registry;
use backoffice_core::{RequestContext, Result, Scope};
use diesel::QueryDsl;
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::commands::deals::UpdateDeal;
use crate::model::{COMPANY, Company, DEAL, PERSON, PIPELINE, Person, Pipeline, STAGE, Stage};
use crate::schema::{
    customers_companies as companies, customers_deals as deals, customers_people as people,
    customers_pipeline_stages as stages, customers_pipelines as pipelines,
};
use crate::{acl, query};

pub(crate) fn register(registry: &mut Registry) {
    registry
        .extend(DEALS)
        .extend(COMPANIES)
        .extend(PEOPLE)
        .extend(PIPELINES)
        .extend(STAGES);
}

const DEALS: RecordKind = RecordKind {
    kind: DEAL,
    title: "Deal",
    view: &[acl::DEALS_VIEW],
    manage: &[acl::DEALS_MANAGE],
    find: find_deals,
    guardable: true,
    fields: DEAL_FIELDS,
    events: &["owner_assigned", "stage_changed"],
    write: Some(write_deal),
};

const COMPANIES: RecordKind = RecordKind {
    kind: COMPANY,
    title: "Company",
    view: &[acl::COMPANIES_VIEW],
    manage: &[acl::COMPANIES_MANAGE],
    find: find_companies,
    guardable: true,
    fields: COMPANY_FIELDS,
    events: &[],
    write: Some(crud::write::<Company>),
};

const PEOPLE: RecordKind = RecordKind {
    kind: PERSON,
    title: "Person",
    view: &[acl::PEOPLE_VIEW],
    manage: &[acl::PEOPLE_MANAGE],
    find: find_people,
    guardable: true,
    fields: PERSON_FIELDS,
    events: &[],
    write: Some(crud::write::<Person>),
};

const PIPELINES: RecordKind = RecordKind {
    kind: PIPELINE,
    title: "Pipeline",
    view: &[acl::PIPELINES_VIEW],
    manage: &[acl::PIPELINES_MANAGE],
    find: find_pipelines,
    guardable: true,
    fields: PIPELINE_FIELDS,
    events: &[],
    write: Some(crud::write::<Pipeline>),
};

const STAGES: RecordKind = RecordKind {
    kind: STAGE,
    title: "Pipeline stage",
    view: &[acl::PIPELINES_VIEW],
    manage: &[acl::PIPELINES_MANAGE],
    find: find_stages,
    guardable: true,
    fields: STAGE_FIELDS,
    events: &[],
    write: Some(crud::write::<Stage>),
};

const PIPELINE_FIELDS: &[RecordField] = &[
    RecordField::new("tenantId", Id),
    RecordField::new("id", Id),
    RecordField::new("organizationId", Id),
    RecordField::writable("name", Text),
    RecordField::new("createdAt", Time),
    RecordField::new("updatedAt", Time),
];

const STAGE_FIELDS: &[RecordField] = &[
    RecordField::new("tenantId", Id),
    RecordField::new("id", Id),
    RecordField::new("organizationId", Id),
    RecordField::new("pipelineId", Id),
    RecordField::writable("label", Text),
    RecordField::new("position", Number),
    RecordField::writable("color", Text),
    RecordField::new("createdAt", Time),
    RecordField::new("updatedAt", Time),
];

const DEAL_FIELDS: &[RecordField] = &[
    RecordField::new("tenantId", Id),
    RecordField::new("id", Id),
    RecordField::new("organizationId", Id),
    RecordField::writable("title", Text),
    RecordField::writable("description", Text),
    RecordField::writable("status", Text),
    RecordField::writable("pipelineId", Id),
    RecordField::writable("pipelineStageId", Id),
    RecordField::writable("valueAmount", Number),
    RecordField::writable("valueCurrency", Text),
    RecordField::writable("probability", Number),
    RecordField::writable("expectedCloseOn", Date),
    RecordField::new("closedAt", Time),
    RecordField::writable("lostReason", Text),
    RecordField::writable("ownerUserId", Id),
    RecordField::writable("source", Text),
    RecordField::writable("personIds", List),
    RecordField::writable("companyIds", List),
    RecordField::new("createdAt", Time),
    RecordField::new("updatedAt", Time),
];

const COMPANY_FIELDS: &[RecordField] = &[
    RecordField::new("tenantId", Id),
    RecordField::new("id", Id),
    RecordField::new("organizationId", Id),
    RecordField::writable("displayName", Text),
    RecordField::writable("legalName", Text),
    RecordField::writable("description", Text),
    RecordField::writable("primaryEmail", Text),
    RecordField::writable("primaryPhone", Text),
    RecordField::writable("websiteUrl", Text),
    RecordField::writable("industry", Text),
    RecordField::writable("ownerUserId", Id),
    RecordField::writable("isActive", Boolean),
    RecordField::new("createdAt", Time),
    RecordField::new("updatedAt", Time),
];

const PERSON_FIELDS: &[RecordField] = &[
    RecordField::new("tenantId", Id),
    RecordField::new("id", Id),
    RecordField::new("organizationId", Id),
    RecordField::writable("firstName", Text),
    RecordField::writable("lastName", Text),
    RecordField::writable("displayName", Text),
    RecordField::writable("jobTitle", Text),
    RecordField::writable("primaryEmail", Text),
    RecordField::writable("primaryPhone", Text),
    RecordField::writable("companyId", Id),
    RecordField::writable("ownerUserId", Id),
    RecordField::writable("isActive", Boolean),
    RecordField::new("createdAt", Time),
    RecordField::new("updatedAt", Time),
];

fn write_deal(ctx: &RequestContext, id: Uuid, fields: Map<String, Value>) -> BoxFuture<'_, Result<()>> {
    Box::pin(async move {
        let command = UpdateDeal::new(id, crud::input_of(fields)?)?;
        ctx.execute(&command, |_| Json(Done::OK)).await?;
        Ok(())
    })
}

/// Id, organization and label of a record.
type Row = (Uuid, Uuid, String);

fn found(rows: Vec<Row>) -> Vec<FoundRecord> {
    let record = |(id, organization, label)| FoundRecord {
        id,
        organization,
        label,
    };
    rows.into_iter().map(record).collect()
}

fn find_deals<'a>(
    connection: &'a AsyncPgConnection,
    scope: &'a Scope,
    ids: &'a [Uuid],
) -> BoxFuture<'a, Result<Vec<FoundRecord>>> {
    Box::pin(async move {
        let visible = query::deals::in_scope(scope).filter(deals::id.one_of(ids));
        let rows = visible.select((deals::id, deals::organization_id, deals::title));
        Ok(found(rows.load::<Row>(&mut &*connection).await?))
    })
}

fn find_companies<'a>(
    connection: &'a AsyncPgConnection,
    scope: &'a Scope,
    ids: &'a [Uuid],
) -> BoxFuture<'a, Result<Vec<FoundRecord>>> {
    Box::pin(async move {
        let visible = query::companies::in_scope(scope).filter(companies::id.one_of(ids));
        let rows = visible.select((companies::id, companies::organization_id, companies::display_name));
        Ok(found(rows.load::<Row>(&mut &*connection).await?))
    })
}

fn find_people<'a>(
    connection: &'a AsyncPgConnection,
    scope: &'a Scope,
    ids: &'a [Uuid],
) -> BoxFuture<'a, Result<Vec<FoundRecord>>> {
    Box::pin(async move {
        let visible = query::people::in_scope(scope).filter(people::id.one_of(ids));
        let rows = visible.select((people::id, people::organization_id, people::display_name));
        Ok(found(rows.load::<Row>(&mut &*connection).await?))
    })
}

fn find_pipelines<'a>(
    connection: &'a AsyncPgConnection,
    scope: &'a Scope,
    ids: &'a [Uuid],
) -> BoxFuture<'a, Result<Vec<FoundRecord>>> {
    Box::pin(async move {
        let visible = query::pipelines::in_scope(scope).filter(pipelines::id.one_of(ids));
        let rows = visible.select((pipelines::id, pipelines::organization_id, pipelines::name));
        Ok(found(rows.load::<Row>(&mut &*connection).await?))
    })
}

fn find_stages<'a>(
    connection: &'a AsyncPgConnection,
    scope: &'a Scope,
    ids: &'a [Uuid],
) -> BoxFuture<'a, Result<Vec<FoundRecord>>> {
    Box::pin(async move {
        let visible = query::stages::in_scope(scope).filter(stages::id.one_of(ids));
        let rows = visible.select((stages::id, stages::organization_id, stages::label));
        Ok(found(rows.load::<Row>(&mut &*connection).await?))
    })
}
