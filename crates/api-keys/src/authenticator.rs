//! The authenticator of API keys.

use std::sync::Arc;

use backoffice_auth::Accounts;
use backoffice_core::identity::{ActorKind, Authenticated, Authenticator, Credential, Identity, Principal};
use backoffice_core::{Result, Runtime, Scope, Timestamp};
use futures_util::future::BoxFuture;
use subtle::ConstantTimeEq;
use time::Duration;
use tokio::sync::watch;

use crate::query::identity::{Candidate, candidates, usable};
use crate::secret::Presented;
use crate::usage::Usage;

/// Longer than the cache keeps any identity.
const NO_END: Duration = Duration::days(1);
/// Compared in place of a missing hash, so that an unknown key takes as long as a known one.
const DUMMY: [u8; 32] = [0; 32];

/// The authenticator of `X-Api-Key` and `Authorization: ApiKey`.
pub(crate) struct Keys {
    accounts: Arc<Accounts>,
    usage: Arc<Usage>,
}

impl Keys {
    pub(crate) fn new(accounts: Arc<Accounts>, usage: Arc<Usage>) -> Self {
        Self { accounts, usage }
    }

    async fn find(&self, runtime: &Runtime, key: &Presented<'_>, now: Timestamp) -> Result<Option<Authenticated>> {
        let cache = self.accounts.identities();
        let cached = cache
            .find(key.cache_id(), now)
            .filter(|(identity, _)| identity.kind == ActorKind::ApiKey);
        if let Some((identity, ends)) = cached {
            return Ok(Some(Authenticated {
                identity,
                expires_at: Some(ends),
            }));
        }
        let reading = cache.start_reading();
        // The tenant is unknown until the key is found.
        let connection = runtime.database.read_briefly(&Scope::system()).await?;
        let Some(found) = matching(candidates(&connection, key.prefix, now).await?, &key.hash) else {
            return Ok(None);
        };
        let ends = found.expires_at.unwrap_or_else(|| now.after(NO_END));
        let identity = Arc::new(found.into_identity()?);
        cache.remember(reading, key.cache_id(), &identity, ends);
        Ok(Some(Authenticated {
            identity,
            expires_at: Some(ends),
        }))
    }
}

/// Returns the usable candidate with this hash. Compares every candidate, and at least one hash.
fn matching(candidates: Vec<Candidate>, hash: &[u8; 32]) -> Option<Candidate> {
    let mut found = None;
    if candidates.is_empty() {
        let _is_equal: bool = DUMMY.ct_eq(hash).into();
    }
    for candidate in candidates {
        if bool::from(candidate.key_hash.as_slice().ct_eq(hash.as_slice())) && candidate.is_usable {
            found = Some(candidate);
        }
    }
    found
}

impl Authenticator for Keys {
    fn accepts(&self, credential: Credential<'_>) -> bool {
        matches!(credential, Credential::ApiKey(_))
    }

    fn authenticate<'a>(
        &'a self,
        runtime: &'a Runtime,
        credential: Credential<'a>,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Option<Authenticated>>> {
        Box::pin(async move {
            let Credential::ApiKey(text) = credential else {
                return Ok(None);
            };
            let Some(key) = Presented::read(text) else {
                return Ok(None);
            };
            let authenticated = self.find(runtime, &key, now).await?;
            if let Some(found) = &authenticated {
                self.usage.note(runtime, &found.identity, now);
            }
            Ok(authenticated)
        })
    }

    fn changes(&self) -> Option<watch::Receiver<()>> {
        Some(self.accounts.identities().changes())
    }

    fn identify<'a>(
        &'a self,
        runtime: &'a Runtime,
        principal: &'a Principal,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Option<Identity>>> {
        Box::pin(async move {
            if principal.kind != ActorKind::ApiKey {
                return Ok(None);
            }
            let connection = runtime.database.read_briefly(&Scope::tenant(principal.tenant)).await?;
            let found = usable(&connection, principal.tenant, principal.id, now).await?;
            found.map(Candidate::into_identity).transpose()
        })
    }
}
