//! Roles and states of users, and the rules for fields.

use backoffice_auth::{is_valid_address, normalized_address};
use backoffice_core::Patch;
use backoffice_core::input::rules::{self, Violation};
use backoffice_core::input::schema;
use backoffice_core::text_schemas;

use crate::acl;

/// Longest name, in characters.
const LONGEST_NAME: usize = 120;
/// The names of the roles that this module assigns, in the order in which one is shown.
pub(crate) const ROLE_NAMES: [&str; 2] = [acl::DISPATCHER, acl::VIEWER];
/// The states of a user.
pub(crate) const STATUSES: [&str; 3] = ["invited", "active", "disabled"];
/// The filter for users without a role of the team.
pub(crate) const NO_ROLE: &str = "none";

text_schemas! {
    /// A role of the team.
    AccessRole: schema::words(ROLE_NAMES);
    /// A role of the team, or `none`.
    AccessRoleFilter: schema::words([acl::DISPATCHER, acl::VIEWER, NO_ROLE]);
    /// `invited`: has no password yet; `active`: may sign in; `disabled`: deactivated.
    AccessStatus: schema::words(STATUSES);
    /// A name: 1 to 120 characters, not counting surrounding white space; no control characters.
    AccessName: schema::line(LONGEST_NAME);
}

/// A role of the dispatch team.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TeamRole {
    /// Plans.
    Dispatcher,
    /// Only reads.
    Viewer,
}

impl TeamRole {
    /// Returns the name of the role.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Dispatcher => acl::DISPATCHER,
            Self::Viewer => acl::VIEWER,
        }
    }

    /// Parses the name of a role.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Dispatcher, Self::Viewer]
            .into_iter()
            .find(|role| role.as_str() == name)
    }
}

/// The state of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserStatus {
    /// Has no password yet.
    Invited,
    /// May sign in.
    Active,
    /// Deactivated, with or without a password.
    Disabled,
}

impl UserStatus {
    /// Returns the state of a user.
    #[must_use]
    pub const fn new(is_active: bool, has_password: bool) -> Self {
        match (is_active, has_password) {
            (false, _) => Self::Disabled,
            (true, true) => Self::Active,
            (true, false) => Self::Invited,
        }
    }

    /// Returns the name in requests and responses.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Invited => STATUSES[0],
            Self::Active => STATUSES[1],
            Self::Disabled => STATUSES[2],
        }
    }

    /// Parses the name of a state.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Invited, Self::Active, Self::Disabled]
            .into_iter()
            .find(|status| status.as_str() == name)
    }
}

/// Accepts an e-mail address and returns it trimmed and in lower case.
pub(crate) fn email(field: &Patch<String>) -> Result<String, Violation> {
    match field {
        Patch::Set(text) if is_valid_address(text) => Ok(normalized_address(text)),
        _ => Err(Violation::new("must be an e-mail address", "invalid_email")),
    }
}

/// Accepts a name and trims it.
pub(crate) fn name(field: &Patch<String>) -> Result<String, Violation> {
    let text = field.as_ref().value().map(|text| text.trim()).unwrap_or_default();
    let invalid = || {
        let rule = format!("must be 1 to {LONGEST_NAME} characters without control characters");
        Violation::new(rule, "invalid_name")
    };
    if text.is_empty() {
        return Err(invalid());
    }
    rules::line(LONGEST_NAME)(text).map_err(|_| invalid())
}

/// Accepts the name of a role of the team.
pub(crate) fn role(field: &Patch<String>) -> Result<TeamRole, Violation> {
    let role = field.as_ref().value().and_then(|name| TeamRole::parse(name));
    role.ok_or_else(|| Violation::new("must be one of dispatcher, viewer", "invalid_role"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Patch<String> {
        Patch::Set(text.to_owned())
    }

    #[test]
    fn addresses_and_names_are_trimmed() {
        assert_eq!(email(&text(" Anna@Example.COM ")), Ok("anna@example.com".to_owned()));
        assert_eq!(name(&text(" Anna Nowak ")), Ok("Anna Nowak".to_owned()));
    }

    #[test]
    fn every_rule_has_a_code_of_its_own() {
        for invalid in [Patch::Keep, Patch::Clear, text(""), text("anna"), text("a b@c")] {
            assert_eq!(
                email(&invalid).map_err(|one| one.code),
                Err("invalid_email"),
                "{invalid:?}"
            );
        }
        for invalid in [
            Patch::Keep,
            Patch::Clear,
            text(" "),
            text("a\u{7}b"),
            text(&"x".repeat(121)),
        ] {
            assert_eq!(
                name(&invalid).map_err(|one| one.code),
                Err("invalid_name"),
                "{invalid:?}"
            );
        }
        for invalid in [Patch::Keep, Patch::Clear, text("boss"), text("Viewer"), text("none")] {
            assert_eq!(
                role(&invalid).map_err(|one| one.code),
                Err("invalid_role"),
                "{invalid:?}"
            );
        }
    }

    #[test]
    fn a_deactivated_user_is_disabled_even_without_a_password() {
        assert_eq!(UserStatus::new(false, false).as_str(), "disabled");
        assert_eq!(UserStatus::new(true, false).as_str(), "invited");
        assert_eq!(UserStatus::new(true, true).as_str(), "active");
    }
}
