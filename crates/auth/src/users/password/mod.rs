//! Passwords: their rules, and hashing on a bounded pool.

mod memory;
mod phc;

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use argon2::password_hash::phc::PasswordHash;
use argon2::{Algorithm, Argon2, Params, PasswordHasher, Version};
use backoffice_core::blocking::Pool;
use backoffice_core::config::ConfigError;
use backoffice_core::identity::Identity;
use backoffice_core::ids::Ids;
use backoffice_core::shares::{Share, Shares};
use backoffice_core::{Error as CoreError, Result};
use secrecy::{ExposeSecret, SecretString};
use unicode_normalization::UnicodeNormalization;
use uuid::Uuid;

use crate::config::{Argon2Config, PasswordConfig};
use crate::{Error, email};
use memory::Memory;

pub(crate) use backoffice_core::blocking::{Permit as HashPermit, QueuePosition};

/// Permits for each thread: one request hashes, two others execute the statements before and after. More would not hash sooner, and in a
/// flood they would take the database connections from other requests. A request with a permit has its whole input: it waits for the
/// threads and the database, whose waits the process bounds, and never for a client.
const AT_WORK: usize = 3;

/// Queue positions that a signed-in caller has at once.
const MOST_OF_CALLER: usize = 4;
/// The signed-in callers of a tenant have this part of the queue together, so that they leave positions to sign-ins and to other tenants.
const PART_OF_TENANT: usize = 4;

const COMMON: &str = include_str!("common.txt");

/// The rules for new passwords.
pub(crate) struct Policy {
    min: usize,
    max: usize,
    rejected: HashSet<String>,
}

impl Policy {
    pub(crate) fn new(config: &PasswordConfig) -> Result<Self, ConfigError> {
        let mut rejected = HashSet::new();
        if config.reject_common {
            rejected.extend(COMMON.lines().map(str::to_owned));
        }
        if let Some(file) = &config.common_list_file {
            let text = std::fs::read_to_string(file).map_err(|error| {
                ConfigError::new("auth.password.common_list_file", format!("{}: {error}", file.display()))
            })?;
            // In the form in which passwords are compared with them.
            rejected.extend(text.lines().map(|line| line.nfc().collect::<String>().to_lowercase()));
        }
        Ok(Self {
            min: config.min_length,
            max: config.max_length,
            rejected,
        })
    }

    /// Rejects a password that breaks a rule.
    pub(crate) fn check(&self, password: &SecretString, address: &str) -> Result<(), Error> {
        let password: String = password.expose_secret().nfc().collect();
        let length = password.chars().count();
        let lower = password.to_lowercase();
        let code = if password.contains('\0') {
            "invalid_value"
        } else if length < self.min {
            "too_short"
        } else if length > self.max {
            "too_long"
        } else if self.rejected.contains(&lower) {
            "too_common"
        } else if lower == email::normalized(address) {
            "equals_email"
        } else {
            return Ok(());
        };
        Err(Error::PasswordPolicy(code))
    }
}

/// Computes argon2id hashes: as many at once as there are threads, with a bounded queue.
pub(crate) struct Hasher {
    argon2: Argon2<'static>,
    pool: Pool<Memory>,
    of_callers: Shares<Uuid>,
    of_tenants: Shares<Uuid>,
    most_of_tenant: usize,
    /// Verified if there is no account, so that the response takes as long as for an existing one. Created when first needed, because the
    /// computation needs more memory than the rest of an idle process.
    dummy: Arc<OnceLock<String>>,
    verified: AtomicU64,
}

/// The queue positions of a signed-in caller, and those of their tenant, have one fewer until this is dropped.
#[derive(Debug)]
struct CallerShare {
    _of_caller: Share<Uuid>,
    _of_tenant: Share<Uuid>,
}

/// The result of a verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Verified {
    pub(crate) matches: bool,
    /// Whether the hash was created with other parameters.
    pub(crate) is_outdated: bool,
}

impl Hasher {
    pub(crate) fn new(config: &Argon2Config) -> Result<Self, ConfigError> {
        let params = Params::new(config.memory_kib, config.iterations, config.parallelism, None)
            .map_err(|error| ConfigError::new("auth.argon2", error.to_string()))?;
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let threads = config.threads.unwrap_or(cores).max(1);
        Ok(Self {
            argon2,
            pool: Pool::new("hash", threads, config.queue, AT_WORK),
            of_callers: Shares::default(),
            of_tenants: Shares::default(),
            most_of_tenant: (config.queue / PART_OF_TENANT).max(1),
            dummy: Arc::default(),
            verified: AtomicU64::new(0),
        })
    }

    /// Returns how many passwords were verified since the start.
    pub(crate) fn verified(&self) -> u64 {
        self.verified.load(Ordering::Relaxed)
    }

    /// Takes a queue position; 429 if the queue is full.
    pub(crate) fn queue_position(&self) -> Result<QueuePosition> {
        self.pool.queue_position().ok_or_else(|| Error::HashingBusy.into())
    }

    /// Waits for the permit of a queue position.
    pub(crate) async fn acquire(&self, queue_position: QueuePosition) -> Result<HashPermit> {
        self.pool.acquire(queue_position).await
    }

    /// Takes a queue position and waits for its permit, for a request that has arrived completely: a holder never waits for a client.
    pub(crate) async fn permit(&self) -> Result<HashPermit> {
        self.acquire(self.queue_position()?).await
    }

    /// Takes the share of a signed-in caller; 429 if the caller or the tenant has used it up. The platform itself, on the command line, has no bound.
    fn caller_share(&self, caller: &Identity) -> Result<Option<CallerShare>> {
        let Some(id) = caller.id else { return Ok(None) };
        let of_caller = self.of_callers.take(id, MOST_OF_CALLER).ok_or(Error::HashingBusy)?;
        let of_tenant = self.of_tenants.take(caller.tenant, self.most_of_tenant);
        Ok(Some(CallerShare {
            _of_caller: of_caller,
            _of_tenant: of_tenant.ok_or(Error::HashingBusy)?,
        }))
    }

    /// Returns the hash of a password as [`Self::hash`] does, within the share that the signed-in caller has of the queue.
    pub(crate) async fn hash_for(&self, caller: &Identity, ids: &Ids, password: &SecretString) -> Result<String> {
        let _share = self.caller_share(caller)?;
        self.hash(ids, password).await
    }

    /// Verifies a password as [`Self::verify`] does, within the share that the signed-in caller has of the queue.
    pub(crate) async fn verify_for(
        &self,
        caller: &Identity,
        password: &SecretString,
        stored: Option<&str>,
    ) -> Result<Verified> {
        let _share = self.caller_share(caller)?;
        self.verify(password, stored).await
    }

    /// Returns the hash of a password in PHC form.
    pub(crate) async fn hash(&self, ids: &Ids, password: &SecretString) -> Result<String> {
        let permit = self.permit().await?;
        self.hash_in(&permit, ids, password).await
    }

    /// Like [`Self::hash`], for a request that has a permit.
    pub(crate) async fn hash_in(&self, permit: &HashPermit, ids: &Ids, password: &SecretString) -> Result<String> {
        let (argon2, salt, bytes) = (self.argon2.clone(), ids.random::<16>(), normalized(password));
        let work = move |memory: &mut Memory| {
            phc::hash(&argon2, bytes.expose_secret().as_bytes(), &salt, memory)
                .map(|hash| hash.to_string())
                .map_err(|error| CoreError::internal(format!("password hashing failed: {error}")))
        };
        self.pool.run(permit, work).await?
    }

    /// Verifies a password against a stored hash; without one, against a dummy that never matches.
    pub(crate) async fn verify(&self, password: &SecretString, stored: Option<&str>) -> Result<Verified> {
        let permit = self.permit().await?;
        self.verify_in(&permit, password, stored).await
    }

    /// Like [`Self::verify`], for a request that has a permit.
    pub(crate) async fn verify_in(
        &self,
        permit: &HashPermit,
        password: &SecretString,
        stored: Option<&str>,
    ) -> Result<Verified> {
        self.verified.fetch_add(1, Ordering::Relaxed);
        let (argon2, bytes) = (self.argon2.clone(), normalized(password));
        let (stored, dummy) = (stored.map(str::to_owned), Arc::clone(&self.dummy));
        let work = move |memory: &mut Memory| {
            let exists = stored.is_some();
            let stored = stored.unwrap_or_else(|| dummy.get_or_init(|| dummy_hash(&argon2)).clone());
            let parsed = PasswordHash::new(&stored).ok();
            let matches = parsed
                .as_ref()
                .is_some_and(|hash| phc::verify(bytes.expose_secret().as_bytes(), hash, memory).unwrap_or(false));
            let is_outdated = parsed
                .and_then(|hash| Params::try_from(&hash).ok())
                .is_none_or(|params| {
                    let requested = argon2.params();
                    (params.m_cost(), params.t_cost(), params.p_cost())
                        != (requested.m_cost(), requested.t_cost(), requested.p_cost())
                });
            Verified {
                matches: matches && exists,
                is_outdated,
            }
        };
        self.pool.run(permit, work).await
    }
}

/// Returns the dummy hash; a match with it never counts, because there is no account.
fn dummy_hash(argon2: &Argon2<'_>) -> String {
    argon2
        .hash_password_with_salt(b"nobody", &[7; 16])
        .map(|hash| hash.to_string())
        .unwrap_or_default()
}

fn normalized(password: &SecretString) -> SecretString {
    SecretString::from(password.expose_secret().nfc().collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> SecretString {
        SecretString::from(text.to_owned())
    }

    fn cheap() -> Hasher {
        let config = Argon2Config {
            memory_kib: 8,
            iterations: 1,
            ..Argon2Config::default()
        };
        Hasher::new(&config).expect("parameters")
    }

    #[test]
    fn the_policy_names_the_broken_rule() {
        let policy = Policy::new(&PasswordConfig::default()).expect("no file");
        for (password, expected) in [
            ("1234567", "too_short"),
            ("password1", "too_common"),
            ("PASSWORD1", "too_common"),
            ("ANN@EXAMPLE.COM", "equals_email"),
            ("abc\0defghijk", "invalid_value"),
        ] {
            assert_eq!(
                policy.check(&secret(password), "ann@example.com"),
                Err(Error::PasswordPolicy(expected)),
                "{password}"
            );
        }
        let long = "x".repeat(257);
        assert_eq!(
            policy.check(&secret(&long), "a@b"),
            Err(Error::PasswordPolicy("too_long"))
        );
        for password in [
            "8 chars!",
            "\u{1F600}\u{1F600}\u{1F600}\u{1F600}\u{1F600}\u{1F600}\u{1F600}\u{1F601}",
            &"y".repeat(256),
        ] {
            assert_eq!(policy.check(&secret(password), "ann@example.com"), Ok(()), "{password}");
        }
    }

    #[test]
    fn at_least_three_thousand_common_passwords_are_known() {
        assert!(COMMON.lines().count() >= 3000);
        assert!(COMMON.lines().all(|line| line == line.to_lowercase()));
    }

    #[tokio::test]
    async fn composed_and_decomposed_forms_are_one_password() {
        let hasher = cheap();
        let hash = hasher
            .hash(&Ids::default(), &secret("p\u{e4}ssw\u{f6}rt"))
            .await
            .expect("hashed");

        let verified = hasher
            .verify(&secret("pa\u{308}sswo\u{308}rt"), Some(&hash))
            .await
            .expect("verified");

        assert_eq!(
            verified,
            Verified {
                matches: true,
                is_outdated: false
            }
        );
    }

    /// Takes as many shares as there are for a caller.
    fn shares(hasher: &Hasher, tenant: u128, user: u128) -> Vec<CallerShare> {
        let caller = Identity {
            id: Some(Uuid::from_u128(user)),
            tenant: Uuid::from_u128(tenant),
            ..Identity::system()
        };
        std::iter::from_fn(|| hasher.caller_share(&caller).ok().flatten()).collect()
    }

    #[test]
    fn a_caller_has_four_queue_positions_and_a_tenant_a_quarter() {
        let hasher = cheap();

        let held: Vec<_> = (0..5).map(|user| shares(&hasher, 1, user)).collect();
        assert_eq!(held.iter().map(Vec::len).collect::<Vec<_>>(), [4, 4, 4, 4, 0]);
        assert_eq!(shares(&hasher, 2, 9).len(), 4, "another tenant");
        assert!(matches!(hasher.caller_share(&Identity::system()), Ok(None)));

        drop(held);
        assert_eq!(shares(&hasher, 1, 4).len(), 4);
    }

    #[tokio::test]
    async fn nothing_matches_the_dummy() {
        assert!(!cheap().verify(&secret("nobody"), None).await.expect("verified").matches);
    }
}
