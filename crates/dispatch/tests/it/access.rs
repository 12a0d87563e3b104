//! Who may do what.

use serde_json::{Value, json};

use crate::fixture::{ASSIGNMENTS, BULK, CHECK, Fixture, JOB_SITES, RESOURCES};

#[actix_web::test]
async fn employees_see_everything_and_change_nothing() {
    let fixture = Fixture::new().await;
    let id = fixture.assign("08:00", "12:00").await;
    let (_, token) = fixture.user("employee@alpha.test", &["employee"]).await;

    for path in [
        JOB_SITES.to_owned(),
        RESOURCES.to_owned(),
        format!("{ASSIGNMENTS}/{id}"),
    ] {
        assert_eq!(fixture.app.get(&token, &path).await.0, 200, "{path}");
    }
    assert_eq!(
        fixture.app.post(&token, CHECK, fixture.at("08:00", "12:00")).await.0,
        200
    );
    for path in [
        JOB_SITES,
        RESOURCES,
        ASSIGNMENTS,
        BULK,
        "/dispatch/assignments/bulk-update",
    ] {
        let (status, body) = fixture.app.post(&token, path, json!({})).await;
        assert_eq!(
            (status, &body["code"], &body["requiredFeatures"]),
            (403, &json!("forbidden"), &json!(["dispatch.manage"])),
            "{path}"
        );
    }
}

#[actix_web::test]
async fn a_caller_without_the_features_gets_neither_rows_nor_ids() {
    let fixture = Fixture::new().await;
    fixture.role("Nothing", &["directory.organizations.view"], None).await;
    let (_, token) = fixture.user("plain@alpha.test", &["Nothing"]).await;

    for path in [JOB_SITES, RESOURCES, ASSIGNMENTS] {
        let (status, body) = fixture.app.get(&token, path).await;
        assert_eq!((status, &body["code"]), (403, &json!("forbidden")), "{path}");
        let (status, body) = fixture.app.get("", path).await;
        assert_eq!((status, &body["code"]), (401, &json!("unauthorized")), "{path}");
    }
}

#[actix_web::test]
async fn dsp_30_another_tenant_and_a_sibling_organization_see_nothing() {
    let fixture = Fixture::new().await;
    let id = fixture.assign("08:00", "12:00").await;
    let sibling = fixture.organization("Sibling", None).await;
    fixture.role("Sibling", &["dispatch.*"], Some(&[sibling])).await;
    let (_, token) = fixture.user("sibling@alpha.test", &["Sibling"]).await;

    for token in [&token, &fixture.b.token] {
        let list = format!("{ASSIGNMENTS}?from=2026-01-06T00:00:00Z&to=2026-01-07T00:00:00Z");
        for path in [JOB_SITES, RESOURCES, &list] {
            let (status, page) = fixture.app.get(token, path).await;
            assert_eq!(
                (status, &page["items"], &page["total"]),
                (200, &json!([]), &json!(0)),
                "{path}"
            );
        }
        for (path, id) in [(JOB_SITES, fixture.s1), (RESOURCES, fixture.e1), (ASSIGNMENTS, id)] {
            let path = format!("{path}/{id}");
            assert_eq!(fixture.app.get(token, &path).await.0, 404);
            assert_eq!(fixture.app.put(token, &path, json!({})).await.0, 404);
            assert_eq!(fixture.app.delete(token, &path, Value::Null).await.0, 404);
        }
        let (status, body) = fixture.app.post(token, CHECK, fixture.at("08:00", "12:00")).await;
        assert_eq!((status, &body["code"]), (400, &json!("job_site_not_found")));
    }
    let (status, body) = fixture
        .app
        .post(&fixture.b.token, ASSIGNMENTS, fixture.at("08:00", "12:00"))
        .await;
    assert_eq!((status, &body["code"]), (400, &json!("job_site_not_found")));
}

#[actix_web::test]
async fn what_belongs_together_belongs_to_one_organization() {
    let fixture = Fixture::new().await;
    let child = fixture.organization("Child", Some(fixture.a.organization)).await;
    let inside = |path: &str, body: Value| {
        let request = fixture
            .app
            .request(actix_web::http::Method::POST, path)
            .bearer(&fixture.a.token);
        request
            .header("X-Organization-Id", &child.to_string())
            .json(&body)
            .send()
    };
    let site = inside(JOB_SITES, json!({"name": "Of the child"})).await.json();
    let mut body = fixture.at("08:00", "12:00");
    body["jobSiteId"] = site["id"].clone();

    // Both are visible to the administrator, but the site belongs to the child.
    let (status, rejection) = fixture.post(ASSIGNMENTS, body.clone()).await;
    assert_eq!((status, &rejection["code"]), (400, &json!("job_site_not_found")));
    let rejected = inside(ASSIGNMENTS, body).await;
    assert_eq!(
        (rejected.status, &rejected.json()["code"]),
        (400, &json!("subject_not_found"))
    );
}
