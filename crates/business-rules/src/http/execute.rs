//! Executes rules by request.

use std::sync::Arc;

use actix_web::http::StatusCode;
use backoffice_core::command::Entity;
use backoffice_core::http::{Id, Json, Path, Routes, given, requires};
use backoffice_core::input::{Input, Validator, rules as input_rules};
use backoffice_core::rate_limit::RateLimit;
use backoffice_core::{Error, Patch, Rejection, RequestContext, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::acl;
use crate::commands::{RecordRun, record_id};
use crate::compiled::{self, CompiledRule, TenantRules, Wanted};
use crate::condition::reference::User;
use crate::documented::{BusinessRuleOptionalWord, BusinessRuleWord};
use crate::engine::{Outcome, RuleRun, Subject, Trigger, milliseconds, recipients, run, settle, user_of};
use crate::model::{Rule, RuleSet, Run};
use crate::query;

/// Executions by a user or key.
pub(super) const BY_ACTOR: RateLimit = RateLimit::new("business_rules.execute.actor", 600, 60);
/// Largest data, in bytes of JSON.
const LARGEST_DATA: usize = 256 * 1024;

pub(super) fn routes(routes: &mut Routes) {
    routes
        .post(
            "/business_rules/execute",
            requires(&[acl::EXECUTE]),
            execute_business_rules,
        )
        .about("Execute the rules that apply to a record")
        .rejects(&[409, 422, 429, 500]);
    routes
        .post(
            "/business_rules/execute/{ruleId}",
            requires(&[acl::EXECUTE]),
            execute_business_rule,
        )
        .about("Execute one rule")
        .rejects(&[404, 409, 422, 429, 500]);
    routes
        .post(
            "/business_rules/sets/{id}/execute",
            requires(&[acl::EXECUTE]),
            execute_business_rule_set,
        )
        .about("Execute the rules of a set, in the order of the set")
        .rejects(&[404, 409, 422, 429, 500]);
}

/// What rules are applied to.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
#[schema(as = BusinessRuleExecution)]
struct ExecuteInput {
    /// Kind of the record, 1 to 50 characters.
    #[schema(value_type = BusinessRuleWord, required = true)]
    entity_type: Patch<String>,
    /// Id of the record, at most 255 characters.
    #[schema(max_length = 255)]
    entity_id: Option<String>,
    /// The change, at most 50 characters; without it, rules of all changes apply.
    #[schema(value_type = Option<BusinessRuleOptionalWord>)]
    event_type: Option<String>,
    /// The data that conditions and texts refer to: any JSON of at most 256 KiB, by default an empty object.
    #[schema(value_type = Value)]
    data: Patch<Value>,
    /// Whether conditions are evaluated without executing actions; by default false. Nothing is written, sent or logged then.
    #[serde(deserialize_with = "given")]
    #[schema(value_type = bool)]
    dry_run: Option<bool>,
}

/// What one rule is applied to.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
#[schema(as = BusinessRuleExecutionOfOne)]
struct ExecuteOneInput {
    /// Kind of the record, by default that of the rule.
    #[schema(value_type = BusinessRuleWord)]
    entity_type: Patch<String>,
    /// Id of the record, at most 255 characters.
    #[schema(max_length = 255)]
    entity_id: Option<String>,
    /// The change, at most 50 characters.
    #[schema(value_type = Option<BusinessRuleOptionalWord>)]
    event_type: Option<String>,
    /// The data that conditions and texts refer to: any JSON of at most 256 KiB, by default an empty object.
    #[schema(value_type = Value)]
    data: Patch<Value>,
    /// Whether the condition is evaluated without executing actions; by default false.
    #[serde(deserialize_with = "given")]
    #[schema(value_type = bool)]
    dry_run: Option<bool>,
}

impl From<ExecuteOneInput> for ExecuteInput {
    fn from(one: ExecuteOneInput) -> Self {
        Self {
            entity_type: one.entity_type,
            entity_id: one.entity_id,
            event_type: one.event_type,
            data: one.data,
            dry_run: one.dry_run,
        }
    }
}

impl Input for ExecuteInput {
    fn require(&self, validator: &mut Validator) {
        validator.require("entityType", &self.entity_type);
    }

    fn validate(&self, validator: &mut Validator) {
        validate(self, validator);
    }
}

impl Input for ExecuteOneInput {
    fn validate(&self, validator: &mut Validator) {
        let input = Self {
            entity_type: self.entity_type.clone(),
            entity_id: self.entity_id.clone(),
            event_type: self.event_type.clone(),
            data: self.data.clone(),
            dry_run: self.dry_run,
        };
        validate(&input.into(), validator);
    }
}

fn validate(input: &ExecuteInput, validator: &mut Validator) {
    validator.text(
        "entityType",
        &input.entity_type,
        &mut String::new(),
        input_rules::line(50),
    );
    let optional = |text: &Option<String>| text.clone().map_or(Patch::Keep, Patch::Set);
    validator.optional_text(
        "entityId",
        &optional(&input.entity_id),
        &mut None,
        input_rules::line(255),
    );
    validator.optional_text(
        "eventType",
        &optional(&input.event_type),
        &mut None,
        input_rules::line(50),
    );
    if let Patch::Set(data) = &input.data
        && data.to_string().len() > LARGEST_DATA
    {
        validator.reject("data", "must be at most 256 KiB of JSON", "too_long");
    }
}

/// Validates a body.
///
/// # Errors
/// 400 with all violated rules.
fn check(input: &impl Input) -> Result<()> {
    let mut validator = Validator::default();
    input.require(&mut validator);
    input.validate(&mut validator);
    validator.check()
}

/// A validated request.
struct Request {
    entity_type: String,
    entity_id: Option<String>,
    event_type: Option<String>,
    data: Value,
    is_dry: bool,
}

impl From<ExecuteInput> for Request {
    fn from(input: ExecuteInput) -> Self {
        let trimmed = |text: Option<String>| text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        Self {
            entity_type: input.entity_type.value().unwrap_or_default().trim().to_owned(),
            entity_id: trimmed(input.entity_id),
            event_type: trimmed(input.event_type),
            data: match input.data {
                Patch::Keep => json!({}),
                Patch::Clear => Value::Null,
                Patch::Set(data) => data,
            },
            is_dry: input.dry_run.unwrap_or(false),
        }
    }
}

/// The outcome of an execution.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = BusinessRuleExecutionResult)]
struct Executed {
    /// Whether the rules allow the change.
    allowed: bool,
    /// The rules that ran, in their order.
    executed_rules: Vec<ExecutedRule>,
    /// Duration in milliseconds.
    total_execution_time: f64,
    /// Messages of the rules.
    messages: Vec<ShownMessage>,
    /// Problems of the run as a whole.
    errors: Vec<ShownError>,
}

/// The outcome of a rule.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = BusinessRuleExecutedRule)]
struct ExecutedRule {
    /// The key.
    rule_id: String,
    /// The id.
    id: Uuid,
    /// The name.
    rule_name: String,
    /// The type.
    rule_type: String,
    /// The value of the condition; false after an error.
    condition_result: bool,
    /// The executed actions: `success`, `results` and, of a dry run, `simulated`; null after an error.
    #[schema(required = true, value_type = Option<Object>)]
    actions_executed: Value,
    /// Duration in milliseconds.
    execution_time: f64,
    /// The reason of an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// Id in the log; null for a dry run.
    #[schema(required = true)]
    log_id: Option<Uuid>,
}

/// The outcome of one rule, executed by its id.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = BusinessRuleExecutionOfOneResult)]
struct ExecutedOne {
    /// Whether there was no error and all actions have succeeded.
    success: bool,
    /// The key.
    rule_id: String,
    /// The id.
    id: Uuid,
    /// The name.
    rule_name: String,
    /// The value of the condition; false after an error.
    condition_result: bool,
    /// The executed actions: `success`, `results` and, of a dry run, `simulated`; null if none were executed.
    #[schema(required = true, value_type = Option<Object>)]
    actions_executed: Value,
    /// Duration in milliseconds.
    execution_time: f64,
    /// Messages of the rule.
    messages: Vec<ShownMessage>,
    /// The reason of an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// Id in the log; null for a dry run.
    #[schema(required = true)]
    log_id: Option<Uuid>,
}

/// A message of a rule.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = BusinessRuleMessage)]
struct ShownMessage {
    /// `error`, `warning` or `info`.
    level: &'static str,
    /// The text.
    message: String,
    /// The key of the rule.
    rule_id: String,
}

/// A problem of a run.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = BusinessRuleRunError)]
struct ShownError {
    /// The key of the rule that was not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    rule_id: Option<String>,
    /// `too_many_rules` or `not_run`.
    code: &'static str,
}

fn shown_messages(run: &RuleRun) -> impl Iterator<Item = ShownMessage> {
    run.messages.iter().map(|message| ShownMessage {
        level: message.level.word(),
        message: message.text.clone(),
        rule_id: message.rule.clone(),
    })
}

impl Executed {
    fn new(outcome: &Outcome, is_dry: bool) -> Self {
        let rule = |run: &RuleRun| ExecutedRule {
            rule_id: run.rule.key.clone(),
            id: run.rule.id,
            rule_name: run.rule.name.clone(),
            rule_type: run.rule.rule_type.clone(),
            condition_result: run.condition.unwrap_or(false),
            actions_executed: run.actions_executed(is_dry),
            execution_time: run.milliseconds(),
            error: run.error.clone(),
            log_id: (!is_dry).then_some(run.log_id),
        };
        let error = |one: &crate::engine::RunError| ShownError {
            rule_id: one.rule.clone(),
            code: one.code,
        };
        Self {
            allowed: outcome.allows(),
            executed_rules: outcome.runs.iter().map(rule).collect(),
            total_execution_time: milliseconds(outcome.elapsed),
            messages: outcome.runs.iter().flat_map(shown_messages).collect(),
            errors: outcome.errors.iter().map(error).collect(),
        }
    }
}

/// The path of a rule.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
struct RuleId {
    /// The id of the rule.
    rule_id: Uuid,
}

async fn execute_business_rules(ctx: RequestContext, body: Json<ExecuteInput>) -> Result<Json<Executed>> {
    check(&body.0)?;
    let request = Request::from(body.0);
    let run = Execution::begin(&ctx, request, Trigger::Api).await?;
    let rules = run.candidates();
    run.execute(&rules, |outcome, is_dry| Executed::new(outcome, is_dry))
        .await
}

async fn execute_business_rule_set(
    ctx: RequestContext,
    path: Path<Id>,
    body: Json<ExecuteInput>,
) -> Result<Json<Executed>> {
    check(&body.0)?;
    let members = {
        let connection = ctx.read().await?;
        let found = query::sets::find(&connection, ctx.scope(), path.0.id).await?;
        let set = found.ok_or_else(|| Rejection::not_found(RuleSet::NOT_FOUND))?;
        if !set.enabled {
            return Err(Rejection::conflict("The set is disabled").code("set_disabled").into());
        }
        query::sets::running(&connection, ctx.scope(), set.id).await?
    };
    let run = Execution::begin(&ctx, Request::from(body.0), Trigger::Set).await?;
    let candidates = run.candidates();
    let in_order = members
        .iter()
        .filter_map(|id| candidates.iter().find(|rule| rule.id == *id));
    let rules: Vec<Arc<CompiledRule>> = in_order.map(Arc::clone).collect();
    run.execute(&rules, |outcome, is_dry| Executed::new(outcome, is_dry))
        .await
}

async fn execute_business_rule(
    ctx: RequestContext,
    path: Path<RuleId>,
    body: Json<ExecuteOneInput>,
) -> Result<Json<ExecutedOne>> {
    check(&body.0)?;
    let mut request = Request::from(ExecuteInput::from(body.0));
    let row = {
        let connection = ctx.read().await?;
        query::rules::find(&connection, ctx.scope(), path.0.rule_id).await?
    };
    let row = row.ok_or_else(|| Rejection::not_found(Rule::NOT_FOUND))?;
    if request.entity_type.is_empty() {
        request.entity_type.clone_from(&row.entity_type);
    }
    let is_enabled = row.enabled;
    let rule = CompiledRule::alone(row, ctx.platform());
    if !is_enabled || !rule.is_effective(ctx.now()) {
        let reason = if is_enabled {
            "The rule is not effective now"
        } else {
            "The rule is disabled"
        };
        return Ok(Json(not_executed(&rule, reason)));
    }
    let run = Execution::begin(&ctx, request, Trigger::Api).await?;
    run.execute(&[Arc::clone(&rule)], |outcome, is_dry| one(&rule, outcome, is_dry))
        .await
}

fn not_executed(rule: &CompiledRule, reason: &str) -> ExecutedOne {
    ExecutedOne {
        success: false,
        rule_id: rule.key.clone(),
        id: rule.id,
        rule_name: rule.name.clone(),
        condition_result: false,
        actions_executed: Value::Null,
        execution_time: 0.0,
        messages: Vec::new(),
        error: Some(reason.to_owned()),
        log_id: None,
    }
}

fn one(rule: &CompiledRule, outcome: &Outcome, is_dry: bool) -> ExecutedOne {
    let Some(run) = outcome.runs.first() else {
        return not_executed(rule, "not_run");
    };
    ExecutedOne {
        success: run.has_succeeded(),
        condition_result: run.condition.unwrap_or(false),
        actions_executed: run.actions_executed(is_dry),
        execution_time: run.milliseconds(),
        messages: shown_messages(run).collect(),
        error: run.error.clone(),
        log_id: (!is_dry).then_some(run.log_id),
        ..not_executed(rule, "")
    }
}

/// An execution: the request with everything that rules need.
struct Execution<'a> {
    ctx: &'a RequestContext,
    request: Request,
    trigger: Trigger,
    tenant: Uuid,
    organization: Option<Uuid>,
    rules: Arc<TenantRules>,
    user: User,
}

impl<'a> Execution<'a> {
    async fn begin(ctx: &'a RequestContext, request: Request, trigger: Trigger) -> Result<Self> {
        let tenant = ctx.tenant()?;
        if tenant.is_nil() {
            return Err(Rejection::tenant_required().into());
        }
        let identity = ctx.identity();
        let actor = format!(
            "{tenant}:{}:{}",
            identity.kind.as_str(),
            identity.id.unwrap_or_default()
        );
        ctx.platform().rate_limits().count(ctx.call(), BY_ACTOR, &actor).await?;
        if !request.is_dry {
            ctx.reject_repeat().await?;
        }
        let mut connection = ctx.read().await?;
        let rules = compiled::rules_of(&mut connection, ctx.call(), tenant).await?;
        let organization = match record_organization(ctx, &connection, &request).await? {
            Some(organization) => Some(organization),
            None => ctx.scope().write_organization,
        };
        let mut user = user_of(identity);
        if let Some(id) = settle::executor(identity)
            && identity.tenant == tenant
        {
            user.email = recipients::email_of(&mut connection, tenant, id).await?;
        }
        drop(connection);
        Ok(Self {
            ctx,
            request,
            trigger,
            tenant,
            organization,
            rules,
            user,
        })
    }

    /// Returns the rules that apply, in the order of their priorities.
    fn candidates(&self) -> Vec<Arc<CompiledRule>> {
        let change = self.request.event_type.as_deref();
        let changes = change.as_slice();
        let wanted = Wanted {
            entity_type: &self.request.entity_type,
            changes: (!changes.is_empty()).then_some(changes),
            is_event: false,
            organization: self.organization,
            now: self.ctx.now(),
        };
        self.rules.candidates(wanted).map(Arc::clone).collect()
    }

    async fn execute<R: Serialize + ToSchema + Send>(
        self,
        rules: &[Arc<CompiledRule>],
        response: impl Fn(&Outcome, bool) -> R + Send + Sync,
    ) -> Result<Json<R>> {
        let executed = self.run(rules, response).await;
        executed.map_err(|error| match error {
            Error::Internal(_) => {
                tracing::error!(%error, "execution of rules failed");
                Rejection::new(StatusCode::INTERNAL_SERVER_ERROR, "Rule execution failed").into()
            }
            other => other,
        })
    }

    async fn run<R: Serialize + ToSchema + Send>(
        self,
        rules: &[Arc<CompiledRule>],
        response: impl Fn(&Outcome, bool) -> R + Send + Sync,
    ) -> Result<Json<R>> {
        let (ctx, request) = (self.ctx, self.request);
        let subject = Subject {
            tenant: self.tenant,
            organization: self.organization,
            entity_type: &request.entity_type,
            entity_id: request.entity_id.as_deref(),
            event_type: request.event_type.as_deref(),
            data: &request.data,
        };
        let facts = subject.facts(self.user.clone(), ctx.now());
        let outcome = run::run(ctx, rules, subject, &facts, request.is_dry).await?;
        let result = if outcome.allows() { "allowed" } else { "blocked" };
        let trigger = self.trigger.word();
        metrics::counter!("business_rules_runs_total", "trigger" => trigger, "result" => result).increment(1);
        if request.is_dry {
            return Ok(Json(response(&outcome, true)));
        }
        let command = RecordRun {
            run: Run {
                tenant_id: self.tenant,
                id: ctx.new_id(),
                organization_id: self.organization,
                entity_type: request.entity_type.clone(),
                entity_id: record_id(request.entity_id.as_deref()),
                event_type: request.event_type.clone(),
                allowed: outcome.allows(),
                executed_rules: i32::try_from(outcome.runs.len()).unwrap_or(i32::MAX),
                created_at: ctx.now(),
                updated_at: ctx.now(),
            },
            has_record: request.entity_id.is_some(),
            data: request.data.clone(),
            user: self.user,
            trigger: self.trigger,
            outcome,
        };
        ctx.execute(&command, |outcome| Json(response(&outcome, false))).await
    }
}

/// Returns the organization of the record, if it is of an offered kind and the caller may see it.
async fn record_organization(
    ctx: &RequestContext,
    connection: &backoffice_core::db::Connection,
    request: &Request,
) -> Result<Option<Uuid>> {
    let kind = ctx.platform().record_kind(&request.entity_type);
    let id = request.entity_id.as_deref().and_then(|id| id.parse::<Uuid>().ok());
    let (Some(kind), Some(id)) = (kind, id) else {
        return Ok(None);
    };
    let Ok(own) = ctx.for_features(kind.view) else {
        return Ok(None);
    };
    let found = (kind.find)(connection, own.scope(), &[id]).await?;
    Ok(found.first().map(|record| record.organization))
}
