//! The identity behind a request to a public endpoint. An invalid credential counts as none.

use std::sync::Arc;

use actix_web::HttpRequest;
use actix_web::http::header::AUTHORIZATION;
use backoffice_core::http::{AUTH_COOKIE, SESSION_COOKIE, presented_cookie};
use backoffice_core::identity::{Authenticator, Credential, Identity};
use backoffice_core::{Call, Result, Scope};
use uuid::Uuid;

use crate::accounts::Accounts;
use crate::foreign;
use crate::sessions::authenticator::Sessions;
use crate::sessions::session;

/// Returns the principal of the access token, from the header or the cookie.
pub(crate) async fn identity(call: &Call, request: &HttpRequest) -> Result<Option<Arc<Identity>>> {
    let sessions = Sessions(call.provided::<Accounts>()?);
    let header = request
        .headers()
        .get(AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|text| text.trim().split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, token)| token.trim());
    let cookie = presented_cookie(call, request, AUTH_COOKIE);
    let token = header.or(cookie.as_deref());
    let Some(token) = token else {
        return Ok(None);
    };
    let authenticated = sessions
        .authenticate(&call.runtime, Credential::Bearer(token), call.now)
        .await?;
    Ok(authenticated.map(|found| found.identity))
}

/// Returns the tenant of the signed-in user, by access token or session cookie.
async fn tenant(call: &Call, request: &HttpRequest) -> Result<Option<Uuid>> {
    if let Some(identity) = identity(call, request).await? {
        return Ok(Some(identity.tenant));
    }
    match presented_cookie(call, request, SESSION_COOKIE) {
        Some(token) => session::tenant_of(call, &token).await,
        None => Ok(None),
    }
}

/// Returns the locales that the tenant of the signed-in user offers; `None` if it has chosen none, and without such a user.
pub(crate) async fn locales(call: &Call, request: &HttpRequest) -> Result<Option<Vec<String>>> {
    let Some(tenant) = tenant(call, request).await? else {
        return Ok(None);
    };
    let connection = call.database().read_briefly(&Scope::tenant(tenant)).await?;
    foreign::locales_of_tenant(&connection, tenant).await
}
