//! Deals.

use backoffice_core::access_log::{AccessType, Record};
use backoffice_core::http::{Created, Json, Path, Query, Routes, requires};
use backoffice_core::list::{CommaList, IdList, IdsOrNone, Page};
use backoffice_core::{Detail, RequestContext, Result, Timestamp, Violations};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::bodies::{Changed, CreatedId, Done, Id, ListQuery, Patch, Requested};
use crate::commands::deals::{CreateDeal, DealFields, DeleteDeal, UpdateDeal};
use crate::lists::{self, Order};
use crate::model::{Amount, DEAL, Day, Deal, DealStatus};
use crate::query::deals::{DealFilter, DealSummary, Named};
use crate::{acl, not_found, query};

pub(super) fn routes(routes: &mut Routes) {
    let path = "/customers/deals";
    routes
        .get(path, requires(&[acl::DEALS_VIEW]), list_deals)
        .about("List deals")
        .reads(DEAL);
    routes
        .get("/customers/deals/{id}", requires(&[acl::DEALS_VIEW]), get_deal)
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

/// Filters and order of the list of deals. Lists are joined by commas; `none` in a list of references matches records without a reference.
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
    /// In this currency.
    value_currency: Option<String>,
    /// By default `createdAt`, the latest first.
    #[param(inline)]
    sort_field: Option<SortField>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
enum SortField {
    #[default]
    CreatedAt,
    UpdatedAt,
    Title,
    ValueAmount,
    Probability,
    ExpectedCloseOn,
}

impl DealQuery {
    fn filter(&self, requested: &Requested) -> Result<DealFilter> {
        let references =
            |path, text: &Option<String>| text.as_deref().map(|text| lists::references(path, text)).transpose();
        let ids =
            |path, text: &Option<String>| text.as_deref().map(|text| CommaList::new(path).ids([text])).transpose();
        let status = self.status.as_deref();
        let status = status.map(|text| CommaList::new("status").one_of([text], &DealStatus::WORDS));
        let mut violations = Violations::default();
        let filter = DealFilter {
            pattern: requested.pattern.clone(),
            ids: requested.ids.clone(),
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
            currency: self.value_currency.as_deref().map(|text| text.trim().to_uppercase()),
        };
        violations.check().map(|()| filter)
    }

    fn order(&self, requested: &Requested) -> Order {
        let field = self.sort_field.unwrap_or_default();
        let (column, nullable) = match field {
            SortField::CreatedAt => ("customers_deals.created_at", false),
            SortField::UpdatedAt => ("customers_deals.updated_at", false),
            SortField::Title => ("lower(customers_deals.title)", false),
            SortField::ValueAmount => ("customers_deals.value_amount", true),
            SortField::Probability => ("customers_deals.probability", true),
            SortField::ExpectedCloseOn => ("customers_deals.expected_close_on", true),
        };
        Order {
            column,
            nullable,
            descending: requested.is_descending(matches!(field, SortField::CreatedAt)),
        }
    }
}

fn day(path: &str, text: Option<&str>) -> Result<Option<Day>, Detail> {
    read(path, text, Day::parse, "must be a day: YYYY-MM-DD")
}

fn amount(path: &str, text: Option<&str>) -> Result<Option<Amount>, Detail> {
    read(path, text, Amount::parse, "must be an amount with at most two decimals")
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
    fn from(line: DealSummary) -> Self {
        let row = line.row;
        Self {
            id: row.id,
            tenant_id: row.tenant_id,
            organization_id: row.organization_id,
            title: row.title,
            description: row.description,
            status: row.status,
            pipeline_id: row.pipeline_id,
            pipeline_name: line.pipeline_name,
            pipeline_stage_id: row.pipeline_stage_id,
            pipeline_stage_label: line.stage_label,
            value_amount: row.value_amount,
            value_currency: row.value_currency,
            probability: row.probability,
            expected_close_on: row.expected_close_on,
            closed_at: row.closed_at,
            lost_reason: row.lost_reason,
            owner_user_id: row.owner_user_id,
            owner_name: line.owner_name,
            source: row.source,
            person_ids: line.person_ids,
            company_ids: line.company_ids,
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
    query: Query<ListQuery>,
    deals: Query<DealQuery>,
) -> Result<Json<Page<DealItem>>> {
    let mut violations = Violations::default();
    let requested = violations.keep(query.0.checked());
    let filter = violations.keep(deals.0.filter(&requested));
    violations.check()?;
    let order = deals.0.order(&requested);
    let connection = ctx.read().await?;
    let page = query::deals::list(&connection, ctx.scope(), &filter, order, requested.window).await?;
    let page = page.map(DealItem::from);
    ctx.log_reads(&connection, AccessType::List, &page.items, record)
        .await?;
    Ok(Json(page))
}

async fn get_deal(ctx: RequestContext, path: Path<Id>) -> Result<Json<DealDetail>> {
    let connection = ctx.read().await?;
    let Some(line) = query::deals::find(&connection, ctx.scope(), path.0.id).await? else {
        return Err(not_found::<Deal>());
    };
    let (people, companies) = query::deals::parties(&connection, ctx.scope(), &line.row).await?;
    let detail = DealDetail {
        item: line.into(),
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
    ctx.execute(&command, |id| Created(CreatedId::from(id))).await
}

async fn update_deal(ctx: RequestContext, body: Patch<DealFields>) -> Result<Json<Changed>> {
    let command = UpdateDeal::new(body.id, body.fields)?;
    ctx.execute(&command, |at| Json(Changed::from(at))).await
}

async fn delete_deal(ctx: RequestContext, query: Query<Id>) -> Result<Json<Done>> {
    ctx.execute(&DeleteDeal { id: query.0.id }, |()| Json(Done::YES)).await
}
