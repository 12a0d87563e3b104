//! What the transaction at the end of a run writes: rows of the log, webhooks, notifications and events.

use backoffice_core::command::EntityRef;
use backoffice_core::db::Recurring;
use backoffice_core::events::Event;
use backoffice_core::identity::{ActorKind, Identity};
use backoffice_core::{Call, Result, Timestamp};
use backoffice_notifications::{Channels, MOST_IN_A_STATEMENT, New, NotificationType};
use diesel::insert_into;
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use serde_json::{Value, json};
use uuid::Uuid;

use super::recipients::{self, NamedUsers, RecipientsLeft};
use super::redact::redacted;
use super::{PlannedNotification, RuleRun, RunSubject, Trigger};
use crate::action::Severity;
use crate::compiled::{self, TenantRules};
use crate::condition::reference::RunUser;
use crate::model::Rule;
use crate::query::logs::LogRow;
use crate::schema::business_rules_execution_logs as logs;
use crate::texts::NOTIFIED;
use crate::webhooks::{NewDelivery, deliveries};
use backoffice_core::command::Entity;

/// Kind of the rows of the log, for versions of their lists.
pub(crate) const LOG: &str = "business_rules.log";
/// Rows of one statement.
const CHUNK: usize = 100;
/// Most bytes of JSON that the rows of a run keep of its input, each a copy of its own, and that they keep of their outputs.
const MOST_KEPT: usize = 256 * 1024;

/// Error of a notification beyond the recipients of its run.
const TOO_MANY_RECIPIENTS: &str = "too_many_recipients";

/// A notification for several users. Its texts are copied for each of them only when it is sent.
#[derive(Debug)]
pub(crate) struct RuleNotice {
    /// The notification, without a recipient.
    pub(crate) new: New,
    pub(crate) recipients: Vec<Uuid>,
}

/// Returns the notifications for all recipients, as many at once as one statement writes.
pub(crate) fn to_send(notices: &[RuleNotice]) -> impl Iterator<Item = Vec<New>> {
    let mut all = notices.iter().flat_map(|notice| {
        let for_user = move |recipient: &Uuid| New {
            recipient: *recipient,
            ..notice.new.clone()
        };
        notice.recipients.iter().map(for_user)
    });
    std::iter::from_fn(move || {
        let some: Vec<New> = all.by_ref().take(MOST_IN_A_STATEMENT).collect();
        Some(some).filter(|some| !some.is_empty())
    })
}

/// What a run leaves, apart from its response.
#[derive(Debug, Default)]
pub(crate) struct Leavings {
    pub(crate) rows: Vec<LogRow>,
    pub(crate) notifications: Vec<RuleNotice>,
    pub(crate) events: Vec<Event>,
    /// Webhooks to queue.
    pub(crate) webhooks: Vec<NewDelivery>,
}

impl Leavings {
    /// Adds what a further run leaves.
    pub(crate) fn add(&mut self, further: Self) {
        self.rows.extend(further.rows);
        self.notifications.extend(further.notifications);
        self.events.extend(further.events);
        self.webhooks.extend(further.webhooks);
    }
}

/// The circumstances of a run that its rows of the log contain.
#[derive(Debug, Clone, Copy)]
pub(crate) struct About<'a> {
    pub(crate) subject: RunSubject<'a>,
    pub(crate) run: Uuid,
    pub(crate) trigger: Trigger,
    pub(crate) user: &'a RunUser,
    /// The user in whose request the rules ran.
    pub(crate) executed_by: Option<Uuid>,
    pub(crate) now: Timestamp,
    /// The rules of the tenant, if they were read before. A transaction that changes organizations must pass them.
    pub(crate) rules: Option<&'a TenantRules>,
}

/// Returns the user who executes rules; `None` for API keys and the platform.
pub(crate) fn executor(identity: &Identity) -> Option<Uuid> {
    identity.id.filter(|_| identity.kind == ActorKind::User)
}

/// Finds the recipients of all notifications with one statement, completes the results of the runs, and prepares what the transaction writes. Runs of
/// one transaction share the recipients that are left.
///
/// # Errors
/// When the database can't be reached.
pub(crate) async fn settle(
    connection: &mut AsyncPgConnection,
    call: &Call,
    about: About<'_>,
    runs: &mut [RuleRun],
    left: &mut RecipientsLeft,
) -> Result<Leavings> {
    let tenant = about.subject.tenant;
    let found = find_named(connection, tenant, &planned(runs.iter())).await?;
    let read;
    let rules = if found.is_some() && about.rules.is_none() {
        read = compiled::rules_of(connection, call, tenant).await?;
        Some(&*read)
    } else {
        about.rules
    };
    let about = About { rules, ..about };
    Ok(settle_found(call, about, runs, found.as_ref(), left))
}

/// Returns the notifications of runs.
pub(crate) fn planned<'a>(runs: impl Iterator<Item = &'a RuleRun>) -> Vec<&'a PlannedNotification> {
    runs.flat_map(|run| &run.notifications).collect()
}

/// Finds the users whom notifications name, with one statement; `None` if there are no notifications.
///
/// # Errors
/// When the database can't be reached.
pub(crate) async fn find_named(
    connection: &mut AsyncPgConnection,
    tenant: Uuid,
    planned: &[&PlannedNotification],
) -> Result<Option<NamedUsers>> {
    if planned.is_empty() {
        return Ok(None);
    }
    let found = recipients::find(connection, tenant, planned.iter().copied()).await?;
    Ok(Some(found))
}

/// Completes the results of runs, and prepares what the transaction writes. `found` has the users whom their notifications name; the rules of `about`
/// decide who of them is notified.
pub(crate) fn settle_found(
    call: &Call,
    about: About<'_>,
    runs: &mut [RuleRun],
    found: Option<&NamedUsers>,
    left: &mut RecipientsLeft,
) -> Leavings {
    let mut leavings = Leavings::default();
    if let (Some(found), Some(rules)) = (found, about.rules) {
        for run in runs.iter_mut() {
            let notices = notifications(run, found, rules, about.subject, left);
            leavings.notifications.extend(notices);
        }
    }
    let batch = call.platform().ids().at(call.now);
    let mut contexts = LoggedContexts::new(about);
    for run in runs.iter_mut() {
        leavings.webhooks.extend(webhooks(run, call, about, batch));
        leavings.events.extend(run.events.iter().map(|planned| {
            let mut event = Event::new(planned.name.clone(), about_id(about.subject, run));
            for (name, value) in &planned.payload {
                event = event.with(name, value.clone());
            }
            event.in_organization(about.subject.organization)
        }));
        leavings.rows.push(row(about, run, &mut contexts));
    }
    leavings
}

/// Finds the recipients of all notifications of a dry run with one statement, and completes the results.
///
/// # Errors
/// When the database can't be reached.
pub(crate) async fn find_recipients(
    connection: &mut AsyncPgConnection,
    rules: &TenantRules,
    subject: RunSubject<'_>,
    runs: &mut [RuleRun],
) -> Result<()> {
    let planned = runs.iter().flat_map(|run| &run.notifications);
    let found = recipients::find(connection, subject.tenant, planned).await?;
    let mut left = RecipientsLeft::default();
    for run in runs {
        notifications(run, &found, rules, subject, &mut left);
    }
    Ok(())
}

/// Returns the id that an event is about: that of the record, else that of the rule.
fn about_id(subject: RunSubject<'_>, run: &RuleRun) -> Uuid {
    let record = subject.entity_id.and_then(|id| id.parse().ok());
    record.unwrap_or(run.rule.id)
}

/// Returns the notifications of a run, and adds their recipients to its results.
fn notifications(
    run: &mut RuleRun,
    found: &NamedUsers,
    rules: &TenantRules,
    subject: RunSubject<'_>,
    left: &mut RecipientsLeft,
) -> Vec<RuleNotice> {
    let (mut all, organization) = (Vec::new(), run.rule.organization);
    for planned in &run.notifications {
        let mut chosen = recipients::select(planned, found, |held| rules.covers(held, organization));
        let mut error = None;
        if chosen.users.is_empty() {
            error = Some("no_recipients");
        } else if !left.take(chosen.users.len()) {
            error = Some(TOO_MANY_RECIPIENTS);
            chosen.users.clear();
        }
        if let Some(result) = run.results.get_mut(planned.action) {
            result.fields.insert("recipients".to_owned(), json!(chosen.users.len()));
            result.fields.insert("skipped".to_owned(), json!(chosen.skipped));
            if let Some(error) = error {
                result.error = Some(error.to_owned());
            }
        }
        if error.is_some() {
            continue;
        }
        let channels = Channels {
            push: planned.push,
            ..NOTIFIED.channels
        };
        let severity = match planned.severity {
            Severity::Info => backoffice_notifications::Severity::Info,
            Severity::Warning => backoffice_notifications::Severity::Warning,
            Severity::Success => backoffice_notifications::Severity::Success,
            Severity::Error => backoffice_notifications::Severity::Error,
        };
        let new = New {
            severity,
            organization: subject.organization,
            source: Some(EntityRef {
                kind: Rule::KIND,
                id: run.rule.id,
            }),
            link_href: planned.link.clone(),
            ..New::of(NotificationType { channels, ..NOTIFIED }, Uuid::nil())
                .with("subject", planned.subject.clone())
                .with("message", planned.message.clone())
        };
        all.push(RuleNotice {
            new,
            recipients: chosen.users,
        });
    }
    all
}

/// Returns the webhooks of a run, and adds their ids to its results.
fn webhooks(run: &mut RuleRun, call: &Call, about: About<'_>, batch: Uuid) -> Vec<NewDelivery> {
    let mut new = Vec::with_capacity(run.webhooks.len());
    for planned in &run.webhooks {
        let id = call.platform().ids().at(about.now);
        if let Some(result) = run.results.get_mut(planned.action) {
            result.fields.insert("status".to_owned(), json!("queued"));
            result.fields.insert("deliveryId".to_owned(), json!(id));
        }
        new.push(NewDelivery {
            tenant_id: about.subject.tenant,
            id,
            organization_id: run.rule.organization,
            rule_id: run.rule.id,
            run_id: about.run,
            batch_id: batch,
            url: planned.url.clone(),
            method: planned.method.to_owned(),
            headers: Value::Object(planned.headers.clone()),
            body: planned.body.clone(),
            status: "pending".to_owned(),
            attempts: 0,
            next_attempt_at: call.now,
            created_at: about.now,
            updated_at: about.now,
        });
    }
    new
}

/// The contexts in the rows of a run. The input is the same for all of them.
struct LoggedContexts {
    input: Value,
    /// Bytes of the input as JSON.
    input_length: usize,
    /// What rows have of the input when they may not keep it.
    short_input: Value,
    inputs: Allowance,
    outputs: Allowance,
}

impl LoggedContexts {
    fn new(about: About<'_>) -> Self {
        let user = json!({"id": about.user.id, "role": about.user.role});
        let (data, event) = (about.subject.data, about.subject.event_type);
        let input = redacted(&json!({"data": data, "eventType": event, "user": user}));
        Self {
            input_length: input.to_string().len(),
            input,
            short_input: json!({"truncated": true, "eventType": event, "user": user}),
            inputs: Allowance(MOST_KEPT),
            outputs: Allowance(MOST_KEPT),
        }
    }

    fn input(&mut self, run: &RuleRun) -> Value {
        let mut input = match self.inputs.take(self.input_length) {
            true => self.input.clone(),
            false => self.short_input.clone(),
        };
        if let (Some(own), Some(shown)) = (&run.event_type, input.get_mut("eventType")) {
            *shown = json!(own);
        }
        input
    }

    fn output(&mut self, run: &RuleRun) -> Value {
        let messages: Vec<Value> = run.messages.iter().map(super::RuleMessage::to_value).collect();
        let output = redacted(&json!({
            "conditionResult": run.condition,
            "actionsExecuted": run.actions_executed(false),
            "messages": messages,
        }));
        match self.outputs.take(output.to_string().len()) {
            true => output,
            false => json!({"truncated": true, "conditionResult": run.condition}),
        }
    }
}

/// The bytes that rows may still keep.
struct Allowance(usize);

impl Allowance {
    /// Takes bytes. Returns whether they were left; takes none otherwise.
    fn take(&mut self, bytes: usize) -> bool {
        let rest = self.0.checked_sub(bytes);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }
}

fn row(about: About<'_>, run: &RuleRun, contexts: &mut LoggedContexts) -> LogRow {
    let subject = about.subject;
    let result = match (&run.error, run.condition) {
        (None, Some(true)) => "SUCCESS",
        (None, Some(false)) => "FAILURE",
        _ => "ERROR",
    };
    LogRow {
        tenant_id: subject.tenant,
        id: run.log_id,
        organization_id: run.rule.organization,
        run_id: about.run,
        rule_id: run.rule.id,
        rule_key: run.rule.key.clone(),
        rule_name: run.rule.name.clone(),
        rule_type: run.rule.rule_type.clone(),
        entity_type: subject.entity_type.to_owned(),
        entity_id: subject.entity_id.map_or_else(|| Uuid::nil().to_string(), str::to_owned),
        execution_result: result.to_owned(),
        input_context: Some(contexts.input(run)),
        output_context: Some(contexts.output(run)),
        error_message: run.error.clone(),
        execution_time_ms: i32::try_from(run.elapsed.as_millis()).unwrap_or(i32::MAX),
        executed_at: about.now,
        executed_by: about.executed_by,
        trigger: about.trigger.word().to_owned(),
        created_at: about.now,
        updated_at: about.now,
    }
}

/// Writes rows of the log.
///
/// # Errors
/// When the database can't be reached.
pub(crate) async fn write_rows(connection: &mut AsyncPgConnection, rows: &[LogRow]) -> Result<()> {
    for chunk in rows.chunks(CHUNK) {
        insert_into(logs::table)
            .values(chunk)
            .prepared_if(chunk.len() == 1)
            .execute(connection)
            .await?;
    }
    Ok(())
}

/// Writes everything as the last step of a transaction that sees the tenant and is not a command's: rows, notifications, events.
///
/// # Errors
/// When the database can't be reached.
pub(crate) async fn write_last(
    connection: &mut AsyncPgConnection,
    call: &Call,
    tenant: Uuid,
    leavings: &Leavings,
) -> Result<()> {
    write_rows(connection, &leavings.rows).await?;
    deliveries::write(connection, call, &leavings.webhooks).await?;
    for new in to_send(&leavings.notifications) {
        backoffice_notifications::send_last(connection, call, tenant, &new).await?;
    }
    if !leavings.events.is_empty() {
        backoffice_core::events::announce(connection, call, tenant, None, &leavings.events).await?;
    }
    let mut changed = Vec::new();
    if !leavings.rows.is_empty() {
        changed.push(LOG);
    }
    if !leavings.webhooks.is_empty() {
        changed.push(deliveries::DELIVERY);
    }
    if !changed.is_empty() {
        backoffice_core::events::touch(connection, call, tenant, &changed).await?;
    }
    Ok(())
}
