//! Endpoints of secrets and deliveries of webhooks.

use backoffice_core::command::Entity;
use backoffice_core::http::{CheckedQuery, Created, Done, Id, Json, Path, Query, QueryInput, Routes, given, requires};
use backoffice_core::list::{ListQuery, Page};
use backoffice_core::{Detail, Rejection, RequestContext, Result, Violations};
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::acl;
use crate::commands::{CreateWebhookSecret, DeleteWebhookSecret, RetryWebhookDelivery};
use crate::documented::BusinessRuleWebhookStatus;
use crate::model::{WebhookDelivery, WebhookSecret};
use crate::query::webhooks::{self as query, DeliveryFilter};

const STATUSES: [&str; 3] = ["pending", "sent", "failed"];

pub(super) fn routes(routes: &mut Routes) {
    let secrets = "/business_rules/webhook-secrets";
    routes
        .get(secrets, requires(&[acl::MANAGE]), list_business_rule_webhook_secrets)
        .shows(&[WebhookSecret::KIND])
        .about("List the live secrets with which webhooks are signed");
    routes
        .post(secrets, requires(&[acl::MANAGE]), create_business_rule_webhook_secret)
        .about("Create a secret for webhooks; no later response shows it")
        .one_time(&["secret"])
        .rejects(&[409, 422]);
    routes
        .delete(secrets, requires(&[acl::MANAGE]), delete_business_rule_webhook_secret)
        .about("Revoke a secret for webhooks")
        .rejects(&[404, 409, 422]);
    routes
        .get(
            "/business_rules/webhook-deliveries",
            requires(&[acl::VIEW_LOGS]),
            list_business_rule_webhook_deliveries,
        )
        .shows(&[WebhookDelivery::KIND])
        .about("List webhooks of the last 30 days, the latest first");
    routes
        .post(
            "/business_rules/webhook-deliveries/{id}/retry",
            requires(&[acl::MANAGE]),
            retry_business_rule_webhook_delivery,
        )
        .about("Send a failed webhook again")
        .rejects(&[404, 409, 422]);
}

/// A created secret.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = BusinessRuleCreatedWebhookSecret)]
struct CreatedSecret {
    /// The id.
    id: Uuid,
    /// The secret, `whsec_` and 32 bytes in base64, shown only once; null when the request is repeated with its `Idempotency-Key`.
    #[schema(required = true)]
    secret: Option<String>,
}

/// Parameters of the list of deliveries.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct DeliveryQuery {
    /// Only webhooks of the rule with this id.
    #[serde(default, deserialize_with = "given")]
    rule_id: Option<Uuid>,
    /// Only this status.
    #[param(value_type = Option<BusinessRuleWebhookStatus>, inline)]
    status: Option<String>,
}

impl QueryInput for DeliveryQuery {
    fn validate(&self, violations: &mut Violations) {
        if self.status.as_deref().is_some_and(|one| !STATUSES.contains(&one)) {
            let message = format!("must be one of {}", STATUSES.join(", "));
            violations.add(Detail::new("status", message, "invalid_value"));
        }
    }
}

async fn list_business_rule_webhook_secrets(
    ctx: RequestContext,
    list: ListQuery<WebhookSecret>,
) -> Result<Json<Page<WebhookSecret>>> {
    let request = list.validate()?;
    let connection = ctx.read().await?;
    query::list_secrets(&connection, &ctx, &request).await.map(Json)
}

async fn create_business_rule_webhook_secret(ctx: RequestContext) -> Result<Created<CreatedSecret>> {
    let tenant = ctx.tenant()?;
    if tenant.is_nil() {
        return Err(Rejection::tenant_required().into());
    }
    let command = CreateWebhookSecret::new(&ctx, tenant);
    let response = |()| {
        Created(CreatedSecret {
            id: command.id(),
            secret: Some(command.text().expose_secret().to_owned()),
        })
    };
    ctx.execute(&command, response).await
}

async fn delete_business_rule_webhook_secret(ctx: RequestContext, query: Query<Id>) -> Result<Json<Done>> {
    let command = DeleteWebhookSecret { id: query.0.id };
    ctx.execute(&command, |()| Json(Done::OK)).await
}

async fn list_business_rule_webhook_deliveries(
    ctx: RequestContext,
    list: ListQuery<WebhookDelivery>,
    query: CheckedQuery<DeliveryQuery>,
) -> Result<Json<Page<WebhookDelivery>>> {
    let mut violations = Violations::default();
    let request = list.validate_with(&mut violations);
    query.0.validate(&mut violations);
    violations.check()?;
    let filter = DeliveryFilter {
        rule: query.0.rule_id,
        status: query.0.status,
    };
    let connection = ctx.read().await?;
    query::list_deliveries(&connection, &ctx, &filter, &request)
        .await
        .map(Json)
}

async fn retry_business_rule_webhook_delivery(ctx: RequestContext, path: Path<Id>) -> Result<Json<Done>> {
    let command = RetryWebhookDelivery { id: path.0.id };
    ctx.execute(&command, |()| Json(Done::OK)).await
}
