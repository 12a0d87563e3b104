//! The language of a page: that of the cookie, else the one that the browser prefers, else the default.

use actix_web::HttpRequest;
use actix_web::cookie::Cookie;
use actix_web::http::header::ACCEPT_LANGUAGE;
use backoffice_core::config::Config;
use backoffice_core::http::accepted_ranges;
use serde::Deserialize;

use super::texts::{ALL, Texts};
use crate::sessions::locale::{LOCALE_COOKIE, preferred};

/// Section `i18n`, which the directory owns and validates.
#[derive(Debug, Deserialize)]
#[serde(default)]
struct I18n {
    locales: Vec<String>,
    default: String,
}

impl Default for I18n {
    fn default() -> Self {
        Self {
            locales: ALL.iter().map(|texts| texts.code.to_owned()).collect(),
            default: "en".to_owned(),
        }
    }
}

/// The languages of the pages: those that are configured and have texts.
#[derive(Clone)]
pub(super) struct Locales {
    offered: Vec<&'static Texts>,
    default: &'static Texts,
}

impl Locales {
    pub(super) fn read(config: &Config) -> Self {
        let i18n: I18n = config.section("i18n").unwrap_or_default();
        let mut offered: Vec<&'static Texts> = i18n.locales.iter().filter_map(|code| with_code(code)).collect();
        if offered.is_empty() {
            offered.push(ALL[0]);
        }
        let default = offered.iter().find(|texts| texts.code == i18n.default);
        Self {
            default: default.copied().unwrap_or(offered[0]),
            offered,
        }
    }

    /// Returns those that a tenant offers, its first one by default; all without a choice of the tenant.
    pub(super) fn of_tenant(&self, codes: Option<&[String]>) -> Self {
        let Some(codes) = codes.filter(|codes| !codes.is_empty()) else {
            return self.clone();
        };
        let offers = |texts: &&'static Texts| codes.iter().any(|code| code == texts.code);
        Self {
            offered: self.offered().filter(offers).collect(),
            default: codes.iter().find_map(|code| self.find(code)).unwrap_or(self.default),
        }
    }

    /// Returns the language of a request as the only one.
    pub(super) fn fixed(&self, request: &HttpRequest) -> Self {
        let texts = self.of(request);
        Self {
            offered: vec![texts],
            default: texts,
        }
    }

    pub(super) fn offered(&self) -> impl Iterator<Item = &'static Texts> {
        self.offered.iter().copied()
    }

    pub(super) fn of(&self, request: &HttpRequest) -> &'static Texts {
        let cookie = request.cookie(LOCALE_COOKIE);
        let accepted = accepted_ranges(request.headers(), ACCEPT_LANGUAGE);
        let code = preferred(cookie.as_ref().map(Cookie::value), &accepted, |code| {
            self.find(code).is_some()
        });
        code.and_then(|code| self.find(&code)).unwrap_or(self.default)
    }

    pub(super) fn find(&self, code: &str) -> Option<&'static Texts> {
        self.offered().find(|texts| texts.code == code)
    }
}

fn with_code(code: &str) -> Option<&'static Texts> {
    ALL.iter().copied().find(|texts| texts.code == code)
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    fn shown(cookie: Option<&str>, accepted: &str) -> &'static str {
        let locales = Locales::read(&Config::default());
        let mut request = TestRequest::default().insert_header((ACCEPT_LANGUAGE, accepted));
        if let Some(value) = cookie {
            request = request.cookie(Cookie::new(LOCALE_COOKIE, value.to_owned()));
        }
        locales.of(&request.to_http_request()).code
    }

    #[test]
    fn the_cookie_comes_before_the_browser_and_the_browser_before_the_default() {
        assert_eq!(shown(Some("de"), "pl"), "de");
        assert_eq!(shown(Some("xx"), "pl-PL,pl;q=0.9,en;q=0.8"), "pl");
        assert_eq!(shown(None, "fr, es;q=0.5, de;q=0.7"), "de");
        assert_eq!(shown(None, "fr, pl;q=0"), "en");
        assert_eq!(shown(None, "*"), "en");
        assert_eq!(shown(None, "*, pl;q=0.5"), "pl");
        assert_eq!(shown(None, "de-DE-u-co-phonebk, pl"), "de");
        assert_eq!(shown(Some("de_AT"), "pl"), "de");
        assert_eq!(shown(Some("de-"), "pl"), "pl");
        assert_eq!(shown(None, "pl;q=nonsense, es_MX;q=0.1"), "es");
    }

    #[test]
    fn a_language_that_is_not_configured_is_not_offered() {
        let config = Config::from_toml("[i18n]\nlocales = ['pl', 'fr']\ndefault = 'pl'").expect("toml");
        let locales = Locales::read(&config);

        let request = TestRequest::default()
            .insert_header((ACCEPT_LANGUAGE, "en"))
            .to_http_request();

        assert_eq!(locales.of(&request).code, "pl");
        assert_eq!(locales.offered().count(), 1);
    }

    #[test]
    fn a_tenant_offers_its_own_languages() {
        let all = Locales::read(&Config::default());
        let request = TestRequest::default()
            .insert_header((ACCEPT_LANGUAGE, "en, es;q=0.5"))
            .to_http_request();
        for (codes, offered, shown) in [
            (&[][..], &["en", "pl", "es", "de"][..], "en"),
            (&["pl", "es"], &["pl", "es"], "es"),
            (&["pl", "de"], &["pl", "de"], "pl"),
            (&["de", "pl"], &["pl", "de"], "de"),
            (&["fr"], &[], "en"),
        ] {
            let codes: Vec<String> = codes.iter().map(|code| (*code).to_owned()).collect();

            let locales = all.of_tenant(Some(&codes));

            let codes: Vec<&str> = locales.offered().map(|texts| texts.code).collect();
            assert_eq!((&codes[..], locales.of(&request).code), (offered, shown));
        }
    }
}
