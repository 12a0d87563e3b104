//! Deliveries of webhooks as operators see them.

use backoffice_core::http::Json;
use backoffice_core::{Call, Rejection, RequestContext, Result, Scope, Timestamp};
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl, SelectableHelper};
use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use crate::commands::RetryWebhookDelivery;
use crate::model::WebhookDelivery;
use crate::schema::business_rules_webhook_deliveries as deliveries;

/// Maximum number of listed deliveries.
const MOST: i64 = 1000;

/// A delivery, without its body, headers and address: these may hold data of the tenant.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WebhookSummary {
    /// The id.
    pub id: Uuid,
    /// The tenant.
    pub tenant_id: Uuid,
    /// Time at which the rule queued it.
    pub created_at: Timestamp,
    /// `pending`, `sent` or `failed`.
    pub status: String,
    /// Attempts so far.
    pub attempts: i32,
    /// Time of the next attempt.
    pub next_attempt_at: Timestamp,
    /// Host of the receiver.
    pub host: String,
    /// Status of the last response.
    pub response_status: Option<i32>,
    /// Why the last attempt failed.
    pub error: Option<String>,
}

/// Lists the deliveries of a tenant, or of all tenants, that are due or have failed, with `all` also those that were sent: the newest 1000.
///
/// # Errors
/// If the database can't be reached.
pub async fn list_webhooks(call: &Call, tenant: Option<Uuid>, all: bool) -> Result<Vec<WebhookSummary>> {
    use diesel_async::RunQueryDsl;

    let scope = tenant.map_or_else(Scope::system, Scope::tenant);
    let mut connection = call.database().unlogged(&scope).await?;
    let mut rows = deliveries::table
        .filter(scope.owns(deliveries::tenant_id))
        .order((deliveries::created_at.desc(), deliveries::id.desc()))
        .limit(MOST)
        .select(WebhookDelivery::as_select())
        .into_boxed();
    if !all {
        rows = rows.filter(deliveries::status.ne("sent"));
    }
    let rows: Vec<WebhookDelivery> = rows.load(&mut *connection).await?;
    Ok(rows.into_iter().map(summary).collect())
}

fn summary(row: WebhookDelivery) -> WebhookSummary {
    let host = url::Url::parse(&row.url).ok();
    WebhookSummary {
        id: row.id,
        tenant_id: row.tenant_id,
        created_at: row.created_at,
        status: row.status,
        attempts: row.attempts,
        next_attempt_at: row.next_attempt_at,
        host: host
            .and_then(|url| url.host_str().map(str::to_owned))
            .unwrap_or_default(),
        response_status: row.response_status,
        error: row.error,
    }
}

/// Sends a failed delivery again, as the platform.
///
/// # Errors
/// 404 if there is no such delivery, 409 if it has not failed, or the database can't be reached.
pub async fn retry_webhook(call: &Call, id: Uuid) -> Result<()> {
    let tenant = tenant_of(call, id).await?;
    let tenant = tenant.ok_or_else(|| Rejection::not_found("Webhook delivery not found"))?;
    let context = RequestContext::system(&call.runtime).with_scope(Scope::tenant(tenant));
    context
        .execute(&RetryWebhookDelivery { id }, |()| Json(Value::Null))
        .await?;
    Ok(())
}

async fn tenant_of(call: &Call, id: Uuid) -> Result<Option<Uuid>> {
    use diesel_async::RunQueryDsl;

    let mut connection = call.database().unlogged(&Scope::system()).await?;
    let found = deliveries::table
        .filter(deliveries::id.eq(id))
        .select(deliveries::tenant_id);
    Ok(found.first(&mut *connection).await.optional()?)
}
