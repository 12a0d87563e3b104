//! Endpoints of companies.

use backoffice_core::access_log::{AccessType, Record};
use backoffice_core::http::{Created, Json, Path, Query, Routes, requires};
use backoffice_core::list::Page;
use backoffice_core::{Rejection, RequestContext, Result};

use super::bodies::{Changed, CreatedId, Done, Id, ListQuery, Patch};
use super::parties::{PartyQuery, SortColumns};
use crate::acl;
use crate::commands::companies::{CompanyFields, CreateCompany, DeleteCompany, UpdateCompany};
use crate::model::{COMPANY, CompanyRow, Party};
use crate::query::companies::{self, CompanyItem};

const LIST: &str = "/customers/companies";
const ONE: &str = "/customers/companies/{id}";

const COLUMNS: SortColumns = SortColumns {
    created_at: "customers_companies.created_at",
    updated_at: "customers_companies.updated_at",
    display_name: "customers_companies.display_name",
};

pub(super) fn routes(routes: &mut Routes) {
    routes
        .get(LIST, requires(&[acl::COMPANIES_VIEW]), list_companies)
        .about("List companies")
        .reads(COMPANY);
    routes
        .get(ONE, requires(&[acl::COMPANIES_VIEW]), get_company)
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
    list: Query<ListQuery>,
    query: Query<PartyQuery>,
) -> Result<Json<Page<CompanyItem>>> {
    let (filter, window) = query.0.filter(&list.0, &COLUMNS)?;
    let connection = ctx.read().await?;
    let page = companies::list(&connection, ctx.scope(), &filter, window).await?;
    ctx.log_reads(&connection, AccessType::List, &page.items, record)
        .await?;
    Ok(Json(page))
}

async fn get_company(ctx: RequestContext, path: Path<Id>) -> Result<Json<CompanyItem>> {
    let connection = ctx.read().await?;
    let found = companies::find(&connection, ctx.scope(), path.0.id).await?;
    let item = found.ok_or_else(|| Rejection::not_found(CompanyRow::NOT_FOUND))?;
    ctx.log_reads(&connection, AccessType::Item, std::slice::from_ref(&item), record)
        .await?;
    Ok(Json(item))
}

async fn create_company(ctx: RequestContext, body: Json<CompanyFields>) -> Result<Created<CreatedId>> {
    let command = CreateCompany::new(&ctx, body.0)?;
    ctx.execute(&command, |id| Created(CreatedId::from(id))).await
}

async fn update_company(ctx: RequestContext, body: Patch<CompanyFields>) -> Result<Json<Changed>> {
    let command = UpdateCompany::new(body.id, body.fields)?;
    ctx.execute(&command, |at| Json(Changed::from(at))).await
}

async fn delete_company(ctx: RequestContext, query: Query<Id>) -> Result<Json<Done>> {
    ctx.execute(&DeleteCompany::new(query.0.id), |()| Json(Done::YES)).await
}
