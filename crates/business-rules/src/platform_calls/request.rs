//! A request of a rule to the platform: checked again, and sent as an internal request.

use std::fmt;

use actix_web::http::Method;
use backoffice_api_keys::Usage;
use backoffice_core::http::internal::{InternalCaller, InternalRequest};
use backoffice_core::identity::{ActorKind, Identity, Principal};
use backoffice_core::{Call, Cause, Error, Result, Scope};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::CallableEndpoints;
use crate::engine::PlannedCall;

/// What makes the effect of an action happen once: the event, command or execution that has started its rule, and the branch of the rule.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Idempotency {
    /// The event, the run of a guard, or the execution.
    pub(crate) occasion: Uuid,
    /// Whether the condition was true.
    pub(crate) condition: bool,
}

/// The rule in whose name a request is sent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct CallingRule {
    pub(crate) tenant: Uuid,
    pub(crate) organization: Option<Uuid>,
    pub(crate) id: Uuid,
    pub(crate) key: String,
    /// The number of rules in the chain of causes, this one included.
    pub(crate) depth: u32,
}

/// How a call has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallOutcome {
    /// With this status.
    Responded(u16),
    /// The key was deleted or has expired, or does not belong to the organization of the rule.
    NoKey,
    /// Rules may not call the endpoint.
    NoEndpoint,
    /// The request took too long and was rolled back.
    TimedOut,
    /// The request was not sent, because too many internal requests wait, or was cut off.
    Unavailable,
    /// The request failed inside of the platform.
    Failed,
}

impl CallOutcome {
    pub(super) fn status(self) -> Option<u16> {
        match self {
            Self::Responded(status) => Some(status),
            _ => None,
        }
    }

    /// Returns the error of a job that repeats a request which was not available. It is no outage, so that the job waits longer before each next attempt.
    pub(super) fn busy() -> Error {
        Error::internal("the platform is not available to a rule")
    }

    /// Returns the reason of a failure: of a response only its status.
    pub(super) fn failure(self) -> Option<String> {
        match self {
            Self::Responded(200..=299) => None,
            failure => Some(failure.to_string()),
        }
    }
}

impl fmt::Display for CallOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Responded(status) => write!(f, "status {status}"),
            Self::NoKey => f.write_str("api_key_not_available"),
            Self::NoEndpoint => f.write_str("endpoint_not_available"),
            Self::TimedOut => f.write_str("timeout"),
            Self::Unavailable => f.write_str("unavailable"),
            Self::Failed => f.write_str("internal_error"),
        }
    }
}

/// Returns the organization in which both a key and a rule act: the one that is below the other (`None`: the whole tenant). Without such an
/// organization, returns nothing.
///
/// # Errors
/// When the database can't be reached.
pub(crate) async fn common_organization(
    call: &Call,
    tenant: Uuid,
    key: Option<Uuid>,
    rule: Option<Uuid>,
) -> Result<Option<Option<Uuid>>> {
    let (Some(key), Some(rule)) = (key, rule) else {
        return Ok(Some(key.or(rule)));
    };
    if key == rule {
        return Ok(Some(Some(rule)));
    }
    let Some(tree) = call.platform().provided().organizations() else {
        return Ok(None);
    };
    let mut connection = call.database().read(&Scope::tenant(tenant)).await?;
    let below = tree.expand_each(&mut connection, Some(tenant), &[key, rule]).await?;
    let is_below = |one: Uuid, other: Uuid| below.get(&other).is_some_and(|below| below.contains(&one));
    Ok(match (is_below(rule, key), is_below(key, rule)) {
        (true, _) => Some(Some(rule)),
        (false, true) => Some(Some(key)),
        (false, false) => None,
    })
}

/// Checks everything again and sends a request. `actor` is the caller of an execution by request, whose features limit those of the key.
///
/// # Errors
/// When the database can't be reached.
pub(super) async fn send(
    call: &Call,
    rule: &CallingRule,
    planned: &PlannedCall,
    once: Idempotency,
    actor: Option<&Identity>,
) -> Result<CallOutcome> {
    let path = planned.target.split('?').next().unwrap_or_default();
    let endpoints = call.provided::<CallableEndpoints>()?;
    let method = Method::from_bytes(planned.method.as_bytes()).ok();
    let (Some(method), true) = (method, endpoints.contains(call.platform(), &planned.method, path)) else {
        return Ok(CallOutcome::NoEndpoint);
    };
    let principal = Principal {
        kind: ActorKind::ApiKey,
        tenant: rule.tenant,
        id: planned.key,
    };
    let Some(key) = call.runtime.identify(&principal).await? else {
        return Ok(CallOutcome::NoKey);
    };
    let common = common_organization(call, rule.tenant, key.organization, rule.organization).await?;
    let Some(organization) = common else {
        return Ok(CallOutcome::NoKey);
    };
    call.provided::<Usage>()?.note(&call.runtime, &key, call.now);
    let cause = Cause {
        rule: rule.id,
        depth: rule.depth,
    };
    let actor = actor.cloned().unwrap_or_else(|| Identity {
        name: Some(format!("rule {}", rule.key)),
        ..Identity::system()
    });
    let branch = if once.condition { 's' } else { 'f' };
    let request = InternalRequest {
        method,
        target: planned.target.clone(),
        body: planned.body.clone(),
        headers: vec![
            ("x-rule-id", rule.id.to_string()),
            ("x-request-id", call.request_id.clone()),
            (
                "idempotency-key",
                format!("rule-{}-{}-{branch}{}", once.occasion, rule.id, planned.action),
            ),
        ],
        caller: InternalCaller::by_key(actor, &key, rule.tenant, organization, cause),
    };
    match call.runtime.request(request).await {
        Ok(Some(response)) => Ok(CallOutcome::Responded(response.status)),
        Ok(None) => Ok(CallOutcome::TimedOut),
        Err(error @ (Error::Unavailable(_) | Error::Collision(_))) => {
            tracing::warn!(%error, rule.id = %rule.id, "request of a rule was not sent");
            Ok(CallOutcome::Unavailable)
        }
        Err(error) => {
            tracing::error!(%error, rule.id = %rule.id, "request of a rule failed");
            Ok(CallOutcome::Failed)
        }
    }
}
