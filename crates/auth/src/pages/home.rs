//! The page at `/`: the signed-in user, and links to other pages. Visitors who are not signed in are redirected to the sign-in.

use actix_web::http::header::{LOCATION, RETRY_AFTER};
use actix_web::{HttpRequest, HttpResponse};
use askama::Template;
use backoffice_core::http::{AUTH_COOKIE, SESSION_COOKIE, presented_cookie};
use backoffice_core::identity::{ActorKind, Identity};
use backoffice_core::{Call, Result, Runtime, Scope};

use super::{Frame, Site, response};
use crate::foreign::{self, AddressingTenant};
use crate::sessions::http::visitor;

pub(super) const PATH: &str = "/";
/// Path that issues a fresh access token to a browser with a session, and redirects others to the sign-in.
const REFRESH: &str = "/api/auth/session/refresh?redirect=%2F";
const RETRY_SECONDS: &str = "5";

#[derive(Template)]
#[template(path = "home.html")]
struct HomePage<'a> {
    frame: Frame<'a>,
    /// Destination after signing out.
    sign_in: &'a str,
    user: &'a str,
    tenant: Option<String>,
    organization: Option<String>,
    /// Path of the API documentation, if its module is enabled.
    documentation: Option<&'static str>,
}

pub(super) async fn page(site: &Site, runtime: &Runtime, request: &HttpRequest) -> HttpResponse {
    let call = Call::internal(runtime);
    match shown(site, &call, request).await {
        Ok(response) => response,
        Err(error) => {
            tracing::warn!(%error, "home page failed");
            HttpResponse::ServiceUnavailable()
                .insert_header((RETRY_AFTER, RETRY_SECONDS))
                .content_type("text/plain; charset=utf-8")
                .body(site.locales.of(request).failed)
        }
    }
}

async fn shown(site: &Site, call: &Call, request: &HttpRequest) -> Result<HttpResponse> {
    let identity = visitor::identity(call, request).await?;
    let Some(identity) = identity.filter(|identity| identity.kind == ActorKind::User) else {
        return Ok(redirect(entry_path(site, call, request)));
    };
    let (tenant, organization) = membership(call, &identity).await?;
    let locales = tenant.as_ref().and_then(|tenant| tenant.locales.as_deref());
    let frame = site.visit_of(request, locales).frame();
    let texts = frame.texts;
    let page = HomePage {
        frame,
        sign_in: &site.login_path,
        user: identity.name.as_deref().unwrap_or_default(),
        tenant: tenant.map(|tenant| tenant.name),
        organization,
        documentation: site.documentation,
    };
    Ok(response(&page, texts))
}

/// Returns the path of the sign-in; for a browser with a session but without an access token, that of the refresh. A browser that sends
/// an access token, even an invalid one, is not sent to the refresh, so that there is no redirect loop. With `Secure` a token counts under the name by
/// which the refresh replaces it: another host of the domain may have set the one with the contract's name.
fn entry_path<'a>(site: &'a Site, call: &Call, request: &HttpRequest) -> &'a str {
    let has_token = match call.platform().insecure_cookies() {
        true => request.cookie(AUTH_COOKIE).is_some(),
        false => presented_cookie(call, request, AUTH_COOKIE).is_some(),
    };
    let may_refresh = !has_token && presented_cookie(call, request, SESSION_COOKIE).is_some();
    if may_refresh { REFRESH } else { &site.login_path }
}

/// Returns the tenant, and the name of the organization, of a user; users of the platform have neither.
async fn membership(call: &Call, identity: &Identity) -> Result<(Option<AddressingTenant>, Option<String>)> {
    let scope = Scope::tenant(identity.tenant);
    let connection = call.database().read_briefly(&scope).await?;
    let tenant = foreign::addressing_tenant(&connection, identity.tenant).await?;
    let organization = match identity.organization {
        Some(id) => foreign::shown_organization(&connection, &scope, id).await?,
        None => None,
    };
    Ok((tenant, organization.map(|organization| organization.name)))
}

fn redirect(location: &str) -> HttpResponse {
    HttpResponse::Found().insert_header((LOCATION, location)).finish()
}
