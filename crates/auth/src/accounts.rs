//! The module's state at run time, and the authenticator of sessions.

use std::sync::Arc;

use backoffice_core::config::{Config, ConfigError};
use backoffice_core::identity::{ActorKind, Authenticator, Credential, Identity, Principal};
use backoffice_core::{Result, Runtime, Scope, Timestamp};
use futures_util::future::BoxFuture;
use secrecy::SecretString;
use tokio::sync::watch;

use crate::cache::IdentityCache;
use crate::config::AuthConfig;
use crate::integrity::Integrity;
use crate::password::{Hasher, Policy};
use crate::query;
use crate::token::Tokens;

/// Configuration, keys, the hashing pool and the identity cache.
pub struct Accounts {
    pub(crate) config: AuthConfig,
    pub(crate) tokens: Tokens,
    pub(crate) hasher: Hasher,
    pub(crate) policy: Policy,
    pub(crate) integrity: Integrity,
    pub(crate) cache: IdentityCache,
    /// Password of the demo account; `None` if autologin is disabled.
    pub(crate) autologin_password: Option<SecretString>,
}

impl std::fmt::Debug for Accounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Accounts").finish_non_exhaustive()
    }
}

impl Accounts {
    pub(crate) fn new(config: &Config) -> Result<Arc<Self>, ConfigError> {
        let config: AuthConfig = config.section("auth")?;
        config.reset.check("auth.reset.link")?;
        config.invite.check("auth.invite.link")?;
        Ok(Arc::new(Self {
            tokens: Tokens::new(&config.jwt)?,
            hasher: Hasher::new(&config.argon2)?,
            policy: Policy::new(&config.password)?,
            integrity: Integrity::new(&config.consent)?,
            cache: IdentityCache::new(config.identity_cache_ttl),
            autologin_password: config.autologin.secret()?,
            config,
        }))
    }

    /// Returns the cache of identities on this node; modules with other kinds of credentials share it, and with it the revocations.
    #[must_use]
    pub fn identities(&self) -> &IdentityCache {
        &self.cache
    }

    /// Returns how many passwords this node has verified since its start, including those of unknown accounts.
    #[must_use]
    pub fn verifications(&self) -> u64 {
        self.hasher.verified()
    }
}

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
    ) -> BoxFuture<'a, Result<Option<Arc<Identity>>>> {
        Box::pin(async move {
            let (Credential::Bearer(token) | Credential::Cookie(token)) = credential else {
                return Ok(None);
            };
            let Some(bearer) = self.0.tokens.read(token, now) else {
                return Ok(None);
            };
            let cache = &self.0.cache;
            if let Some(identity) = cache.find(bearer.session, now) {
                let is_of_token = identity.id == Some(bearer.user) && identity.tenant == bearer.tenant;
                return Ok(is_of_token.then_some(identity));
            }
            let reading = cache.start_reading();
            let connection = runtime.database.read_briefly(&Scope::tenant(bearer.tenant)).await?;
            let found =
                query::identity::of_session(&connection, bearer.tenant, bearer.session, bearer.user, now).await?;
            Ok(found.map(|(identity, expires_at)| {
                let identity = Arc::new(identity);
                cache.remember(reading, bearer.session, &identity, expires_at);
                identity
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
            query::identity::of_user(&connection, principal.tenant, principal.id).await
        })
    }
}
