//! Notifications of workers.

use actix_web::http::Method;
use backoffice_core::Call;
use backoffice_core::jobs::enqueue_due;
use backoffice_test_accounts::login;
use serde_json::{Value, json};
use time::Duration;
use uuid::Uuid;

use crate::fixture::{ASSIGNMENTS, Fixture, RESOURCES, builder};

/// A worker with a user.
struct Worker {
    id: Uuid,
    token: String,
}

async fn worker(fixture: &Fixture, email: &str) -> Worker {
    fixture.role(email, &["dispatch.*"], None).await;
    let (user, token) = fixture.user(email, &[email]).await;
    let id = fixture
        .create(RESOURCES, json!({"type": "worker", "name": email, "userId": user}))
        .await;
    Worker { id, token }
}

fn of(fixture: &Fixture, worker: &Worker, from: &str, to: &str) -> Value {
    let mut body = fixture.at(from, to);
    (body["subjectType"], body["subjectId"]) = (json!("worker"), json!(worker.id));
    body
}

/// Returns type, title and text of the notifications of a user, the newest first.
async fn notified(fixture: &Fixture, token: &str) -> Vec<(String, String, String)> {
    fixture.app.deliver_events().await;
    let (status, page) = fixture.app.get(token, "/notifications").await;
    assert_eq!(status, 200, "{page}");
    let text = |item: &Value, name: &str| item[name].as_str().expect("a text").to_owned();
    let items = page["items"].as_array().expect("items").iter();
    items
        .map(|item| (text(item, "type"), text(item, "title"), text(item, "body")))
        .collect()
}

async fn run_due(fixture: &Fixture) {
    enqueue_due(&Call::internal(fixture.app.runtime()))
        .await
        .expect("the database can be read");
    fixture.app.run_jobs().await;
}

fn row(kind: &str, title: &str, body: &str) -> (String, String, String) {
    (format!("dispatch.assignment.{kind}"), title.to_owned(), body.to_owned())
}

#[actix_web::test]
async fn dsp_36_a_worker_learns_what_others_change() {
    let fixture = Fixture::new().await;
    let worker = worker(&fixture, "w@alpha.test").await;
    fixture.app.deliver_events().await;

    let id = fixture
        .create(ASSIGNMENTS, of(&fixture, &worker, "08:00", "12:00"))
        .await;
    assert_eq!(
        notified(&fixture, &worker.token).await,
        [row("assigned", "New assignment: S1", "Starts 6 January 2026, 09:00")]
    );

    fixture
        .put(
            ASSIGNMENTS,
            id,
            json!({"jobSiteId": fixture.s2, "startAt": "2026-01-06T07:00:00Z"}),
        )
        .await;
    let changed = row("changed", "Changed assignment: S2", "Starts 6 January 2026, 08:00");
    assert_eq!(notified(&fixture, &worker.token).await[0], changed);

    // Changes by the worker, and of notes, are none.
    let path = format!("{ASSIGNMENTS}/{id}");
    assert_eq!(
        fixture
            .app
            .put(&worker.token, &path, json!({"jobSiteId": fixture.s1}))
            .await
            .0,
        200
    );
    fixture
        .put(ASSIGNMENTS, id, json!({"note": "N", "status": "confirmed"}))
        .await;
    assert_eq!(notified(&fixture, &worker.token).await.len(), 2);

    fixture.remove(ASSIGNMENTS, id).await;
    let cancelled = row(
        "cancelled",
        "Cancelled assignment: S1",
        "Would have started 6 January 2026, 08:00",
    );
    assert_eq!(notified(&fixture, &worker.token).await[0], cancelled);
}

#[actix_web::test]
async fn the_start_has_the_form_of_the_language() {
    let fixture = Fixture::new().await;
    let worker = worker(&fixture, "w@alpha.test").await;
    fixture
        .create(ASSIGNMENTS, of(&fixture, &worker, "08:00", "12:00"))
        .await;
    fixture.app.deliver_events().await;

    for (language, text) in [
        ("en", "Starts 6 January 2026, 09:00"),
        ("pl", "Początek: 6 stycznia 2026, 09:00"),
        ("es", "Empieza: 6 de enero de 2026, 09:00"),
        ("de", "Beginn: 6. Januar 2026, 09:00"),
    ] {
        let request = fixture.app.request(Method::GET, "/notifications");
        let request = request.bearer(&worker.token).header("accept-language", language);
        assert_eq!(request.send().await.json()["items"][0]["body"], text);
    }
}

#[actix_web::test]
async fn dates_of_mails_have_the_form_of_the_language_of_the_tenant() {
    let fixture = Fixture::new().await;
    let worker = worker(&fixture, "w@alpha.test").await;
    let chosen = format!(
        "update directory_tenants set locales = '{{de}}' where id = '{}'",
        fixture.a.id
    );
    assert_eq!(fixture.app.sql(&chosen).await, 1);
    let preference = json!({"items": [{"type": "dispatch.assignment.assigned", "email": true}]});
    let (status, body) = fixture
        .app
        .put(&worker.token, "/notifications/preferences", preference)
        .await;
    assert_eq!(status, 200, "{body}");

    fixture
        .create(ASSIGNMENTS, of(&fixture, &worker, "08:00", "12:00"))
        .await;
    fixture.app.deliver_events().await;
    fixture.app.run_jobs().await;

    let mails = fixture.app.mail().take();
    let mail = mails.iter().find(|mail| mail.to == "w@alpha.test").expect("a mail");
    assert!(mail.text.contains("Beginn: 6. Januar 2026, 09:00"), "{}", mail.text);
}

#[actix_web::test]
async fn only_a_lost_assignment_is_announced_as_cancelled() {
    let fixture = Fixture::new().await;
    let (first, second) = (
        worker(&fixture, "w1@alpha.test").await,
        worker(&fixture, "w2@alpha.test").await,
    );
    let mut body = of(&fixture, &first, "08:00", "12:00");
    body["startAt"] = json!("2026-01-05T06:00:00Z");
    let id = fixture.create(ASSIGNMENTS, body.clone()).await;
    let change = async |id: Uuid, body: Value| {
        let known = notified(&fixture, &first.token).await.len();
        let (status, rejection) = fixture.put(ASSIGNMENTS, id, body).await;
        assert_eq!(status, 200, "{rejection}");
        let mut all = notified(&fixture, &first.token).await;
        let kinds = all.drain(..all.len() - known).map(|one| one.0).collect::<Vec<_>>();
        kinds.join(" ").replace("dispatch.assignment.", "")
    };

    assert_eq!(change(id, json!({"status": "completed"})).await, "");
    let id = fixture.create(ASSIGNMENTS, body.clone()).await;
    assert_eq!(change(id, json!({"endAt": "2026-01-05T07:30:00Z"})).await, "changed");
    assert_eq!(change(id, json!({"startAt": "2026-01-05T07:00:00Z"})).await, "");
    let id = fixture.create(ASSIGNMENTS, body.clone()).await;
    assert_eq!(change(id, json!({"status": "cancelled"})).await, "cancelled");
    let id = fixture.create(ASSIGNMENTS, body).await;
    let given = json!({"subjectId": second.id, "status": "completed"});
    assert_eq!(change(id, given).await, "cancelled");
    assert_eq!(notified(&fixture, &second.token).await, []);
}

#[actix_web::test]
async fn an_inactive_worker_is_neither_notified_nor_reminded() {
    let fixture = Fixture::new().await;
    let worker = worker(&fixture, "w@alpha.test").await;
    let id = fixture
        .create(ASSIGNMENTS, of(&fixture, &worker, "08:00", "12:00"))
        .await;
    assert_eq!(notified(&fixture, &worker.token).await.len(), 1);
    fixture.put(RESOURCES, worker.id, json!({"isActive": false})).await;
    let reminders = async || {
        fixture.app.advance(Duration::minutes(1));
        run_due(&fixture).await;
        let of_type = "notifications_notifications where type = 'dispatch.assignment.reminder'";
        fixture.app.count(of_type).await
    };

    fixture.put(ASSIGNMENTS, id, json!({"jobSiteId": fixture.s2})).await;
    assert_eq!(notified(&fixture, &worker.token).await.len(), 1);
    fixture.app.advance(Duration::hours(13));
    reminders().await;
    assert_eq!(reminders().await, 0);

    let token = login(&fixture.app, "admin@alpha.test").await;
    let path = format!("{RESOURCES}/{}", worker.id);
    assert_eq!(fixture.app.put(&token, &path, json!({"isActive": true})).await.0, 200);
    assert_eq!(reminders().await, 1);
}

#[actix_web::test]
async fn an_assignment_that_moves_to_another_worker_is_news_for_both() {
    let fixture = Fixture::new().await;
    let (first, second) = (
        worker(&fixture, "w1@alpha.test").await,
        worker(&fixture, "w2@alpha.test").await,
    );
    let mut body = of(&fixture, &first, "08:00", "12:00");
    body["status"] = json!("completed");
    let id = fixture.create(ASSIGNMENTS, body).await;
    assert_eq!(notified(&fixture, &first.token).await, []);

    fixture.put(ASSIGNMENTS, id, json!({"status": "planned"})).await;
    fixture.put(ASSIGNMENTS, id, json!({"subjectId": second.id})).await;

    let kinds = |notified: Vec<(String, String, String)>| notified.into_iter().map(|one| one.0).collect::<Vec<_>>();
    assert_eq!(
        kinds(notified(&fixture, &first.token).await),
        ["dispatch.assignment.cancelled", "dispatch.assignment.assigned"]
    );
    assert_eq!(
        kinds(notified(&fixture, &second.token).await),
        ["dispatch.assignment.assigned"]
    );
}

#[actix_web::test]
async fn dsp_36_a_worker_is_reminded_once_of_each_start() {
    let fixture = Fixture::new().await;
    let worker = worker(&fixture, "w@alpha.test").await;
    let id = fixture
        .create(ASSIGNMENTS, of(&fixture, &worker, "21:00", "22:00"))
        .await;
    let reminders = async || {
        fixture
            .app
            .count("notifications_notifications where type = 'dispatch.assignment.reminder'")
            .await
    };

    // 12 hours and a minute before the start.
    fixture.app.advance(Duration::minutes(24 * 60 + 59));
    run_due(&fixture).await;
    assert_eq!(reminders().await, 0);
    fixture.app.advance(Duration::minutes(1));
    let other = fixture.app.second_node().await;
    for app in [&fixture.app, &other] {
        enqueue_due(&Call::internal(app.runtime()))
            .await
            .expect("the database can be read");
    }
    assert_eq!(fixture.app.run_jobs().await + other.run_jobs().await, 1);
    assert_eq!(reminders().await, 1);
    fixture.app.advance(Duration::minutes(1));
    run_due(&fixture).await;
    let marked = format!("dispatch_assignments where id = '{id}' and reminded_at = '2026-01-06T09:00:00Z'");
    assert_eq!((reminders().await, fixture.app.count(&marked).await), (1, 1));

    let token = login(&fixture.app, "admin@alpha.test").await;
    let path = format!("{ASSIGNMENTS}/{id}");
    let later = json!({"endAt": "2026-01-07T22:00:00Z", "startAt": "2026-01-07T21:00:00Z"});
    assert_eq!(fixture.app.put(&token, &path, json!({"note": "N"})).await.0, 200);
    assert_eq!(fixture.app.count(&marked).await, 1);
    assert_eq!(fixture.app.put(&token, &path, later).await.0, 200);
    assert_eq!(
        fixture
            .app
            .count("dispatch_assignments where reminded_at is null")
            .await,
        1
    );
}

#[actix_web::test]
async fn a_worker_who_takes_over_an_assignment_is_reminded_of_it() {
    let fixture = Fixture::new().await;
    let first = worker(&fixture, "w1@alpha.test").await;
    let second = worker(&fixture, "w2@alpha.test").await;
    let id = fixture
        .create(ASSIGNMENTS, of(&fixture, &first, "21:00", "22:00"))
        .await;
    let is_marked = async || {
        fixture.app.advance(Duration::MINUTE);
        run_due(&fixture).await;
        let marked = "dispatch_assignments where reminded_at is not null";
        fixture.app.count(marked).await == 1
    };
    fixture.app.advance(Duration::hours(25));
    run_due(&fixture).await;
    assert!(is_marked().await);
    let token = login(&fixture.app, "admin@alpha.test").await;
    let path = format!("{ASSIGNMENTS}/{id}");

    let given = fixture
        .app
        .send(&token, Method::PUT, &path, json!({"subjectId": second.id}))
        .await;
    assert_eq!(given.status, 200, "{}", given.text());
    let unmarked = "dispatch_assignments where reminded_at is null";
    assert_eq!(fixture.app.count(unmarked).await, 1);
    assert!(is_marked().await);

    for email in ["w1@alpha.test", "w2@alpha.test"] {
        let token = login(&fixture.app, email).await;
        let all = notified(&fixture, &token).await;
        let reminders = all.iter().filter(|one| one.0 == "dispatch.assignment.reminder");
        assert_eq!(reminders.count(), 1, "{email}: {all:?}");
    }
    // An undo gives it back to the first worker, who is reminded again.
    assert_eq!(fixture.app.undo(&token, &given).await.0, 200);
    assert_eq!(fixture.app.count(unmarked).await, 1);
    assert!(is_marked().await);
}

#[actix_web::test]
async fn the_next_user_of_a_worker_is_reminded_of_what_has_not_started() {
    let fixture = Fixture::new().await;
    let first = worker(&fixture, "w1@alpha.test").await;
    fixture.role("Next", &["dispatch.*"], None).await;
    let (next, _) = fixture.user("next@alpha.test", &["Next"]).await;
    for (from, to) in [("09:30", "10:00"), ("21:00", "22:00")] {
        fixture.create(ASSIGNMENTS, of(&fixture, &first, from, to)).await;
    }
    let reminded = async |minutes: i64| {
        fixture.app.advance(Duration::minutes(minutes));
        run_due(&fixture).await;
        let marked = "dispatch_assignments where reminded_at is not null";
        fixture.app.count(marked).await
    };
    // The first assignment has begun by then.
    reminded(24 * 60).await;
    assert_eq!(reminded(1).await, 1);
    assert_eq!(reminded(119).await, 2);
    let token = login(&fixture.app, "admin@alpha.test").await;

    let path = format!("{RESOURCES}/{}", first.id);
    assert_eq!(fixture.app.put(&token, &path, json!({"userId": next})).await.0, 200);

    let unmarked = "dispatch_assignments where reminded_at is null";
    assert_eq!(fixture.app.count(unmarked).await, 1);
    assert_eq!(reminded(1).await, 2);
    for (email, expected) in [("w1@alpha.test", 2), ("next@alpha.test", 1)] {
        let token = login(&fixture.app, email).await;
        let all = notified(&fixture, &token).await;
        let reminders = all.iter().filter(|one| one.0 == "dispatch.assignment.reminder");
        assert_eq!(reminders.count(), expected, "{email}: {all:?}");
    }
}

#[actix_web::test]
async fn a_worker_of_a_deleted_tenant_is_not_reminded() {
    let fixture = Fixture::new().await;
    let worker = worker(&fixture, "w@alpha.test").await;
    fixture
        .create(ASSIGNMENTS, of(&fixture, &worker, "08:00", "12:00"))
        .await;
    assert_eq!(notified(&fixture, &worker.token).await.len(), 1);
    fixture.delete_alpha().await;

    fixture.app.advance(Duration::hours(13));
    for _ in 0..2 {
        fixture.app.advance(Duration::minutes(1));
        run_due(&fixture).await;
    }

    let of_type = "notifications_notifications where type = 'dispatch.assignment.reminder'";
    assert_eq!(fixture.app.count(of_type).await, 0);
}

#[actix_web::test]
async fn reminders_can_be_switched_off() {
    let fixture = Fixture::of(builder().config("[dispatch]\nreminder_before = '0s'\n")).await;
    let worker = worker(&fixture, "w@alpha.test").await;
    fixture
        .create(ASSIGNMENTS, of(&fixture, &worker, "09:00", "22:00"))
        .await;

    fixture.app.advance(Duration::hours(24));
    run_due(&fixture).await;

    assert_eq!(
        fixture
            .app
            .count("dispatch_assignments where reminded_at is not null")
            .await,
        0
    );
}
