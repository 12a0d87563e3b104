//! Endpoints that browsers pass through on the way to a page: session refresh and sign-in to the demo account. Always a redirect.

use std::sync::Arc;

use actix_web::HttpRequest;
use actix_web::cookie::Cookie;
use backoffice_core::http::{
    Access, Attempt, Cookies, Query, Redirect, Routes, SESSION_COOKIE, clear_cookies, presented_cookie, safe_local_path,
};
use backoffice_core::rate_limit::RateLimit;
use backoffice_core::{Call, Error, Result, Visitor};
use serde::Deserialize;
use utoipa::IntoParams;

use super::cookies::{access_cookies, end_replaced, session_cookies};
use super::session::{REFRESH_BY_IP, REFRESH_BY_TOKEN};
use super::visitor;
use crate::accounts::Accounts;
use crate::login_address::login_address;
use crate::sessions::{login, session};

pub(crate) const AUTOLOGIN_BY_IP: RateLimit = RateLimit::new("auth.autologin.ip", 20, 60);

pub(super) fn routes(routes: &mut Routes) {
    routes
        .get("/auth/session/refresh", Access::Public, refresh_session)
        .takes_any_input()
        .about("A fresh access cookie for the cookie `session_token`, then on to a path of this site");
    routes
        .get("/auth/autologin", Access::Public, autologin)
        .takes_any_input()
        .about("Sign in to the demo account, then on to a path of this site");
}

/// The destination of the redirect.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Destination {
    /// Path on this site; the first one counts.
    #[serde(default)]
    redirect: Vec<String>,
}

/// Returns the destination if it is a path on this site; `None` for anything else, also for a query that can't be read.
fn safe(query: Attempt<Query<Destination>>, call: &Call) -> Option<String> {
    let public_url = call.platform().app().public_url.as_deref();
    let destination = query.0.ok()?.0;
    let target = destination.redirect.first()?;
    safe_local_path(target, public_url)
}

async fn refresh_session(
    visitor: Visitor,
    request: HttpRequest,
    query: Attempt<Query<Destination>>,
) -> Result<Cookies<Redirect>> {
    let call = &*visitor;
    let accounts: Arc<Accounts> = call.provided()?;
    let target = safe(query, call);
    let fresh = match presented_cookie(call, &request, SESSION_COOKIE) {
        Some(token) if is_over_a_limit(call, &token).await? => {
            // The session may be live, so the browser keeps its cookies.
            return Ok(Cookies {
                response: Redirect {
                    location: login_page(call, target.as_deref()),
                },
                cookies: Vec::new(),
            });
        }
        Some(token) => session::refresh(call, &accounts, &token).await?,
        None => None,
    };
    Ok(match fresh {
        Some((token, seconds)) => Cookies {
            response: Redirect {
                location: target.unwrap_or_else(|| "/".to_owned()),
            },
            cookies: access_cookies(call, &token, seconds),
        },
        None => Cookies {
            response: Redirect {
                location: login_page(call, target.as_deref()),
            },
            cookies: clear_cookies(call.platform().insecure_cookies()),
        },
    })
}

/// Counts a refresh for the client and for the refresh token, together with those of programs. Returns whether it is over a limit.
async fn is_over_a_limit(call: &Call, token: &str) -> Result<bool> {
    let limits = call.platform().rate_limits();
    let counted = async {
        limits.count(call, REFRESH_BY_IP, &call.network()).await?;
        limits.count(call, REFRESH_BY_TOKEN, token).await
    };
    match counted.await {
        Ok(()) => Ok(false),
        Err(Error::Rejected(_)) => Ok(true),
        Err(error) => Err(error),
    }
}

/// Returns the path of the login page, which leads back to `target` after the sign-in.
fn login_page(call: &Call, target: Option<&str>) -> String {
    let path = &call.platform().app().login_path;
    let query = target.map(|target| {
        let target: String = url::form_urlencoded::byte_serialize(target.as_bytes()).collect();
        format!("redirect={target}")
    });
    login_address(path, query.as_deref().unwrap_or_default())
}

async fn autologin(
    visitor: Visitor,
    request: HttpRequest,
    query: Attempt<Query<Destination>>,
) -> Result<Cookies<Redirect<307>>> {
    let call = &*visitor;
    let accounts: Arc<Accounts> = call.provided()?;
    let cookies = match signed_in(call, &accounts, &request).await {
        Ok(Some(cookies)) => cookies,
        Ok(None) | Err(Error::Rejected(_)) => {
            return Ok(Cookies {
                response: Redirect {
                    location: login_page(call, None),
                },
                cookies: Vec::new(),
            });
        }
        Err(error) => return Err(error),
    };
    let fallback = Some(accounts.config.login.default_redirect.clone()).filter(|path| !path.is_empty());
    let target = safe(query, call).or(fallback).unwrap_or_else(|| "/".to_owned());
    Ok(Cookies {
        response: Redirect { location: target },
        cookies,
    })
}

/// Returns the cookies of a new session, none if the visitor is already signed in; `None` if the demo account can't sign in.
async fn signed_in(call: &Call, accounts: &Accounts, request: &HttpRequest) -> Result<Option<Vec<Cookie<'static>>>> {
    let Some(password) = &accounts.autologin_password else {
        return Ok(None);
    };
    call.platform()
        .rate_limits()
        .count(call, AUTOLOGIN_BY_IP, &call.network())
        .await?;
    if visitor::identity(call, request).await?.is_some() {
        return Ok(Some(Vec::new()));
    }
    let config = &accounts.config.autologin;
    let permit = accounts.hasher.permit().await?;
    let candidates = login::candidates(call, accounts, &config.email, config.tenant_id).await?;
    let matching = login::verified(accounts, &permit, candidates, password).await?;
    let [one] = matching.as_slice() else { return Ok(None) };
    if !config.allow_super_admin && login::is_super_admin(call, &one.candidate).await? {
        return Ok(None);
    }
    let session = login::sign_in(call, accounts, permit, one, password, false).await?;
    let Some(session) = session else { return Ok(None) };
    end_replaced(call, accounts, request).await?;
    Ok(Some(session_cookies(call, &session)))
}
