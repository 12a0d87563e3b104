//! The principal that requested a job, with its present rights.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::claim::Claimed;
use crate::context::{Call, Cause, Effect, EffectLimits, JobOrigin, RequestContext};
use crate::error::{Error, Result};
use crate::identity::{ActorKind, Identity, Principal};
use crate::platform::Runtime;
use crate::selection;

/// The part of the request that a job stores.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Selection {
    /// The requester's own tenant.
    actor_tenant: Uuid,
    /// The tenant of the request.
    tenant: Uuid,
    /// The organization that was selected.
    organization: Option<Uuid>,
    /// The rule whose effect the job is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    effect: Option<StoredEffect>,
}

/// The rule whose effect a job is.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredEffect {
    #[serde(flatten)]
    cause: Cause,
    /// The name of the platform as the actor.
    name: Option<String>,
    /// The API key beyond whose rights the job must not go.
    key: Option<Uuid>,
    /// The tenant of the key, and of the platform as the actor.
    tenant: Uuid,
}

impl Selection {
    pub(super) fn of(context: &RequestContext) -> Result<Self> {
        let identity = context.identity();
        let effect = context.effect();
        let limits = effect.and_then(|effect| effect.limits.as_ref());
        if identity.kind == ActorKind::System && !identity.rights.is_super_admin && limits.is_none() {
            // Such a job would run with every right.
            return Err(Error::internal(
                "a limited principal of the platform can't request jobs",
            ));
        }
        let stored = |effect: &Effect| StoredEffect {
            cause: effect.cause,
            name: identity.name.clone().filter(|_| identity.kind == ActorKind::System),
            key: limits.map(|limits| limits.limited_by.id),
            tenant: identity.tenant,
        };
        Ok(Self {
            actor_tenant: limits.and_then(|limits| limits.actor_tenant).unwrap_or(identity.tenant),
            tenant: context.tenant()?,
            organization: context.scope().selected,
            effect: effect.map(stored),
        })
    }
}

/// Returns the context of the requester with its present rights and its selection at that time; `None` if the requester may no
/// longer act there. A job that a rule has caused stays limited as the request was, and its commands stay effects of the rule.
pub(super) async fn context(runtime: &Runtime, job: &Claimed) -> Result<Option<RequestContext>> {
    let selection: Selection = serde_json::from_value(job.selection.clone())?;
    let Some(identity) = identity(runtime, job, &selection).await? else {
        return Ok(None);
    };
    let Some((identity, effect)) = limited(runtime, identity, &selection).await? else {
        return Ok(None);
    };
    let call = Call {
        request_id: format!("job-{}", job.id),
        job: Some(job.id),
        ..Call::internal(runtime)
    };
    let scope = match selection::of_stored(&call, &identity, selection.tenant, selection.organization).await {
        Ok(scope) => scope,
        Err(Error::Rejected(_)) => return Ok(None),
        Err(error) => return Err(error),
    };
    if scope.tenant != Some(job.tenant_id) {
        return Ok(None);
    }
    let origin = JobOrigin {
        progress_job: job.progress_job_id,
    };
    let context = RequestContext::of_job(call, Arc::new(identity), scope, origin);
    Ok(Some(match effect {
        Some(effect) => context.as_effect(effect),
        None => context,
    }))
}

/// Limits the requester as the request was, which an effect of a rule has sent; `None` if the key of that request may no longer act.
async fn limited(
    runtime: &Runtime,
    identity: Identity,
    selection: &Selection,
) -> Result<Option<(Identity, Option<Effect>)>> {
    let Some(stored) = &selection.effect else {
        return Ok(Some((identity, None)));
    };
    let Some(key) = stored.key else {
        let effect = Effect {
            cause: stored.cause,
            limits: None,
        };
        return Ok(Some((identity, Some(effect))));
    };
    let limited_by = Principal {
        kind: ActorKind::ApiKey,
        tenant: stored.tenant,
        id: key,
    };
    let Some(key) = runtime.identify(&limited_by).await? else {
        return Ok(None);
    };
    let limits = EffectLimits {
        limited_by,
        actor_tenant: (identity.kind != ActorKind::System).then_some(selection.actor_tenant),
    };
    let mut identity = identity.limited_to(&key.rights, stored.tenant, selection.organization);
    if let Some(name) = &stored.name {
        identity.name = Some(name.clone());
    }
    let effect = Effect {
        cause: stored.cause,
        limits: Some(limits),
    };
    Ok(Some((identity, Some(effect))))
}

async fn identity(runtime: &Runtime, job: &Claimed, selection: &Selection) -> Result<Option<Identity>> {
    let kind = ActorKind::parse(&job.actor_kind)
        .ok_or_else(|| Error::internal(format!("unknown kind of actor: {}", job.actor_kind)))?;
    if kind == ActorKind::System {
        return Ok(Some(Identity::system()));
    }
    let Some(id) = job.actor_id else {
        return Ok(None);
    };
    let principal = Principal {
        kind,
        tenant: selection.actor_tenant,
        id,
    };
    runtime.identify(&principal).await
}
