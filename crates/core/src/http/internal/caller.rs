//! The principal of an internal request.

use std::sync::Arc;

use actix_web::{HttpMessage, HttpRequest};
use uuid::Uuid;

use crate::context::{Cause, Effect, EffectLimits, RequestContext};
use crate::identity::{ActorKind, Identity, Principal};

/// The principal that sends an internal request, its scope and its cause. Only this module puts one into a request.
#[derive(Debug, Clone)]
pub struct InternalCaller {
    identity: Arc<Identity>,
    organization: Option<Uuid>,
    effect: Effect,
}

impl InternalCaller {
    /// Returns a caller that acts by an API key: `actor` in this tenant, with the rights that the key and the actor both hold, in an organization
    /// with its descendants (`None`: wherever they hold them). A super administrator or the platform as the actor acts with the rights of the key.
    #[must_use]
    pub fn by_key(actor: Identity, key: &Identity, tenant: Uuid, organization: Option<Uuid>, cause: Cause) -> Self {
        let limits = EffectLimits {
            limited_by: Principal {
                kind: key.kind,
                tenant: key.tenant,
                id: key.id.unwrap_or_default(),
            },
            actor_tenant: (actor.kind != ActorKind::System).then_some(actor.tenant),
        };
        Self {
            identity: Arc::new(actor.limited_to(&key.rights, tenant, organization)),
            organization,
            effect: Effect {
                cause,
                limits: Some(limits),
            },
        }
    }

    /// Returns the tenant in which the request acts.
    pub(super) fn tenant(&self) -> Uuid {
        self.identity.tenant
    }

    /// Returns the organization that the request selects.
    pub(super) fn organization(&self) -> Option<Uuid> {
        self.organization
    }

    pub(in crate::http) fn identity(&self) -> &Arc<Identity> {
        &self.identity
    }

    /// Returns the context of the request as an effect of the rule.
    pub(in crate::http) fn caused(&self, context: &RequestContext) -> RequestContext {
        context.as_effect(self.effect.clone())
    }
}

/// Returns the caller of an internal request; `None` for a request from outside.
pub(in crate::http) fn caller_of(request: &HttpRequest) -> Option<InternalCaller> {
    request.extensions().get::<InternalCaller>().cloned()
}
