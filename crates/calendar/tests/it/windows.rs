//! Windows: days, instants, and the order of their rules.

use actix_web::http::Method;
use backoffice_test_accounts::id_of;
use backoffice_test_support::details;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{E1, Fixture, WINDOWS, one, text, window, window_with};

#[actix_web::test]
async fn dsp_6_a_day_with_a_gap_has_23_hours() {
    let fixture = Fixture::new().await;

    let id = fixture.window("2026-03-29", "2026-03-30").await;

    let expected = ["2026-03-28T23:00:00.000Z", "2026-03-29T22:00:00.000Z"];
    assert_eq!(fixture.instants(id).await, expected);
}

#[actix_web::test]
async fn dsp_7_a_day_with_a_repeated_hour_has_25_hours() {
    let fixture = Fixture::new().await;

    let id = fixture.window("2026-10-25", "2026-10-26").await;

    let expected = ["2026-10-24T22:00:00.000Z", "2026-10-25T23:00:00.000Z"];
    assert_eq!(fixture.instants(id).await, expected);
}

#[actix_web::test]
async fn dsp_8_a_day_without_midnight_starts_after_the_gap() {
    let fixture = Fixture::new().await;
    fixture.zone("America/Sao_Paulo").await;

    let id = fixture.window("2018-11-04", "2018-11-05").await;

    let expected = ["2018-11-04T03:00:00.000Z", "2018-11-05T02:00:00.000Z"];
    assert_eq!(fixture.instants(id).await, expected);
}

#[actix_web::test]
async fn dsp_9_the_hour_before_midnight_may_occur_twice() {
    let fixture = Fixture::new().await;
    fixture.zone("America/Sao_Paulo").await;

    let with_fold = fixture.window("2018-02-17", "2018-02-18").await;
    let without = fixture.window("2026-11-01", "2026-11-02").await;

    let expected = ["2018-02-17T02:00:00.000Z", "2018-02-18T03:00:00.000Z"];
    assert_eq!(fixture.instants(with_fold).await, expected);
    let expected = ["2026-11-01T03:00:00.000Z", "2026-11-02T03:00:00.000Z"];
    assert_eq!(fixture.instants(without).await, expected);
}

/// The specification names the night of 2026-11-01. Since version 2026 of the database Cuba has no change of clocks in that night, so the test uses the
/// same night of the year before.
#[actix_web::test]
async fn dsp_10_the_earlier_midnight_counts_and_a_day_that_does_not_exist_is_rejected() {
    let fixture = Fixture::new().await;
    fixture.zone("America/Havana").await;

    let id = fixture.window("2025-11-02", "2025-11-03").await;
    let instants = fixture.instants(id).await;
    fixture.zone("Pacific/Apia").await;
    let (status, body) = fixture.post_window("2011-12-30", "2011-12-31").await;

    assert_eq!(instants, ["2025-11-02T04:00:00.000Z", "2025-11-03T05:00:00.000Z"]);
    assert_eq!((status, text(&body["code"])), (400, "invalid_date_range".to_owned()));
    assert_eq!(fixture.list(WINDOWS).await.len(), 1);
}

#[actix_web::test]
async fn dsp_11_days_reasons_and_types_have_rules() {
    let fixture = Fixture::new().await;
    let code = async |body: Value| fixture.code(Method::POST, WINDOWS, &body).await;
    let with = |field: &str, value: &str| window_with(field, json!(value));

    let leap_day = fixture.window("2028-02-29", "2028-03-01").await;

    let expected = ["2028-02-28T23:00:00.000Z", "2028-02-29T23:00:00.000Z"];
    assert_eq!(fixture.instants(leap_day).await, expected);
    for (body, expected) in [
        (with("startDate", "2026-02-29"), "invalid_date"),
        (with("startDate", "2026-1-5"), "invalid_date"),
        (with("endDateExclusive", "2026-03-29"), "invalid_date_range"),
        (with("endDateExclusive", "2029-03-30"), "range_too_long"),
        (with("reasonCode", "vacation"), "invalid_reason_code"),
        (with("resourceType", "crane"), "invalid_resource_type"),
        (with("resourceId", "x"), "invalid_resource_id"),
        (with("resourceId", &Uuid::nil().to_string()), "invalid_resource_id"),
        (with("note", &"x".repeat(501)), "invalid_note"),
    ] {
        assert_eq!(code(body).await, (400, expected.to_owned()), "{expected}");
    }
    assert_eq!(fixture.list(WINDOWS).await.len(), 1);
}

#[actix_web::test]
async fn dsp_12_a_window_is_changed_and_deleted_once() {
    let fixture = Fixture::new().await;
    let mut body = window("2026-03-29", "2026-03-30");
    body["resourceId"] = json!(Uuid::from_u128(7));
    body["note"] = json!("Oil");

    let (status, created) = fixture.app.post(&fixture.a.token, WINDOWS, body).await;
    let id = id_of(&created);
    let other_id = fixture
        .code(Method::PUT, &one(id), &json!({"id": Uuid::from_u128(8), "note": null}))
        .await;
    let cleared = json!({"id": id, "note": null});
    let (cleared_status, cleared) = fixture.app.put(&fixture.a.token, &one(id), cleared).await;
    let stored = fixture.get_window(id).await;
    let deleted = fixture.app.delete(&fixture.a.token, &one(id), json!({})).await;
    let again = fixture.code(Method::DELETE, &one(id), &json!({})).await;

    assert_eq!(status, 201);
    assert_eq!(other_id, (400, "id_mismatch".to_owned()));
    assert_eq!((cleared_status, cleared), (200, json!({"id": id})));
    assert_eq!(stored["note"], Value::Null);
    assert_eq!(stored["startDate"], "2026-03-29");
    assert_eq!(deleted, (200, json!({"deleted": true})));
    assert_eq!(again, (404, "window_not_found".to_owned()));
}

#[actix_web::test]
async fn a_window_has_the_fields_of_the_contract() {
    let fixture = Fixture::new().await;
    let id = fixture.window("2026-03-29", "2026-03-30").await;

    let window = fixture.get_window(id).await;

    let expected = [
        ("id", json!(id)),
        ("resourceType", json!("equipment")),
        ("resourceId", json!(E1)),
        ("reasonCode", json!("maintenance")),
        ("startDate", json!("2026-03-29")),
        ("endDateExclusive", json!("2026-03-30")),
        ("note", Value::Null),
        ("seriesId", Value::Null),
    ];
    for (field, value) in expected {
        assert_eq!(window[field], value, "{field}");
    }
    assert!(window["createdAt"].is_string() && window["updatedAt"].is_string());
}

#[actix_web::test]
async fn every_invalid_field_is_reported_and_the_first_rule_gives_the_code() {
    let fixture = Fixture::new().await;
    let body = json!({"resourceType": "crane", "startDate": "x", "endDateExclusive": null, "note": "x".repeat(501)});

    let (status, body) = fixture.app.post(&fixture.a.token, WINDOWS, body).await;

    let codes: Vec<String> = body["details"]
        .as_array()
        .expect("details")
        .iter()
        .map(|one| text(&one["code"]))
        .collect();
    let expected = [
        "invalid_resource_type",
        "invalid_resource_id",
        "invalid_date",
        "invalid_date",
        "invalid_reason_code",
        "invalid_note",
    ];
    assert_eq!((status, body["code"].as_str()), (400, Some("invalid_resource_type")));
    assert_eq!(codes, expected);
}

#[actix_web::test]
async fn an_update_is_checked_against_the_stored_values() {
    let fixture = Fixture::new().await;
    let id = fixture.window("2026-03-29", "2026-03-30").await;
    let put = async |body: Value| fixture.code(Method::PUT, &one(id), &body).await;

    for (body, expected) in [
        (json!({"startDate": "2026-03-30"}), "invalid_date_range"),
        (json!({"endDateExclusive": "2030-01-01"}), "range_too_long"),
        (json!({"resourceType": "worker"}), "invalid_reason_code"),
        (json!({"resourceType": null}), "invalid_resource_type"),
        (json!({"reasonCode": "vacation"}), "invalid_reason_code"),
        (json!({"startDate": null}), "invalid_date"),
        (json!({"id": null}), "id_mismatch"),
    ] {
        assert_eq!(put(body.clone()).await, (400, expected.to_owned()), "{body}");
    }
    let moved = json!({"startDate": "2026-03-30", "endDateExclusive": "2026-04-01", "reasonCode": "breakdown"});
    let (status, _) = fixture.app.put(&fixture.a.token, &one(id), moved).await;

    assert_eq!(status, 200);
    let expected = ["2026-03-29T22:00:00.000Z", "2026-03-31T22:00:00.000Z"];
    assert_eq!(fixture.instants(id).await, expected);
}

#[actix_web::test]
async fn undo_and_redo_restore_a_window() {
    let fixture = Fixture::new().await;
    let id = fixture.window("2026-03-29", "2026-03-30").await;
    let before = fixture.get_window(id).await;

    let deleted = fixture
        .send(Method::DELETE, &fixture.a.token, &one(id), &json!({}))
        .await;
    let (status, _) = fixture.app.undo(&fixture.a.token, &deleted).await;
    let restored = fixture.get_window(id).await;
    let (redo_status, _) = fixture.app.redo(&fixture.a.token, &deleted).await;
    let (after, _) = fixture.app.get(&fixture.a.token, &one(id)).await;

    assert_eq!((status, redo_status, after), (200, 200, 404));
    for field in ["id", "startAt", "endAt", "startDate", "createdAt", "reasonCode"] {
        assert_eq!(restored[field], before[field], "{field}");
    }
}

#[actix_web::test]
async fn an_undo_derives_the_instants_in_the_present_zone() {
    let fixture = Fixture::new().await;
    let id = fixture.window("2026-03-29", "2026-03-30").await;

    let deleted = fixture
        .send(Method::DELETE, &fixture.a.token, &one(id), &json!({}))
        .await;
    fixture.zone("America/Sao_Paulo").await;
    let (status, body) = fixture.app.undo(&fixture.a.token, &deleted).await;

    assert_eq!(status, 200, "{body}");
    let expected = ["2026-03-29T03:00:00.000Z", "2026-03-30T03:00:00.000Z"];
    assert_eq!(fixture.instants(id).await, expected);
}

#[actix_web::test]
async fn windows_of_a_resource_may_overlap_and_are_listed_by_start() {
    let fixture = Fixture::new().await;
    let late = fixture.window("2026-03-10", "2026-03-20").await;
    let early = fixture.window("2026-03-01", "2026-03-15").await;
    let ids = |items: Vec<Value>| items.iter().map(id_of).collect::<Vec<_>>();
    let list = async |query: &str| ids(fixture.list(&format!("{WINDOWS}?{query}")).await);

    assert_eq!(list("").await, [early, late]);
    assert_eq!(list("from=2026-03-15").await, [late]);
    assert_eq!(list("to=2026-03-10").await, [early]);
    assert_eq!(list("from=2026-03-14&to=2026-03-11").await, [early, late]);
    assert_eq!(list("from=2026-03-20").await, [] as [Uuid; 0]);
    assert_eq!(list("resourceType=worker").await, [] as [Uuid; 0]);
    assert_eq!(list(&format!("resourceIds={E1}")).await, [early, late]);
    assert_eq!(list("resourceIds=").await, [] as [Uuid; 0]);
    assert_eq!(list("reasonCodes=breakdown,maintenance").await, [early, late]);
    assert_eq!(list("reasonCodes=breakdown").await, [] as [Uuid; 0]);
    assert_eq!(list(&format!("seriesId={E1}")).await, [] as [Uuid; 0]);
    assert_eq!(list(&format!("ids={late}")).await, [late]);
    assert_eq!(list("pageSize=1&page=2").await, [late]);
}

#[actix_web::test]
async fn a_list_rejects_invalid_parameters() {
    let fixture = Fixture::new().await;

    for query in [
        "from=2026-02-30",
        "resourceType=crane",
        "resourceIds=x",
        "reasonCodes=vacations",
        "reasonCodes=maintenance,x",
        "seriesId=x",
        "page=0",
        "pageSize=101",
    ] {
        let (status, body) = fixture.app.get(&fixture.a.token, &format!("{WINDOWS}?{query}")).await;
        assert_eq!(
            (status, text(&body["code"])),
            (400, "invalid_query".to_owned()),
            "{query}"
        );
    }
    for (path, expected) in [
        (
            format!("{WINDOWS}?from=x&seriesId=x&resourceType=crane&pageSize=x&page=0"),
            vec!["from", "page", "pageSize", "resourceType", "seriesId"],
        ),
        (
            "/calendar/working-days?from=x&tenantId=zz".to_owned(),
            vec!["from", "tenantId", "to"],
        ),
        (
            format!("/calendar/availability?resourceType=worker&resourceIds={E1}&from=x&tenantId=zz"),
            vec!["from", "tenantId", "to"],
        ),
    ] {
        let (status, body) = fixture.app.get(&fixture.a.token, &path).await;
        let mut paths: Vec<&str> = details(&body).into_iter().map(|(path, _)| path).collect();
        paths.sort_unstable();
        assert_eq!((status, paths), (400, expected), "{path}");
    }
}

#[actix_web::test]
async fn another_tenant_sees_no_window_and_a_malformed_id_is_unknown() {
    let fixture = Fixture::new().await;
    let id = fixture.window("2026-03-29", "2026-03-30").await;
    let path = one(id);

    let foreign = fixture.app.get(&fixture.b.token, &path).await;
    let unknown = fixture.app.get(&fixture.b.token, &one(Uuid::from_u128(9))).await;
    let malformed = fixture.app.get(&fixture.b.token, &format!("{WINDOWS}/x")).await;
    let with_nul = fixture.app.get(&fixture.b.token, &format!("{WINDOWS}/{id}%00")).await;
    let (status, _) = fixture.app.put(&fixture.b.token, &path, json!({"note": "x"})).await;
    let (_, listed) = fixture.app.get(&fixture.b.token, WINDOWS).await;

    assert_eq!(foreign.0, 404);
    assert_eq!(foreign.1["code"], "window_not_found");
    assert_eq!(unknown, foreign);
    assert_eq!((&malformed, &with_nul), (&foreign, &foreign));
    assert_eq!((status, &listed["total"]), (404, &json!(0)));
}
