//! The cookies that carry credentials.
//!
//! With `Secure`, each of them has two names: the contract's, and the same with the prefix `__Host-`, which a browser accepts only from this
//! exact host. Another host of the same domain can set a cookie with the contract's name, but none with the prefix.

use actix_web::HttpRequest;
use actix_web::cookie::{Cookie, SameSite, time::Duration};

use super::request_parts::RequestParts;
use crate::context::Call;

/// Cookie with the access token.
pub const AUTH_COOKIE: &str = "auth_token";
/// Cookie with the session token.
pub const SESSION_COOKIE: &str = "session_token";

const HOST_AUTH_COOKIE: &str = "__Host-auth_token";
const HOST_SESSION_COOKIE: &str = "__Host-session_token";
const SELECTION: [&str; 2] = ["selected_tenant", "selected_org"];

/// Returns the names under which a credential cookie is set and read, in the order of reading.
fn names(name: &str, insecure: bool) -> impl Iterator<Item = &str> {
    let prefixed = match name {
        AUTH_COOKIE => Some(HOST_AUTH_COOKIE),
        SESSION_COOKIE => Some(HOST_SESSION_COOKIE),
        _ => None,
    };
    prefixed.filter(|_| !insecure).into_iter().chain([name])
}

/// Creates the cookies that carry a credential under [`AUTH_COOKIE`] or [`SESSION_COOKIE`] for `seconds`. `insecure` is
/// [`Platform::insecure_cookies`](crate::Platform::insecure_cookies).
#[must_use]
pub fn credential_cookies(insecure: bool, name: &'static str, value: &str, seconds: u64) -> Vec<Cookie<'static>> {
    let life = Duration::seconds(i64::try_from(seconds).unwrap_or(i64::MAX));
    let cookie = |name: &str| {
        Cookie::build(name.to_owned(), value.to_owned())
            .path("/")
            .http_only(true)
            .same_site(SameSite::Lax)
            .secure(!insecure)
            .max_age(life)
            .finish()
    };
    names(name, insecure).map(cookie).collect()
}

/// Creates cookies that remove the credentials, under all their names.
fn cleared_credentials(insecure: bool) -> impl Iterator<Item = Cookie<'static>> {
    [AUTH_COOKIE, SESSION_COOKIE]
        .into_iter()
        .flat_map(move |name| credential_cookies(insecure, name, "", 0))
}

/// Creates cookies that remove the selection of tenant and organization.
#[must_use]
pub fn clear_selection(insecure: bool) -> Vec<Cookie<'static>> {
    let cleared = SELECTION.map(|name| {
        Cookie::build(name, "")
            .path("/")
            .same_site(SameSite::Lax)
            .secure(!insecure)
            .max_age(Duration::ZERO)
            .finish()
    });
    cleared.into()
}

/// Creates cookies that remove the credentials and the selection of tenant and organization.
#[must_use]
pub fn clear_cookies(insecure: bool) -> Vec<Cookie<'static>> {
    cleared_credentials(insecure).chain(clear_selection(insecure)).collect()
}

/// Returns the value of a cookie that a request presents. [`AUTH_COOKIE`] and [`SESSION_COOKIE`] are read under both of their names. Of several cookies with
/// one name and different values none counts.
#[must_use]
pub fn presented_cookie(call: &Call, request: &HttpRequest, name: &str) -> Option<String> {
    of_parts(call, request, name)
}

/// Returns the credential of a cookie. A browser that sends any credential under its `__Host-` name has signed in here; the contract's names
/// are then ignored, because another host of the domain may have set them. Of several cookies with one name and different values none counts,
/// because their order does not reveal who set them.
pub(super) fn of_parts(call: &Call, parts: &impl RequestParts, name: &str) -> Option<String> {
    let insecure = call.platform().insecure_cookies();
    let has_signed_in = !insecure
        && [HOST_AUTH_COOKIE, HOST_SESSION_COOKIE]
            .iter()
            .any(|name| parts.cookies(name).iter().any(|value| !value.is_empty()));
    let chosen = names(name, insecure).take(if has_signed_in { 1 } else { 2 }).last()?;
    let mut values = parts.cookies(chosen).into_iter().filter(|value| !value.is_empty());
    let first = values.next()?;
    values.all(|other| other == first).then_some(first)
}
