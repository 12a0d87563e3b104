//! `events dead-letters`.

use backoffice_core::Call;
use backoffice_core::events::dead_letters::{self, DeadLetter};
use serde_json::json;

use super::arguments::DeadLettersCommand;
use super::output::{Output, table};
use crate::host::Host;
use crate::{Error, Result};

/// Runs the command.
pub(super) async fn run(host: &Host, command: DeadLettersCommand, output: Output) -> Result<()> {
    let call = Call::internal(&host.runtime());
    match command {
        DeadLettersCommand::List { all } => {
            let letters = dead_letters::list(&call, all).await?;
            let rows: Vec<Vec<String>> = letters.iter().map(row).collect();
            output.print(&table(&rows), &json!(letters))
        }
        DeadLettersCommand::Retry { id, .. } => {
            let letters = match id {
                Some(id) => vec![dead_letters::find(&call, id).await?],
                None => dead_letters::list(&call, false).await?,
            };
            retry(&call, &letters, output).await
        }
    }
}

fn row(letter: &DeadLetter) -> Vec<String> {
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    vec![
        letter.id.to_string(),
        letter.created_at.to_string(),
        letter.tenant_id.to_string(),
        letter.subscriber.clone(),
        text(&letter.event["name"]),
        letter.error.lines().next().unwrap_or_default().to_owned(),
    ]
}

/// Retries each dead letter; a failure does not stop the others.
async fn retry(call: &Call, letters: &[DeadLetter], output: Output) -> Result<()> {
    let (mut delivered, mut failed) = (Vec::new(), Vec::new());
    for letter in letters {
        match dead_letters::retry(call, letter).await {
            Ok(()) => delivered.push(letter.id),
            Err(error) => {
                eprintln!("{}: {error}", letter.id);
                failed.push(letter.id);
            }
        }
    }
    let text = format!("{} delivered, {} failed", delivered.len(), failed.len());
    output.print(&text, &json!({"delivered": delivered, "failed": failed}))?;
    if failed.is_empty() {
        return Ok(());
    }
    Err(Error::other("some subscribers failed again; what they said is above"))
}
