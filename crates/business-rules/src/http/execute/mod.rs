//! Executes rules by request.

mod input;
mod once;
mod output;
mod pending;
mod slots;

use std::sync::Arc;

use backoffice_core::command::Entity;
use backoffice_core::http::{Id, Json, Path, Routes, requires};
use backoffice_core::rate_limit::RateLimit;
use backoffice_core::{Rejection, RequestContext, Result};
use serde::Deserialize;
use utoipa::IntoParams;
use uuid::Uuid;

use crate::compiled::CompiledRule;
use crate::engine::Trigger;
use crate::model::{Rule, RuleSet};
use crate::{acl, query};
use input::{ExecuteInput, ExecuteOneInput, ExecutionRequest, check};
use once::RequestKey;
pub(crate) use once::RunningExecutions;
use output::{ExecutedOne, ExecutedRules, not_executed, one};
use pending::AdmittedRequest;
pub(crate) use slots::ExecutionSlots;

/// Executions by a user or key.
pub(super) const BY_ACTOR: RateLimit = RateLimit::new("business_rules.execute.actor", 600, 60);
const ALL: &str = "/business_rules/execute";
const ONE: &str = "/business_rules/execute/{ruleId}";
const OF_SET: &str = "/business_rules/sets/{id}/execute";

pub(super) fn routes(routes: &mut Routes) {
    routes
        .post(ALL, requires(&[acl::EXECUTE]), execute_business_rules)
        .about("Execute the rules that apply to a record")
        .rejects(&[409, 422, 429, 500]);
    routes
        .post(ONE, requires(&[acl::EXECUTE]), execute_business_rule)
        .about("Execute one rule")
        .rejects(&[404, 409, 422, 429, 500]);
    routes
        .post(OF_SET, requires(&[acl::EXECUTE]), execute_business_rule_set)
        .about("Execute the rules of a set, in the order of the set")
        .rejects(&[404, 409, 422, 429, 500]);
}

/// The path of a rule.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
struct RuleId {
    /// The id of the rule.
    rule_id: Uuid,
}

async fn execute_business_rules(
    ctx: RequestContext,
    key: RequestKey,
    body: Json<ExecuteInput>,
) -> Result<Json<ExecutedRules>> {
    check(&body.0)?;
    let request = AdmittedRequest::new(&ctx, (ALL, key), ExecutionRequest::from(body.0)).await?;
    let run = request.begin(Trigger::Api).await?;
    let rules = run.candidates();
    run.execute(&rules, ExecutedRules::new).await
}

async fn execute_business_rule_set(
    ctx: RequestContext,
    path: Path<Id>,
    key: RequestKey,
    body: Json<ExecuteInput>,
) -> Result<Json<ExecutedRules>> {
    check(&body.0)?;
    let request = AdmittedRequest::new(&ctx, (OF_SET, key), ExecutionRequest::from(body.0)).await?;
    let members = {
        let connection = ctx.read().await?;
        let found = query::sets::find(&connection, ctx.scope(), path.0.id).await?;
        let set = found.ok_or_else(|| Rejection::not_found(RuleSet::NOT_FOUND))?;
        if !set.enabled {
            return Err(Rejection::conflict("The set is disabled").code("set_disabled").into());
        }
        query::sets::running(&connection, ctx.scope(), set.id).await?
    };
    let run = request.begin(Trigger::Set).await?;
    let candidates = run.candidates();
    let in_order = members
        .iter()
        .filter_map(|id| candidates.iter().find(|rule| rule.id == *id));
    let rules: Vec<Arc<CompiledRule>> = in_order.map(Arc::clone).collect();
    run.execute(&rules, ExecutedRules::new).await
}

async fn execute_business_rule(
    ctx: RequestContext,
    path: Path<RuleId>,
    key: RequestKey,
    body: Json<ExecuteOneInput>,
) -> Result<Json<ExecutedOne>> {
    check(&body.0)?;
    let request = ExecutionRequest::from(ExecuteInput::from(body.0));
    let mut request = AdmittedRequest::new(&ctx, (ONE, key), request).await?;
    let row = {
        let connection = ctx.read().await?;
        query::rules::find(&connection, ctx.scope(), path.0.rule_id).await?
    };
    let row = row.ok_or_else(|| Rejection::not_found(Rule::NOT_FOUND))?;
    request.set_default_kind(&row.entity_type);
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
    let run = request.begin(Trigger::Api).await?;
    run.execute(&[Arc::clone(&rule)], |outcome, is_dry| one(&rule, outcome, is_dry))
        .await
}
