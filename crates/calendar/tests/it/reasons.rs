//! The dictionary of reasons.

use actix_web::http::Method;
use serde_json::Value;

use crate::fixture::{Fixture, WINDOWS, window};

const REASONS: &str = "/calendar/unavailability-reasons";

#[actix_web::test]
async fn dsp_13_there_are_18_reasons_and_a_second_read_is_not_modified() {
    let fixture = Fixture::new().await;
    let (_, viewer) = fixture.user("viewer@alpha.test", &["employee"]).await;
    let get = || fixture.app.request(Method::GET, REASONS).bearer(&viewer);

    let first = get().send().await;
    let tag = first.header("etag").expect("a tag");
    let second = get().header("If-None-Match", &tag).send().await;

    let reasons: Vec<Value> = first.json().as_array().expect("an array").clone();
    assert_eq!((first.status, reasons.len(), second.status), (200, 18, 304));
    assert!(
        reasons
            .iter()
            .all(|one| one["code"].is_string() && one["resourceType"].is_string())
    );
    for response in [first, second] {
        assert_eq!(response.header("cache-control").as_deref(), Some("private, no-cache"));
    }
}

#[actix_web::test]
async fn every_listed_reason_is_accepted_for_its_type_only() {
    let fixture = Fixture::new().await;
    let (_, reasons) = fixture.app.get(&fixture.a.token, REASONS).await;
    let reasons = reasons.as_array().expect("an array").clone();

    for reason in &reasons {
        for resource_type in ["worker", "equipment", "vehicle"] {
            let mut body = window("2026-03-29", "2026-03-30");
            body["resourceType"] = resource_type.into();
            body["reasonCode"] = reason["code"].clone();
            let is_listed = reasons
                .iter()
                .any(|one| one["code"] == reason["code"] && one["resourceType"] == resource_type);

            let (status, _) = fixture.app.post(&fixture.a.token, WINDOWS, body).await;

            assert_eq!(status == 201, is_listed, "{resource_type} {}", reason["code"]);
        }
    }
}
