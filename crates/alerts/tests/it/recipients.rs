//! Notifications of more users than one batch has.

use actix_web::http::Method;
use backoffice_core::jobs::Worker;
use futures_util::future::join;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{ALERTS, ASSIGNMENTS, Fixture, assignments};

/// The users of the crowd. Their ids come after those of all other users.
const CROWD: usize = 1500;
const OF_CROWD: &str = "recipient_user_id::text like 'ffffffff-%'";

/// Creates the crowd, whose users may see alerts, and opens an alert. Its job waits.
async fn alert(fixture: &Fixture) -> Value {
    let role = fixture.role("Crowd", &["alerts.view"], None).await;
    let tenant = fixture.a.id;
    let users = format!(
        "insert into auth_users (tenant_id, id, email, email_norm, is_active, is_confirmed, created_at, updated_at)
         select '{tenant}', ('ffffffff-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'u' || n, 'u' || n, true, true, now(), now()
         from generate_series(1, 1500) n"
    );
    assert_eq!(fixture.app.sql(&users).await, 1500);
    let roles = format!(
        "insert into auth_user_roles (tenant_id, id, user_id, role_tenant_id, role_id, created_at, updated_at)
         select '{tenant}', gen_random_uuid(), id, '{tenant}', '{role}', now(), now()
         from auth_users where tenant_id = '{tenant}' and id::text like 'ffffffff-%'"
    );
    assert_eq!(fixture.app.sql(&roles).await, 1500);
    fixture.assign("06T08", "06T12").await;
    fixture.app.deliver_events().await;
    fixture.app.run_jobs().await;
    fixture.assign("06T11", "06T15").await;
    fixture.app.deliver_events().await;
    fixture.only().await
}

/// Runs the job of the first batch, and not that of the second one.
async fn run_first_batch(fixture: &Fixture) {
    let worker = Worker::new(fixture.app.runtime().clone());
    while count(fixture, "true").await == 0 {
        assert!(worker.run_one(None).await.expect("the queue can be read"));
    }
}

/// Returns the number of notifications of alerts for which the condition holds.
async fn count(fixture: &Fixture, condition: &str) -> usize {
    let opened = "select id from notifications_notifications where type = 'alerts.alert.opened'";
    fixture.app.rows(&format!("{opened} and {condition}")).await.len()
}

#[actix_web::test]
async fn the_first_users_are_notified_before_other_jobs_run_and_the_next_ones_in_their_turn() {
    let fixture = Fixture::new().await;
    alert(&fixture).await;
    let priority = async || {
        let waiting = "select priority from core_jobs where kind = 'alerts.alert.notify' and state = 'queued'";
        fixture.app.rows(waiting).await
    };
    assert_eq!(priority().await, [json!({"priority": 90})]);

    run_first_batch(&fixture).await;

    assert_eq!(priority().await, [json!({"priority": 100})], "that of other jobs");
}

#[actix_web::test]
async fn users_who_have_read_an_alert_before_their_batch_get_no_notification() {
    let fixture = Fixture::new().await;
    let alert = alert(&fixture).await;

    run_first_batch(&fixture).await;

    assert_eq!(count(&fixture, "true").await, 1000);
    fixture.read(&fixture.d.token, &alert).await;
    let last = Uuid::from_u128(0xffff_ffff_0000_7000_8000_0000_0000_1500);
    let read = format!(
        "insert into alerts_reads (tenant_id, id, organization_id, alert_id, user_id, read_at, created_at, updated_at)
         select tenant_id, gen_random_uuid(), organization_id, id, '{last}', now(), now(), now() from alerts_alerts"
    );
    assert_eq!(fixture.app.sql(&read).await, 1);
    fixture.app.run_jobs().await;
    assert_eq!(count(&fixture, OF_CROWD).await, CROWD - 1);
    assert_eq!(count(&fixture, &format!("recipient_user_id = '{last}'")).await, 0);
    assert_eq!(fixture.notifications(&fixture.d.token).await[0]["status"], "read");
    assert_eq!(fixture.notifications(&fixture.v.token).await[0]["status"], "unread");
}

#[actix_web::test]
async fn own_rights_inactive_and_deleted_users_are_considered() {
    let fixture = Fixture::new().await;
    alert(&fixture).await;
    let acls = format!(
        "insert into auth_user_acls (tenant_id, id, user_id, is_super_admin, features, organizations, created_at, updated_at)
         select tenant_id, gen_random_uuid(), id, email = 'u3', case email when 'u4' then array['alerts.*'] else array['catalog.*'] end,
             case email when 'u4' then array['{}'::uuid] end, now(), now()
         from auth_users where email in ('u1', 'u2', 'u3', 'u4')",
        fixture.a.organization
    );
    assert_eq!(fixture.app.sql(&acls).await, 4);
    for change in [
        "is_active = false where email = 'u5'",
        "deleted_at = now() where email = 'u6'",
    ] {
        assert_eq!(fixture.app.sql(&format!("update auth_users set {change}")).await, 1);
    }

    fixture.app.run_jobs().await;

    let of = |numbers: &str| format!("recipient_user_id in (select id from auth_users where email in ({numbers}))");
    assert_eq!(count(&fixture, OF_CROWD).await, CROWD - 4);
    assert_eq!(count(&fixture, &of("'u1', 'u2', 'u5', 'u6'")).await, 0);
    assert_eq!(count(&fixture, &of("'u3', 'u4'")).await, 2);
}

#[actix_web::test]
async fn an_alert_that_grows_between_batches_is_notified_to_all_users_again() {
    let fixture = Fixture::new().await;
    alert(&fixture).await;
    run_first_batch(&fixture).await;

    fixture.assign("06T14", "06T16").await;
    fixture.app.run_jobs().await;

    assert_eq!(count(&fixture, "true").await, 1000);
    fixture.app.deliver_events().await;
    fixture.app.run_jobs().await;
    assert_eq!(count(&fixture, OF_CROWD).await, CROWD);
    assert_eq!(count(&fixture, "params ->> 'count' <> '3'").await, 0);
}

#[actix_web::test]
async fn an_alert_that_is_resolved_between_batches_leaves_no_notification() {
    let fixture = Fixture::new().await;
    let alert = alert(&fixture).await;
    run_first_batch(&fixture).await;

    for id in assignments(&alert) {
        fixture.remove(ASSIGNMENTS, id).await;
    }
    fixture.app.deliver_events().await;
    fixture.app.run_jobs().await;

    assert_eq!(count(&fixture, "true").await, 1000);
    assert_eq!(count(&fixture, "status <> 'dismissed'").await, 0);
}

#[actix_web::test]
async fn all_alerts_are_read_while_users_are_notified() {
    let fixture = Fixture::new().await;
    alert(&fixture).await;
    let path = format!("{ALERTS}/read-all");

    let reading = fixture.app.send(&fixture.d.token, Method::POST, &path, json!({}));
    let (response, _) = join(reading, fixture.app.run_jobs()).await;

    assert_eq!((response.status, &response.json()["updated"]), (200, &json!(1)));
    assert_eq!(count(&fixture, OF_CROWD).await, CROWD);
    let unread = format!("recipient_user_id = '{}' and status = 'unread'", fixture.d.id);
    assert_eq!(count(&fixture, &unread).await, 0);
}
