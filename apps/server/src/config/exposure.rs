//! Checks whether other users can read the files that hold secrets.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use config::{Config, File, FileFormat, Value, ValueKind};
use url::Url;

use super::{Settings, print};
use crate::secrets;

const READABLE_BY_OTHERS: u32 = 0o004;

impl Settings {
    /// Returns the files that hold secrets and that every user of the machine can read: the configuration file, that of the generated secrets,
    /// and those that settings name.
    #[must_use]
    pub fn exposed_files(&self) -> Vec<PathBuf> {
        let configuration = self.sources.file().ok().flatten();
        let generated = secrets::path(&self.data_dir);
        let mut files: Vec<PathBuf> = configuration.into_iter().chain([generated]).collect();
        files.retain(|file| holds_secret(file));
        add_named_files("", &self.raw.cache, &mut files);
        files.retain(|file| is_readable_by_others(file));
        files.sort();
        files.dedup();
        files
    }
}

/// Adds the files of settings such as `secret_file`. `name` is the last part of the value's key.
fn add_named_files(name: &str, value: &Value, files: &mut Vec<PathBuf>) {
    match &value.kind {
        ValueKind::Table(table) => {
            for (name, value) in table {
                add_named_files(name, value, files);
            }
        }
        ValueKind::Array(values) => {
            for value in values {
                add_named_files(name, value, files);
            }
        }
        ValueKind::String(file) => {
            let of_setting = name.strip_suffix("_file");
            let has_secret = |setting: &str| {
                let is_url = setting.ends_with("url");
                print::is_secret(setting)
                    || is_url && fs::read_to_string(file).is_ok_and(|url| has_password(url.trim()))
            };
            if of_setting.is_some_and(has_secret) {
                files.push(file.into());
            }
        }
        _ => {}
    }
}

fn has_password(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| url.password().is_some())
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
        ValueKind::String(text) => print::is_secret(name) || has_password(text),
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
            !sources.read().expect("settings").exposed_files().is_empty()
        };
        let with = "[database]\nurl = 'postgres://app:hidden@db/office'\n";
        let mail = "[mail]\nsmtp_url = 'smtps://user:hidden@mail.example'\n";
        let keys = "[auth.jwt]\nkeys = [{ kid = 'a', secret = 'x' }]\n";
        let push = "[push]\nwebhook_secret = 'whsec_x'\n";
        let without = "[database]\nurl = 'postgres://app@db/office'\n[http]\nproxy_depth = 1\n";

        let found = [with, mail, keys, push, without].map(|text| exposed(text, 0o644));
        let closed = [0o600, 0o640].map(|mode| exposed(with, mode));

        fs::remove_dir_all(&folder).expect("removed");
        assert_eq!(found, [true, true, true, true, false]);
        assert_eq!(
            closed,
            [false, false],
            "of the owner, and of a group that the operator chose"
        );
    }

    #[test]
    fn s14_other_files_with_secrets_that_others_can_read_are_named() {
        let folder = std::env::temp_dir().join(format!("backoffice-exposed-files-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let write = |name: &str, text: &str, mode: u32| {
            let file = folder.join(name);
            fs::write(&file, text).expect("a file");
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("permissions");
            file.to_string_lossy().into_owned()
        };
        let generated = "[auth.jwt]\nkeys = [{ kid = 'a', secret = 'x' }]\n";
        write("secrets.toml", generated, 0o644);
        let named = [
            (
                "database.url_file",
                write("url", "postgres://app:hidden@db/office\n", 0o644),
            ),
            (
                "database.owner_url_file",
                write("owner", "postgres://owner@db/office\n", 0o644),
            ),
            ("push.webhook_secret_file", write("webhook", "whsec_x", 0o644)),
            ("push.apns.key_file", write("apns", "key", 0o600)),
            ("auth.password.common_list_file", write("common", "password", 0o644)),
        ];
        let flags = named.map(|(key, file)| (key.to_owned(), file));
        let data_dir = ("data_dir".to_owned(), folder.to_string_lossy().into_owned());
        let sources = Sources {
            flags: flags.into_iter().chain([data_dir]).collect(),
            ..Sources::default()
        };

        let exposed = sources.read().expect("settings").exposed_files();

        fs::remove_dir_all(&folder).expect("removed");
        assert_eq!(
            exposed,
            ["secrets.toml", "url", "webhook"].map(|name| folder.join(name))
        );
    }
}
