//! Rules for the values of fields, beside those that all modules share.

use backoffice_core::Patch;
use backoffice_core::input::{Validator, Violation, rules};

use crate::email;

/// Accepts an e-mail address and trims it.
pub(crate) fn address(text: &str) -> Result<String, Violation> {
    if !email::is_valid(text) {
        return Err(Violation::invalid("must be an e-mail address"));
    }
    Ok(text.trim().to_owned())
}

/// Accepts the name of a user, of at most 120 characters, and trims it. A blank one clears.
pub(crate) fn user_name(name: &Patch<String>) -> Result<Patch<String>, Violation> {
    match name.as_ref().map(|text| text.trim()) {
        Patch::Keep => Ok(Patch::Keep),
        Patch::Clear | Patch::Set("") => Ok(Patch::Clear),
        Patch::Set(text) => rules::line(120)(text).map(Patch::Set),
    }
}

/// Validates the address and the name in an update of a user.
pub(crate) fn address_and_name(
    email: Option<&str>,
    name: &Patch<String>,
    validator: &mut Validator,
) -> (Option<String>, Patch<String>) {
    let email = validator.accept("email", email.map(address).transpose());
    let name = validator.accept("name", user_name(name));
    (email.flatten(), name.unwrap_or_default())
}

/// Accepts the subject of a consent.
pub(crate) fn consent_type(text: &str) -> Result<String, Violation> {
    let is_allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b'.' | b'-');
    let is_type = text.len() <= 64 && text.starts_with(|first: char| first.is_ascii_lowercase());
    if !is_type || !text.bytes().all(is_allowed) {
        let rule = "must be 1 to 64 lower-case letters, digits, `_`, `.` or `-`, a letter first";
        return Err(Violation::invalid(rule));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blank_name_clears() {
        let name = |text: &str| user_name(&Patch::Set(text.to_owned()));

        assert_eq!(name(" Ann "), Ok(Patch::Set("Ann".to_owned())));
        assert_eq!(name("  "), Ok(Patch::Clear));
        assert!(name(&"x".repeat(121)).is_err() && name("a\nb").is_err());
        assert_eq!(user_name(&Patch::Keep), Ok(Patch::Keep));
    }

    #[test]
    fn a_consent_type_begins_with_a_letter() {
        assert!(consent_type("marketing.e-mail_2").is_ok());
        assert!(consent_type("").is_err() && consent_type("2a").is_err() && consent_type("Ä").is_err());
        assert!(consent_type(&"x".repeat(65)).is_err());
    }
}
