//! Whether a client gets a page or data.

use actix_web::HttpRequest;
use actix_web::http::header::{ACCEPT, CONTENT_SECURITY_POLICY, HeaderName, HeaderValue, REFERRER_POLICY};
use backoffice_core::http::{Raw, accepted_ranges};
use backoffice_core::{Call, Rejection};

use crate::pages;
use crate::sign_up::SignUp;

/// Pages at addresses of the API: no script, and a form of this site at most.
const POLICY: HeaderValue =
    HeaderValue::from_static("default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'");

/// Returns whether the client prefers HTML to JSON. If its `Accept` names neither, it gets a page `by_default`.
pub(super) fn wants_page(request: &HttpRequest, by_default: bool) -> bool {
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
pub(super) fn protected(mut page: Raw, referrer: &'static str) -> Raw {
    let headers: [(HeaderName, HeaderValue); 2] = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, HeaderValue::from_static(referrer)),
    ];
    page.headers.extend(headers);
    page
}

/// Writes a rejection as a page; `None` for a client that does not ask for HTML.
pub(super) fn rejection(call: &Call, request: &HttpRequest, rejection: &Rejection) -> Option<Raw> {
    if !wants_page(request, false) {
        return None;
    }
    let sign_up = call.provided::<SignUp>().ok()?;
    let page = pages::rejection(&sign_up, call, request, rejection).ok()?;
    Some(protected(page, "no-referrer"))
}
