//! Pages of other modules in the frame of this module's pages. They need no script.

use actix_web::HttpRequest;
use actix_web::http::StatusCode;
use actix_web::http::header::{CACHE_CONTROL, CONTENT_LANGUAGE, HeaderValue, VARY};
use askama::Template;
use backoffice_core::http::Raw;
use backoffice_core::{API_PREFIX, Error, Result};

use super::{Frame, Site, Visit, encoded};

/// The contents of a page.
#[derive(Debug, Clone, Default)]
pub struct PageContent {
    /// The title.
    pub title: &'static str,
    /// The contents as HTML, with all values escaped.
    pub html: String,
    /// The address that the browser opens after so many seconds.
    pub refresh: Option<(u32, String)>,
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
        }
    }
}

impl Visit<'_> {
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
