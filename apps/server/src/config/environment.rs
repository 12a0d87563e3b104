//! Variables `BACKOFFICE__SECTION__KEY`, `ATTACHMENTS_PARTITION_CODE_ROOT` and flags `--set section.key=value`.

use backoffice_core::config::ConfigError;
use config::{Config, File, FileFormat, Value, ValueKind};

const PREFIX: &str = "BACKOFFICE__";

/// Settings whose text is a comma-separated list.
const LISTS: &[&str] = &["modules", "app.allowed_origins", "i18n.locales"];

/// Settings whose text may look like a table or a list: a link begins with `{public_url}`, an address of IPv6 with `[`.
const TEXTS: &[&str] = &["auth.reset.link", "auth.invite.link", "http.listen", "admin.listen"];

/// Extracts the settings, as key and value, from these variables.
pub(super) fn settings(
    variables: impl IntoIterator<Item = (String, String)>,
) -> Result<Vec<(String, Value)>, ConfigError> {
    let mut found = Vec::new();
    for (name, text) in variables {
        if let Some(code) = partition_of(&name) {
            let folder = Value::new(Some(&name), ValueKind::from(text));
            found.push((format!("attachments.roots.{code}"), folder));
            continue;
        }
        let Some(path) = name.strip_prefix(PREFIX) else {
            continue;
        };
        let key = path
            .split("__")
            .map(str::to_ascii_lowercase)
            .collect::<Vec<_>>()
            .join(".");
        found.push((key.clone(), value(&key, &text, &name)?));
    }
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(found)
}

/// Returns the part of a variable's name that stands for the partition of files whose folder it sets.
fn partition_of(name: &str) -> Option<String> {
    let code = name.strip_prefix("ATTACHMENTS_PARTITION_")?.strip_suffix("_ROOT")?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    (!code.is_empty() && code.bytes().all(is_plain)).then(|| code.to_ascii_lowercase())
}

/// Parses a value of a variable or a flag. A setting of [`TEXTS`] is a string of TOML or literal text. Of the others, text that starts like a list or
/// table is TOML, a setting of [`LISTS`] is split at its commas, and any other text is taken literally.
pub(super) fn value(key: &str, text: &str, origin: &str) -> Result<Value, ConfigError> {
    let origin = origin.to_owned();
    let trimmed = text.trim();
    if TEXTS.contains(&key) {
        let text = quoted(trimmed).unwrap_or_else(|| text.to_owned());
        return Ok(Value::new(Some(&origin), ValueKind::from(text)));
    }
    if trimmed.starts_with(['[', '{']) {
        return toml_value(trimmed)
            .map(|value| with_origin(value, &origin))
            .map_err(|_| {
                ConfigError::new(
                    key,
                    format!("{origin} starts like a list or table, but is not valid TOML"),
                )
            });
    }
    if LISTS.contains(&key) {
        let items = trimmed.split(',').map(str::trim).filter(|item| !item.is_empty());
        let items: Vec<Value> = items
            .map(|item| Value::new(Some(&origin), ValueKind::from(item)))
            .collect();
        return Ok(Value::new(Some(&origin), ValueKind::Array(items)));
    }
    Ok(Value::new(Some(&origin), ValueKind::from(text)))
}

/// Returns the text of a TOML string; `None` if it is not one.
fn quoted(text: &str) -> Option<String> {
    if !text.starts_with(['"', '\'']) {
        return None;
    }
    toml_value(text).ok()?.into_string().ok()
}

/// Parses a TOML value. The error omits the text, which may be a secret.
fn toml_value(text: &str) -> Result<Value, config::ConfigError> {
    let document = format!("value = {text}");
    let read = Config::builder()
        .add_source(File::from_str(&document, FileFormat::Toml))
        .build()?;
    read.get("value")
}

/// Sets the source of a value and of everything in it: the fields of a table become settings of their own.
fn with_origin(value: Value, origin: &str) -> Value {
    let kind = match value.kind {
        ValueKind::Table(fields) => {
            let fields = fields.into_iter();
            ValueKind::Table(fields.map(|(name, field)| (name, with_origin(field, origin))).collect())
        }
        ValueKind::Array(items) => ValueKind::Array(items.into_iter().map(|item| with_origin(item, origin)).collect()),
        plain => plain,
    };
    Value::new(Some(&origin.to_owned()), kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, text: &str) -> Vec<(String, Value)> {
        settings([(name.to_owned(), text.to_owned())]).expect("readable")
    }

    #[test]
    fn two_underscores_separate_sections() {
        let found = read("BACKOFFICE__DATABASE__POOL_SIZE", "4");

        assert_eq!(found[0].0, "database.pool_size");
        assert_eq!(found[0].1.kind, ValueKind::from("4"));
    }

    #[test]
    fn a_variable_sets_the_folder_of_a_partition() {
        let found = read("ATTACHMENTS_PARTITION_PRIVATE_ATTACHMENTS_ROOT", "/srv/files");

        assert_eq!(found[0].0, "attachments.roots.private_attachments");
        assert_eq!(found[0].1.kind, ValueKind::from("/srv/files"));
        assert!(read("ATTACHMENTS_PARTITION_ROOT", "/srv").is_empty());
    }

    #[test]
    fn the_fields_of_a_table_have_its_source() {
        let name = "BACKOFFICE__AUTH__JWT";
        let found = read(name, "{ keys = [{ kid = \"a\" }] }");

        let fields = found[0].1.clone().into_table().expect("a table");
        assert_eq!(fields["keys"].origin(), Some(name));
    }

    #[test]
    fn other_variables_are_left_alone() {
        assert!(read("BACKOFFICE_PG_BIN", "/usr/bin").is_empty());
    }

    #[test]
    fn a_link_is_literal_text_or_a_toml_string() {
        let link = "{public_url}/reset#token={token}";
        for name in ["BACKOFFICE__AUTH__INVITE__LINK", "BACKOFFICE__AUTH__RESET__LINK"] {
            for text in [link.to_owned(), format!("\"{link}\""), format!("'{link}'")] {
                assert_eq!(read(name, &text)[0].1.kind, ValueKind::from(link), "{name} = {text}");
            }
        }
        assert_eq!(
            read("BACKOFFICE__MAIL__FROM", "\"Office\" <office@office.example>")[0]
                .1
                .kind,
            ValueKind::from("\"Office\" <office@office.example>")
        );
    }

    #[test]
    fn an_address_of_ipv6_is_literal_text_or_a_toml_string() {
        let address = "[::1]:8111";
        for name in ["BACKOFFICE__HTTP__LISTEN", "BACKOFFICE__ADMIN__LISTEN"] {
            for text in [address.to_owned(), format!("\"{address}\""), format!("'{address}'")] {
                assert_eq!(read(name, &text)[0].1.kind, ValueKind::from(address), "{name} = {text}");
            }
        }
    }

    #[test]
    fn a_malformed_list_is_rejected() {
        let variable = ("BACKOFFICE__APP__ALLOWED_ORIGINS".to_owned(), "[::1]:8111".to_owned());

        let error = settings([variable]).expect_err("no TOML");

        assert!(error.to_string().contains("is not valid TOML"), "{error}");
    }

    #[test]
    fn other_text_that_starts_like_a_table_must_be_toml() {
        let variable = ("BACKOFFICE__AUTH__JWT".to_owned(), "{public_url}".to_owned());

        let error = settings([variable]).expect_err("no TOML");

        assert!(error.to_string().contains("is not valid TOML"), "{error}");
    }

    #[test]
    fn lists_are_written_with_commas_or_as_toml() {
        for text in ["auth, directory", "[\"auth\", \"directory\"]"] {
            let list = read("BACKOFFICE__MODULES", text)[0]
                .1
                .clone()
                .into_array()
                .expect("a list");

            assert_eq!(list.len(), 2, "{text}");
        }
    }
}
