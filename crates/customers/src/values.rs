//! Rules for the values of fields, beside those that all modules share.

use backoffice_core::input::{Violation, rules};
use backoffice_core::{Patch, Rejection, Result};
use url::Url;
use uuid::Uuid;

/// Maximum number of ids in a set of references.
pub(crate) const MOST_REFERENCES: usize = 200;

/// Creates the 400 for another value of a field that cannot be changed. Clients of this module match on `invalid_value`, not on `immutable`.
pub(crate) fn fixed(path: &'static str) -> Rejection {
    Rejection::invalid_field(path, "can't be changed", "invalid_value")
}

/// Rejects another organization than that of the record, which cannot be changed.
pub(crate) fn keep_organization(named: Patch<Uuid>, stored: Uuid) -> Result<()> {
    match named {
        Patch::Set(named) if named != stored => Err(fixed("organizationId").into()),
        _ => Ok(()),
    }
}

/// Withholds the named organization from the generic update, which only rejects null then: it would reject another organization as `immutable`,
/// where [`keep_organization`] keeps the code of this module.
pub(crate) fn only_null(named: Patch<Uuid>) -> Patch<Uuid> {
    if named.is_clear() { Patch::Clear } else { Patch::Keep }
}

/// Accepts 0 to 100.
pub(crate) fn percentage(value: &i16) -> Result<i16, Violation> {
    if !(0..=100).contains(value) {
        return Err(Violation::new("must be between 0 and 100", "out_of_range"));
    }
    Ok(*value)
}

/// Accepts a web address that a browser opens, at most 300 characters.
pub(crate) fn web_address(text: &str) -> Result<String, Violation> {
    let text = rules::text(300)(text)?;
    if !is_web_address(&text) {
        return Err(Violation::invalid("must be an http or https address"));
    }
    Ok(text)
}

/// Returns true for a web address: http or https, a host, and no characters that could end it where it is displayed.
fn is_web_address(text: &str) -> bool {
    let Ok(address) = Url::parse(text) else { return false };
    let start = format!("{}://", address.scheme());
    matches!(address.scheme(), "http" | "https")
        && address.has_host()
        && text.to_ascii_lowercase().starts_with(&start)
        && !text
            .chars()
            .any(|c| c.is_control() || c.is_whitespace() || matches!(c, '"' | '<' | '>' | '\\'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_one_of_the_web() {
        for (text, expected) in [
            ("https://acme.example", true),
            ("HTTP://acme.example/a?b=c#d", true),
            ("http:acme.example", false),
            ("ftp://acme.example", false),
            ("javascript:alert(1)", false),
            ("https://", false),
            ("https://acme.example/a b", false),
            ("https://acme.example/\"><script>", false),
            ("acme.example", false),
        ] {
            assert_eq!(web_address(text).is_ok(), expected, "{text}");
        }
        let long = format!("https://acme.example/{}", "x".repeat(300));
        assert_eq!(web_address(&long).map_err(|one| one.code), Err("too_long"));
    }

    #[test]
    fn a_percentage_is_between_0_and_100() {
        assert!(percentage(&0).is_ok() && percentage(&100).is_ok());
        assert!(percentage(&-1).is_err() && percentage(&101).is_err());
    }

    #[test]
    fn only_the_own_organization_can_be_named() {
        let [own, other] = [1, 2].map(Uuid::from_u128);

        assert!(keep_organization(Patch::Keep, own).is_ok() && keep_organization(Patch::Set(own), own).is_ok());
        assert!(keep_organization(Patch::Set(other), own).is_err());
        assert_eq!(only_null(Patch::Clear), Patch::Clear);
        assert_eq!(only_null(Patch::Set(own)), Patch::Keep);
    }
}
