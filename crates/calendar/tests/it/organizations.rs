//! Organizations with rows of this module.

use backoffice_test_accounts::ORGANIZATIONS;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{Fixture, WINDOWS, builder, one, window};

/// Creates an organization below the first one.
async fn branch(fixture: &Fixture, name: &str) -> Uuid {
    fixture.organization(name, Some(fixture.a.organization)).await
}

async fn post_in(fixture: &Fixture, organization: Uuid, body: &Value) -> (u16, Value) {
    let request = fixture.app.request(actix_web::http::Method::POST, WINDOWS);
    let request = request
        .bearer(&fixture.a.token)
        .header("X-Organization-Id", &organization.to_string());
    let response = request.json(body).send().await;
    (response.status, response.json())
}

#[actix_web::test]
async fn an_organization_with_windows_stays() {
    let fixture = Fixture::without_calendar(builder()).await;
    let sibling = branch(&fixture, "North").await;
    let (status, created) = post_in(&fixture, sibling, &window("2026-03-29", "2026-03-30")).await;
    assert_eq!(status, 201, "{created}");
    let path = format!("{ORGANIZATIONS}?id={sibling}");

    let (in_use, body) = fixture.app.delete(&fixture.a.token, &path, json!({})).await;
    let id: Uuid = created["id"].as_str().expect("an id").parse().expect("a UUID");
    let (deleted, _) = fixture.app.delete(&fixture.a.token, &one(id), json!({})).await;
    let (free, _) = fixture.app.delete(&fixture.a.token, &path, json!({})).await;

    assert_eq!((in_use, &body["code"]), (409, &json!("organization_in_use")));
    assert_eq!((deleted, free), (200, 200));
}

#[actix_web::test]
async fn a_user_of_another_organization_sees_no_window() {
    let fixture = Fixture::without_calendar(builder()).await;
    let (north, south) = (branch(&fixture, "North").await, branch(&fixture, "South").await);
    let (_, created) = post_in(&fixture, north, &window("2026-03-29", "2026-03-30")).await;
    fixture.role("South", &["calendar.*"], Some(&[south])).await;
    let (_, user) = fixture.user("south@alpha.test", &["South"]).await;
    let id: Uuid = created["id"].as_str().expect("an id").parse().expect("a UUID");

    let (seen, _) = fixture.app.get(&user, &one(id)).await;
    let (changed, _) = fixture.app.put(&user, &one(id), json!({"note": "x"})).await;
    let (_, listed) = fixture.app.get(&user, WINDOWS).await;

    assert_eq!((seen, changed, &listed["total"]), (404, 404, &json!(0)));
}
