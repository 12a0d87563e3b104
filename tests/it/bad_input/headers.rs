//! Headers with odd values.

use actix_web::http::Method;
use backoffice_core::http::Access;

use super::{assert_shape, token};
use crate::endpoints::Setting;
use crate::fixture::Fixture;

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
                    [Method::PUT, Method::DELETE].contains(&info.method)
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
