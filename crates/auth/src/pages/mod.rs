//! The human-readable pages: the targets of redirects to the sign-in and of links in mails.

mod assets;
mod home;
mod locale;
mod login;
mod other;
mod rejection;
mod reset;
mod texts;

use std::sync::Arc;

use actix_web::http::header::{CACHE_CONTROL, CONTENT_LANGUAGE, VARY};
use actix_web::{HttpRequest, HttpResponse, web};
use askama::Template;
use backoffice_core::http::Pages;
use backoffice_core::{Call, Platform, Runtime};

use crate::accounts::Accounts;
use crate::login_address::login_address;
use crate::sessions::http::visitor;
use assets::Assets;
use locale::Locales;
use texts::Texts;

pub use assets::{PageFile, PageFiles};
pub use other::PageContent;
pub(crate) use rejection::FRAME;
pub use rejection::notice_html;

/// Path of links for setting a password.
const RESET_PATH: &str = "/reset";
/// Longest query that a page passes on.
const LONGEST_QUERY: usize = 1500;

pub(crate) fn pages(pages: &mut Pages<'_>) {
    let platform = pages.platform();
    let Some(site) = Site::of(platform).map(Arc::new) else {
        return;
    };
    assets::FILES.declare(pages);
    // With a sign-in elsewhere there is no page to declare.
    if let Some(path) = own_path(&site.login_path) {
        let site = Arc::clone(&site);
        pages.get(path, move |request: HttpRequest, runtime: web::Data<Runtime>| {
            let site = Arc::clone(&site);
            async move { login::page(&site.visit(&Call::internal(&runtime), &request).await) }
        });
    }
    if own_path(&site.login_path) != Some(home::PATH) {
        let site = Arc::clone(&site);
        pages.get(home::PATH, move |request: HttpRequest, runtime: web::Data<Runtime>| {
            let site = Arc::clone(&site);
            async move { home::page(&site, &runtime, &request).await }
        });
    }
    pages.get(RESET_PATH, move |request: HttpRequest, runtime: web::Data<Runtime>| {
        let site = Arc::clone(&site);
        async move { reset::page(&site.visit(&Call::internal(&runtime), &request).await) }
    });
}

/// The frame of all pages: their languages, style and links.
pub struct Site {
    login_path: String,
    locales: Locales,
    assets: Assets,
    documentation: Option<&'static str>,
    password_length: (usize, usize),
}

/// The pages for one visitor: in their language, and with the languages that they may choose.
pub struct Visit<'a> {
    site: &'a Site,
    request: &'a HttpRequest,
    locales: Locales,
    /// The language that the visitor has just chosen.
    chosen: Option<&'static Texts>,
}

/// The common parts of a page.
struct Frame<'a> {
    texts: &'static Texts,
    /// The languages to choose from, with the addresses that choose them.
    languages: Vec<Language>,
    /// The id of the form that is sent with a chosen language, so that its fields are kept. Without one, the languages are links.
    form: Option<&'static str>,
    assets: &'a Assets,
    /// Path of the sign-in, with the query of the request.
    login: String,
    /// Path and query of the page for a new password.
    reset: String,
    rules: String,
    too_short: String,
    too_long: String,
}

struct Language {
    texts: &'static Texts,
    is_current: bool,
    href: String,
}

impl std::fmt::Debug for Site {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Site").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Visit<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Visit").finish_non_exhaustive()
    }
}

impl Site {
    /// Reads the frame from the configuration; `None` before the module has started.
    #[must_use]
    pub fn of(platform: &Platform) -> Option<Self> {
        let accounts = platform.provided().get::<Accounts>()?;
        Some(Self {
            login_path: platform.app().login_path.clone(),
            locales: Locales::read(platform.config()),
            assets: Assets::new(),
            documentation: platform
                .modules()
                .iter()
                .any(|module| module.name == "api-docs")
                .then_some("/api/docs"),
            password_length: (accounts.config.password.min_length, accounts.config.password.max_length),
        })
    }

    /// Returns the pages for the sender of a request. The tenant of a signed-in user may offer fewer languages than the platform.
    pub async fn visit<'a>(&'a self, call: &Call, request: &'a HttpRequest) -> Visit<'a> {
        let locales = visitor::locales(call, request).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "languages of a tenant not read");
            None
        });
        self.visit_of(request, locales.as_deref())
    }

    /// Returns the pages for the sender of a request whose tenant offers these locales, if it has chosen any.
    fn visit_of<'a>(&'a self, request: &'a HttpRequest, locales: Option<&[String]>) -> Visit<'a> {
        Visit {
            site: self,
            request,
            locales: self.locales.of_tenant(locales),
            chosen: None,
        }
    }
}

impl<'a> Visit<'a> {
    fn texts(&self) -> &'static Texts {
        self.chosen.unwrap_or_else(|| self.locales.of(self.request))
    }

    fn frame(&self) -> Frame<'a> {
        let (site, request, texts) = (self.site, self.request, self.texts());
        let query = request.query_string();
        let query = if query.len() > LONGEST_QUERY { "" } else { query };
        let with_query = |path: &str| match query {
            "" => path.to_owned(),
            query => format!("{path}?{query}"),
        };
        let here = with_query(request.path());
        let language = |offered: &'static Texts| Language {
            texts: offered,
            is_current: offered.code == texts.code,
            href: format!("/api/auth/locale?locale={}&redirect={}", offered.code, encoded(&here)),
        };
        let (shortest, longest) = site.password_length;
        let with_length = |text: &str| {
            text.replace("{min}", &shortest.to_string())
                .replace("{max}", &longest.to_string())
        };
        Frame {
            texts,
            languages: self.locales.offered().map(language).collect(),
            form: None,
            assets: &site.assets,
            login: login_address(&site.login_path, query),
            reset: with_query(RESET_PATH),
            rules: with_length(texts.rules),
            too_short: with_length(texts.too_short),
            too_long: with_length(texts.too_long),
        }
    }
}

/// Returns the path of the sign-in if it is a plain path of this site: `None` for `https://id.example/` and for values that only look like one.
fn own_path(login_path: &str) -> Option<&str> {
    let path = login_path.split(['?', '#']).next().unwrap_or_default();
    let is_plain = path.bytes().all(|b| b.is_ascii_alphanumeric() || b"/-_.~".contains(&b));
    (path.starts_with('/') && !path.starts_with("//") && is_plain).then_some(path)
}

/// Encodes a value of a query.
fn encoded(value: &str) -> String {
    askama::filters::urlencode_strict(value).map_or_else(|_| String::new(), |text| text.to_string())
}

fn response<T: Template>(page: &T, texts: &Texts) -> HttpResponse {
    match page.render() {
        Ok(html) => HttpResponse::Ok()
            .content_type("text/html; charset=utf-8")
            .insert_header((CACHE_CONTROL, "no-store"))
            .insert_header((CONTENT_LANGUAGE, texts.code))
            .insert_header((VARY, "Cookie, Accept-Language"))
            .body(html),
        Err(error) => {
            tracing::error!(%error, "page rendering failed");
            HttpResponse::InternalServerError().finish()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::own_path;

    #[test]
    fn only_a_path_of_this_site_has_a_page() {
        assert_eq!(own_path("/login"), Some("/login"));
        assert_eq!(own_path("/office/sign-in?from=api"), Some("/office/sign-in"));
        for elsewhere in [
            "https://id.example/login",
            "//id.example",
            "login",
            "/{tenant}/login",
            "",
        ] {
            assert_eq!(own_path(elsewhere), None, "{elsewhere}");
        }
    }
}
