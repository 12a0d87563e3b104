//! The keys of the configuration, and those that are derived from them.

use aws_lc_rs::hkdf::{HKDF_SHA256, KeyType, Salt};
use secrecy::{ExposeSecret, SecretString};
use uuid::Uuid;

use crate::error::{Error, Result};

/// Separates the derived keys from those of other programs with the same secret.
const DOMAIN: &[u8] = b"backoffice vault 1";

/// What a derived key is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Encrypting values.
    Seal,
    /// Computing fingerprints.
    Fingerprint,
}

/// A key of the configuration.
#[derive(Debug)]
pub(super) struct MasterKey {
    name: String,
    secret: SecretString,
}

impl MasterKey {
    pub(super) const fn new(name: String, secret: SecretString) -> Self {
        Self { name, secret }
    }

    /// Returns the name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Derives the key of a tenant for a purpose.
    pub(super) fn derive(&self, purpose: Purpose, tenant: Uuid) -> Result<[u8; 32]> {
        let purpose: &[u8] = match purpose {
            Purpose::Seal => b"seal",
            Purpose::Fingerprint => b"fingerprint",
        };
        let failed = |_| Error::internal("a key could not be derived");
        let extracted = Salt::new(HKDF_SHA256, DOMAIN).extract(self.secret.expose_secret().as_bytes());
        let info = [tenant.as_bytes(), purpose];
        let expanded = extracted.expand(&info, Bytes32).map_err(failed)?;
        let mut key = [0; 32];
        expanded.fill(&mut key).map_err(failed)?;
        Ok(key)
    }
}

/// The length of a derived key.
struct Bytes32;

impl KeyType for Bytes32 {
    fn len(&self) -> usize {
        32
    }
}
