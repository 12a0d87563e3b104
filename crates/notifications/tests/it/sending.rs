//! Sending: recipients, groups, transactions and costs.

use backoffice_core::Scope;
use backoffice_core::ids::PLATFORM_TENANT;
use backoffice_notifications::{New, send_last};
use backoffice_test_accounts::id_of;
use backoffice_test_support::Duration;
use futures_util::future::join_all;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{DONE, Fixture, LIST, MAILED, builder, done, full};

#[actix_web::test]
async fn not_1_a_group_is_one_row_that_becomes_unread_again() {
    let fixture = Fixture::new().await;
    let (user, token) = (fixture.a.admin, &fixture.a.token);
    fixture.send(&[full(user)]).await;
    let first = fixture.listed(token, LIST).await.remove(0);
    assert_eq!(fixture.mark(token, &first, "read").await, 200);
    fixture.app.advance(Duration::minutes(1));
    fixture.send(&[done(user, "between")]).await;
    fixture.app.advance(Duration::minutes(1));

    fixture
        .send(&[New {
            group_key: full(user).group_key,
            ..done(user, "Second")
        }])
        .await;

    let all = fixture.listed(token, LIST).await;
    assert_eq!(all.len(), 2);
    assert_eq!((&all[0]["id"], &all[0]["status"]), (&first["id"], &json!("unread")));
    assert_eq!(
        (&all[0]["title"], &all[0]["readAt"]),
        (&json!("Second is done"), &Value::Null)
    );
    assert_eq!(
        (&all[0]["severity"], &all[0]["linkHref"]),
        (&json!("info"), &Value::Null)
    );
    let read_all = async || fixture.app.post(token, "/notifications/read-all", json!({})).await;
    assert_eq!(read_all().await, (200, json!({"updated": 2})));
    assert_eq!(read_all().await, (200, json!({"updated": 0})));
    let (_, other) = fixture.user("other@alpha.example", &["employee"]).await;
    assert_eq!(fixture.mark(&other, &first, "read").await, 404);
    assert_eq!(fixture.mark(&fixture.b.token, &first, "read").await, 404);
}

#[actix_web::test]
async fn after_a_dismissal_a_group_has_a_new_row() {
    let fixture = Fixture::new().await;
    let (user, token) = (fixture.a.admin, &fixture.a.token);
    fixture.send(&[full(user)]).await;
    let first = fixture.listed(token, LIST).await.remove(0);
    assert_eq!(fixture.mark(token, &first, "dismiss").await, 200);

    fixture.send(&[full(user)]).await;

    let shown = fixture.listed(token, LIST).await;
    assert_eq!(shown.len(), 1);
    assert_ne!(shown[0]["id"], first["id"]);
}

#[actix_web::test]
async fn only_active_users_of_the_tenant_get_notifications() {
    let fixture = Fixture::new().await;
    let (inactive, _) = fixture.user("inactive@alpha.example", &["employee"]).await;
    let (deleted, _) = fixture.user("deleted@alpha.example", &["employee"]).await;
    fixture
        .app
        .sql(&format!(
            "update auth_users set is_active = false where id = '{inactive}'"
        ))
        .await;
    fixture
        .app
        .sql(&format!(
            "update auth_users set deleted_at = now() where id = '{deleted}'"
        ))
        .await;
    let all = [fixture.a.admin, fixture.b.admin, inactive, deleted, Uuid::nil()];
    let new: Vec<New> = all.iter().map(|user| done(*user, "A")).collect();

    assert_eq!(fixture.send(&new).await, 1);

    assert_eq!(fixture.app.count("notifications_notifications").await, 1);
    assert_eq!(fixture.listed(&fixture.b.token, LIST).await, [Value::Null; 0]);
}

#[actix_web::test]
async fn users_of_a_deleted_tenant_get_no_notifications() {
    let fixture = Fixture::new().await;
    let new = [
        done(fixture.a.admin, "A"),
        New::of(MAILED, fixture.a.admin).with("name", "B"),
    ];
    fixture.delete_alpha().await;

    assert_eq!(fixture.send(&new).await, 0);

    assert_eq!(fixture.app.count("notifications_notifications").await, 0);
    let jobs = "core_jobs where kind = 'notifications.notification.send_mails'";
    assert_eq!(fixture.app.count(jobs).await, 0);
    fixture.restore_alpha().await;
    assert_eq!(fixture.send(&new).await, 2);
}

#[actix_web::test]
async fn users_of_the_platform_get_notifications() {
    let fixture = Fixture::new().await;
    let sql = format!("select id from auth_users where tenant_id = '{PLATFORM_TENANT}'");
    let root = id_of(&fixture.app.rows(&sql).await[0]);
    let call = fixture.call();
    let transaction = call.database().transaction(&Scope::tenant(PLATFORM_TENANT)).await;
    let mut transaction = transaction.expect("a transaction");

    let sent = send_last(transaction.connection(), &call, PLATFORM_TENANT, &[done(root, "A")]).await;

    transaction.commit().await.expect("committed");
    assert_eq!(sent.expect("sent"), 1);
    let stored =
        format!("notifications_notifications where tenant_id = '{PLATFORM_TENANT}' and recipient_user_id = '{root}'");
    assert_eq!(fixture.app.count(&stored).await, 1);
}

#[actix_web::test]
async fn a_command_that_fails_sends_nothing() {
    let fixture = Fixture::new().await;
    let create = async |name: &str| {
        fixture
            .app
            .post(&fixture.a.token, "/auth/roles", json!({ "name": name }))
            .await
            .0
    };

    assert_eq!(create("Rejected").await, 422);

    assert_eq!(fixture.app.count("notifications_notifications").await, 0);
    assert_eq!(
        fixture.app.count("core_jobs where kind like 'notifications.%'").await,
        0
    );
    let name = "name = 'notifications.notification.created'";
    assert_eq!(fixture.app.count(&format!("core_outbox_events where {name}")).await, 0);
    assert_eq!(create("Accepted").await, 201);
    let all = fixture.listed(&fixture.a.token, LIST).await;
    assert_eq!((all.len(), &all[0]["title"]), (1, &json!("Accepted has failed")));
    let events = format!("select audience_id, browser, payload from core_outbox_events where {name}");
    let events = fixture.app.rows(&events).await;
    assert_eq!(events.len(), 1);
    assert_eq!(
        events[0]["audience_id"],
        json!(fixture.a.admin),
        "only the recipient sees it"
    );
    assert_eq!(
        (&events[0]["browser"], &events[0]["payload"]["id"]),
        (&json!(true), &all[0]["id"])
    );
    fixture.app.run_jobs().await;
    assert_eq!(fixture.app.mail().take().len(), 1);
}

#[actix_web::test]
async fn the_event_is_not_about_the_organization_of_the_command() {
    let fixture = Fixture::new().await;
    let branch = fixture.organization("Branch", Some(fixture.a.organization)).await;

    let change = json!({"id": branch, "name": "New"});
    let (status, body) = fixture
        .app
        .put(&fixture.a.token, "/directory/organizations", change)
        .await;

    assert_eq!(status, 200, "{body}");
    let events = "select organization_id, audience_id, payload -> 'organizationId' as shown from core_outbox_events \
                  where name = 'notifications.notification.created'";
    assert_eq!(
        fixture.app.rows(events).await,
        [json!({"organization_id": null, "audience_id": fixture.a.admin, "shown": null})]
    );
}

#[actix_web::test]
async fn a_thousand_recipients_take_three_statements() {
    let fixture = Fixture::of(builder().through_proxy()).await;
    let tenant = fixture.a.id;
    let users = format!(
        "insert into auth_users (tenant_id, id, email, email_norm, is_active, is_confirmed, created_at, updated_at)
         select '{tenant}', gen_random_uuid(), 'u' || n || '@alpha.example', 'u' || n || '@alpha.example', true, true, now(), now()
         from generate_series(1, 1000) n"
    );
    assert_eq!(fixture.app.sql(&users).await, 1000);
    let sql = format!("select id from auth_users where tenant_id = '{tenant}' and email like 'u%'");
    let ids = fixture.app.rows(&sql);
    let ids: Vec<Uuid> = ids
        .await
        .iter()
        .map(|row| row["id"].as_str().expect("an id").parse().expect("an id"))
        .collect();
    let new: Vec<New> = ids.iter().map(|id| New::of(MAILED, *id).with("name", "A")).collect();
    fixture.send(&[done(fixture.a.admin, "warm")]).await;

    let (empty, base) = fixture.app.count_statements(fixture.send(&[])).await;
    let (sent, statements) = fixture.app.count_statements(fixture.send(&new)).await;

    assert_eq!((empty, sent), (0, 1000));
    assert!(
        statements - base <= 3,
        "{statements} against {base} without notifications"
    );
    let jobs = "core_jobs where kind = 'notifications.notification.send_mails'";
    assert_eq!(fixture.app.count(jobs).await, 1);
}

#[actix_web::test]
async fn repeats_at_the_same_time_have_one_row() {
    let fixture = Fixture::new().await;
    let user = fixture.a.admin;

    let batches = (0..12).map(|_| async { fixture.send(&[full(user), done(user, "A"), full(user)]).await });
    let sent = join_all(batches).await;

    assert_eq!(sent, [2; 12]);
    assert_eq!(
        fixture
            .app
            .count("notifications_notifications where group_key is not null")
            .await,
        1
    );
    assert_eq!(fixture.app.count("notifications_notifications").await, 13);
}

#[actix_web::test]
async fn a_link_to_another_site_is_rejected() {
    let fixture = Fixture::new().await;
    let call = fixture.call();
    for link in [
        "https://evil.example",
        "//evil.example",
        "/\\evil.example",
        "/a\nb",
        "",
        "samples",
    ] {
        let scope = Scope::tenant(fixture.a.id);
        let mut transaction = call.database().transaction(&scope).await.expect("a transaction");
        let new = New {
            link_href: Some(link.to_owned()),
            ..New::of(DONE, fixture.a.admin)
        };

        let sent = send_last(transaction.connection(), &call, fixture.a.id, &[new]).await;

        assert!(sent.is_err(), "{link}");
    }
}
