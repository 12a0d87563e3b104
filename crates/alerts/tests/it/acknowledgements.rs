//! Acknowledgements, escalations and notifications.

use actix_web::http::Method;
use backoffice_test_accounts::login;
use backoffice_test_support::Duration;
use futures_util::future::join;
use serde_json::{Value, json};

use crate::fixture::{ASSIGNMENTS, Fixture, assignments, builder, instant, text};

/// Opens the alert of DSP-17.
async fn alert(fixture: &Fixture) -> Value {
    fixture.assign("06T08", "06T12").await;
    fixture.assign("06T11", "06T15").await;
    fixture.only().await
}

#[actix_web::test]
async fn dsp_34_an_acknowledgement_ends_when_the_conflict_grows() {
    let fixture = Fixture::new().await;
    let alert = alert(&fixture).await;
    fixture.read(&fixture.d.token, &alert).await;
    let note = json!({"note": " Known \n"});

    let acknowledged = fixture
        .about(&fixture.d.token, Method::POST, &alert, "acknowledge", note)
        .await;

    assert_eq!(acknowledged.status, 200, "{}", acknowledged.text());
    let at = &acknowledged.json()["acknowledged"]["at"];
    assert!(text(at).starts_with(&fixture.app.now().to_string()[..19]), "{at}");
    let expected = json!({"at": at, "by": {"id": fixture.d.id, "name": "d@alpha.test"}, "note": "Known"});
    assert_eq!(
        acknowledged.json(),
        json!({"id": alert["alertId"], "acknowledged": expected})
    );
    let open = fixture.only().await;
    assert_eq!((&open["acknowledged"], &open["read"]), (&expected, &json!(true)));
    fixture.assign("06T14", "06T16").await;
    let grown = fixture.only().await;
    assert_eq!(grown["alertId"], alert["alertId"]);
    assert_eq!((&grown["acknowledged"], &grown["read"]), (&Value::Null, &json!(false)));
    let undone = fixture.undo(&fixture.d.token, &acknowledged).await;
    assert_eq!((undone.0, &undone.1["code"]), (400, &json!("undo_conflict")));
}

#[actix_web::test]
async fn an_acknowledgement_is_undone_redone_and_withdrawn() {
    let fixture = Fixture::new().await;
    let alert = alert(&fixture).await;
    let acknowledged = fixture
        .about(&fixture.d.token, Method::POST, &alert, "acknowledge", json!({}))
        .await;
    let again = fixture
        .about(&fixture.d.token, Method::POST, &alert, "acknowledge", json!({}))
        .await;
    assert_eq!(again.json(), acknowledged.json());
    assert!(again.operation().is_none());

    let undone = fixture.undo(&fixture.d.token, &acknowledged).await;
    assert_eq!(undone.0, 200, "{}", undone.1);
    assert_eq!(fixture.only().await["acknowledged"], Value::Null);
    assert_eq!(fixture.redo(&fixture.d.token, &acknowledged).await.0, 200);
    assert_eq!(fixture.only().await["acknowledged"]["note"], Value::Null);

    let withdrawn = fixture
        .about(&fixture.d.token, Method::DELETE, &alert, "acknowledge", Value::Null)
        .await;
    assert_eq!(withdrawn.json(), json!({"id": alert["alertId"], "acknowledged": null}));
    assert_eq!(fixture.only().await["acknowledged"], Value::Null);
}

#[actix_web::test]
async fn an_acknowledgement_does_not_return_to_an_alert_that_has_grown() {
    let fixture = Fixture::new().await;
    let alert = alert(&fixture).await;
    let send = async |method: Method, body: Value| {
        let response = fixture
            .about(&fixture.d.token, method, &alert, "acknowledge", body)
            .await;
        assert_eq!(response.status, 200, "{}", response.text());
        response
    };
    let acknowledge = async || send(Method::POST, json!({})).await;
    let withdraw = async || send(Method::DELETE, Value::Null).await;
    let acknowledged = acknowledge().await;
    assert_eq!(fixture.undo(&fixture.d.token, &acknowledged).await.0, 200);

    fixture.assign("06T14", "06T16").await;
    let redone = fixture.redo(&fixture.d.token, &acknowledged).await;
    assert_eq!(redone.0, 400, "{}", redone.1);

    acknowledge().await;
    let withdrawn = withdraw().await;
    fixture.assign("06T15", "06T17").await;
    let undone = fixture.undo(&fixture.d.token, &withdrawn).await;
    assert_eq!(
        (undone.0, &undone.1["code"], &undone.1["fields"]),
        (400, &json!("undo_conflict"), &json!(["occurredAt"]))
    );
    let grown = fixture.only().await;
    assert_eq!(grown["conflictingAssignmentIds"].as_array().map(Vec::len), Some(4));
    assert_eq!(grown["acknowledged"], Value::Null);

    // Without growth, the withdrawal is undone.
    acknowledge().await;
    let withdrawn = withdraw().await;
    assert_eq!(fixture.undo(&fixture.d.token, &withdrawn).await.0, 200);
    assert!(fixture.only().await["acknowledged"].is_object());
}

#[actix_web::test]
async fn an_acknowledgement_of_a_resolved_alert_is_neither_undone_nor_redone() {
    let fixture = Fixture::new().await;
    let alert = alert(&fixture).await;
    let conflict = |(status, body): (u16, Value)| (status, body["code"].clone(), body["fields"].clone());
    let resolved = (400, json!("undo_conflict"), json!(["resolvedAt"]));
    let acknowledged = fixture
        .about(&fixture.d.token, Method::POST, &alert, "acknowledge", json!({}))
        .await;
    assert_eq!(fixture.undo(&fixture.d.token, &acknowledged).await.0, 200);

    let deleted = fixture.remove(ASSIGNMENTS, assignments(&alert)[1]).await;

    assert_eq!(conflict(fixture.redo(&fixture.d.token, &acknowledged).await), resolved);
    assert_eq!(
        fixture.item(&fixture.d.token, &alert).await["acknowledged"],
        Value::Null
    );
    // The conflict comes back with another alert, which is acknowledged by itself.
    let undone = fixture.undo(&fixture.a.token, &deleted).await;
    assert_eq!(undone.0, 200, "{}", undone.1);
    let again = fixture.only().await;
    assert_ne!(again["alertId"], alert["alertId"]);
    let acknowledged = fixture
        .about(&fixture.d.token, Method::POST, &again, "acknowledge", json!({}))
        .await;
    assert_eq!(acknowledged.status, 200, "{}", acknowledged.text());

    // It ends by itself at 12:00 of the next day; no schedule has stored that.
    fixture.app.clock().set(instant("2026-01-06T12:00:00Z"));
    let d = login(&fixture.app, "d@alpha.test").await;
    assert_eq!(conflict(fixture.undo(&d, &acknowledged).await), resolved);
    assert!(fixture.item(&d, &again).await["acknowledged"].is_object());
    let stored = fixture
        .app
        .rows("select id from alerts_alerts where resolved_at is null")
        .await;
    assert_eq!(stored, [json!({"id": again["alertId"]})]);
}

#[actix_web::test]
async fn resolved_alerts_and_long_notes_are_rejected() {
    let fixture = Fixture::new().await;
    let alert = alert(&fixture).await;
    let post = async |body: Value| {
        let response = fixture
            .about(&fixture.d.token, Method::POST, &alert, "acknowledge", body)
            .await;
        (response.status, text(&response.json()["code"]))
    };

    assert_eq!(
        post(json!({"note": "x".repeat(501)})).await,
        (400, "invalid_note".to_owned())
    );
    assert_eq!(post(json!([])).await, (400, "invalid_body".to_owned()));
    let first = alert["conflictingAssignmentIds"][0]
        .as_str()
        .expect("an id")
        .parse()
        .expect("a UUID");
    fixture.remove(ASSIGNMENTS, first).await;
    assert_eq!(post(json!({})).await, (409, "alert_resolved".to_owned()));
    fixture.read(&fixture.d.token, &alert).await;
    assert_eq!(fixture.item(&fixture.d.token, &alert).await["read"], true);
}

/// Returns how many notifications of a type a user has.
async fn count(fixture: &Fixture, token: &str, name: &str) -> usize {
    let all = fixture.notifications(token).await;
    all.iter().filter(|one| one["type"] == name).count()
}

#[actix_web::test]
async fn dsp_35_an_alert_without_a_reader_is_escalated_once() {
    let fixture = Fixture::new().await;
    let other = fixture.app.second_node().await;
    fixture.run_schedules().await;
    let read = {
        let alert = alert(&fixture).await;
        fixture
            .about(&fixture.d.token, Method::POST, &alert, "acknowledge", json!({}))
            .await;
        let e2 = fixture.resource("E2").await;
        for (from, to) in [("06T08", "06T12"), ("06T11", "06T15")] {
            let mut body = fixture.at(fixture.s1, from, to);
            body["subjectId"] = json!(e2);
            fixture.create(ASSIGNMENTS, body).await;
        }
        let open = fixture.open().await;
        let new = open
            .iter()
            .find(|one| one["subject"]["name"] == "E2")
            .expect("an alert")
            .clone();
        fixture
            .about(&fixture.d.token, Method::DELETE, &alert, "acknowledge", Value::Null)
            .await;
        new
    };
    fixture.read(&fixture.v.token, &read).await;
    let escalated = "alerts.alert.escalated";
    fixture.app.advance(Duration::minutes(25));
    fixture.run_schedules().await;
    assert_eq!(count(&fixture, &fixture.a.token, escalated).await, 0);

    fixture.app.advance(Duration::minutes(6));
    fixture.run_schedules().await;
    fixture.app.advance(Duration::minutes(1));
    other.run_jobs().await;
    fixture.run_schedules().await;

    let of_a = fixture.notifications(&fixture.a.token).await;
    let of_a: Vec<&Value> = of_a.iter().filter(|one| one["type"] == escalated).collect();
    assert_eq!(of_a.len(), 1, "{of_a:?}");
    assert_eq!(
        (&of_a[0]["severity"], &of_a[0]["title"]),
        (&json!("error"), &json!("Escalated alert: E1"))
    );
    assert_eq!(count(&fixture, &fixture.d.token, escalated).await, 0);
    for alert in fixture.open().await {
        assert_eq!(
            alert["escalatedAt"].is_string(),
            alert["subject"]["name"] == "E1",
            "{alert}"
        );
    }
}

#[actix_web::test]
async fn an_alert_that_begins_before_the_wait_is_over_is_escalated_at_once() {
    let fixture = Fixture::new().await;
    fixture.run_schedules().await;
    fixture.assign("05T08:20", "05T12").await;
    fixture.assign("05T11", "05T15").await;

    fixture.app.advance(Duration::MINUTE);
    fixture.run_schedules().await;

    assert!(fixture.only().await["escalatedAt"].is_string());
}

#[actix_web::test]
async fn nothing_is_escalated_if_that_is_switched_off() {
    let fixture = Fixture::with(builder().config("[alerts]\nescalate_after = '0s'\n")).await;
    fixture.run_schedules().await;
    alert(&fixture).await;

    fixture.app.advance(Duration::hours(2));
    fixture.run_schedules().await;

    let rows = fixture.app.rows("select escalated_at from alerts_alerts").await;
    assert_eq!(rows, [json!({"escalated_at": null})]);
}

#[actix_web::test]
async fn users_are_notified_of_new_and_grown_alerts_until_these_are_resolved() {
    let fixture = Fixture::new().await;
    fixture.app.deliver_events().await;
    let alert = alert(&fixture).await;
    let opened = "alerts.alert.opened";

    let of_d = fixture.notifications(&fixture.d.token).await;

    assert_eq!(of_d.len(), 1);
    let notification = &of_d[0];
    assert_eq!(
        (&notification["type"], &notification["severity"]),
        (&json!(opened), &json!("error"))
    );
    assert_eq!(notification["body"], "Assignments in conflict: 2");
    assert_eq!(notification["linkHref"], alert["linkHref"]);
    assert_eq!(count(&fixture, &fixture.b.token, opened).await, 0);
    let shown = fixture.only().await;
    assert_eq!(shown["notificationId"], notification["id"]);
    fixture.read(&fixture.d.token, &shown).await;
    assert_eq!(fixture.notifications(&fixture.d.token).await[0]["status"], "read");
    assert_eq!(fixture.notifications(&fixture.v.token).await[0]["status"], "unread");

    fixture.assign("06T14", "06T16").await;
    let grown = fixture.notifications(&fixture.d.token).await;
    assert_eq!(
        (grown.len(), &grown[0]["status"], &grown[0]["body"]),
        (1, &json!("unread"), &json!("Assignments in conflict: 3"))
    );

    fixture
        .change(crate::fixture::RESOURCES, fixture.e1, json!({"name": "Digger"}))
        .await;
    fixture.read(&fixture.d.token, &fixture.only().await).await;
    for id in assignments(&fixture.only().await) {
        fixture.remove(ASSIGNMENTS, id).await;
    }
    assert_eq!(fixture.notifications(&fixture.d.token).await, Vec::<Value>::new());
}

#[actix_web::test]
async fn users_who_have_read_an_alert_before_its_notification_get_none() {
    let fixture = Fixture::new().await;
    fixture.app.deliver_events().await;
    let alert = alert(&fixture).await;
    fixture.read(&fixture.d.token, &alert).await;

    assert_eq!(fixture.notifications(&fixture.d.token).await, Vec::<Value>::new());
    assert_eq!(fixture.notifications(&fixture.v.token).await[0]["status"], "unread");

    // The grown alert counts as new, and so does its mark.
    fixture.assign("06T14", "06T16").await;
    let grown = fixture.only().await;
    assert_eq!(
        (&grown["read"], &grown["notificationId"]),
        (&json!(false), &Value::Null)
    );
    let (status, body) = fixture
        .app
        .post(&fixture.d.token, "/alerts/alerts/read-all", json!({}))
        .await;
    assert_eq!((status, &body["updated"]), (200, &json!(1)));
    assert_eq!(fixture.notifications(&fixture.d.token).await, Vec::<Value>::new());
    let of_v = fixture.notifications(&fixture.v.token).await;
    assert_eq!(of_v[0]["body"], "Assignments in conflict: 3");

    fixture.assign("06T15", "06T17").await;
    let of_d = fixture.notifications(&fixture.d.token).await;
    assert_eq!((of_d.len(), &of_d[0]["status"]), (1, &json!("unread")));
}

#[actix_web::test]
async fn an_alert_that_is_read_while_its_notification_is_written_leaves_no_unread_one() {
    let fixture = Fixture::new().await;
    fixture.app.deliver_events().await;
    for day in 6..16 {
        fixture.assign(&format!("{day:02}T08"), &format!("{day:02}T12")).await;
        fixture.assign(&format!("{day:02}T11"), &format!("{day:02}T15")).await;
        let page = fixture
            .page(&fixture.d.token, "?unreadOnly=true&urgencies=critical")
            .await;
        let alert = page["items"][0].clone();
        fixture.app.deliver_events().await;

        join(fixture.read(&fixture.d.token, &alert), fixture.app.run_jobs()).await;

        let all = fixture.notifications(&fixture.d.token).await;
        let shown = fixture.item(&fixture.d.token, &alert).await;
        let own = all.iter().find(|one| one["id"] == shown["notificationId"]);
        assert_eq!(shown["read"], true);
        assert!(own.is_none_or(|one| one["status"] == "read"), "{own:?}");
    }
}

#[actix_web::test]
async fn only_users_with_the_right_in_the_organization_are_notified() {
    let fixture = Fixture::new().await;
    let branch = fixture.organization("Branch", None).await;
    fixture.role("Local", &["alerts.*"], Some(&[branch])).await;
    fixture
        .role("Above", &["alerts.*"], Some(&[fixture.a.organization]))
        .await;
    fixture.role("Other", &["calendar.*"], None).await;
    let (_, local) = fixture.user("local@alpha.test", &["Local"]).await;
    let (_, above) = fixture.user("above@alpha.test", &["Above", "Other"]).await;
    let (_, other) = fixture.user("other@alpha.test", &["Other"]).await;
    fixture.app.deliver_events().await;

    alert(&fixture).await;

    let opened = "alerts.alert.opened";
    assert_eq!(count(&fixture, &above, opened).await, 1);
    assert_eq!(count(&fixture, &local, opened).await, 0);
    assert_eq!(count(&fixture, &other, opened).await, 0);
}
