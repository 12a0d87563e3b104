//! Sets fields of records, by the update commands of their modules.

use std::sync::Arc;
use std::time::Duration;

use backoffice_core::records::WriteRecord;
use backoffice_core::{Cause, Error, Rejection, RequestContext, Result};
use serde_json::{Map, Value, json};
use tokio::time::timeout;
use uuid::Uuid;

use super::{PlannedWrite, RuleRun, RunSubject, TIMEOUT};
use crate::compiled::CompiledRule;
use crate::platform_calls::common_organization;

/// Sets the fields that a run has planned, if this is the first action that sets one, as the principal of the context and at most for this time.
/// Returns false if that was not enough; the command is then rolled back.
pub(crate) async fn write(
    ctx: &RequestContext,
    run: &mut RuleRun,
    action: usize,
    subject: RunSubject<'_>,
    longest: Duration,
) -> bool {
    let Some(planned) = run.write.take_if(|planned| planned.actions.first() == Some(&action)) else {
        return true;
    };
    let id = subject.entity_id.and_then(|id| id.parse::<Uuid>().ok());
    let Some(id) = id else { return true };
    let cause = Cause {
        rule: run.rule.id,
        depth: ctx.cause().map_or(1, |cause| cause.depth + 1),
    };
    let effect = ctx.caused_by(cause);
    let rule = Arc::clone(&run.rule);
    let written = timeout(longest, set(&effect, &rule, subject.entity_type, id, &planned)).await;
    let is_done = written.is_ok();
    let error = match written {
        Err(_) => Some(TIMEOUT.to_owned()),
        Ok(Err(error)) => Some(reason(&error)),
        Ok(Ok(())) => None,
    };
    for number in planned.actions {
        if let Some(result) = run.results.get_mut(number) {
            result.error.clone_from(&error);
            if error.is_none() {
                result
                    .fields
                    .insert("patch".to_owned(), patch(&planned.fields, result.fields.get("field")));
            }
        }
    }
    is_done
}

/// Checks whether the fields that a run has planned could be set, as [`write`] checks it, and notes in the results if they could not. Changes nothing.
///
/// # Errors
/// The first of the actions that set fields, if the time was not enough.
pub(crate) async fn check(
    ctx: &RequestContext,
    run: &mut RuleRun,
    subject: RunSubject<'_>,
    longest: Duration,
) -> Result<(), usize> {
    let id = subject.entity_id.and_then(|id| id.parse::<Uuid>().ok());
    let (Some(planned), Some(id)) = (run.write.take(), id) else {
        return Ok(());
    };
    let rule = Arc::clone(&run.rule);
    let Ok(found) = timeout(longest, find(ctx, &rule, subject.entity_type, id)).await else {
        return Err(planned.actions.first().copied().unwrap_or_default());
    };
    let Err(error) = found.map(drop) else { return Ok(()) };
    let error = reason(&error);
    for number in planned.actions {
        if let Some(result) = run.results.get_mut(number) {
            result.error = Some(error.clone());
        }
    }
    Ok(())
}

/// Returns the field that an action has set, with its value.
fn patch(fields: &Map<String, Value>, field: Option<&Value>) -> Value {
    let name = field.and_then(Value::as_str).unwrap_or_default();
    json!({name: fields.get(name)})
}

async fn set(
    ctx: &RequestContext,
    rule: &CompiledRule,
    entity_type: &str,
    id: Uuid,
    planned: &PlannedWrite,
) -> Result<()> {
    let (ctx, write) = find(ctx, rule, entity_type, id).await?;
    write(&ctx, id, planned.fields.clone()).await
}

/// Finds the record that the rule may change. Returns the context in which the record is changed, and what changes it.
async fn find(
    ctx: &RequestContext,
    rule: &CompiledRule,
    entity_type: &str,
    id: Uuid,
) -> Result<(RequestContext, WriteRecord)> {
    let kind = ctx.platform().record_kind(entity_type).filter(|kind| kind.guardable);
    let Some((kind, write)) = kind.and_then(|kind| Some((kind, kind.write?))) else {
        return Err(Error::internal("the kind of the record can't be written"));
    };
    if let Some(missing) = kind
        .manage
        .iter()
        .find(|feature| !rule.effect_features.iter().any(|own| own == feature.id))
    {
        return Err(Rejection::missing_features(&[missing.id]).into());
    }
    let ctx = ctx.for_features(kind.manage)?;
    let connection = ctx.read().await?;
    let visible = (kind.find)(&connection, ctx.scope(), &[id]).await?;
    drop(connection);
    let Some(record) = visible.first() else {
        return Err(Rejection::not_found("entity_not_found").into());
    };
    // A request for an execution may name a record outside of the organization of the rule.
    let own = Some(record.organization);
    if common_organization(ctx.call(), ctx.tenant()?, own, rule.organization).await? != Some(own) {
        return Err(Rejection::not_found("entity_not_found").into());
    }
    Ok((ctx, write))
}

/// Returns the reason of a failed effect for the log and the response: nothing of the inside of the platform.
fn reason(error: &Error) -> String {
    let Error::Rejected(rejection) = error else {
        return match error {
            Error::Unavailable(_) | Error::Collision(_) => "unavailable".to_owned(),
            _ => {
                tracing::error!(%error, "effect of a rule failed");
                "internal_error".to_owned()
            }
        };
    };
    if let Some(missing) = rejection
        .fields
        .get("requiredFeatures")
        .and_then(|value| value.as_array())
    {
        let missing: Vec<&str> = missing.iter().filter_map(|one| one.as_str()).collect();
        return format!("missing feature: {}", missing.join(", "));
    }
    let details: Vec<String> = rejection
        .details
        .iter()
        .map(|detail| format!("{} {}", detail.path, detail.message))
        .collect();
    let text = match details.is_empty() {
        true => rejection.message.to_string(),
        false => details.join("; "),
    };
    text.chars().take(500).collect()
}
