//! Rules for the values that clients send (accounts specification, section 1).

use backoffice_core::text::{NO_CONTROL_CHARACTERS, has_control_characters};
use backoffice_core::{Detail, Rejection, Result};
use url::Url;
use utoipa::openapi::schema::Type;
use utoipa::openapi::{ObjectBuilder, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::SLUG;

const LONGEST_NAME: usize = 200;
const LONGEST_URL: usize = 2048;
const MOST_LOCALES: usize = 20;
const ATTACHMENTS: &str = "/api/attachments/";

/// White space, which is trimmed at both ends of a name.
const BLANK: &str = r"[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]";

/// A character of a name.
const ALLOWED: &str = r"[^\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]";

/// A character of a name that is not white space.
const VISIBLE: &str = r"[^\x00-\x20\x7f-\xa0\u1680\u2000-\u200a\u2028-\u202f\u205f\u2066-\u2069\u3000]";

/// The inside of a character class: characters that a URL must not contain.
const NOT_IN_URLS: &str = r"\x00-\x20\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\\";

/// Schema of the names that [`Rules::name`] accepts.
#[derive(Debug)]
pub(crate) struct DirectoryName;

impl PartialSchema for DirectoryName {
    fn schema() -> RefOr<Schema> {
        let between = LONGEST_NAME - 2;
        let pattern = format!("^{BLANK}*{VISIBLE}({ALLOWED}{{0,{between}}}{VISIBLE})?{BLANK}*$");
        ObjectBuilder::new()
            .schema_type(Type::String)
            .pattern(Some(pattern))
            .examples(["Acme North"])
            .build()
            .into()
    }
}

impl ToSchema for DirectoryName {}

/// Schema of the logos that [`Rules::logo_url`] accepts: attachments, and https addresses with a host of ASCII letters, digits and single
/// hyphens. Its description says that other hosts are accepted too.
#[derive(Debug)]
pub(crate) struct LogoUrl;

impl PartialSchema for LogoUrl {
    fn schema() -> RefOr<Schema> {
        let label = "[a-zA-Z0-9]+(-[a-zA-Z0-9]+)*";
        // A last label of digits is part of an IPv4 address.
        let top = "[a-zA-Z][a-zA-Z0-9]*(-[a-zA-Z0-9]+)*";
        let web = format!(r"https://({label}\.)*{top}(:[0-9]{{1,4}})?([/?#][^{NOT_IN_URLS}]*)?");
        // A part that begins with a dot or a percent sign could lead out of the attachments.
        let part = format!("[^/.%?#{NOT_IN_URLS}][^/{NOT_IN_URLS}]*");
        let stored = format!("{ATTACHMENTS}{part}(/{part})*");
        ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some(
                "An https address without a user name, or a path below `/api/attachments/`; no white space, control \
                 characters or backslashes. The pattern describes the usual forms; other hosts that a URL may have, such as \
                 IP addresses and internationalized names, are accepted too.",
            ))
            .max_length(Some(LONGEST_URL))
            .pattern(Some(format!("^({web}|{stored})$")))
            .examples(["https://cdn.example.com/logo.png"])
            .build()
            .into()
    }
}

impl ToSchema for LogoUrl {}

/// Collects the broken rules of an input.
#[derive(Debug, Default)]
pub(crate) struct Rules(Vec<Detail>);

impl Rules {
    fn broken(&mut self, path: &str, message: &str, code: &'static str) {
        self.0.push(Detail::new(path, message, code));
    }

    /// Returns the trimmed name. It must have 1 to 200 characters and no control characters.
    pub(crate) fn name(&mut self, path: &str, value: &str) -> String {
        let name = value.trim();
        if name.is_empty() {
            self.broken(path, "must not be blank", "required");
        } else if name.chars().count() > LONGEST_NAME {
            self.broken(path, "must be at most 200 characters", "too_long");
        }
        if has_control_characters(name) {
            self.broken(path, NO_CONTROL_CHARACTERS, "invalid_value");
        }
        name.to_owned()
    }

    pub(crate) fn slug(&mut self, path: &str, value: &str) {
        if !SLUG.matches(value) {
            self.broken(
                path,
                "must be lower-case letters and digits, joined by single hyphens, at most 100",
                "invalid_value",
            );
        }
    }

    /// Validates an https address or a path of the attachments.
    pub(crate) fn logo_url(&mut self, path: &str, value: &str) {
        if value.chars().count() > LONGEST_URL {
            self.broken(path, "must be at most 2048 characters", "too_long");
        } else if !is_logo_url(value) {
            self.broken(path, "must start with https:// or /api/attachments/", "invalid_value");
        }
    }

    /// Returns the locales without repetitions. There must be 1 to 20, all of them served.
    pub(crate) fn locales(&mut self, path: &str, values: &[String], served: &[String]) -> Vec<String> {
        let mut locales: Vec<String> = Vec::with_capacity(values.len().min(MOST_LOCALES));
        for value in values {
            if !served.contains(value) {
                self.broken(path, "must be locales of i18n.locales", "invalid_value");
                return locales;
            }
            if !locales.contains(value) {
                locales.push(value.clone());
            }
        }
        if locales.is_empty() {
            self.broken(path, "must name a locale, or be null for all of them", "required");
        } else if locales.len() > MOST_LOCALES {
            self.broken(path, "must be at most 20 locales", "too_long");
        }
        locales
    }

    /// Returns 400 `Invalid input` if a rule is broken.
    pub(crate) fn check(self) -> Result<()> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(Rejection::invalid(self.0).into())
        }
    }
}

fn is_logo_url(value: &str) -> bool {
    if value.chars().any(|c| c.is_control() || c.is_whitespace() || c == '\\') {
        return false;
    }
    if let Some(rest) = value.strip_prefix(ATTACHMENTS) {
        // Dots may also be written as `%2e`.
        let resolved = Url::parse("https://self.invalid").and_then(|site| site.join(value));
        return !rest.is_empty()
            && !rest.split('/').any(|part| part == "..")
            && resolved.is_ok_and(|url| url.path().starts_with(ATTACHMENTS));
    }
    Url::parse(value).is_ok_and(|url| url.scheme() == "https" && url.has_host() && url.username().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_logo_is_an_https_address_or_an_attachment() {
        for (value, expected) in [
            ("https://cdn.example/logo.png", true),
            ("/api/attachments/image/1", true),
            ("http://cdn.example/logo.png", false),
            ("javascript:alert(1)", false),
            ("//cdn.example/logo.png", false),
            ("https://user@cdn.example/", false),
            ("/api/attachments/", false),
            ("/api/attachments/../users", false),
            ("/api/attachments/%2e%2E/users", false),
            ("https://cdn.example/a b", false),
            ("", false),
        ] {
            assert_eq!(is_logo_url(value), expected, "{value}");
        }
    }

    #[test]
    fn every_broken_rule_is_reported() {
        let mut rules = Rules::default();

        rules.name("name", "  ");
        rules.slug("slug", "No");

        let error = rules.check().expect_err("two broken rules").to_rejection();
        assert_eq!(
            error
                .details
                .iter()
                .map(|detail| detail.path.as_str())
                .collect::<Vec<_>>(),
            ["name", "slug"]
        );
    }

    #[test]
    fn locales_are_served_ones_each_once() {
        let served = ["en", "pl"].map(str::to_owned);
        let given = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>();

        let mut rules = Rules::default();
        assert_eq!(
            rules.locales("locales", &given(&["pl", "en", "pl"]), &served),
            ["pl", "en"]
        );
        assert!(rules.check().is_ok());

        let mut rules = Rules::default();
        rules.locales("locales", &given(&["fr"]), &served);
        assert!(rules.check().is_err());

        let mut rules = Rules::default();
        rules.locales("locales", &[], &served);
        assert!(rules.check().is_err());
    }
}
