//! The caller of an answer that goes on for long, checked again and again.

use std::sync::Arc;

use actix_web::HttpRequest;
use utoipa::openapi::path::OperationBuilder;

use super::credential;
use super::extract::{Describe, Extract, Incoming};
use super::head::KeptHead;
use super::openapi::Schemas;
use super::selection::{self, Choosing};
use crate::context::Call;
use crate::error::Result;
use crate::identity::Identity;
use crate::scope::Scope;

/// What a request presented, kept for as long as its answer goes on.
#[derive(Debug)]
pub struct Standing {
    call: Arc<Call>,
    head: KeptHead,
}

impl Standing {
    fn of(request: &HttpRequest, call: &Arc<Call>) -> Self {
        Self {
            call: Arc::clone(call),
            head: KeptHead::of(request),
        }
    }

    /// A call of the present instant.
    #[must_use]
    pub fn call(&self) -> Call {
        Call {
            now: self.call.platform().clock().now(),
            ..(*self.call).clone()
        }
    }

    /// Who the caller is by now, and what it reaches.
    ///
    /// # Errors
    /// 401 when the credential has ended, 403 when the selection is no longer the caller's, 503 when nobody can tell.
    pub async fn check(&self) -> Result<(Arc<Identity>, Scope)> {
        let call = self.call();
        let identity = credential::authenticate(&call, &self.head).await?;
        let choosing = Choosing {
            lenient: true,
            reads: true,
            ..Choosing::default()
        };
        let scope = selection::scope(&call, &identity, &self.head, choosing).await?;
        Ok((identity, scope))
    }
}

impl Extract for Standing {
    fn extract(incoming: &Incoming<'_>) -> Result<Self> {
        Ok(Self::of(incoming.request, incoming.call))
    }
}

impl Describe for Standing {
    fn describe(operation: OperationBuilder, _schemas: &mut Schemas) -> OperationBuilder {
        operation
    }
}
