//! The end of notifications.

use actix_web::http::Method;
use backoffice_test_support::Duration;
use serde_json::json;

use crate::fixture::{Fixture, LIST, done};

#[actix_web::test]
async fn a_notification_is_shown_for_a_month_and_erased_a_day_later() {
    let fixture = Fixture::new().await;
    fixture.run_due().await;
    fixture.send(&[done(fixture.a.admin, "A")]).await;
    fixture.app.advance(Duration::days(29));
    assert_eq!(fixture.get(&fixture.sign_in().await, LIST).await["total"], 1);

    fixture.app.advance(Duration::hours(25));
    fixture.run_due().await;

    assert_eq!(
        (
            &fixture.get(&fixture.sign_in().await, LIST).await["total"],
            fixture.app.count("notifications_notifications").await
        ),
        (&json!(0), 1)
    );
    fixture.app.advance(Duration::days(1));
    fixture.send(&[done(fixture.a.admin, "B")]).await;
    fixture.run_due().await;
    assert_eq!(
        fixture.app.count("notifications_notifications").await,
        1,
        "only the new one"
    );
}

#[actix_web::test]
async fn a_deleted_user_leaves_no_notification_and_no_preference() {
    let fixture = Fixture::new().await;
    let (other, other_token) = fixture.user("other@alpha.example", &["employee"]).await;
    let muted = json!([{"type": "samples.sample.failed", "inApp": false}]);
    fixture.prefer(&other_token, muted.clone()).await;
    fixture.prefer(&fixture.a.token, muted).await;
    fixture.send(&[done(fixture.a.admin, "A"), done(other, "B")]).await;

    let path = format!("/auth/users?id={other}");
    let (status, body) = fixture.app.delete(&fixture.a.token, &path, json!({})).await;
    assert_eq!(status, 200, "{body}");
    fixture.app.deliver_events().await;

    assert_eq!(fixture.app.count("notifications_notifications").await, 1);
    assert_eq!(fixture.app.count("notifications_preferences").await, 1);
}

#[actix_web::test]
async fn a_user_who_is_back_before_the_event_of_their_deletion_keeps_everything() {
    let fixture = Fixture::new().await;
    let (other, token) = fixture.user("other@alpha.example", &["employee"]).await;
    let muted = json!([{"type": "samples.sample.failed", "inApp": false}]);
    fixture.prefer(&token, muted).await;
    fixture.send(&[done(other, "B")]).await;
    let path = format!("/auth/users?id={other}");
    let deleted = fixture
        .app
        .send(&fixture.a.token, Method::DELETE, &path, json!({}))
        .await;
    assert_eq!(deleted.status, 200, "{}", deleted.text());

    let (status, body) = fixture.app.undo(&fixture.a.token, &deleted).await;
    fixture.app.deliver_events().await;

    assert_eq!(status, 200, "{body}");
    assert_eq!(fixture.app.count("notifications_notifications").await, 1);
    assert_eq!(fixture.app.count("notifications_preferences").await, 1);
}
