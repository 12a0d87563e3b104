//! Sealed values: secrets of tenants that the platform must be able to read again (credentials of stores, tokens of devices), encrypted with AES-256-GCM
//! under a key of their tenant. Each tenant's keys are derived from `vault.keys` with HKDF-SHA-256; a dump of the database reveals nothing without the
//! configuration.
//!
//! A sealed value opens only at the place where it was sealed: tenant, table, column and row are authenticated with it, so that a value that was copied
//! to another row is worthless.

mod columns;
mod keys;
mod reseal;

use std::sync::Arc;

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use aws_lc_rs::hmac;
use secrecy::SecretSlice;
use serde::Deserialize;
use uuid::Uuid;

use crate::config::{Config, ConfigError, SecretKey};
use crate::error::{Error, Result};
use crate::platform::Platform;
use keys::{MasterKey, Purpose};
use reseal::Completed;

pub(crate) use columns::SealedColumns;
pub(crate) use reseal::{EVERY, Reseal, SCHEDULE};
pub use reseal::{SealedState, states};

/// The setting with the keys.
pub const KEYS: &str = "vault.keys";

/// The version of the form of a sealed value: version, length of the key's name, name, nonce, ciphertext and tag.
const VERSION: u8 = 1;
/// Longest name of a key, in bytes.
const MAX_NAME: usize = 64;

/// Section `vault`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VaultConfig {
    /// The keys; the first seals, all open. Created by `init`.
    pub keys: Vec<SecretKey>,
}

/// Where a sealed value is stored: a column of the row with this id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SealedCell {
    /// The column.
    pub column: SealedColumn,
    /// The id of the row.
    pub row: Uuid,
}

/// A column with sealed values, of a table with `tenant_id` and `id`. A module registers each of its columns with
/// [`Registry::extend`](crate::registry::Registry::extend), so that values are sealed again after a rotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SealedColumn {
    /// The table.
    pub table: &'static str,
    /// The column, `bytea`.
    pub column: &'static str,
}

impl SealedColumn {
    /// Returns the cell in a row.
    #[must_use]
    pub const fn of(self, row: Uuid) -> SealedCell {
        SealedCell { column: self, row }
    }
}

/// Seals and opens values.
#[derive(Debug)]
pub struct Vault {
    keys: Vec<MasterKey>,
    completed: Completed,
}

impl Vault {
    /// Reads the keys. None are needed for a platform whose modules seal nothing.
    pub(crate) fn of_config(config: &Config) -> Result<Self, ConfigError> {
        let section = config.section::<VaultConfig>("vault")?;
        let named = SecretKey::named(KEYS, &section.keys)?;
        let keys = named.into_iter().map(|(name, secret)| {
            if name.is_empty() || name.len() > MAX_NAME {
                return Err(ConfigError::new(
                    KEYS,
                    format!("a `kid` must have 1 to {MAX_NAME} bytes"),
                ));
            }
            Ok(MasterKey::new(name, secret))
        });
        Ok(Self {
            keys: keys.collect::<Result<_, _>>()?,
            completed: Completed::default(),
        })
    }

    /// Returns whether there is a key.
    pub(crate) fn has_keys(&self) -> bool {
        !self.keys.is_empty()
    }

    /// Seals a value with the first key, for this cell of a tenant. Sealing a value twice gives different bytes.
    ///
    /// # Errors
    /// When no key is configured.
    pub fn seal(&self, tenant: Uuid, cell: SealedCell, value: &[u8]) -> Result<Vec<u8>> {
        let key = self.first()?;
        let mut sealed = header(key.name());
        let aad = associated(&sealed, tenant, cell);
        let mut text = value.to_vec();
        let nonce = sealing(key, tenant)?
            .seal_in_place_append_tag(Aad::from(aad), &mut text)
            .map_err(|_| Error::internal("a value could not be sealed"))?;
        sealed.extend_from_slice(nonce.as_ref());
        sealed.append(&mut text);
        Ok(sealed)
    }

    /// Opens a value that was sealed for this cell of a tenant.
    ///
    /// # Errors
    /// When its key is not configured, or the value was changed or belongs to another cell.
    pub fn open(&self, tenant: Uuid, cell: SealedCell, sealed: &[u8]) -> Result<SecretSlice<u8>> {
        let failed = || {
            Error::internal(format!(
                "a value in {}.{} can't be opened",
                cell.column.table, cell.column.column
            ))
        };
        let name = key_of(sealed).ok_or_else(failed)?;
        let key = self.keys.iter().find(|key| key.name().as_bytes() == name);
        let key = key.ok_or_else(|| {
            let name = String::from_utf8_lossy(name);
            Error::internal(format!("`{KEYS}` lacks the key {name}, with which a value was sealed"))
        })?;
        let (head, rest) = sealed.split_at(2 + name.len());
        let (nonce, text) = rest.split_at_checked(NONCE_LEN).ok_or_else(failed)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| failed())?;
        let mut text = text.to_vec();
        let aad = Aad::from(associated(head, tenant, cell));
        let opened = sealing(key, tenant)?.open_in_place(nonce, aad, &mut text);
        let length = opened.map_err(|_| failed())?.len();
        text.truncate(length);
        Ok(text.into())
    }

    /// Returns a code by which equal values of a column are found without opening them: HMAC-SHA-256 with the first key, different in every tenant and column.
    ///
    /// # Errors
    /// When no key is configured.
    pub fn fingerprint(&self, tenant: Uuid, column: SealedColumn, value: &[u8]) -> Result<[u8; 32]> {
        let derived = self.first()?.derive(Purpose::Fingerprint, tenant)?;
        let key = hmac::Key::new(hmac::HMAC_SHA256, &derived);
        let mut context = hmac::Context::with_key(&key);
        for name in [column.table, column.column] {
            context.update(&framed(name.as_bytes()));
        }
        context.update(value);
        let mut code = [0; 32];
        code.copy_from_slice(context.sign().as_ref());
        Ok(code)
    }

    /// Returns what values sealed with the first key begin with.
    fn current(&self) -> Result<Vec<u8>> {
        Ok(header(self.first()?.name()))
    }

    fn first(&self) -> Result<&MasterKey> {
        let first = self.keys.first();
        first.ok_or_else(|| Error::internal(format!("`{KEYS}` has no key; `backoffice init` creates one")))
    }
}

impl Platform {
    /// Returns the vault.
    #[must_use]
    pub fn vault(&self) -> &Vault {
        self.services::<Arc<Vault>>()
    }
}

fn sealing(key: &MasterKey, tenant: Uuid) -> Result<RandomizedNonceKey> {
    let derived = key.derive(Purpose::Seal, tenant)?;
    RandomizedNonceKey::new(&AES_256_GCM, &derived).map_err(|_| Error::internal("a key could not be derived"))
}

/// Returns the beginning of a value sealed with the key of this name.
fn header(name: &str) -> Vec<u8> {
    let length = u8::try_from(name.len()).unwrap_or(u8::MAX);
    let mut header = vec![VERSION, length];
    header.extend_from_slice(name.as_bytes());
    header
}

/// Returns the name of the key with which a value was sealed.
fn key_of(sealed: &[u8]) -> Option<&[u8]> {
    let (&[version, length], rest) = sealed.split_first_chunk::<2>()?;
    (version == VERSION).then(|| rest.get(..usize::from(length)))?
}

/// Returns what is authenticated with a value besides its bytes.
fn associated(header: &[u8], tenant: Uuid, cell: SealedCell) -> Vec<u8> {
    let mut bytes = framed(header);
    bytes.extend_from_slice(tenant.as_bytes());
    bytes.extend(framed(cell.column.table.as_bytes()));
    bytes.extend(framed(cell.column.column.as_bytes()));
    bytes.extend_from_slice(cell.row.as_bytes());
    bytes
}

/// Returns bytes behind their length, so that two joined texts can't be read as two others.
fn framed(bytes: &[u8]) -> Vec<u8> {
    let mut framed = (bytes.len() as u64).to_be_bytes().to_vec();
    framed.extend_from_slice(bytes);
    framed
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    const COLUMN: SealedColumn = SealedColumn {
        table: "app_stores",
        column: "secrets",
    };
    const ROW: Uuid = Uuid::from_u128(7);
    const TENANT: Uuid = Uuid::from_u128(1);

    fn vault(keys: &[(&str, &str)]) -> Vault {
        let keys: Vec<String> = keys
            .iter()
            .map(|(kid, letter)| format!("{{ kid = \"{kid}\", secret = \"{}\" }}", letter.repeat(40)))
            .collect();
        let config = Config::from_toml(&format!("[vault]\nkeys = [{}]\n", keys.join(", "))).expect("parsed");
        Vault::of_config(&config).expect("keys")
    }

    #[test]
    fn a_value_opens_only_at_its_place_and_unchanged() {
        let vault = vault(&[("a", "a")]);
        let sealed = vault.seal(TENANT, COLUMN.of(ROW), b"secret").expect("sealed");

        let opened = vault.open(TENANT, COLUMN.of(ROW), &sealed).expect("opened");
        assert_eq!(opened.expose_secret(), b"secret");
        assert!(!sealed.windows(6).any(|part| part == b"secret"));
        assert_ne!(vault.seal(TENANT, COLUMN.of(ROW), b"secret").expect("sealed"), sealed);

        let other_column = SealedColumn {
            column: "token",
            ..COLUMN
        };
        let other_table = SealedColumn {
            table: "app_store",
            column: "ssecrets",
        };
        for (tenant, cell) in [
            (Uuid::from_u128(2), COLUMN.of(ROW)),
            (TENANT, COLUMN.of(Uuid::from_u128(8))),
            (TENANT, other_column.of(ROW)),
            (TENANT, other_table.of(ROW)),
        ] {
            assert!(vault.open(tenant, cell, &sealed).is_err(), "{cell:?}");
        }
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert!(vault.open(TENANT, COLUMN.of(ROW), &changed).is_err(), "byte {at}");
            assert!(vault.open(TENANT, COLUMN.of(ROW), &sealed[..at]).is_err(), "{at} bytes");
        }
    }

    #[test]
    fn the_first_key_seals_and_all_open() {
        let (old, both, new) = (
            vault(&[("a", "a")]),
            vault(&[("b", "b"), ("a", "a")]),
            vault(&[("b", "b")]),
        );
        let before = old.seal(TENANT, COLUMN.of(ROW), b"x").expect("sealed");
        let after = both.seal(TENANT, COLUMN.of(ROW), b"x").expect("sealed");

        assert!(both.open(TENANT, COLUMN.of(ROW), &before).is_ok());
        assert!(new.open(TENANT, COLUMN.of(ROW), &after).is_ok());
        let missing = new.open(TENANT, COLUMN.of(ROW), &before).expect_err("no key");
        assert!(missing.to_string().contains("lacks the key a"), "{missing}");
        assert!(after.starts_with(&both.current().expect("a key")));
        assert!(!before.starts_with(&both.current().expect("a key")));
        // A key of the same name with another secret opens nothing.
        assert!(vault(&[("a", "z")]).open(TENANT, COLUMN.of(ROW), &before).is_err());
    }

    #[test]
    fn a_fingerprint_depends_on_tenant_column_value_and_key() {
        let vault_a = vault(&[("a", "a")]);
        let code = |vault: &Vault, tenant: u128, column: SealedColumn, value: &[u8]| {
            vault
                .fingerprint(Uuid::from_u128(tenant), column, value)
                .expect("a key")
        };
        let first = code(&vault_a, 1, COLUMN, b"x");

        assert_eq!(code(&vault_a, 1, COLUMN, b"x"), first);
        let other = SealedColumn {
            column: "token",
            ..COLUMN
        };
        for different in [
            code(&vault_a, 2, COLUMN, b"x"),
            code(&vault_a, 1, other, b"x"),
            code(&vault_a, 1, COLUMN, b"y"),
            code(&vault(&[("a", "b")]), 1, COLUMN, b"x"),
        ] {
            assert_ne!(different, first);
        }
    }

    #[test]
    fn without_a_key_nothing_is_sealed() {
        let none = Vault::of_config(&Config::default()).expect("no section");
        assert!(!none.has_keys());
        assert!(none.seal(TENANT, COLUMN.of(ROW), b"x").is_err());
        let long = Config::from_toml(&format!(
            "[vault]\nkeys = [{{ kid = \"{}\", secret = \"{}\" }}]\n",
            "k".repeat(65),
            "s".repeat(40)
        ));
        assert!(Vault::of_config(&long.expect("parsed")).is_err());
    }
}
