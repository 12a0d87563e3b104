//! `onboarding`.

use backoffice_core::Call;
use backoffice_onboarding::{RequestSummary, expire_request, list_requests};
use serde_json::json;

use super::arguments::OnboardingCommand;
use super::output::{Output, table};
use crate::Result;
use crate::host::Host;

/// Runs the command.
pub(super) async fn run(host: &Host, command: OnboardingCommand, output: Output) -> Result<()> {
    let call = Call::internal(&host.runtime());
    match command {
        OnboardingCommand::List { all } => {
            let requests = list_requests(&call, all).await?;
            let rows: Vec<Vec<String>> = requests.iter().map(row).collect();
            output.print(&table(&rows), &json!(requests))?;
        }
        OnboardingCommand::Expire { id } => {
            expire_request(&call, id).await?;
            output.print("expired", &json!({"id": id, "status": "expired"}))?;
        }
    }
    Ok(())
}

fn row(request: &RequestSummary) -> Vec<String> {
    let id = |id: Option<uuid::Uuid>| id.map(|id| id.to_string()).unwrap_or_default();
    vec![
        request.id.to_string(),
        request.created_at.to_string(),
        request.status.clone(),
        request.kind.clone(),
        request.organization_name.clone(),
        id(request.provisioning_job_id),
        id(request.new_tenant_id),
    ]
}
