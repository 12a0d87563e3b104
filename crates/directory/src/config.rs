//! Section `directory`, and the locales of section `i18n` that a tenant may choose from.

use backoffice_core::config::{Config, ConfigError};
use serde::Deserialize;

use crate::values::MOST_LOCALES;

/// Section `directory`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DirectoryConfig {
    /// Most live organizations of one tenant. Default 5000.
    pub max_organizations: u32,
    /// Largest depth of an organization; roots have depth 0. Default 20.
    pub max_depth: u32,
}

impl Default for DirectoryConfig {
    fn default() -> Self {
        Self {
            max_organizations: 5000,
            max_depth: 20,
        }
    }
}

/// Section `i18n`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct I18nConfig {
    /// Base codes of the served locales. Default en, pl, es, de.
    pub locales: Vec<String>,
    /// The locale if nothing else determines one. Default en.
    pub default: String,
}

impl Default for I18nConfig {
    fn default() -> Self {
        Self {
            locales: ["en", "pl", "es", "de"].map(str::to_owned).to_vec(),
            default: "en".to_owned(),
        }
    }
}

impl I18nConfig {
    /// Returns the `locales` of a tenant that gets its mails in this locale and offers the other served ones too; `None`, which means all of them, if
    /// this is the default, or if it is not served.
    #[must_use]
    pub fn locales_that_begin_with(&self, first: &str) -> Option<Vec<String>> {
        let is_choice = first != self.default && self.locales.iter().any(|locale| locale == first);
        let others = self.locales.iter().filter(|locale| *locale != first);
        let locales = std::iter::once(first).chain(others.map(String::as_str));
        is_choice.then(|| locales.take(MOST_LOCALES).map(str::to_owned).collect())
    }
}

fn is_base_code(locale: &str) -> bool {
    matches!(locale.len(), 2..=3) && locale.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// Settings of the module, provided to handlers and to the modules that require this one.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Section `directory`.
    pub directory: DirectoryConfig,
    /// Section `i18n`.
    pub i18n: I18nConfig,
}

impl Settings {
    pub(crate) fn read(config: &Config) -> Result<Self, ConfigError> {
        let settings = Self {
            directory: config.section("directory")?,
            i18n: config.section("i18n")?,
        };
        if settings.directory.max_organizations == 0 {
            return Err(ConfigError::new("directory.max_organizations", "must be at least 1"));
        }
        if settings.directory.max_depth > 100 {
            return Err(ConfigError::new("directory.max_depth", "must be at most 100"));
        }
        if let Some(locale) = settings.i18n.locales.iter().find(|locale| !is_base_code(locale)) {
            let reason = format!("each must have two or three lower-case letters, but {locale:?} does not");
            return Err(ConfigError::new("i18n.locales", reason));
        }
        if !settings.i18n.locales.contains(&settings.i18n.default) {
            return Err(ConfigError::new("i18n.default", "must be one of i18n.locales"));
        }
        Ok(settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_codes_have_two_or_three_lower_case_letters() {
        for (locale, expected) in [
            ("en", true),
            ("fil", true),
            ("en-GB", false),
            ("EN", false),
            ("e", false),
            ("xx!", false),
            ("", false),
        ] {
            assert_eq!(is_base_code(locale), expected, "{locale}");
        }
    }

    #[test]
    fn the_locales_of_a_tenant_begin_with_the_chosen_one() {
        let chosen = |served: &[&str], first: &str| {
            let i18n = I18nConfig {
                locales: served.iter().map(|&locale| locale.to_owned()).collect(),
                default: "en".to_owned(),
            };
            i18n.locales_that_begin_with(first).map(|locales| locales.join(" "))
        };
        let all = ["en", "pl", "es", "de"];
        assert_eq!(chosen(&all, "es").as_deref(), Some("es en pl de"));
        assert_eq!(chosen(&["pl", "en"], "pl").as_deref(), Some("pl en"), "not the default");
        assert_eq!(chosen(&all, "en"), None, "the default");
        assert_eq!(chosen(&all, "fr"), None, "not served");
    }

    #[test]
    fn without_configuration_the_limits_of_the_specification_hold() {
        let settings = Settings::read(&Config::default()).expect("defaults");

        assert_eq!(
            (settings.directory.max_organizations, settings.directory.max_depth),
            (5000, 20)
        );
    }

    #[test]
    fn a_default_locale_that_is_not_served_is_rejected() {
        let config = Config::from_toml("[i18n]\nlocales = ['pl']").expect("toml");

        let error = Settings::read(&config).expect_err("en is not served");

        assert_eq!(error.key, "i18n.default");
    }
}
