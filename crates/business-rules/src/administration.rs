//! What operators see and do on the command line.

use backoffice_core::http::{Done, Json};
use backoffice_core::{Call, Rejection, RequestContext, Result, Scope};
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl, SelectableHelper};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use crate::commands::RetryWebhookDelivery;
use crate::model::WebhookDelivery;
use crate::schema::business_rules_webhook_deliveries as deliveries;

/// Most deliveries of a list.
const MOST: i64 = 1000;

/// Returns the newest webhooks of all tenants: the failed ones, or all.
///
/// # Errors
/// When the database can't be reached.
pub async fn list_webhooks(call: &Call, all: bool) -> Result<Vec<WebhookDelivery>> {
    let connection = call.database().read(&Scope::system()).await?;
    let mut rows = deliveries::table
        .order((deliveries::created_at.desc(), deliveries::id.desc()))
        .limit(MOST)
        .select(WebhookDelivery::as_select())
        .into_boxed();
    if !all {
        rows = rows.filter(deliveries::status.eq("failed"));
    }
    Ok(rows.load(&mut &*connection).await?)
}

/// Sends a failed webhook again, as the platform.
///
/// # Errors
/// 404 if there is no such webhook, 409 if it has not failed, or the database can't be reached.
pub async fn retry_webhook(call: &Call, id: Uuid) -> Result<()> {
    let tenant: Option<Uuid> = {
        let connection = call.database().read(&Scope::system()).await?;
        let found = deliveries::table
            .filter(deliveries::id.eq(id))
            .select(deliveries::tenant_id);
        found.first(&mut &*connection).await.optional()?
    };
    let tenant = tenant.ok_or_else(|| Rejection::not_found("no such webhook"))?;
    let ctx = RequestContext::system(&call.runtime).with_scope(Scope::tenant(tenant));
    RequestContext::execute(&ctx, &RetryWebhookDelivery { id }, |()| Json(Done::OK)).await?;
    Ok(())
}
