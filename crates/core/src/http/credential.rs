//! Finds the credential of a request and asks the module that knows it.

use std::sync::Arc;

use actix_web::http::Method;
use actix_web::http::header::AUTHORIZATION;

use super::answer::AUTH_COOKIE;
use super::head::Head;
use crate::context::Call;
use crate::error::{Refusal, Result};
use crate::identity::{Credential, Identity};

/// The principal that calls: the first credential that is presented decides.
pub(super) async fn authenticate(call: &Call, request: &impl Head) -> Result<Arc<Identity>> {
    let presented = header_credential(request);
    let cookie = match presented {
        Presented::Nothing => request.cookie(AUTH_COOKIE),
        Presented::Unreadable | Presented::Credential(_) => None,
    };
    let credential = match presented {
        Presented::Nothing => match &cookie {
            Some(cookie) if !cookie.value().is_empty() => Credential::Cookie(cookie.value()),
            _ => match request.headers().get("x-api-key") {
                Some(key) => Credential::ApiKey(key.to_str().unwrap_or_default()),
                None => return Err(Refusal::unauthorized().into()),
            },
        },
        Presented::Unreadable => return Err(invalid()),
        Presented::Credential(credential) => credential,
    };
    let authenticators = &call.platform().provided().authenticators;
    let Some(authenticator) = authenticators.iter().find(|one| one.accepts(credential)) else {
        return Err(invalid());
    };
    let Some(identity) = authenticator.authenticate(&call.runtime, credential, call.now).await? else {
        return Err(invalid());
    };
    let by_cookie = matches!(credential, Credential::Cookie(_));
    if by_cookie && !matches!(*request.method(), Method::GET | Method::HEAD) && !call.same_origin {
        return Err(Refusal::forbidden("Cross-origin request refused").into());
    }
    Ok(identity)
}

enum Presented<'a> {
    Nothing,
    Unreadable,
    Credential(Credential<'a>),
}

fn header_credential(request: &impl Head) -> Presented<'_> {
    let Some(header) = request.headers().get(AUTHORIZATION) else {
        return Presented::Nothing;
    };
    let Some((scheme, value)) = header.to_str().ok().and_then(|text| text.trim().split_once(' ')) else {
        return Presented::Unreadable;
    };
    let value = value.trim();
    if scheme.eq_ignore_ascii_case("bearer") {
        Presented::Credential(Credential::Bearer(value))
    } else if scheme.eq_ignore_ascii_case("apikey") {
        Presented::Credential(Credential::ApiKey(value))
    } else {
        Presented::Unreadable
    }
}

fn invalid() -> crate::error::Error {
    Refusal {
        clears_cookies: true,
        ..Refusal::unauthorized()
    }
    .into()
}
