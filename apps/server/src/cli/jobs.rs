//! `jobs`.

use backoffice_core::Call;
use backoffice_core::jobs::{self, QueuedJob};
use serde_json::json;

use super::arguments::JobsCommand;
use super::output::{Output, table};
use crate::Result;
use crate::host::Host;

/// Runs the command.
pub(super) async fn run(host: &Host, command: JobsCommand, output: Output) -> Result<()> {
    let call = Call::internal(&host.runtime());
    match command {
        JobsCommand::List { all } => {
            let jobs = jobs::list(&call, all).await?;
            let rows: Vec<Vec<String>> = jobs.iter().map(row).collect();
            output.print(&table(&rows), &json!(jobs))?;
        }
        JobsCommand::Retry { id } => {
            jobs::retry(&call, id).await?;
            output.print("queued", &json!({"id": id, "state": "queued"}))?;
        }
        JobsCommand::Cancel { id } => {
            jobs::cancel(&call, id).await?;
            output.print("cancelled", &json!({"id": id, "state": "cancelled"}))?;
        }
    }
    Ok(())
}

fn row(job: &QueuedJob) -> Vec<String> {
    vec![
        job.id.to_string(),
        job.created_at.to_string(),
        job.tenant_id.to_string(),
        job.kind.clone(),
        job.state.clone(),
        format!("cursor {}", job.cursor),
        format!("attempt {}", job.attempt),
        job.last_error
            .as_deref()
            .and_then(|error| error.lines().next())
            .unwrap_or_default()
            .to_owned(),
    ]
}
