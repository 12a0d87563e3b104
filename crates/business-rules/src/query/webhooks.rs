//! Secrets and deliveries of webhooks.

use backoffice_core::db::{KeyColumn, Prepared};
use backoffice_core::list::{ListRequest, Page, SortField, Sortable, Start};
use backoffice_core::scope::{Owned, Within};
use backoffice_core::{RequestContext, Result, Scope};
use diesel::dsl::{Filter, IsNull, count_star};
use diesel::pg::Pg;
use diesel::{ExpressionMethods, QueryDsl, SelectableHelper};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

use crate::model::{WebhookDelivery, WebhookSecret};
use crate::schema::{business_rules_webhook_deliveries as deliveries, business_rules_webhook_secrets as secrets};

impl Sortable for WebhookSecret {
    const SORT_FIELDS: &'static [SortField] = &[SortField::time(
        "createdAt",
        "business_rules_webhook_secrets.created_at",
    )];
    const SEARCHES: bool = false;
}

impl Sortable for WebhookDelivery {
    const SORT_FIELDS: &'static [SortField] = &[
        SortField::time("createdAt", "business_rules_webhook_deliveries.created_at"),
        SortField::time("nextAttemptAt", "business_rules_webhook_deliveries.next_attempt_at"),
    ];
    const SEARCHES: bool = false;
}

type SecretsInScope = Filter<Filter<secrets::table, Owned<secrets::tenant_id>>, IsNull<secrets::revoked_at>>;
type DeliveriesInScope =
    Filter<Filter<deliveries::table, Owned<deliveries::tenant_id>>, Within<deliveries::organization_id>>;

/// Returns the live secrets of the tenant.
pub(crate) fn secrets_in_scope(scope: &Scope) -> SecretsInScope {
    secrets::table
        .filter(scope.owns(secrets::tenant_id))
        .filter(secrets::revoked_at.is_null())
}

/// Returns the deliveries that are visible to the caller: those of rules of the whole tenant only without organization limits.
pub(crate) fn deliveries_in_scope(scope: &Scope) -> DeliveriesInScope {
    deliveries::table
        .filter(scope.owns(deliveries::tenant_id))
        .filter(scope.within(deliveries::organization_id))
}

/// The filter of deliveries.
#[derive(Debug, Clone, Default)]
pub struct DeliveryFilter {
    /// Only deliveries of this rule.
    pub rule: Option<Uuid>,
    /// Only this status.
    pub status: Option<String>,
}

fn live<'a>(scope: &Scope, request: &ListRequest) -> secrets::BoxedQuery<'a, Pg> {
    let mut query = secrets_in_scope(scope).into_boxed();
    // Secrets belong to the whole tenant.
    if scope.organizations.is_some() {
        query = query.filter(secrets::id.eq_any(Vec::<Uuid>::new()));
    }
    if let Some(ids) = &request.ids {
        query = query.filter(secrets::id.one_of(ids.clone()));
    }
    query
}

/// Returns a page of the live secrets. A caller with organization limits sees none.
///
/// # Errors
/// When the database can't be reached.
pub async fn list_secrets(
    connection: &AsyncPgConnection,
    ctx: &RequestContext,
    request: &ListRequest,
) -> Result<Page<WebhookSecret>> {
    let (window, scope) = (request.window, ctx.scope());
    let keys = request.order.then("business_rules_webhook_secrets.id");
    let rows = async |start: Start| {
        let page = start
            .of::<secrets::table, _>(live(scope, request))
            .order(keys.expression());
        start
            .limited(page.select(WebhookSecret::as_select()))
            .load(&mut &*connection)
            .await
    };
    let total = live(scope, request).select(count_star());
    let id = |row: &WebhookSecret| (row.tenant_id, row.id);
    window
        .fetch_from(ctx, connection, keys, id, rows, || {
            Prepared(total).get_result(&mut &*connection)
        })
        .await
}

fn requested<'a>(scope: &Scope, filter: &DeliveryFilter, request: &ListRequest) -> deliveries::BoxedQuery<'a, Pg> {
    let mut query = deliveries_in_scope(scope).into_boxed();
    if let Some(ids) = &request.ids {
        query = query.filter(deliveries::id.one_of(ids.clone()));
    }
    if let Some(rule) = filter.rule {
        query = query.filter(deliveries::rule_id.eq(rule));
    }
    if let Some(status) = &filter.status {
        query = query.filter(deliveries::status.eq(status.clone()));
    }
    query
}

/// Returns a page of deliveries.
///
/// # Errors
/// When the database can't be reached.
pub async fn list_deliveries(
    connection: &AsyncPgConnection,
    ctx: &RequestContext,
    filter: &DeliveryFilter,
    request: &ListRequest,
) -> Result<Page<WebhookDelivery>> {
    let (window, scope) = (request.window, ctx.scope());
    let keys = request.order.then("business_rules_webhook_deliveries.id");
    let rows = async |start: Start| {
        let page = start
            .of::<deliveries::table, _>(requested(scope, filter, request))
            .order(keys.expression());
        start
            .limited(page.select(WebhookDelivery::as_select()))
            .load(&mut &*connection)
            .await
    };
    let total = requested(scope, filter, request).select(count_star());
    let id = |row: &WebhookDelivery| (row.tenant_id, row.id);
    window
        .fetch_from(ctx, connection, keys, id, rows, || {
            Prepared(total).get_result(&mut &*connection)
        })
        .await
}
