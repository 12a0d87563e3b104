//! Headers with odd values.

use actix_web::http::Method;
use backoffice_core::http::{Access, EndpointInfo};
use serde_json::json;

use super::{assert_shape, token};
use crate::endpoints::Setting;
use crate::fixture::Fixture;

/// A time at which no record was changed.
const STALE: &str = "2020-01-01T00:00:00.000Z";

#[actix_web::test]
async fn odd_headers_are_rejected_or_ignored() {
    let setting = Setting::new(Fixture::new().await).await;
    let long = "k".repeat(256);

    for (info, entry) in setting.endpoints() {
        let call = setting.call(&entry);
        for (name, value) in [
            ("Idempotency-Key", ""),
            ("Idempotency-Key", "a b"),
            ("Idempotency-Key", "é"),
            ("Idempotency-Key", long.as_str()),
            ("If-Match", "x"),
            ("If-Match", ""),
            ("If-Match", "\"2026-13-45T00:00:00Z\""),
            ("If-Match", "\"9999-12-31T23:59:59-01:00\""),
            ("X-Expected-Updated-At", "0000-01-01T00:00:00+01:00"),
            ("X-Expected-Updated-At", "yesterday"),
            ("X-Expected-Updated-At", "é"),
        ] {
            let token = token(&setting, &info, &entry).await;
            let request = call.request(&setting.fixture.app, &token).header(name, value);
            let response = request.send().await;

            let rejected = info.access != Access::Public
                && if name == "Idempotency-Key" {
                    info.idempotent
                } else {
                    info.runs_commands && [Method::PUT, Method::PATCH, Method::DELETE].contains(&info.method)
                };
            let what = format!("{call} with {name}: {value:?}");
            if rejected {
                assert_eq!(response.status, 400, "{what}: {}", response.text());
            } else {
                assert!(response.status < 500, "{what}: {}", response.text());
            }
            assert_shape(&info, &response, &call);
        }
    }
}

/// Returns whether the document says that a request may name the time at which its record was read.
fn names_time_of_read(setting: &Setting, info: &EndpointInfo) -> bool {
    let parameters = setting.operation(info)["parameters"].as_array().into_iter().flatten();
    let mut references = parameters.filter_map(|parameter| parameter["$ref"].as_str());
    references.any(|reference| reference == "#/components/parameters/If-Match")
}

#[actix_web::test]
async fn every_write_that_names_a_stale_time_of_its_record_is_rejected() {
    let setting = Setting::new(Fixture::new().await).await;
    let app = &setting.fixture.app;
    let rows = async || app.snapshot_without(&["audit_access_logs"], &[]).await;

    for (info, entry) in setting.endpoints_in_stable_order() {
        let (call, token) = (setting.call(&entry), token(&setting, &info, &entry).await);
        let is_change = info.runs_commands && ![Method::GET, Method::POST].contains(&info.method);
        let is_compared = names_time_of_read(&setting, &info);
        assert_eq!(is_compared, is_change && info.access != Access::Public, "{call}");
        if is_compared {
            let before = rows().await;
            for (name, value) in [
                ("If-Match", format!("\"{STALE}\"")),
                ("X-Expected-Updated-At", STALE.to_owned()),
            ] {
                let response = call.request(app, &token).header(name, &value).send().await;

                let body = response.json();
                assert_eq!(
                    (response.status, &body["error"], &body["code"]),
                    (409, &json!("record_modified"), &json!("optimistic_lock_conflict")),
                    "{call} with {name}"
                );
                assert_shape(&info, &response, &call);
            }
            assert!(rows().await == before, "{call} has changed rows");
        }
        // Without the header the request is accepted.
        let response = call.send(app, &token).await;
        assert!(response.status < 400, "{call}: {} {}", response.status, response.text());
    }
}

#[actix_web::test]
async fn odd_values_of_other_headers_do_no_harm() {
    let setting = Setting::new(Fixture::new().await).await;
    let long = "x".repeat(8000);

    for (info, entry) in setting.private() {
        let call = setting.call(&entry);
        for (name, value) in [
            ("X-Request-Id", "a b\u{e9}"),
            ("X-Request-Id", long.as_str()),
            ("User-Agent", long.as_str()),
            ("X-Forwarded-For", "not, an, address"),
            ("Origin", "null"),
            ("Content-Type", "application/json; charset=\u{e9}"),
            ("Accept", "\u{e9}"),
            ("Cookie", "auth_token=; selected_org=%zz; ="),
            ("Authorization", "Bearer"),
        ] {
            let response = call.request(&setting.fixture.app, "").header(name, value).send().await;

            assert_eq!(response.status, 401, "{call} with {name}: {}", response.text());
            assert_shape(&info, &response, &call);
            assert!(response.header("x-request-id").is_some_and(|id| id.len() <= 128));
        }
    }
}
