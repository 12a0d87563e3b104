//! Resources.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{ASSIGNMENTS, Fixture, RESOURCES, codes};

#[actix_web::test]
async fn a_worker_is_a_user_of_the_tenant() {
    let fixture = Fixture::new().await;
    let (user, _) = fixture.user("worker@alpha.test", &["employee"]).await;
    let body = json!({"type": "worker", "name": "Wanda", "code": "W1", "userId": user, "notes": "N"});

    let id = fixture.create(RESOURCES, body).await;

    let item = fixture.item(RESOURCES, id).await;
    assert_eq!(
        item,
        json!({"id": id, "tenantId": fixture.a.id, "organizationId": fixture.a.organization, "type": "worker", "name": "Wanda",
            "code": "W1", "userId": user, "isActive": true, "notes": "N", "createdAt": "2026-01-05T08:00:00.000Z",
            "updatedAt": "2026-01-05T08:00:00.000Z"})
    );
    // A user is one worker of an organization.
    let (status, rejection) = fixture
        .post(RESOURCES, json!({"type": "worker", "name": "W", "userId": user}))
        .await;
    assert_eq!((status, codes(&rejection).1), (400, vec![("userId", "not_unique")]));
}

#[actix_web::test]
async fn only_workers_are_users_and_only_visible_users_are_workers() {
    let fixture = Fixture::new().await;

    for (type_, user) in [
        ("worker", fixture.b.admin),
        ("worker", Uuid::from_u128(1)),
        ("vehicle", fixture.a.admin),
    ] {
        let (status, rejection) = fixture
            .post(RESOURCES, json!({"type": type_, "name": "R", "userId": user}))
            .await;

        assert_eq!(
            (status, codes(&rejection)),
            (400, ("user_not_found", vec![("userId", "user_not_found")]))
        );
    }
}

#[actix_web::test]
async fn every_invalid_field_is_named_with_its_code() {
    let fixture = Fixture::new().await;
    let cases = [
        (json!({"name": "R"}), "invalid_resource_type", "type"),
        (json!({"name": "R", "type": "crane"}), "invalid_resource_type", "type"),
        (json!({"type": "vehicle"}), "invalid_name", "name"),
        (
            json!({"type": "vehicle", "name": "R", "code": "a\nb"}),
            "invalid_code",
            "code",
        ),
        (
            json!({"type": "vehicle", "name": "R", "isActive": null}),
            "invalid_body",
            "isActive",
        ),
        (
            json!({"type": "vehicle", "name": "R", "notes": "x".repeat(2001)}),
            "invalid_note",
            "notes",
        ),
    ];
    for (body, code, path) in cases {
        let (status, rejection) = fixture.post(RESOURCES, body.clone()).await;

        let (found, details) = codes(&rejection);
        assert_eq!((status, found, details[0].0), (400, code, path), "{body}: {rejection}");
    }
}

#[actix_web::test]
async fn a_type_stays_and_a_code_is_unique_in_its_type() {
    let fixture = Fixture::new().await;
    let first = fixture
        .create(RESOURCES, json!({"type": "vehicle", "name": "V", "code": "1"}))
        .await;

    let (status, rejection) = fixture.put(RESOURCES, first, json!({"type": "worker"})).await;
    assert_eq!((status, codes(&rejection).0), (400, "type_immutable"));
    let (status, rejection) = fixture
        .post(RESOURCES, json!({"type": "vehicle", "name": "V2", "code": "1"}))
        .await;
    assert_eq!((status, codes(&rejection).0), (409, "resource_code_taken"));
    fixture
        .create(RESOURCES, json!({"type": "equipment", "name": "E", "code": "1"}))
        .await;
}

#[actix_web::test]
async fn dsp_26_a_resource_with_live_assignments_is_deactivated_but_not_deleted() {
    let fixture = Fixture::new().await;
    let assignment = fixture.assign("08:00", "12:00").await;

    assert_eq!(
        fixture.put(RESOURCES, fixture.e1, json!({"isActive": false})).await.0,
        200
    );
    let (status, rejection) = fixture.remove(RESOURCES, fixture.e1).await;
    assert_eq!((status, codes(&rejection).0), (409, "resource_in_use"));

    assert_eq!(
        fixture.remove(ASSIGNMENTS, assignment).await,
        (200, json!({"deleted": true}))
    );
    assert_eq!(
        fixture.remove(RESOURCES, fixture.e1).await,
        (200, json!({"deleted": true}))
    );
    let missing = json!({"code": "resource_not_found", "error": "Resource not found"});
    assert_eq!(fixture.remove(RESOURCES, fixture.e1).await, (404, missing));
}

#[actix_web::test]
async fn a_past_assignment_keeps_nothing_from_being_deleted() {
    let fixture = Fixture::new().await;
    let mut past = fixture.at("08:00", "12:00");
    past["startAt"] = json!("2026-01-05T06:00:00Z");
    past["endAt"] = json!("2026-01-05T08:00:00Z");
    fixture.create(ASSIGNMENTS, past).await;

    assert_eq!(fixture.remove(RESOURCES, fixture.e1).await.0, 200);
}

#[actix_web::test]
async fn resources_are_found_by_the_time_in_which_they_are_free() {
    let fixture = Fixture::new().await;
    let other = fixture
        .create(RESOURCES, json!({"type": "equipment", "name": "A other"}))
        .await;
    fixture.assign("08:00", "12:00").await;
    let window = fixture.window("2026-01-08T00:00:00Z", "2026-01-09T00:00:00Z").await;
    let free = |from: &str, to: &str| format!("{RESOURCES}?availableFrom={from}&availableTo={to}");

    let during = fixture
        .listed(&free("2026-01-06T11:59:59Z", "2026-01-06T14:00:00Z"))
        .await;
    let after = fixture
        .listed(&free("2026-01-06T12:00:00Z", "2026-01-08T00:00:00Z"))
        .await;
    let unavailable = fixture
        .listed(&free("2026-01-08T23:00:00Z", "2026-01-09T05:00:00Z"))
        .await;

    assert_eq!(
        (during, after, unavailable),
        (vec![other], vec![other, fixture.e1], vec![other])
    );
    assert_ne!(window, Uuid::nil());
    for query in [
        "availableFrom=2026-01-06T12:00:00Z",
        "availableFrom=x&availableTo=2026-01-06T12:00:00Z",
        "isActive=maybe",
        "type=crane",
    ] {
        let (status, rejection) = fixture.app.get(&fixture.a.token, &format!("{RESOURCES}?{query}")).await;
        assert_eq!((status, &rejection["code"]), (400, &json!("invalid_query")), "{query}");
    }
}

#[actix_web::test]
async fn resources_are_filtered_and_searched() {
    let fixture = Fixture::new().await;
    let v1 = fixture
        .create(RESOURCES, json!({"type": "vehicle", "name": "Van", "code": "blue-van"}))
        .await;
    fixture.put(RESOURCES, v1, json!({"isActive": false})).await;

    assert_eq!(fixture.listed(&format!("{RESOURCES}?type=vehicle")).await, [v1]);
    assert_eq!(fixture.listed(&format!("{RESOURCES}?isActive=1")).await, [fixture.e1]);
    assert_eq!(fixture.listed(&format!("{RESOURCES}?isActive=false")).await, [v1]);
    assert_eq!(fixture.listed(&format!("{RESOURCES}?search=LUE-v")).await, [v1]);
    assert_eq!(fixture.listed(&format!("{RESOURCES}?ids=")).await, Vec::<Uuid>::new());
    let page = fixture.get(&format!("{RESOURCES}?pageSize=1")).await;
    assert_eq!(
        (&page["total"], &page["totalPages"], &page["items"][0]["name"]),
        (&json!(2), &json!(2), &json!("E1"))
    );
    assert_eq!(fixture.get(RESOURCES).await["pageSize"], Value::from(20));
}
