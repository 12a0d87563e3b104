//! Reads of deals.

use std::collections::HashSet;

use backoffice_core::db::{KeyColumn, Prepared};
use backoffice_core::list::{Beside, ListRequest, Page, References, SortField, Sortable, Start};
use backoffice_core::scope::{Owned, Within};
use backoffice_core::{RequestContext, Result, Scope};
use diesel::dsl::{Eq, Filter, count_star, sql};
use diesel::pg::Pg;
use diesel::sql_types::{Array, Bool, Nullable, Text, Uuid as SqlUuid};
use diesel::{
    BoolExpressionMethods, ExpressionMethods, JoinOnDsl, OptionalExtension, PgTextExpressionMethods, QueryDsl,
    Queryable, SelectableHelper,
};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

use crate::foreign;
use crate::model::{Amount, DEAL, Day, Deal};
use crate::schema::{
    customers_companies as companies, customers_deal_companies as deal_companies, customers_deal_people as deal_people,
    customers_deals as deals, customers_people as people,
};

/// A deal with what is shown beside it.
#[derive(Debug, Clone, Queryable)]
pub struct DealSummary {
    /// The row.
    pub row: Deal,
    /// What is shown beside it.
    pub beside: BesideDeal,
}

/// What is shown beside a deal.
#[derive(Debug, Clone, Default, Queryable)]
pub struct BesideDeal {
    /// Name of the owner.
    pub owner_name: Option<String>,
    /// Name of the pipeline.
    pub pipeline_name: Option<String>,
    /// Label of the stage.
    pub stage_label: Option<String>,
    /// Ids of the people, sorted.
    pub person_ids: Vec<Uuid>,
    /// Ids of the companies, sorted.
    pub company_ids: Vec<Uuid>,
}

/// A company or person of a deal.
#[derive(Debug, Clone, PartialEq, Eq, Queryable)]
pub struct Named {
    /// The id.
    pub id: Uuid,
    /// The display name.
    pub display_name: String,
}

/// Filters of a list of deals; empty lists match nothing.
#[derive(Debug, Clone, Default)]
pub struct DealFilter {
    /// Any of these statuses.
    pub status: Option<Vec<String>>,
    /// Any of these pipelines.
    pub pipelines: Option<References>,
    /// Any of these stages.
    pub stages: Option<References>,
    /// Any of these owners.
    pub owners: Option<References>,
    /// With any of these people.
    pub people: Option<Vec<Uuid>>,
    /// With any of these companies.
    pub companies: Option<Vec<Uuid>>,
    /// Expected on this day or later.
    pub close_from: Option<Day>,
    /// Expected on this day or earlier.
    pub close_to: Option<Day>,
    /// Worth this or more.
    pub value_min: Option<Amount>,
    /// Worth this or less.
    pub value_max: Option<Amount>,
    /// In this currency.
    pub currency: Option<String>,
}

impl Sortable for Deal {
    const SORT_FIELDS: &'static [SortField] = &[
        SortField::time("createdAt", "customers_deals.created_at"),
        SortField::new("updatedAt", "customers_deals.updated_at"),
        SortField::new("title", "lower(customers_deals.title)"),
        SortField::nullable("valueAmount", "customers_deals.value_amount"),
        SortField::nullable("probability", "customers_deals.probability"),
        SortField::nullable("expectedCloseOn", "customers_deals.expected_close_on"),
    ];
}

/// Deals of a tenant.
pub(crate) type OfTenant = Filter<deals::table, Eq<deals::tenant_id, Uuid>>;
/// Deals of the visible tenants, in the visible organizations.
pub(crate) type InScope = Filter<Filter<deals::table, Owned<deals::tenant_id>>, Within<deals::organization_id>>;

/// Returns every deal of a tenant, for the transaction of a command.
pub(crate) fn of_tenant(tenant: Uuid) -> OfTenant {
    deals::table.filter(deals::tenant_id.eq(tenant))
}

/// Returns the deals of a scope. Every read of deals starts here.
pub(crate) fn in_scope(scope: &Scope) -> InScope {
    deals::table
        .filter(scope.owns(deals::tenant_id))
        .filter(scope.within(deals::organization_id))
}

const PIPELINE_NAME: &str = "(select p.name from customers_pipelines p \
    where p.tenant_id = customers_deals.tenant_id and p.id = customers_deals.pipeline_id)";
const STAGE_LABEL: &str = "(select s.label from customers_pipeline_stages s \
    where s.tenant_id = customers_deals.tenant_id and s.id = customers_deals.pipeline_stage_id)";
const PERSON_IDS: &str = "array(select l.person_id from customers_deal_people l \
    where l.tenant_id = customers_deals.tenant_id and l.deal_id = customers_deals.id order by 1)";
const COMPANY_IDS: &str = "array(select l.company_id from customers_deal_companies l \
    where l.tenant_id = customers_deals.tenant_id and l.deal_id = customers_deals.id order by 1)";

/// The columns of a [`BesideDeal`].
macro_rules! beside {
    () => {
        (
            foreign::owner_name::<deals::table>("customers_deals"),
            sql::<Nullable<Text>>(PIPELINE_NAME),
            sql::<Nullable<Text>>(STAGE_LABEL),
            sql::<Array<SqlUuid>>(PERSON_IDS),
            sql::<Array<SqlUuid>>(COMPANY_IDS),
        )
    };
}

/// What lists show beside deals.
#[derive(Debug)]
pub(crate) struct BesideDeals(Beside<BesideDeal>);

impl BesideDeals {
    pub(crate) fn new() -> Self {
        Self(Beside::new(MOST_KEPT))
    }
}

/// Most deals of which names and ids are kept in memory.
const MOST_KEPT: u64 = 10_000;

/// Returns a page of deals and their total: two pipelined statements, before them one for a search, and after them one for what is shown beside the
/// deals, if one of them has changed.
///
/// # Errors
/// When the database can't be reached.
pub async fn list(
    connection: &AsyncPgConnection,
    ctx: &RequestContext,
    filter: &DealFilter,
    request: &ListRequest,
) -> Result<Page<DealSummary>> {
    let scope = ctx.scope();
    let request = &request.find_texts(ctx, connection, DEAL).await?;
    let window = request.window;
    let keys = request.order.then("customers_deals.id");
    let rows = async |start: Start| {
        let page = start.of::<deals::table, _>(filtered(scope, filter, request));
        let page = page.order(keys.expression()).select(Deal::as_select());
        start.limited(page).load(&mut &*connection).await
    };
    let total = filtered(scope, filter, request).select(count_star());
    let id = |deal: &Deal| (deal.tenant_id, deal.id);
    let page: Page<Deal> = window
        .fetch_from(ctx, connection, keys, id, rows, || {
            Prepared(total).get_result(&mut &*connection)
        })
        .await?;
    let kept = ctx.call().provided::<BesideDeals>()?;
    let load = async |missing: HashSet<Uuid>| {
        let shown = in_scope(scope).filter(deals::id.one_of(missing.into_iter().collect::<Vec<_>>()));
        let shown = shown.select((deals::id, beside!()));
        let found: Vec<(Uuid, BesideDeal)> = Prepared(shown).load(&mut &*connection).await?;
        Ok(found)
    };
    let mut beside = ctx.beside(&kept.0, page.items.iter().map(|deal| deal.id), load).await?;
    Ok(page.map(|row| {
        let beside = beside.remove(&row.id).unwrap_or_default();
        DealSummary { row, beside }
    }))
}

/// Returns the deal with this id, if it is visible.
///
/// # Errors
/// When the database can't be reached.
pub async fn find(connection: &AsyncPgConnection, scope: &Scope, id: Uuid) -> Result<Option<DealSummary>> {
    let statement = in_scope(scope)
        .filter(deals::id.eq(id))
        .into_boxed()
        .select((Deal::as_select(), beside!()));
    Ok(Prepared(statement).get_result(&mut &*connection).await.optional()?)
}

/// Returns the visible people and companies of a deal, ordered by name: two pipelined statements.
///
/// # Errors
/// When the database can't be reached.
pub async fn parties(connection: &AsyncPgConnection, scope: &Scope, deal: &Deal) -> Result<(Vec<Named>, Vec<Named>)> {
    let of_deal = deal_people::table
        .inner_join(
            people::table.on(people::tenant_id
                .eq(deal_people::tenant_id)
                .and(people::id.eq(deal_people::person_id))),
        )
        .filter(deal_people::tenant_id.eq(deal.tenant_id))
        .filter(deal_people::deal_id.eq(deal.id))
        .filter(scope.within(people::organization_id))
        .order((people::display_name, people::id))
        .select((people::id, people::display_name));
    let at_companies = deal_companies::table
        .inner_join(
            companies::table.on(companies::tenant_id
                .eq(deal_companies::tenant_id)
                .and(companies::id.eq(deal_companies::company_id))),
        )
        .filter(deal_companies::tenant_id.eq(deal.tenant_id))
        .filter(deal_companies::deal_id.eq(deal.id))
        .filter(scope.within(companies::organization_id))
        .order((companies::display_name, companies::id))
        .select((companies::id, companies::display_name));
    let of_deal = Prepared(of_deal).load::<Named>(&mut &*connection);
    let at_companies = Prepared(at_companies).load::<Named>(&mut &*connection);
    Ok(futures_util::future::try_join(of_deal, at_companies).await?)
}

fn filtered<'a>(scope: &Scope, filter: &DealFilter, request: &ListRequest) -> deals::BoxedQuery<'a, Pg> {
    let mut query = by_references(in_scope(scope).into_boxed(), filter);
    if let Some(pattern) = &request.pattern {
        query = query.filter(
            deals::title
                .ilike(pattern.clone())
                .or(deals::description.ilike(pattern.clone())),
        );
    }
    for ids in [&request.ids, &request.found].into_iter().flatten() {
        query = query.filter(deals::id.one_of(ids.clone()));
    }
    if let Some(status) = &filter.status {
        query = query.filter(
            sql::<Bool>("customers_deals.status = any(")
                .bind::<Array<Text>, _>(status.clone())
                .sql(")"),
        );
    }
    if let Some(day) = filter.close_from {
        query = query.filter(deals::expected_close_on.ge(day));
    }
    if let Some(day) = filter.close_to {
        query = query.filter(deals::expected_close_on.le(day));
    }
    if let Some(amount) = filter.value_min {
        query = query.filter(deals::value_amount.ge(amount));
    }
    if let Some(amount) = filter.value_max {
        query = query.filter(deals::value_amount.le(amount));
    }
    if let Some(currency) = &filter.currency {
        query = query.filter(deals::value_currency.eq(currency.clone()));
    }
    query
}

fn by_references<'a>(mut query: deals::BoxedQuery<'a, Pg>, filter: &DealFilter) -> deals::BoxedQuery<'a, Pg> {
    for (requested, column) in [
        (&filter.pipelines, "customers_deals.pipeline_id"),
        (&filter.stages, "customers_deals.pipeline_stage_id"),
        (&filter.owners, "customers_deals.owner_user_id"),
    ] {
        if let Some(requested) = requested {
            query = query.filter(requested.condition::<deals::table>(column));
        }
    }
    for (requested, linked) in [
        (&filter.people, "customers_deal_people l where l.person_id"),
        (&filter.companies, "customers_deal_companies l where l.company_id"),
    ] {
        if let Some(ids) = requested {
            query = query.filter(
                sql::<Bool>(&format!("exists (select 1 from {linked} = any("))
                    .bind::<Array<SqlUuid>, _>(ids.clone())
                    .sql(") and l.tenant_id = customers_deals.tenant_id and l.deal_id = customers_deals.id)"),
            );
        }
    }
    query
}
