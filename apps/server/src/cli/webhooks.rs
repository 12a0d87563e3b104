//! `webhooks`.

use backoffice_business_rules::{WebhookSummary, list_webhooks, retry_webhook};
use backoffice_core::Call;
use serde_json::json;

use super::arguments::WebhooksCommand;
use super::output::{Output, table};
use super::tenant::tenant_if_named;
use crate::Result;
use crate::host::Host;

/// Runs the command.
pub(super) async fn run(host: &Host, command: WebhooksCommand, output: Output) -> Result<()> {
    let call = Call::internal(&host.runtime());
    match command {
        WebhooksCommand::List { tenant, all } => {
            let tenant = tenant_if_named(&host.context(), tenant.as_deref()).await?;
            let deliveries = list_webhooks(&call, tenant, all).await?;
            let rows: Vec<Vec<String>> = deliveries.iter().map(row).collect();
            output.print(&table(&rows), &json!(deliveries))?;
        }
        WebhooksCommand::Retry { id } => {
            retry_webhook(&call, id).await?;
            output.print("pending", &json!({"id": id, "status": "pending"}))?;
        }
    }
    Ok(())
}

fn row(delivery: &WebhookSummary) -> Vec<String> {
    vec![
        delivery.id.to_string(),
        delivery.tenant_id.to_string(),
        delivery.created_at.to_string(),
        delivery.status.clone(),
        delivery.attempts.to_string(),
        delivery.host.clone(),
        delivery.error.clone().unwrap_or_default(),
    ]
}
