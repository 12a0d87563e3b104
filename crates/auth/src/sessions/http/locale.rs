//! The locale of a browser, kept in a cookie.

use std::sync::Arc;

use actix_web::HttpRequest;
use actix_web::cookie::{Cookie, SameSite, time};
use backoffice_core::http::{Access, CheckedQuery, Cookies, Done, Json, QueryInput, Redirect, Routes, safe_local_path};
use backoffice_core::input::Input;
use backoffice_core::{Call, Rejection, Result, Violations, Visitor};
use backoffice_directory::config::Settings;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::visitor;
use crate::sessions::locale;

const YEAR_SECONDS: i64 = 31_536_000;

pub(super) fn routes(routes: &mut Routes) {
    routes
        .get("/auth/locale", Access::Public, visit_locale)
        .about("Keep a locale in a cookie and go to a path of this site")
        .invalid("Invalid locale");
    routes
        .post("/auth/locale", Access::Public, set_locale)
        .about("Keep a locale in a cookie")
        .invalid("Bad request");
}

/// A locale, and the destination of the redirect.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct LocaleQuery {
    /// `en`, `en-GB`; only the base code counts. It must be one that `i18n.locales` serves (by default `en`, `pl`, `es` and `de`), and that the
    /// tenant of the signed-in user offers.
    #[param(value_type = String, max_length = 35, pattern = "^[a-zA-Z]{2,3}([-_][a-zA-Z0-9]{2,8})*$")]
    locale: Option<String>,
    /// Path on this site; the first one counts.
    #[serde(default)]
    #[param(value_type = Option<String>)]
    redirect: Vec<String>,
}

impl QueryInput for LocaleQuery {
    /// A destination that is not a path on this site is replaced, whatever it contains.
    const ACCEPTS_NUL: &'static [&'static str] = &["redirect"];

    fn validate(&self, _violations: &mut Violations) {}
}

async fn visit_locale(
    visitor: Visitor,
    request: HttpRequest,
    query: CheckedQuery<LocaleQuery>,
) -> Result<Cookies<Redirect>> {
    let cookie = checked_cookie(&visitor, &request, query.0.locale.as_deref()).await?;
    let public_url = visitor.platform().app().public_url.as_deref();
    let target = query.0.redirect.first();
    Ok(Cookies {
        response: Redirect {
            location: target
                .and_then(|target| safe_local_path(target, public_url))
                .unwrap_or_else(|| "/".to_owned()),
        },
        cookies: vec![cookie],
    })
}

/// A locale.
#[derive(Debug, Deserialize, ToSchema)]
struct LocaleBody {
    /// `en`, `en-GB`; only the base code counts. It must be one that `i18n.locales` serves (by default `en`, `pl`, `es` and `de`), and that the
    /// tenant of the signed-in user offers.
    #[schema(value_type = String, max_length = 35, pattern = "^[a-zA-Z]{2,3}([-_][a-zA-Z0-9]{2,8})*$")]
    locale: Option<String>,
}

impl Input for LocaleBody {}

async fn set_locale(visitor: Visitor, request: HttpRequest, body: Json<LocaleBody>) -> Result<Cookies<Json<Done>>> {
    let cookie = checked_cookie(&visitor, &request, body.0.locale.as_deref()).await?;
    Ok(Cookies {
        response: Json(Done::OK),
        cookies: vec![cookie],
    })
}

/// Returns the cookie of a locale that is served, and that the tenant of the signed-in user offers.
async fn checked_cookie(call: &Call, request: &HttpRequest, input: Option<&str>) -> Result<Cookie<'static>> {
    let settings: Arc<Settings> = call.provided()?;
    let code = input
        .and_then(locale::base_code)
        .filter(|code| settings.i18n.locales.contains(code));
    let Some(code) = code else { return Err(invalid()) };
    let offered = visitor::locales(call, request).await?;
    if !locale::is_servable(&code, &settings.i18n, offered.as_deref()) {
        return Err(invalid());
    }
    Ok(locale_cookie(call, code))
}

/// Returns the cookie that keeps a locale.
pub(crate) fn locale_cookie(call: &Call, code: String) -> Cookie<'static> {
    Cookie::build(locale::LOCALE_COOKIE, code)
        .path("/")
        .same_site(SameSite::Lax)
        .secure(!call.platform().insecure_cookies())
        .max_age(time::Duration::seconds(YEAR_SECONDS))
        .finish()
}

fn invalid() -> backoffice_core::Error {
    Rejection::bad_request("Invalid locale").into()
}
