//! Rules for the values that clients send (accounts specification, section 1).

use backoffice_core::input::schema::{self, LINE_CHARACTER, SPACE, VISIBLE_CHARACTER};
use backoffice_core::input::{Violation, rules};
use backoffice_core::text_schemas;
use url::Url;
use utoipa::openapi::ObjectBuilder;

use crate::SLUG;

const LONGEST_NAME: usize = 200;
const LONGEST_URL: usize = 2048;
/// Most locales of a tenant.
pub(crate) const MOST_LOCALES: usize = 20;
const ATTACHMENTS: &str = "/api/attachments/";

/// The inside of a character class: characters that a URL must not contain.
const NOT_IN_URLS: &str = r"\x00-\x20\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\\";

text_schemas! {
    /// The names that [`name`] accepts.
    DirectoryName: name_schema();
    /// The slugs that [`slug`] accepts.
    OrganizationSlug: schema::pattern("Unique in the tenant.", "^[a-z0-9]+(-[a-z0-9]+)*$".to_owned())
        .max_length(Some(SLUG.longest))
        .examples(["acme-north"]);
    /// The logos that [`logo_url`] accepts: attachments, and https addresses with a host of ASCII letters, digits and single hyphens. Its
    /// description says that other hosts are accepted too.
    LogoUrl: logo_url_schema();
}

fn name_schema() -> ObjectBuilder {
    let (inner, visible) = (LINE_CHARACTER, VISIBLE_CHARACTER);
    let pattern = format!("^{SPACE}{visible}({inner}{{0,{}}}{visible})?{SPACE}$", LONGEST_NAME - 2);
    let about = "1 to 200 characters, not counting surrounding white space; no control characters.";
    schema::pattern(about, pattern).examples(["Acme North"])
}

fn logo_url_schema() -> ObjectBuilder {
    let label = "[a-zA-Z0-9]+(-[a-zA-Z0-9]+)*";
    // A last label of digits is part of an IPv4 address.
    let top = "[a-zA-Z][a-zA-Z0-9]*(-[a-zA-Z0-9]+)*";
    let web = format!(r"https://({label}\.)*{top}(:[0-9]{{1,4}})?([/?#][^{NOT_IN_URLS}]*)?");
    // A part that begins with a dot or a percent sign could lead out of the attachments.
    let part = format!("[^/.%?#{NOT_IN_URLS}][^/{NOT_IN_URLS}]*");
    let stored = format!("{ATTACHMENTS}{part}(/{part})*");
    let about = "An https address without user name and password, or a path below `/api/attachments/`; no white space, control \
         characters or backslashes. The pattern describes the usual forms; other hosts that a URL may have, such as \
         IP addresses and internationalized names, are accepted too.";
    schema::pattern(about, format!("^({web}|{stored})$"))
        .max_length(Some(LONGEST_URL))
        .examples(["https://cdn.example.com/logo.png"])
}

/// Accepts the name of a tenant or an organization.
pub(crate) fn name(text: &str) -> Result<String, Violation> {
    rules::line(LONGEST_NAME)(text)
}

/// Accepts a slug; white space around it is not trimmed.
pub(crate) fn slug(text: &str) -> Result<String, Violation> {
    if SLUG.matches(text) {
        Ok(text.to_owned())
    } else {
        let rule = "must be lower-case letters and digits, joined by single hyphens, at most 100";
        Err(Violation::invalid(rule))
    }
}

/// Accepts an https address or a path of the attachments.
pub(crate) fn logo_url(text: &str) -> Result<String, Violation> {
    let url = rules::text(LONGEST_URL)(text)?;
    if is_logo_url(&url) {
        Ok(url)
    } else {
        Err(Violation::invalid("must start with https:// or /api/attachments/"))
    }
}

/// Accepts 1 to 20 of the served locales and drops repetitions.
pub(crate) fn locales(served: &[String]) -> impl Fn(&Vec<String>) -> Result<Vec<String>, Violation> {
    move |values| {
        let mut locales: Vec<String> = Vec::with_capacity(values.len().min(MOST_LOCALES));
        for value in values {
            if !served.contains(value) {
                return Err(Violation::invalid("must be locales of i18n.locales"));
            }
            if !locales.contains(value) {
                locales.push(value.clone());
            }
        }
        match locales.len() {
            0 => Err(Violation::new(
                "must name a locale, or be null for all of them",
                "required",
            )),
            1..=MOST_LOCALES => Ok(locales),
            _ => Err(Violation::new("must be at most 20 locales", "too_long")),
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
    let has_no_account = |url: &Url| url.username().is_empty() && url.password().is_none();
    Url::parse(value).is_ok_and(|url| url.scheme() == "https" && url.has_host() && has_no_account(&url))
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
    fn locales_are_served_ones_each_once() {
        let served = ["en", "pl"].map(str::to_owned);
        let accepted = |values: &[&str]| locales(&served)(&values.iter().map(|&value| value.to_owned()).collect());

        assert_eq!(
            accepted(&["pl", "en", "pl"]),
            Ok(vec!["pl".to_owned(), "en".to_owned()])
        );
        assert!(accepted(&["fr"]).is_err() && accepted(&[]).is_err());
    }
}
