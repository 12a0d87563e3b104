//! Prints the settings that are set, without secrets.

use config::{Value, ValueKind};
use serde_json::{Map, Number, Value as Json, json};

use super::Settings;

const MASK: &str = "***";

/// One setting: key, value without secrets, and where it was set.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Section and name, joined by dots.
    pub key: String,
    /// The value; secrets are `***`.
    pub value: Json,
    /// The file, variable or flag; absent for built-in defaults.
    pub origin: Option<String>,
}

impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} = {}", self.key, toml(&self.value))?;
        match &self.origin {
            Some(origin) => write!(f, "  # {origin}"),
            None => Ok(()),
        }
    }
}

/// Returns every setting that a source sets, sorted by key. Other settings have the defaults of the code.
#[must_use]
pub fn effective(settings: &Settings) -> Vec<Line> {
    let mut lines = Vec::new();
    flatten(String::new(), &settings.raw.cache, &mut lines);
    lines.sort_by(|one, other| one.key.cmp(&other.key));
    lines
}

fn flatten(key: String, value: &Value, lines: &mut Vec<Line>) {
    match &value.kind {
        ValueKind::Nil => {}
        ValueKind::Table(table) => {
            for (name, inner) in table {
                let name = if is_bare(name) {
                    name.clone()
                } else {
                    format!("{name:?}")
                };
                flatten(
                    if key.is_empty() { name } else { format!("{key}.{name}") },
                    inner,
                    lines,
                );
            }
        }
        _ => {
            let name = key.rsplit('.').next().unwrap_or(&key).to_owned();
            lines.push(Line {
                value: plain(&name, value),
                key,
                origin: value.origin().map(str::to_owned),
            });
        }
    }
}

fn is_bare(name: &str) -> bool {
    !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

/// Masks the secrets in a value. `name` is the last part of its key.
fn plain(name: &str, value: &Value) -> Json {
    match &value.kind {
        ValueKind::Nil => Json::Null,
        ValueKind::Table(table) => {
            let fields = table.iter().map(|(name, inner)| (name.clone(), plain(name, inner)));
            Json::Object(fields.collect::<Map<_, _>>())
        }
        ValueKind::Array(items) => Json::Array(items.iter().map(|item| plain(name, item)).collect()),
        _ if is_secret(name) => json!(MASK),
        ValueKind::Boolean(flag) => json!(flag),
        ValueKind::I64(number) => json!(number),
        ValueKind::U64(number) => json!(number),
        ValueKind::Float(number) => Number::from_f64(*number).map_or(Json::Null, Json::Number),
        ValueKind::String(text) if name.ends_with("url") => json!(without_password(text)),
        ValueKind::String(text) => json!(without_user_info(text)),
        other => json!(other.to_string()),
    }
}

/// Returns whether a setting with this name, the last part of its key, is a secret.
pub(super) fn is_secret(name: &str) -> bool {
    let is_path = name.ends_with("_file");
    !is_path
        && ["secret", "password", "token", "key", "credential"]
            .iter()
            .any(|word| name.contains(word))
        && !is_harmless(name)
}

/// Returns whether a name that looks like a secret's is not one.
fn is_harmless(name: &str) -> bool {
    name.ends_with("_ttl") || matches!(name, "key_id" | "min_length" | "require_current_password")
}

/// Masks the password of a URL. Any other text is masked completely, because it may contain one anywhere.
fn without_password(text: &str) -> String {
    let Ok(mut url) = url::Url::parse(text) else {
        return MASK.to_owned();
    };
    if url.password().is_some() && url.set_password(Some(MASK)).is_err() {
        return MASK.to_owned();
    }
    if url.query().is_some() {
        url.set_query(Some(MASK));
    }
    url.to_string()
}

/// Masks user and password in a text that begins like a URL, such as an address or a URL with a variable. Other texts stay.
fn without_user_info(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else {
        return text.to_owned();
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    match rest[..end].rfind('@') {
        Some(at) => format!("{scheme}://{MASK}{}", &rest[at..]),
        None => text.to_owned(),
    }
}

fn toml(value: &Json) -> String {
    match value {
        Json::Array(items) => format!("[{}]", items.iter().map(toml).collect::<Vec<_>>().join(", ")),
        Json::Object(members) => {
            let members: Vec<String> = members
                .iter()
                .map(|(name, value)| format!("{name} = {}", toml(value)))
                .collect();
            format!("{{ {} }}", members.join(", "))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Sources;

    fn lines(flags: &[(&str, &str)]) -> String {
        let flags = flags
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect();
        let settings = Sources {
            flags,
            ..Sources::default()
        }
        .read()
        .expect("readable");
        effective(&settings).iter().map(|line| format!("{line}\n")).collect()
    }

    #[test]
    fn secrets_are_masked_and_their_neighbours_are_not() {
        let text = lines(&[
            ("auth.jwt.keys", "[{kid = \"a\", secret = \"hidden\"}]"),
            ("auth.access_token_ttl", "8h"),
        ]);

        assert!(text.contains(r#"kid = "a", secret = "***""#), "{text}");
        assert!(text.contains(r#"auth.access_token_ttl = "8h""#), "{text}");
        assert!(!text.contains("hidden"), "{text}");
    }

    #[test]
    fn a_url_loses_its_password_only() {
        let text = lines(&[("database.url", "postgres://app:hidden@db/office")]);

        assert!(text.contains("postgres://app:***@db/office"), "{text}");
        let text = lines(&[("database.url", "host=db password=hidden")]);
        assert!(!text.contains("hidden"), "{text}");
        let text = lines(&[
            ("auth.reset.link", "https://app:hidden@office.example/{token}?a=b@c"),
            ("app.name", "Ready://set?a@b"),
        ]);
        assert!(text.contains("https://***@office.example/{token}?a=b@c"), "{text}");
        assert!(text.contains("Ready://set?a@b"), "{text}");
    }
}
