//! The cookies that signing in sets, and the session that they replace.

use actix_web::HttpRequest;
use actix_web::cookie::Cookie;
use backoffice_core::http::{
    AUTH_COOKIE, RequestOrigin, SESSION_COOKIE, clear_selection, credential_cookies, presented_cookie,
};
use backoffice_core::{Call, Result};

use crate::accounts::Accounts;
use crate::sessions::session::{self, Started};

/// Returns the cookies of a new session under all their names, and clears the selection of an earlier user.
pub(super) fn session_cookies(call: &Call, session: &Started) -> Vec<Cookie<'static>> {
    let insecure = call.platform().insecure_cookies();
    let access = credential_cookies(insecure, AUTH_COOKIE, &session.access_token, session.access_seconds);
    let refresh = credential_cookies(
        insecure,
        SESSION_COOKIE,
        &session.refresh_token,
        session.session_seconds,
    );
    let selection = clear_selection(insecure);
    access.into_iter().chain(refresh).chain(selection).collect()
}

/// Returns the cookie of a fresh access token under all its names.
pub(super) fn access_cookies(call: &Call, token: &str, seconds: u64) -> Vec<Cookie<'static>> {
    credential_cookies(call.platform().insecure_cookies(), AUTH_COOKIE, token, seconds)
}

/// Returns the cookies of a sign-in by form and ends the session whose cookies they replace. Returns none for a request from another site.
pub(super) async fn sign_in_cookies(
    call: &Call,
    accounts: &Accounts,
    request: &HttpRequest,
    session: &Started,
) -> Result<Vec<Cookie<'static>>> {
    if call.origin == RequestOrigin::Foreign {
        return Ok(Vec::new());
    }
    end_replaced(call, accounts, request).await?;
    Ok(session_cookies(call, session))
}

/// Ends the session whose cookies a sign-in replaces, whichever user it belongs to.
pub(super) async fn end_replaced(call: &Call, accounts: &Accounts, request: &HttpRequest) -> Result<()> {
    let refresh = presented_cookie(call, request, SESSION_COOKIE);
    let access = presented_cookie(call, request, AUTH_COOKIE);
    let bearer = access.and_then(|token| accounts.tokens.read(&token, call.now));
    session::end_replaced(call, accounts, refresh.as_deref(), bearer).await
}
