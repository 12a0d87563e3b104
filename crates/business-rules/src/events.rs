//! Starts rules when events are delivered.

use backoffice_core::Result;
use backoffice_core::context::Call;
use backoffice_core::events::{StoredEvent, Subscriber};
use backoffice_core::jobs::{NewJob, enqueue};
use diesel_async::AsyncPgConnection;
use serde_json::Value;
use uuid::Uuid;

use crate::compiled::{self, CandidateFilter};
use crate::jobs::RunRules;

/// Enqueues one job for each event to which rules react. The patterns name the modules that may offer guardable kinds; the handler knows which ones do.
pub(crate) const START_RULES: Subscriber = Subscriber {
    id: "business_rules.events",
    patterns: &[
        "attachments.attachment.*",
        "calendar.*",
        "catalog.*",
        "customers.*",
        "directory.organization.*",
        "dispatch.*",
    ],
    handler: |connection, call, event| Box::pin(start(connection, call, event)),
    replay: false,
};

async fn start(connection: &mut AsyncPgConnection, call: &Call, event: &StoredEvent) -> Result<()> {
    let is_set = |name: &str| event.payload.get(name).and_then(Value::as_bool) == Some(true);
    // Taking a change back must not cause new changes.
    if is_set("undo") || is_set("redo") {
        return Ok(());
    }
    let Some((kind, change)) = event.name.rsplit_once('.') else {
        return Ok(());
    };
    if !call.platform().record_kind(kind).is_some_and(|kind| kind.guardable) {
        return Ok(());
    }
    let rules = compiled::rules_of(connection, call, event.tenant_id).await?;
    let filter = CandidateFilter {
        entity_type: kind,
        changes: Some(&[change]),
        is_event: true,
        organization: event.organization_id,
        now: call.now,
    };
    let matching: Vec<Uuid> = rules
        .candidates(filter)
        .filter(|rule| !rule.validates())
        .map(|rule| rule.id)
        .collect();
    if matching.is_empty() {
        return Ok(());
    }
    let job = RunRules {
        kind: kind.to_owned(),
        change: change.to_owned(),
        record: event.payload.get("id").and_then(Value::as_str).map(str::to_owned),
        organization: event.organization_id,
        log_id: event.log_id,
        rules: matching,
        event: Some(event.id),
    };
    let job = NewJob::of_system(event.tenant_id, job).deduplicated(event.id.to_string());
    enqueue(connection, call, &job).await?;
    Ok(())
}
