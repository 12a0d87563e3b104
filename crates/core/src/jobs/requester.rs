//! The principal that requested a job, with its present rights.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::claim::Claimed;
use crate::context::{Call, JobOrigin, RequestContext};
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
}

impl Selection {
    pub(super) fn of(context: &RequestContext) -> Result<Self> {
        Ok(Self {
            actor_tenant: context.identity().tenant,
            tenant: context.tenant()?,
            organization: context.scope().selected,
        })
    }
}

/// Returns the context of the requester with its present rights and its selection at that time; `None` if the requester may no
/// longer act there.
pub(super) async fn context(runtime: &Runtime, job: &Claimed) -> Result<Option<RequestContext>> {
    let selection: Selection = serde_json::from_value(job.selection.clone())?;
    let Some(identity) = identity(runtime, job, &selection).await? else {
        return Ok(None);
    };
    let call = Call {
        request_id: format!("job-{}", job.id),
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
    Ok(Some(RequestContext::of_job(call, Arc::new(identity), scope, origin)))
}

async fn identity(runtime: &Runtime, job: &Claimed, selection: &Selection) -> Result<Option<Identity>> {
    let kind = ActorKind::parse(&job.actor_kind)
        .ok_or_else(|| Error::internal(format!("unknown kind of actor: {}", job.actor_kind)))?;
    let (ActorKind::User | ActorKind::ApiKey, Some(id)) = (kind, job.actor_id) else {
        return Ok(Some(Identity::system()));
    };
    let principal = Principal {
        kind,
        tenant: selection.actor_tenant,
        id,
    };
    runtime.identify(&principal).await
}
