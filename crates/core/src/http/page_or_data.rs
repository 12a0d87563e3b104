//! Endpoints that respond to browsers with a page, and to programs with data.

use actix_web::HttpRequest;
use actix_web::http::header::{ACCEPT, CONTENT_SECURITY_POLICY, HeaderName, HeaderValue, REFERRER_POLICY};

use super::accept::accepted_ranges;
use super::response::Raw;
use crate::context::Call;
use crate::error::Rejection;

/// Pages at addresses of the API: no script, and a form of this site at most.
const POLICY: HeaderValue =
    HeaderValue::from_static("default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'");

/// Returns whether the client prefers HTML to JSON. If its `Accept` names neither, it gets a page `by_default`.
#[must_use]
pub fn wants_page(request: &HttpRequest, by_default: bool) -> bool {
    let ranges = accepted_ranges(request.headers(), ACCEPT);
    let named = ranges.into_iter().find_map(|range| {
        if range.eq_ignore_ascii_case("application/json") {
            Some(false)
        } else if range.eq_ignore_ascii_case("text/html") || range.eq_ignore_ascii_case("application/xhtml+xml") {
            Some(true)
        } else {
            None
        }
    });
    named.unwrap_or(by_default)
}

/// Adds the headers of a page at an address of the API. A form sends its origin only if the page sends a referrer.
#[must_use]
pub fn protected(mut page: Raw, referrer: &'static str) -> Raw {
    let headers: [(HeaderName, HeaderValue); 2] = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, HeaderValue::from_static(referrer)),
    ];
    page.headers.extend(headers);
    page
}

/// The contents of a page with a text.
#[derive(Debug, Clone)]
pub struct PageNotice {
    /// The title.
    pub title: &'static str,
    /// The text. In a rejection, `{wait}` stands for the time after which the client may try again.
    pub text: &'static str,
    /// Labels and addresses of links.
    pub links: Vec<(&'static str, String)>,
}

/// Writes a rejection as a page, with its status; the last argument returns the contents in a language, given by its code.
pub type WriteRejection = fn(&Call, &HttpRequest, &Rejection, &dyn Fn(&str) -> PageNotice) -> Option<Raw>;

/// The frame of the pages of the site. The module with the pages registers it with `registry.extend`, so that modules that do not depend on that one can
/// respond with pages.
#[derive(Debug, Clone, Copy)]
pub struct SiteFrame {
    /// Writes the page of a rejection.
    pub rejection: WriteRejection,
}

/// Writes a rejection as a page; `None` for a client that does not ask for HTML, and without a module with pages. For
/// [`Declaration::or_page`](super::Declaration::or_page) and [`Declaration::rejects_as_page`](super::Declaration::rejects_as_page).
pub fn rejection_page(
    call: &Call,
    request: &HttpRequest,
    rejection: &Rejection,
    notice: &dyn Fn(&str) -> PageNotice,
) -> Option<Raw> {
    if !wants_page(request, false) {
        return None;
    }
    let frame: &SiteFrame = call.platform().extensions().next()?;
    let page = (frame.rejection)(call, request, rejection, notice)?;
    Some(protected(page, "no-referrer"))
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    #[test]
    fn browsers_get_pages_and_programs_get_data() {
        for (accept, expected) in [
            (
                "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
                Some(true),
            ),
            ("application/json, text/html;q=0.9", Some(false)),
            ("application/json;q=0.5, text/html", Some(true)),
            ("application/xhtml+xml", Some(true)),
            ("image/avif,image/webp,*/*;q=0.8", None),
            ("*/*", None),
            ("", None),
        ] {
            let request = TestRequest::default().insert_header((ACCEPT, accept)).to_http_request();
            for by_default in [false, true] {
                let wants = wants_page(&request, by_default);
                assert_eq!(wants, expected.unwrap_or(by_default), "{accept}");
            }
        }
    }
}
