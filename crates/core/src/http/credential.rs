//! Authentication: finds the credential of a request and passes it to the module that knows its kind.

use actix_web::http::Method;
use actix_web::http::header::AUTHORIZATION;
use tokio::sync::watch;

use super::cookies::{self, AUTH_COOKIE};
use super::request_parts::RequestParts;
use crate::context::{Call, RequestOrigin};
use crate::error::{Error, Rejection, Result};
use crate::identity::{ActorKind, Authenticated, Authenticator, Credential};

/// Returns the calling principal and the end of the credential. The first credential decides: a bearer token comes before the cookie, the
/// cookie before an API key; other schemes of `Authorization` are ignored.
pub(super) async fn authenticate(call: &Call, request: &impl RequestParts) -> Result<Authenticated> {
    let cookie = cookies::of_parts(call, request, AUTH_COOKIE);
    let credential = presented(request, cookie.as_deref()).ok_or_else(Rejection::unauthorized)?;
    let Some(authenticator) = authenticator(call, credential) else {
        return Err(invalid());
    };
    let Some(authenticated) = authenticator.authenticate(&call.runtime, credential, call.now).await? else {
        return Err(invalid());
    };
    let identity = &authenticated.identity;
    if identity.kind != ActorKind::System && identity.id.is_none() {
        // Its stored requests and jobs would be mixed with those of other principals.
        return Err(Error::internal(
            "an authenticator has returned a user or API key without an id",
        ));
    }
    call.sender.is(identity);
    let by_cookie = matches!(credential, Credential::Cookie(_));
    let is_safe = matches!(*request.method(), Method::GET | Method::HEAD);
    // A browser always reports the origin of such a request; a request without it proves nothing.
    if by_cookie && !is_safe && call.origin != RequestOrigin::Same {
        return Err(Rejection::forbidden("Cross-origin request rejected").into());
    }
    Ok(authenticated)
}

/// Returns a receiver that changes when the principal behind the credential of a request may have changed.
pub(super) fn changes(call: &Call, request: &impl RequestParts) -> Option<watch::Receiver<()>> {
    let cookie = cookies::of_parts(call, request, AUTH_COOKIE);
    authenticator(call, presented(request, cookie.as_deref())?)?.changes()
}

/// Returns the first credential of the request, given its session cookie.
fn presented<'a>(request: &'a impl RequestParts, cookie: Option<&'a str>) -> Option<Credential<'a>> {
    authorization(request, "bearer")
        .map(Credential::Bearer)
        .or_else(|| cookie.map(Credential::Cookie))
        .or_else(|| api_key(request).map(Credential::ApiKey))
}

fn authenticator<'a>(call: &'a Call, credential: Credential<'_>) -> Option<&'a dyn Authenticator> {
    let authenticators = call.platform().authenticators();
    let found = authenticators.iter().find(|one| one.accepts(credential))?;
    Some(&**found)
}

fn api_key(request: &impl RequestParts) -> Option<&str> {
    match request.headers().get("x-api-key") {
        Some(key) => Some(key.to_str().unwrap_or_default()),
        None => authorization(request, "apikey"),
    }
}

/// Returns the credential of this scheme in `Authorization`. An unreadable value is returned as an empty, invalid credential.
fn authorization<'a>(request: &'a impl RequestParts, requested: &str) -> Option<&'a str> {
    request.headers().get_all(AUTHORIZATION).find_map(|header| {
        let header = header.as_bytes().trim_ascii();
        let (scheme, value) = header.split_at(header.iter().position(u8::is_ascii_whitespace).unwrap_or(header.len()));
        scheme
            .eq_ignore_ascii_case(requested.as_bytes())
            .then(|| str::from_utf8(value.trim_ascii()).unwrap_or_default())
    })
}

fn invalid() -> Error {
    Rejection {
        clears_cookies: true,
        ..Rejection::unauthorized()
    }
    .into()
}
