//! What bounds the rules of a tenant, and what their effects may do.

use backoffice_core::command::{Snapshot, Transition, Tx};
use backoffice_core::db::{Prepared, Recurring};
use backoffice_core::{Rejection, RequestContext, Result};
use diesel::sql_types::{BigInt, Text, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use diesel_async::RunQueryDsl;
use serde_json::Value;
use uuid::Uuid;

use crate::config::RulesConfig;
use crate::model::Rule;

/// Most rules of a tenant.
const MOST_RULES: i64 = 1000;
/// Most bytes of all conditions and actions of a tenant, which every node may keep in memory.
const MOST_BYTES: i64 = 8 * 1024 * 1024;

/// Rejects a rule whose effects would need features that the caller does not hold in its organization.
pub(crate) fn check_ceiling(ctx: &RequestContext, features: &[String], organization: Option<Uuid>) -> Result<()> {
    let catalogue = ctx.platform().catalogue();
    let missing: Vec<&str> = features
        .iter()
        .map(String::as_str)
        .filter(|feature| !ctx.pairs().holds_in(feature, organization, catalogue))
        .collect();
    match missing.is_empty() {
        true => Ok(()),
        false => Err(Rejection::missing_features(&missing).into()),
    }
}

/// Rejects a change of a rule, set or member of the whole tenant by a caller whose right to it is limited to organizations. A command finds no such
/// resource for that caller, but undo and redo restore what the caller did before the limit. A selected organization is no limit, because it takes
/// no right away.
pub(crate) fn check_whole_tenant(tx: &Tx<'_>, step: &Transition<'_>) -> Result<()> {
    let is_of_tenant = |snapshot: &Snapshot| snapshot.get("organizationId").is_none_or(Value::is_null);
    let concerns_tenant = [step.from, step.to].into_iter().flatten().any(is_of_tenant);
    match concerns_tenant && tx.scope().allowed.is_some() {
        true => Err(Rejection::organization_out_of_scope().into()),
        false => Ok(()),
    }
}

#[derive(QueryableByName)]
struct Numbers {
    #[diesel(sql_type = BigInt)]
    of_type: i64,
    #[diesel(sql_type = BigInt)]
    of_tenant: i64,
    #[diesel(sql_type = BigInt)]
    bytes: i64,
}

const NUMBERS: &str = "\
select count(*) filter (where enabled and entity_type = $3) as of_type, count(*) as of_tenant,
    coalesce(sum(octet_length(coalesce(condition_expression::text, '')) + octet_length(success_actions::text)
        + octet_length(failure_actions::text)), 0)::bigint as bytes
from business_rules_rules where tenant_id = $1 and id <> $2";

/// Rejects a rule beyond the limits of its tenant. Other changes of rules of the tenant wait until this one is committed.
pub(crate) async fn check_numbers(tx: &mut Tx<'_>, before: Option<&Rule>, rule: &Rule) -> Result<()> {
    let counts_more = |before: &Rule| {
        let was_counted = before.enabled && before.entity_type == rule.entity_type;
        (rule.enabled && !was_counted) || bytes(rule) > bytes(before)
    };
    if !before.is_none_or(counts_more) {
        return Ok(());
    }
    let tenant = tx.tenant();
    sql_query("select pg_advisory_xact_lock(hashtextextended('business_rules:' || $1::text, 0))")
        .bind::<SqlUuid, _>(tenant)
        .prepared()
        .execute(tx.conn())
        .await?;
    let statement = sql_query(NUMBERS)
        .bind::<SqlUuid, _>(tenant)
        .bind::<SqlUuid, _>(rule.id)
        .bind::<Text, _>(&rule.entity_type);
    let others: Numbers = Prepared(statement).get_result(tx.conn()).await?;
    let config = tx.context().call().provided::<RulesConfig>()?;
    let most_of_type = i64::try_from(config.max_rules).unwrap_or(i64::MAX);
    let message = if rule.enabled && others.of_type >= most_of_type {
        format!("At most {most_of_type} rules of an entity type can be enabled")
    } else if others.of_tenant >= MOST_RULES {
        format!("A tenant has at most {MOST_RULES} rules")
    } else if others.bytes + bytes(rule) > MOST_BYTES {
        "The conditions and actions of all rules of a tenant are at most 8 MiB".to_owned()
    } else {
        return Ok(());
    };
    Err(Rejection::bad_request(message).code("rule_limit_reached").into())
}

fn bytes(rule: &Rule) -> i64 {
    let condition = rule
        .condition_expression
        .as_ref()
        .map_or(0, |one| one.to_string().len());
    let actions = rule.success_actions.to_string().len() + rule.failure_actions.to_string().len();
    i64::try_from(condition + actions).unwrap_or(i64::MAX)
}
