//! Requests without a credential, with an invalid one, and without the feature.

use backoffice_core::ErrorShape;
use backoffice_core::http::{AUTH_COOKIE, Access, SESSION_COOKIE};
use backoffice_test_support::{Duration, TestResponse};
use serde_json::json;

use super::rows;
use crate::endpoints::Setting;

pub(super) async fn anonymous(setting: Setting) {
    let before = rows(&setting, setting.fixture.a.tenant).await;

    for (_, entry) in setting.private() {
        let call = setting.call(&entry);
        let response = call.send(&setting.fixture.app, "").await;

        assert_eq!(response.status, 401, "{call}: {}", response.text());
        assert_eq!(response.json()["error"], "Unauthorized", "{call}");
        assert!(response.cookies().is_empty(), "{call}");
    }
    assert_eq!(rows(&setting, setting.fixture.a.tenant).await, before);
}

pub(super) async fn garbage(setting: Setting) {
    let app = &setting.fixture.app;
    let good = &setting.fixture.a.tenant_admin.token;
    let (head, tail) = good.split_at(good.len() - 10);
    let altered = format!("{head}{}", tail.chars().rev().collect::<String>());

    for (_, entry) in setting.signed_in_only() {
        let call = setting.call(&entry);
        for token in ["garbage", "a.b.c", altered.as_str()] {
            rejected(&call.send(app, token).await, &format!("{call} with {token}"));
        }
        let body = call.body.clone().unwrap_or_default();
        let by_cookie = call.bare(app, "").cookie(AUTH_COOKIE, "garbage").json(&body);
        rejected(&by_cookie.send().await, &format!("{call} by cookie"));
        let by_key = call.bare(app, "").header("X-Api-Key", "bo_00000000_x").json(&body);
        rejected(&by_key.send().await, &format!("{call} by key"));
        // The first credential of a request decides.
        let second = call.bare(app, "garbage").cookie(AUTH_COOKIE, good).json(&body);
        rejected(&second.send().await, &format!("{call} with a good cookie behind"));
    }
}

/// Where visitors are served, an invalid credential counts as none: what is private stays private. The 401 clears the cookies as elsewhere.
pub(super) async fn invalid_where_none_is_needed(setting: Setting) {
    let app = &setting.fixture.app;
    let private = setting.private();
    let optional = private.iter().filter(|(info, _)| info.access == Access::Optional);

    let mut tried = 0;
    for (_, entry) in optional {
        let call = setting.call(entry);
        let by_visitor = call.send(app, "").await;
        let by_garbage = call.send(app, "garbage").await;

        assert_eq!((by_visitor.status, by_garbage.status), (401, 401), "{call}");
        assert_eq!(by_visitor.text(), by_garbage.text(), "{call}");
        assert!(by_visitor.cookies().is_empty(), "{call}");
        rejected(&by_garbage, &format!("{call}"));
        tried += 1;
    }
    assert!(tried >= 4, "{tried} endpoints of files and images");
}

pub(super) async fn revoked(setting: Setting) {
    let app = &setting.fixture.app;
    let tenant_admin = setting.fixture.sign_in(&setting.fixture.a.tenant_admin.email).await;
    let logout = app
        .request(actix_web::http::Method::POST, "/auth/logout")
        .bearer(&tenant_admin.token);
    assert_eq!(logout.send().await.status, 302);

    for (_, entry) in setting.signed_in_only() {
        let call = setting.call(&entry);
        rejected(&call.send(app, &tenant_admin.token).await, &call.to_string());
    }
}

pub(super) async fn expired(setting: Setting) {
    setting.fixture.app.advance(Duration::hours(9));

    for (_, entry) in setting.signed_in_only() {
        let call = setting.call(&entry);
        let response = call.send(&setting.fixture.app, &setting.sender(&entry).token).await;
        rejected(&response, &call.to_string());
    }
}

pub(super) async fn without_feature(setting: Setting) {
    let before = rows(&setting, setting.fixture.a.tenant).await;

    for (info, entry) in setting.private() {
        let Access::Features(features) = info.access else {
            continue;
        };
        let required: Vec<&str> = features.iter().map(|feature| feature.id).collect();
        let call = setting.call(&entry);

        let response = call.send(&setting.fixture.app, &setting.fixture.a.plain.token).await;

        let mut expected = json!({"error": "Forbidden", "requiredFeatures": required});
        if info.shape == ErrorShape::Code {
            expected["code"] = json!("forbidden");
        }
        assert_eq!((response.status, response.json()), (403, expected), "{call}");
    }
    assert_eq!(rows(&setting, setting.fixture.a.tenant).await, before);
}

fn rejected(response: &TestResponse, what: &str) {
    assert_eq!(response.status, 401, "{what}: {}", response.text());
    assert_eq!(response.json()["error"], "Unauthorized", "{what}");
    for name in [AUTH_COOKIE, SESSION_COOKIE] {
        let cookie = response
            .cookie(name)
            .unwrap_or_else(|| panic!("{what}: {name} is cleared"));
        assert_eq!(cookie.value(), "", "{what}");
        assert_eq!(
            cookie
                .max_age()
                .map(actix_web::cookie::time::SignedDuration::whole_seconds),
            Some(0),
            "{what}"
        );
    }
}
