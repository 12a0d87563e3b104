//! Checks whether other users can read a configuration file that holds secrets.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use config::{Config, File, FileFormat, Value, ValueKind};
use url::Url;

use super::Settings;

/// Names of settings that are secrets regardless of their value.
const SECRETS: [&str; 2] = ["secret", "password"];
const READABLE_BY_OTHERS: u32 = 0o004;

impl Settings {
    /// Returns the configuration file if it holds a secret and every user of the machine can read it.
    #[must_use]
    pub fn exposed_file(&self) -> Option<PathBuf> {
        let file = self.sources.file().ok().flatten()?;
        (is_readable_by_others(&file) && holds_secret(&file)).then_some(file)
    }
}

fn is_readable_by_others(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|meta| meta.permissions().mode() & READABLE_BY_OTHERS != 0)
}

fn holds_secret(file: &Path) -> bool {
    let source = File::new(&file.to_string_lossy(), FileFormat::Toml);
    let read = Config::builder().add_source(source).build();
    read.is_ok_and(|read| is_secret("", &read.cache))
}

fn is_secret(name: &str, value: &Value) -> bool {
    match &value.kind {
        ValueKind::Table(table) => table.iter().any(|(name, value)| is_secret(name, value)),
        ValueKind::Array(values) => values.iter().any(|value| is_secret(name, value)),
        ValueKind::String(text) => {
            SECRETS.contains(&name) || Url::parse(text).is_ok_and(|url| url.password().is_some())
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Sources;

    #[test]
    fn s14_a_file_with_a_secret_that_others_can_read_is_named() {
        let folder = std::env::temp_dir().join(format!("backoffice-exposure-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let file = folder.join("backoffice.toml");
        let exposed = |text: &str, mode: u32| {
            fs::write(&file, text).expect("a file");
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("permissions");
            let sources = Sources {
                file: Some(file.clone()),
                ..Sources::default()
            };
            sources.read().expect("settings").exposed_file().is_some()
        };
        let with = "[database]\nurl = 'postgres://app:hidden@db/office'\n";
        let mail = "[mail]\nsmtp_url = 'smtps://user:hidden@mail.example'\n";
        let keys = "[auth.jwt]\nkeys = [{ kid = 'a', secret = 'x' }]\n";
        let without = "[database]\nurl = 'postgres://app@db/office'\n[http]\nproxy_depth = 1\n";

        let found = [with, mail, keys, without].map(|text| exposed(text, 0o644));
        let closed = [0o600, 0o640].map(|mode| exposed(with, mode));

        fs::remove_dir_all(&folder).expect("removed");
        assert_eq!(found, [true, true, true, false]);
        assert_eq!(
            closed,
            [false, false],
            "of the owner, and of a group that the operator chose"
        );
    }
}
