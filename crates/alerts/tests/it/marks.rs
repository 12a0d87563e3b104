//! Marks of users, filters, and who sees what.

use actix_web::http::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{ALERTS, ASSIGNMENTS, Fixture, RESOURCES, assignments};

/// Opens three alerts about three resources.
async fn three(fixture: &Fixture) -> Vec<Value> {
    for name in ["E2", "E3", "E4"] {
        let id = fixture.resource(name).await;
        for (from, to) in [("06T08", "06T12"), ("06T11", "06T15")] {
            let mut body = fixture.at(fixture.s1, from, to);
            body["subjectId"] = json!(id);
            fixture.create(ASSIGNMENTS, body).await;
        }
    }
    fixture.open().await
}

#[actix_web::test]
async fn dsp_28_marks_belong_to_users() {
    let fixture = Fixture::new().await;
    let alerts = three(&fixture).await;
    assert_eq!(alerts.len(), 3);
    let unread = async |token: &str, query: &str| fixture.page(token, query).await["unreadCount"].clone();
    let read_all = async |token: &str| {
        let (status, body) = fixture.app.post(token, &format!("{ALERTS}/read-all"), json!({})).await;
        assert_eq!(status, 200, "{body}");
        body["updated"].clone()
    };

    fixture.read(&fixture.d.token, &alerts[0]).await;
    fixture.read(&fixture.d.token, &alerts[0]).await;

    for query in ["", "?unreadOnly=true&kinds=non_working_day", "?page=7"] {
        assert_eq!(unread(&fixture.d.token, query).await, 2, "{query}");
    }
    assert_eq!(fixture.page(&fixture.d.token, "?unreadOnly=1").await["total"], 2);
    assert_eq!(unread(&fixture.v.token, "").await, 3);
    assert_eq!(
        [read_all(&fixture.d.token).await, read_all(&fixture.d.token).await],
        [json!(2), json!(0)]
    );
    assert_eq!(
        (unread(&fixture.d.token, "").await, unread(&fixture.v.token, "").await),
        (json!(0), json!(3))
    );
    let unmarked = fixture
        .about(&fixture.d.token, Method::DELETE, &alerts[1], "read", Value::Null)
        .await;
    assert_eq!(unmarked.json(), json!({"id": alerts[1]["alertId"], "read": false}));
    assert_eq!(unread(&fixture.d.token, "").await, 1);
    let summary = fixture.app.get(&fixture.d.token, "/alerts/summary").await.1;
    assert_eq!(
        (&summary["unreadCount"], &summary["byUrgency"]),
        (&json!(1), &json!({"critical": 3, "warning": 0, "info": 0}))
    );
    assert_eq!(summary["byKind"]["subject_overlap_same_site"], 3);
}

#[actix_web::test]
async fn dsp_28_an_unknown_alert_is_not_found_whatever_the_form_of_its_id() {
    let fixture = Fixture::new().await;
    let alert = three(&fixture).await.remove(0);
    let other = alert["alertId"].as_str().expect("an id");
    let mut bodies = Vec::new();

    for (token, id) in [
        (&fixture.d.token, Uuid::from_u128(7).to_string()),
        (&fixture.d.token, "x".to_owned()),
        (&fixture.b.token, other.to_owned()),
    ] {
        let path = format!("{ALERTS}/{id}");
        for (method, path) in [
            (Method::GET, path.clone()),
            (Method::POST, format!("{path}/read")),
            (Method::DELETE, format!("{path}/read")),
            (Method::POST, format!("{path}/acknowledge")),
            (Method::DELETE, format!("{path}/acknowledge")),
        ] {
            let body = if method == Method::POST { json!({}) } else { Value::Null };
            let response = fixture.app.send(token, method, &path, body).await;
            assert_eq!(response.status, 404, "{path}");
            bodies.push(response.text());
        }
    }

    bodies.dedup();
    assert_eq!(bodies, [r#"{"code":"alert_not_found","error":"Alert not found"}"#]);
}

#[actix_web::test]
async fn dsp_29_invalid_filters_are_rejected_and_empty_ones_find_nothing() {
    let fixture = Fixture::new().await;
    three(&fixture).await;
    let get = async |query: &str| fixture.app.get(&fixture.d.token, &format!("{ALERTS}?{query}")).await;

    for query in [
        "kinds=bogus",
        "jobSiteIds=x",
        "subjectIds=1,2",
        "urgencies=high",
        "subjectType=crane",
        "subjectType=worker,vehicle",
        "unreadOnly=yes",
        "acknowledged=2",
        "resolved=maybe",
        "page=0",
        "page=x",
        "pageSize=101",
    ] {
        let (status, body) = get(query).await;
        assert_eq!((status, &body["code"]), (400, &json!("invalid_filters")), "{query}");
        assert_eq!(
            body["details"][0]["path"],
            query.split('=').next().expect("a name"),
            "{query}"
        );
    }
    let (_, all) = get("kinds=bogus&pageSize=0&jobSiteIds=x").await;
    assert_eq!(all["details"].as_array().map(Vec::len), Some(3));
    for query in [
        "jobSiteIds=",
        "kinds=",
        "subjectIds=",
        "urgencies=",
        &format!("jobSiteIds={}", Uuid::from_u128(7)),
    ] {
        assert_eq!(get(query).await.1["total"], 0, "{query}");
    }
}

#[actix_web::test]
async fn filters_find_what_they_name() {
    let fixture = Fixture::new().await;
    let alerts = three(&fixture).await;
    fixture.change(RESOURCES, fixture.e1, json!({"isActive": true})).await;
    fixture
        .create(ASSIGNMENTS, fixture.at(fixture.s2, "10T08", "10T09"))
        .await;
    let total = async |query: String| fixture.page(&fixture.d.token, &format!("?{query}")).await["total"].clone();

    for (query, expected) in [
        (String::new(), 4),
        (format!("jobSiteIds={}", fixture.s2), 1),
        (format!("jobSiteIds={},{}", fixture.s1, fixture.s2), 4),
        ("subjectType=worker".to_owned(), 0),
        ("subjectType=equipment".to_owned(), 4),
        (format!("subjectIds={}", fixture.e1), 1),
        ("kinds=non_working_day".to_owned(), 1),
        ("urgencies=info,critical".to_owned(), 4),
        ("urgencies=critical".to_owned(), 3),
        ("acknowledged=true".to_owned(), 0),
        ("acknowledged=false".to_owned(), 4),
        ("resolved=true".to_owned(), 0),
    ] {
        assert_eq!(total(query.clone()).await, expected, "{query}");
    }
    // The most urgent first, then the newest.
    let page = fixture.page(&fixture.d.token, "?pageSize=3&page=2").await;
    assert_eq!(
        (&page["items"][0]["kind"], &page["totalPages"]),
        (&json!("non_working_day"), &json!(2))
    );
    assert_eq!(assignments(&alerts[0]).len(), 2);
}

#[actix_web::test]
async fn dsp_30_other_tenants_and_organizations_see_nothing() {
    let fixture = Fixture::new().await;
    let alert = three(&fixture).await.remove(0);
    let branch = fixture.organization("Branch", None).await;
    fixture.role("Local", &["alerts.*"], Some(&[branch])).await;
    let (_, local) = fixture.user("local@alpha.test", &["Local"]).await;

    for token in [&fixture.b.token, &local] {
        let page = fixture.page(token, "").await;
        assert_eq!((&page["total"], &page["unreadCount"]), (&json!(0), &json!(0)));
        let summary = fixture.app.get(token, "/alerts/summary").await.1;
        assert_eq!(summary["byUrgency"]["critical"], 0);
        let (_, read) = fixture.app.post(token, &format!("{ALERTS}/read-all"), json!({})).await;
        assert_eq!(read["updated"], 0);
        let response = fixture
            .about(token, Method::POST, &alert, "acknowledge", json!({}))
            .await;
        assert_eq!(response.status, 404);
    }
}

#[actix_web::test]
async fn viewers_may_not_acknowledge_and_strangers_may_not_look() {
    let fixture = Fixture::new().await;
    let alert = three(&fixture).await.remove(0);
    fixture.role("None", &["auth.roles.list"], None).await;
    let (_, stranger) = fixture.user("none@alpha.test", &["None"]).await;

    let response = fixture
        .about(&fixture.v.token, Method::POST, &alert, "acknowledge", json!({}))
        .await;
    let (status, body) = fixture.app.get(&stranger, ALERTS).await;

    assert_eq!((response.status, &response.json()["code"]), (403, &json!("forbidden")));
    assert_eq!((status, &body["code"]), (403, &json!("forbidden")));
    assert_eq!(body["requiredFeatures"], json!(["alerts.view"]));
    let (status, body) = fixture.app.get("", ALERTS).await;
    assert_eq!((status, &body["code"]), (401, &json!("unauthorized")));
}

#[actix_web::test]
async fn a_list_costs_two_statements() {
    let fixture = Fixture::with(crate::fixture::builder().through_proxy()).await;
    three(&fixture).await;
    let list = async || {
        fixture
            .app
            .count_statements(fixture.page(&fixture.d.token, "?pageSize=2"))
            .await
    };
    list().await;

    let (page, statements) = list().await;
    let (_, of_nothing) = fixture
        .app
        .count_statements(fixture.page(&fixture.d.token, "?kinds=non_working_day"))
        .await;

    assert_eq!(page["total"], 3);
    assert_eq!((statements, of_nothing), (of_nothing, statements));
    // Begin and end of the scope besides.
    assert!(statements <= 4, "{statements}");
}

#[actix_web::test]
async fn a_mark_ignores_an_idempotency_key() {
    let fixture = Fixture::new().await;
    let alerts = three(&fixture).await;
    let send = async |path: &str, key: &str| {
        let request = fixture.app.request(Method::POST, path).bearer(&fixture.d.token);
        let response = request.header("Idempotency-Key", key).json(&json!({})).send().await;
        assert_eq!(response.header("idempotency-replayed"), None, "{path}");
        (response.status, response.json())
    };
    let read = format!("{ALERTS}/{}/read", alerts[0]["alertId"].as_str().expect("an id"));

    for key in ["one", "one", "not a key"] {
        assert_eq!(send(&read, key).await.0, 200, "{key}");
    }

    let all = format!("{ALERTS}/read-all");
    assert_eq!(send(&all, "one").await, (200, json!({"updated": 2})));
    assert_eq!(send(&all, "one").await, (200, json!({"updated": 0})));
    assert_eq!(send(&all, "not a key").await.0, 200);
}
