//! The authenticator of sessions.

use std::sync::Arc;

use backoffice_core::identity::{ActorKind, Authenticated, Authenticator, Credential, Identity, Principal};
use backoffice_core::{Result, Runtime, Scope, Timestamp};
use futures_util::future::BoxFuture;
use tokio::sync::watch;

use super::query;
use crate::accounts::Accounts;

/// Authenticates bearer tokens and the cookie that carries one.
pub(crate) struct Sessions(pub(crate) Arc<Accounts>);

impl Authenticator for Sessions {
    fn accepts(&self, credential: Credential<'_>) -> bool {
        matches!(credential, Credential::Bearer(_) | Credential::Cookie(_))
    }

    fn authenticate<'a>(
        &'a self,
        runtime: &'a Runtime,
        credential: Credential<'a>,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Option<Authenticated>>> {
        Box::pin(async move {
            let (Credential::Bearer(token) | Credential::Cookie(token)) = credential else {
                return Ok(None);
            };
            let Some(bearer) = self.0.tokens.read(token, now) else {
                return Ok(None);
            };
            let cache = &self.0.cache;
            // A token may expire before its session.
            let until = |session_ends: Timestamp| Some(session_ends.min(bearer.expires_at));
            if let Some((identity, ends)) = cache.find(bearer.session, now) {
                let is_of_token = identity.id == Some(bearer.user) && identity.tenant == bearer.tenant;
                return Ok(is_of_token.then_some(Authenticated {
                    identity,
                    expires_at: until(ends),
                }));
            }
            let reading = cache.start_reading();
            let connection = runtime.database.read_briefly(&Scope::tenant(bearer.tenant)).await?;
            let found = query::of_session(&connection, bearer.tenant, bearer.session, bearer.user, now).await?;
            Ok(found.map(|(identity, ends)| {
                let identity = Arc::new(identity);
                cache.remember(reading, bearer.session, &identity, ends);
                Authenticated {
                    identity,
                    expires_at: until(ends),
                }
            }))
        })
    }

    fn changes(&self) -> Option<watch::Receiver<()>> {
        Some(self.0.cache.changes())
    }

    fn identify<'a>(
        &'a self,
        runtime: &'a Runtime,
        principal: &'a Principal,
        _now: Timestamp,
    ) -> BoxFuture<'a, Result<Option<Identity>>> {
        Box::pin(async move {
            if principal.kind != ActorKind::User {
                return Ok(None);
            }
            let connection = runtime.database.read_briefly(&Scope::tenant(principal.tenant)).await?;
            query::of_user(&connection, principal.tenant, principal.id).await
        })
    }
}
