//! The module's state at run time.

use std::sync::Arc;

use backoffice_core::config::{Config, ConfigError};
use backoffice_core::list::Beside;
use secrecy::SecretString;

use crate::config::AuthConfig;
use crate::consents::integrity::Integrity;
use crate::roles::query::BesideRole;
use crate::sessions::cache::IdentityCache;
use crate::sessions::token::Tokens;
use crate::users::password::{Hasher, Policy};
use crate::users::query::BesideUser;

/// Maximum number of users, and of roles, whose names and counts are cached.
const MOST_KEPT: u64 = 10_000;

/// Configuration, keys, the hashing pool and the identity cache.
pub struct Accounts {
    pub(crate) config: AuthConfig,
    pub(crate) tokens: Tokens,
    pub(crate) hasher: Hasher,
    pub(crate) policy: Policy,
    pub(crate) integrity: Integrity,
    pub(crate) cache: IdentityCache,
    /// What lists show beside a role.
    pub(crate) beside_roles: Beside<BesideRole>,
    /// What lists show beside a user.
    pub(crate) beside_users: Beside<Arc<BesideUser>>,
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
            beside_roles: Beside::new(MOST_KEPT),
            beside_users: Beside::new(MOST_KEPT),
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
