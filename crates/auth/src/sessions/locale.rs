//! The locale of a request.

use actix_web::HttpRequest;
use actix_web::http::header::ACCEPT_LANGUAGE;
use backoffice_core::http::accepted_ranges;
use backoffice_core::{RequestContext, Result, Scope};
use backoffice_directory::config::{I18nConfig, Settings};

use crate::foreign;

/// Name of the cookie that stores the chosen locale.
pub(crate) const LOCALE_COOKIE: &str = "locale";

/// Longest accepted tag, in bytes.
const LONGEST: usize = 35;

/// Returns the base code of a language tag (`en_GB` -> `en`); `None` if the input does not have the form of a tag.
pub(crate) fn base_code(input: &str) -> Option<String> {
    let tag = input.trim();
    base_of_subtags(tag, 2).filter(|_| tag.len() <= LONGEST)
}

/// Returns the base code of an accepted language; `None` for `*`, which names none. As in the lookup of RFC 4647, extensions and private subtags
/// are ignored (`de-DE-u-co-phonebk` -> `de`), though no locale may have them.
fn base_of_range(range: &str) -> Option<String> {
    base_of_subtags(range, 1)
}

/// Returns the base code of a tag whose other subtags have at least this length.
fn base_of_subtags(tag: &str, shortest: usize) -> Option<String> {
    let mut parts = tag.split(['-', '_']);
    let base = parts.next().unwrap_or_default();
    let is_base = (2..=3).contains(&base.len()) && base.bytes().all(|b| b.is_ascii_alphabetic());
    let is_subtag =
        |part: &str| (shortest..=8).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_alphanumeric());
    (is_base && parts.all(is_subtag)).then(|| base.to_ascii_lowercase())
}

/// Returns the base code of the first language that is offered: that of the cookie, else the most preferred of the accepted ones.
pub(crate) fn preferred(cookie: Option<&str>, accepted: &[&str], is_offered: impl Fn(&str) -> bool) -> Option<String> {
    let cookie = cookie.and_then(base_code).into_iter();
    let mut codes = cookie.chain(accepted.iter().filter_map(|range| base_of_range(range)));
    codes.find(|code| is_offered(code))
}

/// The preferences of a request, and the locales of its tenant.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wishes<'a> {
    /// The cookie.
    pub(crate) cookie: Option<&'a str>,
    /// The accepted languages, the most preferred first.
    pub(crate) accepted: &'a [&'a str],
    /// The locales chosen for the tenant, if any.
    pub(crate) tenant: Option<&'a [String]>,
}

impl Wishes<'_> {
    /// Returns the first of these that can be served: the cookie, the accepted languages, the tenant's locales, the default.
    pub(crate) fn choose(&self, i18n: &I18nConfig) -> String {
        let servable = |code: &str| is_servable(code, i18n, self.tenant);
        preferred(self.cookie, self.accepted, servable)
            .or_else(|| {
                self.tenant
                    .and_then(|locales| locales.iter().find(|code| servable(code)).cloned())
            })
            .unwrap_or_else(|| i18n.default.clone())
    }
}

/// Returns whether the platform and the tenant have the locale.
pub(crate) fn is_servable(code: &str, i18n: &I18nConfig, tenant: Option<&[String]>) -> bool {
    let has = |locales: &[String]| locales.iter().any(|locale| locale == code);
    has(&i18n.locales) && tenant.is_none_or(has)
}

/// Returns the locale of a signed-in request: that of the cookie, else the first accepted language that is served, else the first one of the caller's
/// tenant. One statement.
///
/// # Errors
/// If the database can't be reached.
pub async fn of(ctx: &RequestContext, request: &HttpRequest) -> Result<String> {
    let settings = ctx.call().provided::<Settings>()?;
    let tenant = ctx.identity().tenant;
    let connection = ctx.database().read_briefly(&Scope::tenant(tenant)).await?;
    let locales = foreign::locales_of_tenant(&connection, tenant).await?;
    let cookie = request.cookie(LOCALE_COOKIE);
    let wishes = Wishes {
        cookie: cookie.as_ref().map(actix_web::cookie::Cookie::value),
        accepted: &accepted_ranges(request.headers(), ACCEPT_LANGUAGE),
        tenant: locales.as_deref(),
    };
    Ok(wishes.choose(&settings.i18n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_cut_to_its_base_code() {
        for (input, expected) in [
            ("en", Some("en")),
            (" en_GB ", Some("en")),
            ("EN_us", Some("en")),
            ("zh-Hant-TW", Some("zh")),
            ("e", None),
            ("engl", None),
            ("en-", None),
            ("en-x", None),
            ("en-123456789", None),
            ("", None),
            ("e1", None),
            ("en-abcdefgh-abcdefgh-abcdefgh-abcdefgh", None),
        ] {
            assert_eq!(base_code(input).as_deref(), expected, "{input}");
        }
    }

    #[test]
    fn the_first_wish_that_can_be_served_wins() {
        let i18n = I18nConfig::default();
        let polish = [String::from("pl"), String::from("de")];
        for (cookie, accepted, tenant, expected) in [
            (Some("de"), &["es"][..], None, "de"),
            (Some("xx"), &["fr", "pl-PL", "es"], None, "pl"),
            (None, &["*"], None, "en"),
            (None, &["*", "pl"], None, "pl"),
            (None, &["de-DE-u-co-phonebk", "pl"], None, "de"),
            (None, &["pl-x-private"], None, "pl"),
            (None, &["de-DE-u-co-phonebk-ca-gregory-nu-latn"], None, "de"),
            (None, &["de-", "pl-ü", "es_MX"], None, "es"),
            (Some("de-x-private"), &["pl"], None, "pl"),
            (Some("es"), &["es"], Some(&polish[..]), "pl"),
            (None, &["es", "de"], Some(&polish[..]), "de"),
            (None, &[], None, "en"),
        ] {
            let wishes = Wishes {
                cookie,
                accepted,
                tenant,
            };
            assert_eq!(wishes.choose(&i18n), expected, "{wishes:?}");
        }
    }
}
