//! The caller of a long-running request or response, revalidated when time has passed.

use std::sync::Arc;

use actix_web::HttpRequest;
use tokio::sync::watch;
use utoipa::openapi::path::OperationBuilder;

use super::credential;
use super::dispatch;
use super::extract::{Describe, Extract, Incoming};
use super::openapi::Schemas;
use super::request_parts::OwnedRequestParts;
use super::routes::EndpointInfo;
use super::selection;
use crate::context::{Call, RequestContext};
use crate::error::{Result, Violations};
use crate::identity::{Authenticated, Identity};
use crate::scope::Scope;
use crate::selection::Choosing;
use crate::time::Timestamp;

/// The credential and selection of a request, kept while its response goes on.
#[derive(Debug)]
pub struct LiveCaller {
    call: Arc<Call>,
    parts: OwnedRequestParts,
    last: Option<(Arc<Identity>, Scope)>,
    /// The end of the credential, known after the first check.
    expires_at: Option<Timestamp>,
}

impl LiveCaller {
    fn of(request: &HttpRequest, call: &Arc<Call>) -> Self {
        Self {
            call: Arc::clone(call),
            parts: OwnedRequestParts::of(request),
            last: None,
            expires_at: None,
        }
    }

    /// Returns a call at the present instant.
    #[must_use]
    pub fn call(&self) -> Call {
        Call {
            now: self.call.platform().clock().now(),
            ..(*self.call).clone()
        }
    }

    /// Returns a receiver that changes whenever the caller should be revalidated; `None` when the authenticator sends no notifications.
    #[must_use]
    pub fn changes(&self) -> Option<watch::Receiver<()>> {
        credential::changes(&self.call, &self.parts)
    }

    /// Waits until the credential has expired, as the last [`check`](Self::check) knew it; never returns for one that does not expire by time.
    pub async fn expired(&self) {
        let Some(expires_at) = self.expires_at else {
            return std::future::pending().await;
        };
        let clock = self.call.platform().clock();
        let left = expires_at.get() - clock.now().get();
        // A negative duration has no conversion: the credential has expired.
        clock.sleep(left.try_into().unwrap_or_default()).await;
    }

    /// Returns the present identity and scope of the caller. While the authenticator returns the same identity, nothing that its scope depends
    /// on has changed (moving an organization revokes the identities of its tenant), so the scope is reused without a statement. Super
    /// administrators may select tenants that their own identity does not depend on: their scope is always resolved again.
    ///
    /// # Errors
    /// 401 when the credential has ended, 403 when the caller may no longer make the selection, 503 when the database can't be reached.
    pub async fn check(&mut self) -> Result<(Arc<Identity>, Scope)> {
        let call = self.call();
        let Authenticated { identity, expires_at } = credential::authenticate(&call, &self.parts).await?;
        self.expires_at = expires_at;
        if let Some((known, scope)) = &self.last
            && Arc::ptr_eq(known, &identity)
            && !identity.rights.is_super_admin
        {
            return Ok((identity, scope.clone()));
        }
        let choosing = Choosing {
            lenient: true,
            reads: true,
            ..Choosing::default()
        };
        let scope = selection::scope(&call, &identity, &self.parts, choosing).await?;
        self.last = Some((Arc::clone(&identity), scope.clone()));
        Ok((identity, scope))
    }
}

/// Authenticates and authorizes the caller of a request again, and returns its context at the present instant.
///
/// # Errors
/// As for a new request.
pub(super) async fn renewed(
    context: &RequestContext,
    info: &EndpointInfo,
    request: &HttpRequest,
) -> Result<RequestContext> {
    let call = Call {
        now: context.platform().clock().now(),
        ..context.call().clone()
    };
    let identity = credential::authenticate(&call, request).await?.identity;
    let scope = dispatch::admit(&call, info, request, None, &identity, &mut Violations::default()).await?;
    Ok(context.renewed(call, identity, scope))
}

impl Extract for LiveCaller {
    fn extract(incoming: &Incoming<'_>) -> Result<Self> {
        Ok(Self::of(incoming.request, incoming.call))
    }
}

impl Describe for LiveCaller {
    fn describe(operation: OperationBuilder, _schemas: &mut Schemas) -> OperationBuilder {
        operation
    }
}
