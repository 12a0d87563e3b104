//! `alerts`.

use backoffice_alerts::recompute_all;
use backoffice_core::Call;
use serde_json::json;

use super::arguments::AlertsCommand;
use super::output::Output;
use super::tenant::tenant_if_named;
use crate::Result;
use crate::host::Host;

/// Runs the command.
pub(super) async fn run(host: &Host, command: AlertsCommand, output: Output) -> Result<()> {
    let AlertsCommand::Recompute { tenant } = command;
    let tenant = tenant_if_named(&host.context(), tenant.as_deref()).await?;
    let done = recompute_all(&Call::internal(&host.runtime()), tenant).await?;
    let text = format!("resources: {}, corrected alerts: {}", done.subjects, done.differences);
    output.print(&text, &json!(done))
}
