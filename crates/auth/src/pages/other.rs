//! Pages of other modules in the frame of this module's pages. They work without a script.

use actix_web::HttpRequest;
use actix_web::cookie::Cookie;
use actix_web::http::StatusCode;
use actix_web::http::header::{CACHE_CONTROL, CONTENT_LANGUAGE, HeaderValue, VARY};
use askama::Template;
use backoffice_core::http::Raw;
use backoffice_core::{API_PREFIX, Call, Error, Result};

use super::{Frame, Site, Visit, encoded};
use crate::sessions::http::locale_cookie;

/// The contents of a page.
#[derive(Debug, Clone, Default)]
pub struct PageContent {
    /// The title.
    pub title: &'static str,
    /// The contents as HTML, with all values escaped.
    pub html: String,
    /// The address that the browser opens after so many seconds; with a `script`, only a browser that does not execute it.
    pub refresh: Option<(u32, String)>,
    /// The address of a script. Pages at addresses of the API can't have one.
    pub script: Option<String>,
    /// The id of a form of the page. The browser sends it with the field `language` when the visitor chooses another language, without validating it, and
    /// the response must show the page in that language with the given values. Without a form, the choice of a language opens `here`.
    pub form: Option<&'static str>,
    /// The path and query that show this page in another language, if they are not those of the request.
    pub here: Option<String>,
}

#[derive(Template)]
#[template(path = "other.html")]
struct OtherPage<'a> {
    frame: Frame<'a>,
    content: &'a PageContent,
    has_icon: bool,
}

impl Site {
    /// Returns the pages for the sender of a rejected request. They offer no other language, because nothing is read about the sender.
    #[must_use]
    pub fn visit_of_rejected<'a>(&'a self, request: &'a HttpRequest) -> Visit<'a> {
        Visit {
            site: self,
            request,
            locales: self.locales.fixed(request),
            chosen: None,
        }
    }
}

impl Visit<'_> {
    /// Shows the pages in a language that the visitor has just chosen, if it is offered.
    #[must_use]
    pub fn in_language(mut self, code: &str) -> Self {
        self.chosen = self.locales.find(code);
        self
    }

    /// Returns the cookie that keeps the language that the visitor has just chosen; `None` if it is not offered.
    #[must_use]
    pub fn cookie_of_language(&self, call: &Call) -> Option<Cookie<'static>> {
        self.chosen.map(|texts| locale_cookie(call, texts.code.to_owned()))
    }

    /// Returns the code of the language in which the pages are shown: that of the cookie, else the one that the browser prefers, else the first one of
    /// the tenant, else the default.
    #[must_use]
    pub fn language_code(&self) -> &'static str {
        self.texts().code
    }

    /// Writes a page, which no cache keeps.
    ///
    /// # Errors
    /// If the template can't be rendered.
    pub fn page(&self, status: StatusCode, content: &PageContent) -> Result<Raw> {
        let mut frame = self.frame();
        frame.form = content.form;
        if let Some(here) = &content.here {
            for language in &mut frame.languages {
                let code = language.texts.code;
                language.href = format!("/api/auth/locale?locale={code}&redirect={}", encoded(here));
            }
        }
        // The policy of pages that endpoints respond with permits no image.
        let has_icon = !self.request.path().starts_with(API_PREFIX);
        let language = HeaderValue::from_static(frame.texts.code);
        let html = OtherPage {
            frame,
            content,
            has_icon,
        }
        .render()
        .map_err(|error| Error::internal(format!("could not render a page: {error}")))?;
        Ok(Raw {
            status,
            content_type: "text/html; charset=utf-8",
            bytes: html.into(),
            headers: vec![
                (CACHE_CONTROL, HeaderValue::from_static("no-store")),
                (CONTENT_LANGUAGE, language),
                (VARY, HeaderValue::from_static("Cookie, Accept, Accept-Language")),
            ],
        })
    }
}
