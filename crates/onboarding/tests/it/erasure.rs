//! The end of personal data.

use backoffice_core::Call;
use backoffice_core::jobs::enqueue_due;
use backoffice_test_support::Duration;
use serde_json::json;

use crate::fixture::Fixture;

/// Lets the daily job run.
async fn daily(fixture: &Fixture) {
    let due = enqueue_due(&Call::internal(fixture.app.runtime())).await;
    due.expect("the database can be read");
    fixture.app.run_jobs().await;
}

#[actix_web::test]
async fn onb_8_a_month_after_the_end_no_name_or_address_is_left() {
    let fixture = Fixture::new().await;
    daily(&fixture).await;
    let (_, token) = fixture.invited("new@example.com", "Completed Co").await;
    fixture.open(&token, "application/json", None).await;
    fixture.invited("late@example.com", "Expired Co").await;
    fixture.app.run_jobs().await;
    fixture.app.advance(Duration::days(30));
    daily(&fixture).await;
    assert_eq!(fixture.app.count("onboarding_requests").await, 2, "not yet");
    let young = fixture.person("young@example.com", "Young Co").await;
    fixture.app.advance(Duration::hours(26));

    daily(&fixture).await;

    assert_eq!(fixture.app.count("onboarding_requests").await, 1);
    assert_eq!(fixture.status(&young.status_token).await["status"], "expired");
    let platform = "tenant_id = '00000000-0000-0000-0000-000000000000'";
    let sql = format!("select * from audit_action_logs where {platform} and resource_kind = 'onboarding.request'");
    let log = json!(fixture.app.rows(&sql).await).to_string();
    for text in ["Completed Co", "Expired Co"] {
        assert!(!log.contains(text), "{text} in {log}");
    }
    assert!(log.contains("Young Co"));
}

#[actix_web::test]
async fn a_request_whose_job_became_dead_is_erased_a_month_later() {
    let fixture = Fixture::new().await;
    daily(&fixture).await;
    fixture.dead_after_creation("new@example.com", "New").await;

    fixture.app.advance(Duration::days(31));
    daily(&fixture).await;

    assert_eq!(fixture.app.count("onboarding_requests").await, 0);
    assert_eq!(fixture.tenants("New").await, 1);
}
