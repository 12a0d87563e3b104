//! Sidebars: preferences and variants.

mod others;
mod preferences;
mod restored;
mod variants;

use actix_web::http::Method;
use backoffice_test_support::{TestApp, TestResponse};
use serde_json::{Value, json};

const PREFERENCES: &str = "/auth/sidebar/preferences";
const VARIANTS: &str = "/auth/sidebar/variants";

/// Sends a request whose locale is set by the cookie.
async fn in_locale(
    app: &TestApp,
    token: &str,
    locale: &str,
    method: Method,
    path: &str,
    body: Option<Value>,
) -> TestResponse {
    let request = app.request(method, path).bearer(token);
    let request = request.header("cookie", &format!("locale={locale}"));
    match body {
        Some(body) => request.json(&body).send().await,
        None => request.send().await,
    }
}

/// Settings with one group.
fn ordered(group: &str) -> Value {
    json!({"version": 1, "groupOrder": [group], "groupLabels": {}, "itemLabels": {}, "hiddenItems": [], "itemOrder": {}})
}
