//! Finds the credential of a request and asks the module that knows it.

use std::sync::Arc;

use actix_web::http::Method;
use actix_web::http::header::AUTHORIZATION;

use super::cookies::{self, AUTH_COOKIE};
use super::head::Head;
use super::origin::RequestOrigin;
use crate::context::Call;
use crate::error::{Refusal, Result};
use crate::identity::{Credential, Identity};

/// The principal that calls: the first credential that is presented decides. A bearer token comes before the cookie, the cookie before an
/// API key; other schemes of `Authorization` are for somebody else.
pub(super) async fn authenticate(call: &Call, request: &impl Head) -> Result<Arc<Identity>> {
    let cookie = cookies::of_parts(call, request, AUTH_COOKIE);
    let credential = authorization(request, "bearer")
        .map(Credential::Bearer)
        .or_else(|| cookie.as_deref().map(Credential::Cookie))
        .or_else(|| api_key(request).map(Credential::ApiKey))
        .ok_or_else(Refusal::unauthorized)?;
    let authenticators = &call.platform().provided().authenticators;
    let Some(authenticator) = authenticators.iter().find(|one| one.accepts(credential)) else {
        return Err(invalid());
    };
    let Some(identity) = authenticator.authenticate(&call.runtime, credential, call.now).await? else {
        return Err(invalid());
    };
    call.sender.is(&identity);
    let by_cookie = matches!(credential, Credential::Cookie(_));
    let is_safe = matches!(*request.method(), Method::GET | Method::HEAD);
    // A browser always says where such a request comes from; one that does not say it proves nothing.
    if by_cookie && !is_safe && call.origin != RequestOrigin::Same {
        return Err(Refusal::forbidden("Cross-origin request refused").into());
    }
    Ok(identity)
}

fn api_key(request: &impl Head) -> Option<&str> {
    match request.headers().get("x-api-key") {
        Some(key) => Some(key.to_str().unwrap_or_default()),
        None => authorization(request, "apikey"),
    }
}

/// What `Authorization` presents under this scheme; nothing readable is presented too, and is no valid credential.
fn authorization<'a>(request: &'a impl Head, wanted: &str) -> Option<&'a str> {
    request.headers().get_all(AUTHORIZATION).find_map(|header| {
        let header = header.as_bytes().trim_ascii();
        let (scheme, value) = header.split_at(header.iter().position(u8::is_ascii_whitespace).unwrap_or(header.len()));
        scheme
            .eq_ignore_ascii_case(wanted.as_bytes())
            .then(|| str::from_utf8(value.trim_ascii()).unwrap_or_default())
    })
}

fn invalid() -> crate::error::Error {
    Refusal {
        clears_cookies: true,
        ..Refusal::unauthorized()
    }
    .into()
}
