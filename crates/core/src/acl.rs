//! Features (rights), grants and the rights of a principal.
//!
//! A *feature* is a right with an id of the form `module.verb` or `module.entity.verb`. A *grant* is a feature, `prefix.*` (the prefix
//! and everything below it) or `*`. A feature is *held* when the catalogue of the enabled modules contains it and a grant matches it.

mod rights;

use std::collections::BTreeSet;

pub(crate) use rights::missing;
pub use rights::{AccessList, Organizations, Pairs, Rights};

/// A right that a module declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Feature {
    /// Id of the form `module.verb` or `module.entity.verb`.
    pub id: &'static str,
    /// English title for administrators.
    pub title: &'static str,
}

impl Feature {
    /// Declares a feature, for `const` declarations.
    #[must_use]
    pub const fn new(id: &'static str, title: &'static str) -> Self {
        Self { id, title }
    }
}

/// Grants that a seeded role receives by default.
#[derive(Debug, Clone, Copy)]
pub struct DefaultGrant {
    /// Name of the seeded role (`admin`, `employee`, or a role of a module).
    pub role: &'static str,
    /// The grants.
    pub grants: &'static [&'static str],
}

/// Maximum length of a grant, in characters.
pub const MAX_GRANT_LENGTH: usize = 128;

/// Returns whether `grant` has the form of a feature, `prefix.*` or `*`.
#[must_use]
pub fn is_grant(grant: &str) -> bool {
    if grant == "*" {
        return true;
    }
    let stem = grant.strip_suffix(".*").unwrap_or(grant);
    grant.len() <= MAX_GRANT_LENGTH
        && stem.split('.').all(|part| {
            !part.is_empty()
                && part
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        })
}

/// Returns whether `grant` matches the exact feature `feature`.
#[must_use]
pub fn matches(grant: &str, feature: &str) -> bool {
    match grant.strip_suffix('*') {
        None => grant == feature,
        Some("") => true,
        // "p." against "p" itself or anything that starts with "p."
        Some(prefix) => feature.starts_with(prefix) || prefix.strip_suffix('.') == Some(feature),
    }
}

/// Returns whether `held` covers `requested`, which may itself be a wildcard. `*` is covered by `*` only.
#[must_use]
pub fn covers(held: &str, requested: &str) -> bool {
    if held == requested || held == "*" {
        return true;
    }
    match (requested.strip_suffix(".*"), held.strip_suffix(".*")) {
        (None, _) => requested != "*" && matches(held, requested),
        (Some(requested), Some(held)) => {
            requested == held || requested.strip_prefix(held).is_some_and(|rest| rest.starts_with('.'))
        }
        (Some(_), None) => false,
    }
}

/// The features of the enabled modules, sorted.
#[derive(Debug, Clone, Default)]
pub struct Catalogue {
    ids: BTreeSet<&'static str>,
}

impl Catalogue {
    /// Creates the catalogue of these features.
    pub fn new(features: impl IntoIterator<Item = Feature>) -> Self {
        Self {
            ids: features.into_iter().map(|feature| feature.id).collect(),
        }
    }

    /// Returns whether a module declares exactly this feature.
    #[must_use]
    pub fn contains(&self, feature: &str) -> bool {
        self.ids.contains(feature)
    }

    /// Returns whether the grant matches at least one feature.
    #[must_use]
    pub fn knows(&self, grant: &str) -> bool {
        self.contains(grant) || self.ids.iter().any(|id| matches(grant, id))
    }

    /// Returns the ids of all features, sorted.
    pub fn ids(&self) -> impl Iterator<Item = &'static str> {
        self.ids.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_match_at_any_depth_but_not_a_longer_word() {
        for (grant, feature, expected) in [
            ("*", "auth.users.list", true),
            ("auth.users.*", "auth.users.list", true),
            ("auth.users.*", "auth.users", true),
            ("auth.users.*", "auth.usersx", false),
            ("auth.*", "auth.users.list", true),
            ("auth.users", "auth.users.list", false),
        ] {
            assert_eq!(matches(grant, feature), expected, "{grant} {feature}");
        }
    }

    #[test]
    fn a_wildcard_is_covered_only_by_an_equal_or_wider_one() {
        for (held, requested, expected) in [
            ("a.b.*", "a.b.c.*", true),
            ("a.b.*", "a.*", false),
            ("a.b.*", "a.bc.*", false),
            ("*", "*", true),
            ("a.*", "*", false),
            ("a.*", "a", true),
            ("a", "a.*", false),
        ] {
            assert_eq!(covers(held, requested), expected, "{held} {requested}");
        }
    }

    #[test]
    fn the_form_of_a_grant_is_checked() {
        for (grant, expected) in [
            ("*", true),
            ("a.b", true),
            ("a.b.*", true),
            ("A.b", false),
            ("a..b", false),
            ("", false),
            (".*", false),
            ("a*", false),
        ] {
            assert_eq!(is_grant(grant), expected, "{grant}");
        }
    }
}
