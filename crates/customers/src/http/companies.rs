//! Endpoints of companies.

use backoffice_core::access_log::{AccessType, Record};
use backoffice_core::command::Entity;
use backoffice_core::http::{Created, CreatedId, Done, Id, Identified, Json, Path, Query, Routes, Updated, requires};
use backoffice_core::list::{ListQuery, Page};
use backoffice_core::{Rejection, RequestContext, Result, Violations, crud};

use super::parties::PartyQuery;
use crate::acl;
use crate::commands::CompanyFields;
use crate::model::{COMPANY, Company};
use crate::query::companies::{self, CompanyItem};

const LIST: &str = "/customers/companies";
const ONE: &str = "/customers/companies/{id}";

pub(super) fn routes(routes: &mut Routes) {
    routes
        .get(LIST, requires(&[acl::COMPANIES_VIEW]), list_companies)
        .shows(&["customers.company", "auth.user"])
        .about("List companies")
        .reads(COMPANY);
    routes
        .get(ONE, requires(&[acl::COMPANIES_VIEW]), get_company)
        .shows(&["customers.company", "customers.person", "customers.deal", "auth.user"])
        .about("One company")
        .reads(COMPANY)
        .rejects(&[404]);
    routes
        .post(LIST, requires(&[acl::COMPANIES_MANAGE]), create_company)
        .about("Create a company")
        .rejects(&[409, 422]);
    routes
        .put(LIST, requires(&[acl::COMPANIES_MANAGE]), update_company)
        .about("Change a company")
        .rejects(&[404, 409, 422]);
    routes
        .delete(LIST, requires(&[acl::COMPANIES_MANAGE]), delete_company)
        .about("Delete a company; deals lose their links to it, and people their company")
        .rejects(&[404, 409, 422]);
}

fn record(item: &CompanyItem) -> Record {
    Record::new(item.row.id, Some(item.row.tenant_id)).of(Some(item.row.organization_id))
}

async fn list_companies(
    ctx: RequestContext,
    list: ListQuery<Company>,
    query: Query<PartyQuery>,
) -> Result<Json<Page<CompanyItem>>> {
    let mut violations = Violations::default();
    let request = list.validate_with(&mut violations);
    let filter = query.0.filter(&mut violations);
    violations.check()?;
    let connection = ctx.read().await?;
    let page = companies::list(&connection, &ctx, &filter, &request).await?;
    ctx.log_reads(&connection, AccessType::List, &page.items, record)
        .await?;
    Ok(Json(page))
}

async fn get_company(ctx: RequestContext, path: Path<Id>) -> Result<Json<CompanyItem>> {
    let connection = ctx.read().await?;
    let item = companies::find(&connection, ctx.scope(), path.0.id).await?;
    let item = item.ok_or_else(|| Rejection::not_found(Company::NOT_FOUND))?;
    ctx.log_reads(&connection, AccessType::Item, std::slice::from_ref(&item), record)
        .await?;
    Ok(Json(item))
}

async fn create_company(ctx: RequestContext, body: Json<CompanyFields>) -> Result<Created<CreatedId>> {
    crud::create::<Company>(&ctx, body.0).await
}

async fn update_company(ctx: RequestContext, body: Identified<CompanyFields>) -> Result<Json<Updated>> {
    crud::update::<Company>(&ctx, body.id, body.fields).await
}

async fn delete_company(ctx: RequestContext, query: Query<Id>) -> Result<Json<Done>> {
    crud::delete::<Company>(&ctx, query.0.id).await
}
