//! Runs the rules that an event starts, one in each step.

use std::sync::Arc;

use backoffice_core::command::{LoggedChange, logged};
use backoffice_core::db::Prepared;
use backoffice_core::identity::{ActorKind, Identity};
use backoffice_core::jobs::{Job, Step, Work};
use backoffice_core::{Call, Cause, RequestContext, Result, Scope};
use diesel::sql_types::{Nullable, Text, Uuid as SqlUuid};
use diesel::{OptionalExtension, QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::compiled::{self, CompiledRule};
use crate::condition::reference::RunUser;
use crate::config::RulesConfig;
use crate::engine::recipients::RecipientsLeft;
use crate::engine::run::{self, RunMode};
use crate::engine::settle::{self, About};
use crate::engine::{RunOutcome, RunSubject, TOO_DEEP, Trigger, failure, need_local_date};
use crate::guard::fields_of;

/// The rules that an event starts. The cursor counts the finished ones: a crash repeats at most the rule that was under way, and so does a platform that is
/// not available for one of its calls.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RunRules {
    /// Kind of the record.
    pub(crate) kind: String,
    /// The change: the last word of the event.
    pub(crate) change: String,
    /// Id of the record.
    pub(crate) record: Option<String>,
    /// Organization of the record.
    pub(crate) organization: Option<Uuid>,
    /// The log entry of the change.
    pub(crate) log_id: Option<Uuid>,
    /// The rules in their order.
    pub(crate) rules: Vec<Uuid>,
    /// The event.
    #[serde(default)]
    pub(crate) event: Option<Uuid>,
}

impl Job for RunRules {
    const KIND: &'static str = "business_rules.rule.run";

    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        let number = usize::try_from(work.cursor()).unwrap_or(usize::MAX);
        let Some(id) = self.rules.get(number).copied() else {
            return Ok(Step::Done);
        };
        let (call, tenant) = (work.call().clone(), work.tenant());
        let (change, rule) = {
            let mut connection = call.database().unlogged(&Scope::tenant(tenant)).await?;
            let change = match (self.log_id, &self.record) {
                (Some(log_id), Some(record)) => {
                    let about = (&*self.kind, &**record);
                    logged(&mut connection, call.platform(), tenant, log_id, about).await?
                }
                _ => None,
            };
            let change = match change {
                Some(change) => Some((user_of(&mut connection, tenant, &change).await?, change)),
                None => None,
            };
            let rules = compiled::rules_of(&mut connection, &call, tenant).await?;
            (change, rules.find(id).map(Arc::clone))
        };
        let cursor = work.cursor() + 1;
        // The rule was deleted or disabled, or the entry was removed or is not about the record.
        let (Some((user, change)), Some(rule)) = (change, rule) else {
            work.begin(&Scope::tenant(tenant)).await?.advance(cursor).await?;
            return Ok(Step::More);
        };
        let depth = change.depth();
        let data = data_of(&change);
        let subject = RunSubject {
            tenant,
            organization: self.organization,
            entity_type: &self.kind,
            entity_id: self.record.as_deref(),
            event_type: Some(&self.change),
            data: &data,
        };
        let is_too_deep = depth >= call.provided::<RulesConfig>()?.max_depth;
        let occasion = self.event.unwrap_or(work.id());
        // The last attempt notes the failure and goes on with the next rule.
        let mode = match work.attempt() < Self::MAX_ATTEMPTS {
            true => RunMode::Repeatable,
            false => RunMode::Once,
        };
        let mut outcome = match is_too_deep {
            true => RunOutcome::default(),
            false => executed(&call, &rule, depth, subject, user.clone(), (occasion, mode)).await?,
        };
        let mut chunk = work.begin(&Scope::tenant(tenant)).await?;
        let about = About {
            subject,
            run: call.platform().ids().at(call.now),
            trigger: Trigger::Event,
            user: &user,
            executed_by: None,
            now: call.now,
            rules: None,
        };
        let mut left = RecipientsLeft::default();
        let runs = &mut outcome.runs;
        let mut leavings = settle::settle(chunk.connection(), &call, about, runs, &mut left).await?;
        let failure = match is_too_deep {
            true => Some(TOO_DEEP.to_owned()),
            false => outcome.runs.iter().find_map(reason_of),
        };
        let result = if failure.is_some() { "failed" } else { "done" };
        metrics::counter!("business_rules_runs_total", "trigger" => "event", "result" => result).increment(1);
        if let Some(reason) = failure {
            failure::report(chunk.connection(), tenant, &(&*rule).into(), &reason, &mut leavings).await?;
        }
        settle::write_last(chunk.connection(), &call, tenant, &leavings).await?;
        chunk.advance(cursor).await?;
        Ok(Step::More)
    }
}

/// Runs the rule as a principal of its own: with the features that its effects need, in its organization.
async fn executed(
    call: &Call,
    rule: &Arc<CompiledRule>,
    depth: u32,
    subject: RunSubject<'_>,
    user: RunUser,
    (occasion, mode): (Uuid, RunMode),
) -> Result<RunOutcome> {
    let name = format!("rule {}", rule.key);
    let identity = Identity::limited(name, subject.tenant, rule.organization, &rule.effect_features);
    let ctx = RequestContext::limited(call, identity).await?;
    let ctx = ctx.caused_by(Cause { rule: rule.id, depth });
    let rules = std::slice::from_ref(rule);
    let local_date = match need_local_date(rules) {
        true => {
            subject
                .local_date(&*ctx.read().await?, call.platform(), call.now)
                .await?
        }
        false => None,
    };
    let facts = subject.facts(user, call.now, local_date);
    run::run(&ctx, rules, subject, &facts, occasion, mode).await
}

/// Returns the record as it is after the change, or was before a deletion, with the record before and the names of the changed fields.
fn data_of(change: &LoggedChange) -> Value {
    let fields = |snapshot: &Option<Value>| snapshot.as_ref().and_then(Value::as_object).map(fields_of);
    let before = fields(&change.snapshot_before);
    let mut data: Map<String, Value> = fields(&change.snapshot_after)
        .or_else(|| before.clone())
        .unwrap_or_default();
    data.insert("_before".to_owned(), before.map_or(Value::Null, Value::Object));
    data.insert("_changed".to_owned(), json!(change.changed_fields));
    Value::Object(data)
}

/// Finds a user with their first role by name.
const ACTOR: &str = "\
select u.email, (
    select r.name from auth_user_roles l join auth_roles r on r.tenant_id = l.role_tenant_id and r.id = l.role_id
    where l.tenant_id = $1 and l.user_id = $2 order by r.name_norm, r.id limit 1) as role
from auth_users u where u.tenant_id = $1 and u.id = $2 and u.deleted_at is null";

#[derive(QueryableByName)]
struct Actor {
    #[diesel(sql_type = Text)]
    email: String,
    #[diesel(sql_type = Nullable<Text>)]
    role: Option<String>,
}

/// Returns the user who changed the record, with the current e-mail address and first role of that user.
async fn user_of(connection: &mut AsyncPgConnection, tenant: Uuid, change: &LoggedChange) -> Result<RunUser> {
    let Some(id) = change
        .actor_id
        .filter(|_| change.actor_kind == ActorKind::User.as_str())
    else {
        return Ok(RunUser::default());
    };
    let statement = sql_query(ACTOR).bind::<SqlUuid, _>(tenant).bind::<SqlUuid, _>(id);
    let actor: Option<Actor> = Prepared(statement).get_result(connection).await.optional()?;
    let (email, role) = actor.map(|actor| (actor.email, actor.role)).unzip();
    Ok(RunUser {
        id: Some(id.to_string()),
        email,
        role: role.flatten(),
    })
}

/// Returns the reason why a rule has failed.
fn reason_of(run: &crate::engine::RuleRun) -> Option<String> {
    let of_action = || run.results.iter().find_map(|result| result.error.clone());
    run.error.clone().or_else(of_action)
}
