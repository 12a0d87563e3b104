//! The settings of a caller, and the server configuration that results from them.

use std::{fmt::Write as _, net::IpAddr, path::PathBuf};

use crate::Error;

/// Small enough for several clusters on a laptop, large enough for the connections of a test suite.
const DEFAULTS: &[(&str, &str)] = &[
    ("shared_buffers", "64MB"),
    ("max_connections", "200"),
    ("timezone", "UTC"),
    ("log_timezone", "UTC"),
    ("logging_collector", "off"),
    ("log_destination", "stderr"),
];

/// Faster writes at the risk of losing the data when the machine crashes.
const NOT_DURABLE: &[(&str, &str)] = &[
    ("fsync", "off"),
    ("synchronous_commit", "off"),
    ("full_page_writes", "off"),
    ("wal_level", "minimal"),
    ("max_wal_senders", "0"),
];

/// The location and the settings of a private cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The folder of the cluster; created if it is missing.
    pub dir: PathBuf,
    /// Whether committed data must survive a crash of the machine. `false` is for tests.
    pub durable: bool,
    /// Additional settings of postgresql.conf. They override the defaults of this crate.
    pub extra: Vec<(String, String)>,
    /// A TCP listener besides the socket; there is none by default. Its port is 5432.
    pub listener: Option<Listener>,
}

/// An additional address of a cluster, with its access rules. For tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listener {
    /// The address.
    pub address: IpAddr,
    /// Lines of `pg_hba.conf`.
    pub rules: Vec<String>,
}

impl Settings {
    /// Creates the settings of a durable cluster in `dir`.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            durable: true,
            extra: Vec::new(),
            listener: None,
        }
    }

    /// Returns the text of the configuration file. PostgreSQL uses the last of equal names.
    pub(crate) fn render(&self) -> Result<String, Error> {
        let mut text = String::from("# Written at every start. Own settings go into data/postgresql.conf.\n");
        text.push_str("include 'data/postgresql.conf'\n");
        let durability = if self.durable { &[] } else { NOT_DURABLE };
        for (name, value) in DEFAULTS.iter().chain(durability) {
            push(&mut text, name, value);
        }
        for (name, value) in &self.extra {
            check_name(name)?;
            push(&mut text, name, value);
        }
        Ok(text)
    }
}

fn push(text: &mut String, name: &str, value: &str) {
    let value = value
        .replace('\\', "\\\\")
        .replace('\'', "''")
        .replace(['\n', '\r', '\0'], " ");
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{name} = '{value}'");
}

fn check_name(name: &str) -> Result<(), Error> {
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let is_include = name.starts_with("include");
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
    if starts_well && is_plain && !is_include {
        Ok(())
    } else {
        Err(Error::SettingName { name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(durable: bool, extra: &[(&str, &str)]) -> Result<String, Error> {
        let extra = extra
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .collect();
        Settings {
            dir: PathBuf::from("x"),
            durable,
            extra,
            listener: None,
        }
        .render()
    }

    #[test]
    fn extra_settings_come_after_the_defaults() {
        let text = rendered(true, &[("shared_buffers", "16MB")]).expect("settings are valid");

        assert!(
            text.find("shared_buffers = '64MB'").expect("it is there")
                < text.find("shared_buffers = '16MB'").expect("it is there")
        );
        assert!(!text.contains("fsync"));
    }

    #[test]
    fn only_a_cluster_that_may_be_lost_skips_fsync() {
        assert!(
            rendered(false, &[])
                .expect("settings are valid")
                .contains("fsync = 'off'\n")
        );
    }

    #[test]
    fn values_cannot_leave_their_quotes() {
        let text = rendered(true, &[("search_path", "a'\n#b\\")]).expect("settings are valid");

        assert!(text.ends_with("search_path = 'a'' #b\\\\'\n"), "{text}");
    }

    #[test]
    fn a_name_that_is_no_setting_is_rejected() {
        for name in ["", "a b", "a=1", "1a", "include", "a\nb"] {
            assert!(
                matches!(rendered(true, &[(name, "x")]), Err(Error::SettingName { .. })),
                "{name:?}"
            );
        }
    }
}
