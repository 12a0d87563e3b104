//! The list and the count.

use actix_web::http::Method;
use backoffice_test_support::{Duration, details};
use serde_json::{Value, json};

use crate::fixture::{COUNT, Fixture, LIST, MAILED, builder, done, full};
use backoffice_notifications::New;

#[actix_web::test]
async fn a_list_shows_the_callers_own_notifications() {
    let fixture = Fixture::new().await;
    let (user, token) = (fixture.a.admin, &fixture.a.token);
    let (other, other_token) = fixture.user("other@alpha.example", &["employee"]).await;
    fixture.send(&[full(user), done(other, "Other")]).await;

    let body = fixture.get(token, LIST).await;

    assert_eq!(
        (&body["total"], &body["pageSize"], &body["unreadCount"]),
        (&json!(1), &json!(20), &json!(1))
    );
    let mut one = body["items"][0].clone();
    let fields = one.as_object_mut().expect("an object");
    assert!(fields.remove("id").is_some_and(|id| id.is_string()));
    assert!(fields.remove("createdAt").is_some_and(|at| at.is_string()));
    let expected = json!({"type": "samples.sample.done", "title": "First is done", "body": "The sample First is done.\nLook at it.",
        "severity": "warning", "status": "unread", "sourceModule": "samples", "sourceEntityType": "samples.sample",
        "sourceEntityId": user, "linkHref": "/samples/1?a=b", "readAt": null});
    assert_eq!(one, expected);
    assert_eq!(fixture.listed(&other_token, LIST).await[0]["title"], "Other is done");
    assert_eq!(fixture.get(&fixture.root, LIST).await["total"], 0);
}

#[actix_web::test]
async fn filters_select_and_pages_are_stable() {
    let fixture = Fixture::new().await;
    let user = fixture.a.admin;
    for number in 0..5 {
        fixture.send(&[done(user, &number.to_string())]).await;
        fixture.app.advance(Duration::days(1));
    }
    fixture
        .send(&[full(user), New::of(MAILED, user).with("name", "M")])
        .await;
    let token = &fixture.sign_in().await;
    let all = fixture.listed(token, LIST).await;
    assert_eq!(fixture.mark(token, &all[0], "dismiss").await, 200);
    assert_eq!(fixture.mark(token, &all[1], "read").await, 200);
    let total = async |query: &str| fixture.get(token, &format!("{LIST}?{query}")).await["total"].clone();

    for (query, expected) in [
        ("page=1", 6),
        ("status=dismissed", 1),
        ("status=read", 1),
        ("status=unread", 5),
        ("type=samples.sample.done&since=2026-11-22", 4),
        ("severity=error", 0),
        ("since=2026-11-24T00:00:00Z", 2),
        ("type=unknown", 0),
    ] {
        assert_eq!(total(query).await, expected, "{query}");
    }
    let mut seen = Vec::new();
    for page in 1..=3 {
        seen.extend(fixture.listed(token, &format!("{LIST}?pageSize=2&page={page}")).await);
    }
    let times: Vec<&str> = seen.iter().filter_map(|one| one["createdAt"].as_str()).collect();
    assert!(
        times.len() == 6 && times.is_sorted_by(|one, next| one >= next),
        "{times:?}"
    );
}

#[actix_web::test]
async fn invalid_filters_are_rejected_together() {
    let fixture = Fixture::new().await;
    let long = "x".repeat(101);

    let path = format!("{LIST}?status=new&severity=fatal&since=soon&type={long}&page=0&pageSize=101");
    for (path, expected) in [
        // A value of a wrong type does not hide the violated rules, whichever of the arguments has it.
        (
            path.clone(),
            vec!["page", "pageSize", "severity", "since", "status", "type"],
        ),
        (
            path.replace("page=0", "page=x"),
            vec!["page", "pageSize", "severity", "since", "status", "type"],
        ),
        (
            path.replace(&long, "x"),
            vec!["page", "pageSize", "severity", "since", "status"],
        ),
        (format!("{LIST}?status=new&page=x"), vec!["page", "status"]),
    ] {
        let (status, body) = fixture.app.get(&fixture.a.token, &path).await;

        let mut paths: Vec<&str> = details(&body).into_iter().map(|(path, _)| path).collect();
        paths.sort_unstable();
        assert_eq!((status, paths), (400, expected), "{path}");
    }
}

#[actix_web::test]
async fn texts_are_in_the_language_of_the_reader() {
    let fixture = Fixture::new().await;
    fixture
        .send(&[
            full(fixture.a.admin),
            New::of(MAILED, fixture.a.admin).with("name", "M"),
        ])
        .await;
    let list = async |language: &str| {
        let request = fixture.app.request(Method::GET, LIST).bearer(&fixture.a.token);
        let items = request.header("accept-language", language).send().await.json()["items"].clone();
        let titles = items.as_array().expect("items").iter();
        let mut titles: Vec<String> = titles
            .map(|one| one["title"].as_str().expect("a title").to_owned())
            .collect();
        titles.sort();
        titles
    };

    assert_eq!(list("de").await, ["First ist fertig", "M has failed"]);
    assert_eq!(list("en").await, ["First is done", "M has failed"]);
    fixture
        .app
        .sql("update notifications_notifications set type = 'removed.type'")
        .await;
    assert_eq!(list("de").await, ["First is done", "M has failed"], "the stored texts");
}

#[actix_web::test]
async fn the_count_has_a_tag() {
    let fixture = Fixture::new().await;
    let mut token = fixture.a.token.clone();
    let count = async |token: &str, tag: &str| {
        let request = fixture.app.request(Method::GET, COUNT).bearer(token);
        request.header("if-none-match", tag).send().await
    };
    let first = count(&token, "\"none\"").await;
    assert_eq!((first.status, first.json()), (200, json!({"unreadCount": 0})));
    let tag = first.header("etag").expect("a tag");
    assert_eq!(count(&token, &tag).await.status, 304);

    fixture.send(&[done(fixture.a.admin, "A")]).await;

    let second = count(&token, &tag).await;
    assert_eq!((second.status, second.json()), (200, json!({"unreadCount": 1})));
    fixture.app.advance(Duration::days(31));
    token = fixture.sign_in().await;
    assert_eq!(
        count(&token, &second.header("etag").expect("a tag")).await.json(),
        json!({"unreadCount": 0}),
        "it has expired"
    );
}

#[actix_web::test]
async fn an_api_key_has_no_notifications() {
    let fixture = Fixture::new().await;
    let key = fixture.api_key().await;
    fixture.send(&[done(fixture.a.admin, "A")]).await;
    let send = async |method, path: &str| {
        fixture
            .app
            .request(method, path)
            .header("x-api-key", &key)
            .json(&json!({"items": []}))
            .send()
            .await
    };

    let list = send(Method::GET, LIST).await.json();
    assert_eq!((&list["items"], &list["unreadCount"]), (&json!([]), &json!(0)));
    assert_eq!(send(Method::GET, COUNT).await.json(), json!({"unreadCount": 0}));
    assert_eq!(
        send(Method::GET, "/notifications/preferences").await.json(),
        json!({"items": []})
    );
    let id = fixture.listed(&fixture.a.token, LIST).await[0]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    for (method, path) in [
        (Method::POST, "/notifications/read-all".to_owned()),
        (Method::POST, format!("{LIST}/{id}/read")),
        (Method::POST, format!("{LIST}/{id}/dismiss")),
        (Method::PUT, "/notifications/preferences".to_owned()),
    ] {
        let response = send(method, &path).await;
        assert_eq!(
            (response.status, &response.json()["code"]),
            (403, &json!("user_required")),
            "{path}"
        );
    }
    let (status, _) = fixture.app.get("", LIST).await;
    assert_eq!(status, 401);
}

#[actix_web::test]
async fn a_list_costs_the_same_whatever_its_size() {
    let fixture = Fixture::of(builder().through_proxy()).await;
    let (user, token) = (fixture.a.admin, &fixture.a.token);
    fixture.get(token, LIST).await;
    let (_, one) = fixture.app.count_statements(fixture.get(token, LIST)).await;
    let new: Vec<New> = (0..100).map(|number| done(user, &number.to_string())).collect();
    fixture.send(&new).await;

    let (page, many) = fixture
        .app
        .count_statements(fixture.get(token, &format!("{LIST}?pageSize=100")))
        .await;

    assert_eq!(page["items"].as_array().map(Vec::len), Some(100));
    assert_eq!(page["total"], Value::from(100));
    assert!(many <= one && many <= 8, "{one}, then {many}");
}
