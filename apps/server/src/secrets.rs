//! `secrets.toml` in the data folder: the secrets that `init` and the first start generate, readable by their owner only.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use backoffice_core::Module;
use backoffice_core::config::ConfigError;
use backoffice_core::ids::Ids;
use backoffice_core::text::hex;
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use config::{Value, ValueKind};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

use crate::config::Settings;
use crate::{Error, Result};

/// The setting with the keys that sign access tokens.
pub const JWT_KEYS: &str = "auth.jwt.keys";

/// The setting with the keys of the integrity codes of consents.
pub const CONSENT_KEYS: &str = "auth.consent.keys";

/// The setting with the keys that seal secrets of tenants.
pub const VAULT_KEYS: &str = backoffice_core::vault::KEYS;

/// The setting with the key that identifies the platform to push services.
pub const WEBPUSH_KEYS: &str = "push.webpush.keys";

/// All secrets that can be generated.
pub(crate) const ALL: [Secret; 4] = [Secret::Jwt, Secret::Consent, Secret::Vault, Secret::WebPush];

/// Keys that can be generated and rotated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Secret {
    /// Signs access tokens.
    Jwt,
    /// Computes the integrity codes of consents.
    Consent,
    /// Seals secrets of tenants.
    Vault,
    /// Identifies the platform to push services.
    WebPush,
}

impl Secret {
    /// Returns the key of its setting.
    #[must_use]
    pub fn setting(self) -> &'static str {
        match self {
            Self::Jwt => JWT_KEYS,
            Self::Consent => CONSENT_KEYS,
            Self::Vault => VAULT_KEYS,
            Self::WebPush => WEBPUSH_KEYS,
        }
    }

    /// Returns whether a module can't start without it, or can't send to browsers.
    pub(crate) fn is_needed_by(self, module: &Module) -> bool {
        match self {
            Self::Jwt | Self::Consent => module.name == "auth",
            Self::Vault => module.seals_secrets,
            Self::WebPush => module.name == "devices",
        }
    }

    /// Returns the number of keys that are kept after a rotation: the new one and the one before it. Of the vault all are kept, until all values are sealed with
    /// the new one and an operator removes them. Of web push only the new one is kept, because browsers subscribe with a single key.
    fn kept(self) -> usize {
        match self {
            Self::Jwt | Self::Consent => 2,
            Self::Vault => usize::MAX,
            Self::WebPush => 1,
        }
    }
}

const FILE: &str = "secrets.toml";

/// Locked while the file is changed. The file itself can't be locked, because each change replaces it.
const LOCK: &str = ".secrets.lock";

/// The content of the file. Unknown content is an error, because rewriting the file would lose it.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Document {
    auth: AuthSecrets,
    vault: Keys,
    push: PushSecrets,
}

impl Document {
    fn keys(&mut self, secret: Secret) -> &mut Vec<Key> {
        match secret {
            Secret::Jwt => &mut self.auth.jwt.keys,
            Secret::Consent => &mut self.auth.consent.keys,
            Secret::Vault => &mut self.vault.keys,
            Secret::WebPush => &mut self.push.webpush.keys,
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct AuthSecrets {
    jwt: Keys,
    consent: Keys,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct PushSecrets {
    webpush: Keys,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Keys {
    keys: Vec<Key>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Key {
    kid: String,
    secret: SecretString,
}

/// Returns the file's path in this data folder.
#[must_use]
pub fn path(data_dir: &Path) -> PathBuf {
    data_dir.join(FILE)
}

/// Generates the secrets that are not set in any source. Returns whether the file was written.
///
/// # Errors
/// When the file can't be read or written.
pub fn create_missing(settings: &Settings, ids: &Ids) -> Result<bool> {
    let missing: Vec<Secret> = ALL
        .into_iter()
        .filter(|secret| !settings.has(secret.setting()))
        .collect();
    if missing.is_empty() {
        return Ok(false);
    }
    let _lock = lock(&settings.data_dir)?;
    let mut document = read(&settings.data_dir)?;
    let mut is_changed = false;
    for secret in missing {
        // Another process may have created it since the settings were read.
        let keys = document.keys(secret);
        if keys.is_empty() {
            keys.push(Key::generate(ids));
            is_changed = true;
        }
    }
    if is_changed {
        write(&settings.data_dir, &document)?;
    }
    Ok(is_changed)
}

/// Creates a new first key. The old one stays second, so that its signatures remain valid, or the values that it sealed readable; that of web push is
/// removed, so that its subscriptions end. Returns the new key's name.
///
/// # Errors
/// When the keys are set elsewhere, or the file does not exist or can't be read or written.
pub fn rotate(settings: &Settings, secret: Secret, ids: &Ids) -> Result<String> {
    let generated = path(&settings.data_dir);
    if let Some(origin) = settings
        .origin(secret.setting())
        .filter(|origin| !is_same_file(origin, &generated))
    {
        let steps = match secret {
            Secret::Jwt | Secret::Consent | Secret::Vault => {
                "put a new key second there and restart every process, then put it first and restart again"
            }
            Secret::WebPush => "replace the key there and restart every process",
        };
        return Err(ConfigError::new(secret.setting(), format!("set in {origin}: {steps}")).into());
    }
    if !generated.is_file() {
        let message = "does not exist, so there is no key to rotate; run `backoffice init`, or check `data_dir`";
        return Err(ConfigError::new(generated.display().to_string(), message).into());
    }
    let _lock = lock(&settings.data_dir)?;
    let mut document = read(&settings.data_dir)?;
    let key = Key::generate(ids);
    let kid = key.kid.clone();
    let keys = document.keys(secret);
    keys.insert(0, key);
    keys.truncate(secret.kept());
    write(&settings.data_dir, &document)?;
    Ok(kid)
}

/// Returns whether the source of a setting is this file.
fn is_same_file(origin: &str, file: &Path) -> bool {
    match (fs::canonicalize(origin), fs::canonicalize(file)) {
        (Ok(origin), Ok(file)) => origin == file,
        _ => false,
    }
}

/// Generates keys for the lifetime of the process in place of those that are not set and that modules can't start without: commands that sign nothing
/// still compose the modules. Without the key of web push a process sends nothing to browsers, which is better than sending with another key.
pub(crate) fn ephemeral(settings: &Settings, ids: &Ids) -> Vec<(String, Value)> {
    ALL.into_iter()
        .filter(|secret| *secret != Secret::WebPush && !settings.has(secret.setting()))
        .map(|secret| (secret.setting().to_owned(), ephemeral_keys(ids)))
        .collect()
}

fn ephemeral_keys(ids: &Ids) -> Value {
    let key = Key::generate(ids);
    let members = [("kid", key.kid), ("secret", key.secret.expose_secret().to_owned())];
    let table = members.map(|(name, text)| (name.to_owned(), Value::new(None, ValueKind::from(text))));
    let keys = vec![Value::new(None, ValueKind::Table(table.into_iter().collect()))];
    Value::new(None, ValueKind::Array(keys))
}

impl Key {
    fn generate(ids: &Ids) -> Self {
        Self {
            kid: hex(&ids.random::<6>()),
            secret: STANDARD_NO_PAD.encode(ids.random::<64>()).into(),
        }
    }
}

fn read(data_dir: &Path) -> Result<Document> {
    let file = path(data_dir);
    if !file.is_file() {
        return Ok(Document::default());
    }
    let unreadable = |error: config::ConfigError| ConfigError::unreadable(file.display().to_string(), &error);
    let source = config::File::new(&file.to_string_lossy(), config::FileFormat::Toml);
    let raw = config::Config::builder()
        .add_source(source)
        .build()
        .map_err(unreadable)?;
    Ok(raw.try_deserialize().map_err(unreadable)?)
}

/// Waits until no other process changes the file. The lock ends when the result is dropped.
fn lock(data_dir: &Path) -> Result<fs::File> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(data_dir)
        .map_err(Error::file(data_dir))?;
    let path = data_dir.join(LOCK);
    let locked = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&path)
        .and_then(|file| file.lock().map(|()| file));
    locked.map_err(Error::file(path))
}

/// Writes a temporary file and renames it, so that a crash leaves either the old or the new one. The caller holds the lock.
fn write(data_dir: &Path, document: &Document) -> Result<()> {
    let file = path(data_dir);
    let draft = data_dir.join(format!(".secrets.toml.{}", std::process::id()));
    let written = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&draft)
        .and_then(|mut draft| {
            draft
                .write_all(render(document).as_bytes())
                .and_then(|()| draft.sync_all())
        })
        .and_then(|()| fs::rename(&draft, &file));
    written.map_err(Error::file(file))
}

fn render(document: &Document) -> String {
    let mut text = String::from(
        "# Created by `backoffice init` or the first start; `backoffice secrets rotate jwt|consent|vault|webpush` creates a new first key.\n\
         # Keep it secret and keep it: without it all users are signed out, no consent can be verified, no sealed secret can be read, and no browser gets push messages.\n",
    );
    for (name, keys) in [
        ("auth.jwt", &document.auth.jwt.keys),
        ("auth.consent", &document.auth.consent.keys),
        ("vault", &document.vault.keys),
        ("push.webpush", &document.push.webpush.keys),
    ] {
        if keys.is_empty() {
            continue;
        }
        // Writing to a `String` does not fail.
        let _infallible = writeln!(text, "\n[{name}]\nkeys = [");
        for key in keys {
            let _infallible = writeln!(
                text,
                "    {{ kid = {:?}, secret = {:?} }},",
                key.kid,
                key.secret.expose_secret()
            );
        }
        text.push_str("]\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::Secret;
    use crate::modules;

    #[test]
    fn the_vault_is_needed_by_each_module_that_seals_secrets() {
        let sealing = ["attachments", "business-rules", "devices", "onboarding"];

        for module in modules::compiled() {
            let expected = sealing.contains(&module.name);
            assert_eq!(Secret::Vault.is_needed_by(module), expected, "{}", module.name);
        }
    }
}
