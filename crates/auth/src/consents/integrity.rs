//! Integrity codes of consents: a row that another program changed or copied no longer matches its code.

use backoffice_core::Timestamp;
use backoffice_core::config::{ConfigError, SecretKey};
use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;

use super::model::Consent;
use crate::config::ConsentConfig;

const VERSION: &str = "consent/v1";
/// Length in place of that of an absent value.
const ABSENT: u32 = u32::MAX;

/// Creates and verifies the codes.
pub(crate) struct Integrity {
    /// The first key creates codes, all keys verify them.
    keys: Vec<(String, SecretString)>,
}

impl Integrity {
    pub(crate) fn new(config: &ConsentConfig) -> Result<Self, ConfigError> {
        Ok(Self {
            keys: SecretKey::pair("auth.consent.keys", &config.keys)?,
        })
    }

    /// Returns the row with its code.
    pub(crate) fn sealed(&self, row: Consent) -> Consent {
        let Some((kid, key)) = self.keys.first() else {
            return row;
        };
        Consent {
            integrity: code(key, &row).finalize().into_bytes().to_vec(),
            integrity_kid: kid.clone(),
            ..row
        }
    }

    /// Returns whether the row matches its code, by a key that is still configured.
    pub(crate) fn fits(&self, row: &Consent) -> bool {
        let key = self.keys.iter().find(|(kid, _)| *kid == row.integrity_kid);
        key.is_some_and(|(_, key)| code(key, row).verify_slice(&row.integrity).is_ok())
    }
}

#[expect(clippy::expect_used, reason = "HMAC takes keys of any length")]
fn code(key: &SecretString, row: &Consent) -> Hmac<Sha256> {
    let mut code =
        Hmac::<Sha256>::new_from_slice(key.expose_secret().as_bytes()).expect("HMAC takes keys of any length");
    let instant = |at: Option<Timestamp>| at.map(|at| at.to_string());
    let (granted_at, withdrawn_at) = (instant(row.granted_at), instant(row.withdrawn_at));
    let ids = [row.tenant_id, row.id, row.user_id].map(|id| id.to_string());
    for value in [
        Some(VERSION),
        Some(ids[0].as_str()),
        Some(ids[1].as_str()),
        Some(ids[2].as_str()),
        Some(row.consent_type.as_str()),
        Some(if row.is_granted { "true" } else { "false" }),
        granted_at.as_deref(),
        withdrawn_at.as_deref(),
        row.source.as_deref(),
        row.ip_address.as_deref(),
    ] {
        let length = value.map_or(ABSENT, |value| u32::try_from(value.len()).unwrap_or(ABSENT - 1));
        code.update(&length.to_be_bytes());
        code.update(value.unwrap_or_default().as_bytes());
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    fn integrity(kids: &[&str]) -> Integrity {
        let key = |kid: &&str| ((*kid).to_owned(), SecretString::from(kid.repeat(40)));
        Integrity {
            keys: kids.iter().map(key).collect(),
        }
    }

    fn row() -> Consent {
        let now = Timestamp::parse("2026-11-20T08:00:00Z").expect("an instant");
        Consent {
            tenant_id: Uuid::from_u128(1),
            id: Uuid::from_u128(2),
            user_id: Uuid::from_u128(3),
            organization_id: None,
            consent_type: "marketing".to_owned(),
            is_granted: true,
            granted_at: Some(now),
            withdrawn_at: None,
            source: Some("profile".to_owned()),
            ip_address: None,
            integrity: Vec::new(),
            integrity_kid: String::new(),
            created_at: now,
            updated_at: now,
        }
    }

    #[test]
    fn a_text_that_moves_to_its_neighbour_is_noticed() {
        let integrity = integrity(&["a"]);
        let sealed = integrity.sealed(row());

        let moved = Consent {
            source: Some("profil".to_owned()),
            ip_address: Some("e".to_owned()),
            ..sealed.clone()
        };
        let emptied = Consent {
            ip_address: Some(String::new()),
            ..sealed.clone()
        };

        assert!(integrity.fits(&sealed));
        assert!(!integrity.fits(&moved) && !integrity.fits(&emptied));
    }

    #[test]
    fn acc_38_a_code_outlives_one_rotation() {
        let sealed = integrity(&["a"]).sealed(row());

        assert!(integrity(&["b", "a"]).fits(&sealed));
        assert!(!integrity(&["c", "b"]).fits(&sealed));
    }
}
