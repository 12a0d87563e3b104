//! Endpoints of deals.

use backoffice_core::access_log::{AccessType, Record};
use backoffice_core::command::Entity;
use backoffice_core::http::{Created, CreatedId, Done, Id, Identified, Json, Path, Query, Routes, Updated, requires};
use backoffice_core::input::rules;
use backoffice_core::list::{CommaList, IdList, IdsOrNone, ListQuery, Page, References};
use backoffice_core::{Detail, Rejection, RequestContext, Result, Timestamp, Violations};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::commands::deals::{CreateDeal, DealFields, DeleteDeal, UpdateDeal};
use crate::model::{Amount, DEAL, Day, Deal, DealStatus};
use crate::query::deals::{DealFilter, DealSummary, Named};
use crate::{acl, query};

pub(super) fn routes(routes: &mut Routes) {
    let path = "/customers/deals";
    routes
        .get(path, requires(&[acl::DEALS_VIEW]), list_deals)
        .shows(&[
            "customers.deal",
            "customers.person",
            "customers.company",
            "customers.pipeline",
            "customers.pipeline_stage",
            "auth.user",
        ])
        .about("List deals")
        .reads(DEAL);
    routes
        .get("/customers/deals/{id}", requires(&[acl::DEALS_VIEW]), get_deal)
        .shows(&[
            "customers.deal",
            "customers.person",
            "customers.company",
            "customers.pipeline",
            "customers.pipeline_stage",
            "auth.user",
        ])
        .about("A deal with its people and companies")
        .rejects(&[404])
        .reads(DEAL);
    routes
        .post(path, requires(&[acl::DEALS_MANAGE]), create_deal)
        .about("Create a deal")
        .rejects(&[409, 422]);
    routes
        .put(path, requires(&[acl::DEALS_MANAGE]), update_deal)
        .about("Change a deal")
        .rejects(&[404, 409, 422]);
    routes
        .delete(path, requires(&[acl::DEALS_MANAGE]), delete_deal)
        .about("Delete a deal")
        .rejects(&[404, 409, 422]);
}

/// Filters of the list of deals. Lists are joined by commas; `none` in a list of references matches records without a reference.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct DealQuery {
    /// Any of `open`, `won`, `lost`.
    #[param(pattern = "^ *(open|won|lost)?( *, *(open|won|lost)?)* *$")]
    status: Option<String>,
    /// Any of these pipelines, or `none`.
    #[param(value_type = Option<IdsOrNone>, inline)]
    pipeline_id: Option<String>,
    /// Any of these stages, or `none`.
    #[param(value_type = Option<IdsOrNone>, inline)]
    pipeline_stage_id: Option<String>,
    /// Any of these owners, or `none`.
    #[param(value_type = Option<IdsOrNone>, inline)]
    owner_user_id: Option<String>,
    /// With any of these people.
    #[param(value_type = Option<IdList>, inline)]
    person_ids: Option<String>,
    /// With any of these companies.
    #[param(value_type = Option<IdList>, inline)]
    company_ids: Option<String>,
    /// Expected on this day or later.
    #[param(value_type = Option<Day>)]
    expected_close_from: Option<String>,
    /// Expected on this day or earlier.
    #[param(value_type = Option<Day>)]
    expected_close_to: Option<String>,
    /// Worth this or more.
    #[param(value_type = Option<Amount>)]
    value_min: Option<String>,
    /// Worth this or less.
    #[param(value_type = Option<Amount>)]
    value_max: Option<String>,
    /// In this currency: three letters, regardless of case.
    #[param(pattern = "^ *[A-Za-z]{3} *$")]
    value_currency: Option<String>,
}

impl DealQuery {
    /// Validates the filters and records invalid ones.
    fn filter(&self, violations: &mut Violations) -> DealFilter {
        let references =
            |path, text: &Option<String>| text.as_deref().map(|text| References::parse(path, text)).transpose();
        let ids =
            |path, text: &Option<String>| text.as_deref().map(|text| CommaList::new(path).ids([text])).transpose();
        let status = self.status.as_deref();
        let status = status.map(|text| CommaList::new("status").one_of([text], &DealStatus::WORDS));
        DealFilter {
            status: violations
                .keep(status.transpose())
                .map(|words| words.into_iter().map(str::to_owned).collect()),
            pipelines: violations.keep(references("pipelineId", &self.pipeline_id)),
            stages: violations.keep(references("pipelineStageId", &self.pipeline_stage_id)),
            owners: violations.keep(references("ownerUserId", &self.owner_user_id)),
            people: violations.keep(ids("personIds", &self.person_ids)),
            companies: violations.keep(ids("companyIds", &self.company_ids)),
            close_from: violations.keep(day("expectedCloseFrom", self.expected_close_from.as_deref())),
            close_to: violations.keep(day("expectedCloseTo", self.expected_close_to.as_deref())),
            value_min: violations.keep(amount("valueMin", self.value_min.as_deref())),
            value_max: violations.keep(amount("valueMax", self.value_max.as_deref())),
            currency: violations.keep(currency("valueCurrency", self.value_currency.as_deref())),
        }
    }
}

fn day(path: &str, text: Option<&str>) -> Result<Option<Day>, Detail> {
    read(path, text, Day::parse, "must be a day: YYYY-MM-DD")
}

fn amount(path: &str, text: Option<&str>) -> Result<Option<Amount>, Detail> {
    read(path, text, Amount::parse, "must be an amount with at most two decimals")
}

fn currency(path: &str, text: Option<&str>) -> Result<Option<String>, Detail> {
    let parse = |text: &str| rules::currency(text.trim()).ok();
    read(path, text, parse, "must be a currency code of three letters")
}

fn read<T>(path: &str, text: Option<&str>, parse: fn(&str) -> Option<T>, rule: &str) -> Result<Option<T>, Detail> {
    let Some(text) = text else { return Ok(None) };
    match parse(text) {
        Some(value) => Ok(Some(value)),
        None => Err(Detail::new(path, rule, "invalid_value")),
    }
}

/// A deal of the list.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct DealItem {
    id: Uuid,
    tenant_id: Uuid,
    organization_id: Uuid,
    title: String,
    description: Option<String>,
    status: DealStatus,
    pipeline_id: Option<Uuid>,
    pipeline_name: Option<String>,
    pipeline_stage_id: Option<Uuid>,
    pipeline_stage_label: Option<String>,
    value_amount: Option<Amount>,
    value_currency: Option<String>,
    /// In percent.
    probability: Option<i16>,
    expected_close_on: Option<Day>,
    /// Set when the deal is won or lost.
    closed_at: Option<Timestamp>,
    lost_reason: Option<String>,
    owner_user_id: Option<Uuid>,
    owner_name: Option<String>,
    source: Option<String>,
    person_ids: Vec<Uuid>,
    company_ids: Vec<Uuid>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl From<DealSummary> for DealItem {
    fn from(summary: DealSummary) -> Self {
        let DealSummary { row, beside } = summary;
        Self {
            id: row.id,
            tenant_id: row.tenant_id,
            organization_id: row.organization_id,
            title: row.title,
            description: row.description,
            status: row.status,
            pipeline_id: row.pipeline_id,
            pipeline_name: beside.pipeline_name,
            pipeline_stage_id: row.pipeline_stage_id,
            pipeline_stage_label: beside.stage_label,
            value_amount: row.value_amount,
            value_currency: row.value_currency,
            probability: row.probability,
            expected_close_on: row.expected_close_on,
            closed_at: row.closed_at,
            lost_reason: row.lost_reason,
            owner_user_id: row.owner_user_id,
            owner_name: beside.owner_name,
            source: row.source,
            person_ids: beside.person_ids,
            company_ids: beside.company_ids,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }
}

/// A deal with those of its people and companies that are visible to the caller.
#[derive(Debug, Serialize, ToSchema)]
struct DealDetail {
    #[serde(flatten)]
    item: DealItem,
    people: Vec<PartyOfDeal>,
    companies: Vec<PartyOfDeal>,
}

/// A person or company of a deal.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct PartyOfDeal {
    id: Uuid,
    display_name: String,
}

impl From<Named> for PartyOfDeal {
    fn from(named: Named) -> Self {
        Self {
            id: named.id,
            display_name: named.display_name,
        }
    }
}

fn record(deal: &DealItem) -> Record {
    Record::new(deal.id, Some(deal.tenant_id)).of(Some(deal.organization_id))
}

async fn list_deals(
    ctx: RequestContext,
    list: ListQuery<Deal>,
    query: Query<DealQuery>,
) -> Result<Json<Page<DealItem>>> {
    let mut violations = Violations::default();
    let request = list.validate_with(&mut violations);
    let filter = query.0.filter(&mut violations);
    violations.check()?;
    let connection = ctx.read().await?;
    let page = query::deals::list(&connection, &ctx, &filter, &request).await?;
    let page = page.map(DealItem::from);
    ctx.log_reads(&connection, AccessType::List, &page.items, record)
        .await?;
    Ok(Json(page))
}

async fn get_deal(ctx: RequestContext, path: Path<Id>) -> Result<Json<DealDetail>> {
    let connection = ctx.read().await?;
    let summary = query::deals::find(&connection, ctx.scope(), path.0.id).await?;
    let summary = summary.ok_or_else(|| Rejection::not_found(Deal::NOT_FOUND))?;
    let (people, companies) = query::deals::parties(&connection, ctx.scope(), &summary.row).await?;
    let detail = DealDetail {
        item: summary.into(),
        people: people.into_iter().map(PartyOfDeal::from).collect(),
        companies: companies.into_iter().map(PartyOfDeal::from).collect(),
    };
    let of_detail = |detail: &DealDetail| record(&detail.item);
    ctx.log_reads(&connection, AccessType::Item, std::slice::from_ref(&detail), of_detail)
        .await?;
    Ok(Json(detail))
}

async fn create_deal(ctx: RequestContext, body: Json<DealFields>) -> Result<Created<CreatedId>> {
    let command = CreateDeal::new(&ctx, body.0)?;
    ctx.execute(&command, |id| Created(CreatedId { id })).await
}

async fn update_deal(ctx: RequestContext, body: Identified<DealFields>) -> Result<Json<Updated>> {
    let command = UpdateDeal::new(body.id, body.fields)?;
    ctx.execute(&command, |updated_at| Json(Updated::at(updated_at))).await
}

async fn delete_deal(ctx: RequestContext, query: Query<Id>) -> Result<Json<Done>> {
    ctx.execute(&DeleteDeal { id: query.0.id }, |()| Json(Done::OK)).await
}
