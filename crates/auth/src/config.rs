//! Section `auth` of the configuration.

use std::time::Duration;

use backoffice_core::config::{ConfigError, SecretKey, duration, read_secret};
use secrecy::SecretString;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// Settings of accounts and sessions.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AuthConfig {
    /// Life of an access token; never beyond its session. Default 8 h.
    #[serde(deserialize_with = "lifetime")]
    pub access_token_ttl: Duration,
    /// Life of a session. Default 8 h.
    #[serde(deserialize_with = "lifetime")]
    pub session_ttl: Duration,
    /// Life of a remembered session. Default 30 days.
    #[serde(deserialize_with = "lifetime")]
    pub remember_ttl: Duration,
    /// Most sessions of one user, at least 1; a further one ends the oldest. Default 50.
    #[serde(deserialize_with = "sessions_per_user")]
    pub sessions_per_user: i64,
    /// Life of a cached identity. Default 30 s.
    #[serde(deserialize_with = "identity_cache_ttl")]
    pub identity_cache_ttl: Duration,
    /// Access tokens.
    pub jwt: JwtConfig,
    /// Consents.
    pub consent: ConsentConfig,
    /// Rules for passwords.
    #[serde(deserialize_with = "password")]
    pub password: PasswordConfig,
    /// Cost of password hashing.
    pub argon2: Argon2Config,
    /// Signing in.
    #[serde(deserialize_with = "login")]
    pub login: LoginConfig,
    /// The caller's own profile.
    pub profile: ProfileConfig,
    /// Links of reset mails.
    pub reset: LinkConfig,
    /// Links of invitations.
    pub invite: LinkConfig,
    /// Sign-in of demo visitors.
    pub autologin: AutologinConfig,
}

/// Section `auth.jwt`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JwtConfig {
    /// One or two keys; the first signs, both verify. Created by `init`.
    pub keys: Vec<SecretKey>,
    /// Signing algorithm. Default `HS256`.
    pub algorithm: JwtAlgorithm,
    /// Claim `iss`. Default `backoffice`.
    pub issuer: String,
    /// Claim `aud`. Default `backoffice-api`.
    pub audience: String,
}

/// Signing algorithm of access tokens. The algorithm named in a token is ignored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub enum JwtAlgorithm {
    /// HMAC with SHA-256.
    #[default]
    #[serde(rename = "HS256")]
    Hs256,
    /// Ed25519, with a key derived from the secret.
    #[serde(rename = "EdDSA")]
    EdDsa,
}

/// Section `auth.consent`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ConsentConfig {
    /// One or two keys of the integrity codes; the first creates codes, both verify. Created by `init`.
    pub keys: Vec<SecretKey>,
}

/// Section `auth.password`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PasswordConfig {
    /// Shortest password in characters, at most `max_length`. Default 8.
    pub min_length: usize,
    /// Longest password in characters. Default 256.
    pub max_length: usize,
    /// Whether common passwords are rejected. Default true.
    pub reject_common: bool,
    /// A file with further passwords to reject, one per line.
    pub common_list_file: Option<std::path::PathBuf>,
}

/// Section `auth.argon2`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Argon2Config {
    /// Memory in KiB. Default 19456.
    pub memory_kib: u32,
    /// Passes. Default 2.
    pub iterations: u32,
    /// Lanes. Default 1.
    pub parallelism: u32,
    /// Hashes computed at once. Default: cores.
    pub threads: Option<usize>,
    /// Longest queue of hashes; beyond it, requests receive 429. Default 64.
    pub queue: usize,
}

/// Section `auth.login`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LoginConfig {
    /// Most accounts of one address that are tried, at least 1. Default 5.
    pub max_candidates: i64,
    /// Minimum time between a request and the response to a failed sign-in, at most 1 min. Default 250 ms.
    #[serde(deserialize_with = "duration")]
    pub failure_floor: Duration,
    /// Destination of a sign-in without `redirect`; empty = none. Default `/`.
    pub default_redirect: String,
}

/// Section `auth.profile`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProfileConfig {
    /// Whether users must send their current password to change their own e-mail address or password. Default true.
    pub require_current_password: bool,
}

/// Sections `auth.reset` and `auth.invite`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LinkConfig {
    /// Life of the token. Default 60 minutes for resets, 48 hours for invitations.
    #[serde(deserialize_with = "some_duration")]
    pub ttl: Option<Duration>,
    /// The link. It begins with `{public_url}`, `http://` or `https://`, and contains `{token}`, which the token replaces. Default
    /// `{public_url}/reset#token={token}`: servers do not log fragments.
    pub link: String,
}

impl Default for LinkConfig {
    fn default() -> Self {
        Self {
            ttl: None,
            link: "{public_url}/reset#token={token}".to_owned(),
        }
    }
}

fn some_duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    duration(deserializer).map(Some)
}

/// Shortest lifetime: tokens and cookies count whole seconds.
const SHORTEST: Duration = Duration::from_secs(1);
/// Longest lifetime: 36,500 days. The database and the responses can represent the time of its end.
const LONGEST: Duration = Duration::from_secs(36_500 * 24 * 3600);
/// The beginnings of a link.
const LINK_STARTS: [&str; 3] = ["{public_url}", "http://", "https://"];
/// Longest `auth.login.failure_floor`.
const LONGEST_FLOOR: Duration = Duration::from_secs(60);

/// Reads a lifetime. The error of the section names the setting.
fn lifetime<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let read = duration(deserializer)?;
    check_lifetime(read).map_err(D::Error::custom)?;
    Ok(read)
}

fn check_lifetime(life: Duration) -> Result<(), &'static str> {
    match (SHORTEST..=LONGEST).contains(&life) {
        true => Ok(()),
        false => Err("must be at least 1s and at most 36500d"),
    }
}

fn identity_cache_ttl<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let read = duration(deserializer)?;
    match read <= LONGEST {
        true => Ok(read),
        false => Err(D::Error::custom("must be at most 36500d")),
    }
}

fn sessions_per_user<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    let read = i64::deserialize(deserializer)?;
    match read >= 1 {
        true => Ok(read),
        false => Err(D::Error::custom("must be at least 1")),
    }
}

fn password<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PasswordConfig, D::Error> {
    PasswordConfig::deserialize(deserializer)?
        .checked()
        .map_err(D::Error::custom)
}

fn login<'de, D: Deserializer<'de>>(deserializer: D) -> Result<LoginConfig, D::Error> {
    LoginConfig::deserialize(deserializer)?
        .checked()
        .map_err(D::Error::custom)
}

impl PasswordConfig {
    /// Rejects rules that no password meets.
    fn checked(self) -> Result<Self, ConfigError> {
        if self.min_length > self.max_length {
            let message = format!("must be at most auth.password.max_length, which is {}", self.max_length);
            return Err(ConfigError::new("auth.password.min_length", message));
        }
        Ok(self)
    }
}

impl LoginConfig {
    /// Rejects a number with which no user could sign in, and a floor that holds back requests for too long.
    fn checked(self) -> Result<Self, ConfigError> {
        if self.max_candidates < 1 {
            return Err(ConfigError::new("auth.login.max_candidates", "must be at least 1"));
        }
        if self.failure_floor > LONGEST_FLOOR {
            return Err(ConfigError::new("auth.login.failure_floor", "must be at most 1m"));
        }
        Ok(self)
    }
}

impl LinkConfig {
    /// Rejects a link that is not an address or lacks the token, and a life of the token that is too short or too long. `setting` is the setting
    /// with the link.
    pub(crate) fn check(&self, setting: &str) -> Result<(), ConfigError> {
        if let Some(ttl) = self.ttl {
            check_lifetime(ttl).map_err(|rule| ConfigError::new(setting.replace(".link", ".ttl"), rule))?;
        }
        if !LINK_STARTS.iter().any(|start| self.link.starts_with(start)) {
            return Err(ConfigError::new(
                setting,
                "must begin with {public_url}, http:// or https://",
            ));
        }
        match self.link.contains("{token}") {
            true => Ok(()),
            false => Err(ConfigError::new(setting, "must contain {token}")),
        }
    }
}

impl AuthConfig {
    /// Life of a reset token.
    #[must_use]
    pub fn reset_ttl(&self) -> Duration {
        self.reset.ttl.unwrap_or(Duration::from_secs(3600))
    }

    /// Life of an invitation.
    #[must_use]
    pub fn invite_ttl(&self) -> Duration {
        self.invite.ttl.unwrap_or(Duration::from_secs(48 * 3600))
    }
}

/// Section `auth.autologin`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AutologinConfig {
    /// Whether `GET /auth/autologin` signs visitors in. Default false.
    pub enabled: bool,
    /// Address of the account.
    pub email: String,
    /// The password of the account.
    pub password: Option<SecretString>,
    /// A file with the password of the account.
    pub password_file: Option<std::path::PathBuf>,
    /// Tenant of the account, if several have the address.
    pub tenant_id: Option<uuid::Uuid>,
    /// Whether the account may be a super administrator. Default false.
    pub allow_super_admin: bool,
}

impl Default for AuthConfig {
    fn default() -> Self {
        let hours = |hours: u64| Duration::from_secs(hours * 3600);
        Self {
            access_token_ttl: hours(8),
            session_ttl: hours(8),
            remember_ttl: hours(30 * 24),
            sessions_per_user: 50,
            identity_cache_ttl: Duration::from_secs(30),
            jwt: JwtConfig::default(),
            consent: ConsentConfig::default(),
            password: PasswordConfig::default(),
            argon2: Argon2Config::default(),
            login: LoginConfig::default(),
            profile: ProfileConfig::default(),
            reset: LinkConfig::default(),
            invite: LinkConfig::default(),
            autologin: AutologinConfig::default(),
        }
    }
}

impl Default for JwtConfig {
    fn default() -> Self {
        Self {
            keys: Vec::new(),
            algorithm: JwtAlgorithm::default(),
            issuer: "backoffice".to_owned(),
            audience: "backoffice-api".to_owned(),
        }
    }
}

impl Default for PasswordConfig {
    fn default() -> Self {
        Self {
            min_length: 8,
            max_length: 256,
            reject_common: true,
            common_list_file: None,
        }
    }
}

impl Default for Argon2Config {
    fn default() -> Self {
        Self {
            memory_kib: 19_456,
            iterations: 2,
            parallelism: 1,
            threads: None,
            queue: 64,
        }
    }
}

impl Default for LoginConfig {
    fn default() -> Self {
        Self {
            max_candidates: 5,
            failure_floor: Duration::from_millis(250),
            default_redirect: "/".to_owned(),
        }
    }
}

impl Default for ProfileConfig {
    fn default() -> Self {
        Self {
            require_current_password: true,
        }
    }
}

impl AutologinConfig {
    /// Returns the password of the account; `None` if autologin is disabled.
    ///
    /// # Errors
    /// If autologin is enabled and incomplete, or the file can't be read.
    pub(crate) fn secret(&self) -> Result<Option<SecretString>, ConfigError> {
        if !self.enabled {
            return Ok(None);
        }
        if self.email.trim().is_empty() {
            return Err(ConfigError::new(
                "auth.autologin.email",
                "is needed when autologin is enabled",
            ));
        }
        read_secret(
            "auth.autologin",
            "password",
            self.password.as_ref(),
            self.password_file.as_ref(),
        )
        .map(Some)
    }
}

#[cfg(test)]
mod tests {
    use backoffice_core::config::Config;

    use super::*;

    fn read(text: &str) -> Result<AuthConfig, ConfigError> {
        let config: AuthConfig = Config::from_toml(text).expect("toml").section("auth")?;
        config.reset.check("auth.reset.link")?;
        config.invite.check("auth.invite.link")?;
        Ok(config)
    }

    #[test]
    fn unusable_values_are_rejected_by_name() {
        for (text, named) in [
            ("access_token_ttl = '0s'", "auth.access_token_ttl"),
            ("session_ttl = 0", "auth.session_ttl"),
            ("remember_ttl = '999ms'", "auth.remember_ttl"),
            ("access_token_ttl = '36501d'", "auth.access_token_ttl"),
            ("session_ttl = '99999999d'", "auth.session_ttl"),
            ("remember_ttl = 18446744073709551", "auth.remember_ttl"),
            ("identity_cache_ttl = '99999999999999d'", "auth.identity_cache_ttl"),
            ("sessions_per_user = 0", "auth.sessions_per_user"),
            ("sessions_per_user = -1", "auth.sessions_per_user"),
            ("reset.ttl = '0s'", "auth.reset.ttl"),
            ("reset.ttl = '36501d'", "auth.reset.ttl"),
            ("invite.ttl = '0s'", "auth.invite.ttl"),
            ("invite.ttl = '36501d'", "auth.invite.ttl"),
            ("login.failure_floor = '61s'", "auth.login.failure_floor"),
            ("login.max_candidates = 0", "auth.login.max_candidates"),
            ("login.max_candidates = -1", "auth.login.max_candidates"),
            ("password.min_length = 257", "auth.password.min_length"),
            ("password.max_length = 7", "auth.password.min_length"),
            ("reset.link = 'https://office.example'", "auth.reset.link"),
            ("reset.link = '/reset#token={token}'", "auth.reset.link"),
            (
                "invite.link = '\"{public_url}/reset#token={token}\"'",
                "auth.invite.link",
            ),
            ("invite.link = 'office.example/reset#token={token}'", "auth.invite.link"),
        ] {
            let error = read(&format!("[auth]\n{text}\n")).expect_err("unusable");
            assert!(error.to_string().contains(named), "{text}: {error}");
        }
    }

    #[test]
    fn the_largest_usable_values_are_read() {
        let text = "[auth]\naccess_token_ttl = '36500d'\nsession_ttl = '36500d'\nremember_ttl = '36500d'\n\
            identity_cache_ttl = '36500d'\nreset.ttl = '36500d'\ninvite.ttl = '36500d'\nlogin.failure_floor = '1m'\n";

        let config = read(text).expect("usable");

        assert_eq!((config.session_ttl, config.identity_cache_ttl), (LONGEST, LONGEST));
    }

    #[test]
    fn the_smallest_usable_values_are_read() {
        let text = "[auth]\naccess_token_ttl = '1s'\nsession_ttl = 1\nremember_ttl = '1000ms'\nreset.ttl = '1s'\n\
            login.max_candidates = 1\npassword.min_length = 256\n";

        let config = read(text).expect("usable");

        assert_eq!((config.login.max_candidates, config.password.min_length), (1, 256));
        assert_eq!(config.remember_ttl, SHORTEST);
        read("").expect("the defaults");
    }

    #[test]
    fn links_lead_to_this_site_or_another_one() {
        for link in [
            "{public_url}/reset#token={token}",
            "https://id.example/reset?token={token}",
            "http://localhost:3000/#/reset/{token}",
        ] {
            let text = format!("[auth]\nreset.link = '{link}'\ninvite.link = '{link}'\n");

            assert_eq!(read(&text).expect("usable").invite.link, link);
        }
    }
}
