//! What validated changes leave: rows of the log, notifications, events, webhooks, calls of the platform, and the header with messages.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use backoffice_core::command::Tx;
use backoffice_core::{Call, Result};
use diesel_async::AsyncPgConnection;
use serde_json::Value;

use super::GuardRun;
use crate::compiled;
use crate::engine::failure::FailedRule;
use crate::engine::recipients::RecipientsLeft;
use crate::engine::settle::{self, About, LOG, Leavings};
use crate::engine::{PlannedNotification, TOO_DEEP, failure};
use crate::platform_calls::{self, QueuedCall};
use crate::webhooks::{NewDelivery, queue};

/// Largest header with messages, in bytes.
const LARGEST_HEADER: usize = 4096;

/// Writes what guards leave of allowed changes, together with them. The number of statements does not grow with the changes.
pub(crate) async fn write_allowed(tx: &mut Tx<'_>, guard_runs: Vec<GuardRun>) -> Result<()> {
    let (ctx, now, tenant) = (tx.context(), tx.now(), tx.tenant());
    let messages: Vec<Value> = guard_runs
        .iter()
        .flat_map(|guard_run| guard_run.outcome.messages())
        .collect();
    if !messages.is_empty() {
        tx.response_header("x-rule-messages", header(&messages));
    }
    let found = settle::find_named(tx.conn(), tenant, &planned(&guard_runs)).await?;
    let (mut all, mut calls) = (Leavings::default(), Vec::new());
    let (mut left, mut managers) = (RecipientsLeft::default(), HashMap::new());
    for mut guard_run in guard_runs {
        let mut runs = std::mem::take(&mut guard_run.outcome.runs);
        let (run, depth) = (guard_run.run, guard_run.depth);
        calls.extend(
            runs.iter_mut()
                .flat_map(|one| QueuedCall::take(one, tenant, run, depth)),
        );
        let about = guard_run.about(now);
        let mut leavings = settle::settle_found(ctx.call(), about, &mut runs, found.as_ref(), &mut left);
        for one in runs.iter().filter(|one| one.is_too_deep()) {
            let rule = FailedRule::from(&*one.rule);
            let recipients = match managers.entry(rule.organization) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(vacant) => vacant.insert(failure::managers(tx.conn(), tenant, rule.organization).await?),
            };
            failure::announce(&rule, TOO_DEEP, recipients.clone(), &mut leavings);
        }
        all.add(leavings);
    }
    for new in settle::to_send(&all.notifications) {
        backoffice_notifications::send(tx, &new).await?;
    }
    for event in all.events {
        tx.emit(event);
    }
    settle::write_rows(tx.conn(), &all.rows).await?;
    share_batch(&mut all.webhooks);
    queue(tx, &all.webhooks).await?;
    platform_calls::enqueue(tx, &calls).await?;
    tx.changed(LOG);
    Ok(())
}

/// Returns the notifications of all rules.
fn planned(guard_runs: &[GuardRun]) -> Vec<&PlannedNotification> {
    settle::planned(guard_runs.iter().flat_map(|guard_run| &guard_run.outcome.runs))
}

/// Lets one job send all webhooks of a transaction.
fn share_batch(webhooks: &mut [NewDelivery]) {
    if let Some(batch) = webhooks.first().map(|first| first.batch_id) {
        for one in webhooks {
            one.batch_id = batch;
        }
    }
}

/// Writes what guards leave of a blocked command, after its rollback.
pub(super) async fn write_blocked(
    connection: &mut AsyncPgConnection,
    call: Call,
    guard_runs: Vec<GuardRun>,
) -> Result<()> {
    let Some(tenant) = guard_runs.first().map(|first| first.tenant) else {
        return Ok(());
    };
    let (mut all, mut left) = (Leavings::default(), RecipientsLeft::default());
    let found = settle::find_named(connection, tenant, &planned(&guard_runs)).await?;
    // The rules of the command may have a tree of organizations that was rolled back.
    let rules = match &found {
        Some(_) => Some(compiled::rules_of(connection, &call, tenant).await?),
        None => None,
    };
    for mut guard_run in guard_runs {
        let mut runs = std::mem::take(&mut guard_run.outcome.runs);
        let about = About {
            rules: rules.as_deref(),
            ..guard_run.about(call.now)
        };
        all.add(settle::settle_found(&call, about, &mut runs, found.as_ref(), &mut left));
    }
    share_batch(&mut all.webhooks);
    settle::write_last(connection, &call, tenant, &all).await
}

/// Returns the messages for the header of a response, each once: as many as fit.
fn header(messages: &[Value]) -> String {
    let encoded = |json: &str| {
        let encoded: String = url::form_urlencoded::byte_serialize(json.as_bytes()).collect();
        encoded.replace('+', "%20")
    };
    let (mut header, end, mut seen) = (encoded("["), encoded("]"), HashSet::new());
    for message in messages.iter().map(Value::to_string) {
        let separator = if seen.is_empty() { "" } else { "," };
        let added = encoded(&format!("{separator}{message}"));
        if !seen.insert(message) {
            continue;
        }
        if header.len() + added.len() + end.len() > LARGEST_HEADER {
            break;
        }
        header.push_str(&added);
    }
    header + &end
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_header_has_as_many_messages_as_fit() {
        let message = |length: usize| json!({"level": "info", "message": "x".repeat(length), "ruleId": "r"});
        let number = |header: &str| header.matches("ruleId").count();

        assert_eq!(number(&header(&[message(10), message(11)])), 2);
        assert_eq!(number(&header(&[message(10), message(5000), message(11)])), 1);
        assert_eq!(header(&[message(5000)]), "%5B%5D");
    }

    #[test]
    fn a_message_about_many_records_is_in_the_header_once() {
        let message = |text: &str| json!({"level": "info", "message": text, "ruleId": "r"});
        let encoded = header(&[message("a, b"), message("c"), message("a, b")]);

        let parsed: Vec<(String, String)> = url::form_urlencoded::parse(format!("m={encoded}").as_bytes())
            .into_owned()
            .collect();
        let parsed: Value = serde_json::from_str(&parsed[0].1).expect("JSON");
        assert_eq!(parsed, json!([message("a, b"), message("c")]));
    }
}
