//! The end of personal data.

use backoffice_core::Call;
use backoffice_core::jobs::enqueue_due;
use backoffice_test_accounts::{CONFIG, NO_LIMITS, TwoTenants};
use backoffice_test_support::{Duration, TestApp};
use serde_json::json;

use crate::fixture::{Fixture, MODULES, SITE};

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

/// Inserts requests that end now, each with an entry of the log.
async fn insert_ended(fixture: &Fixture, requests: u64) {
    let sql = format!(
        "with ended as (
            insert into onboarding_requests (tenant_id, id, kind, status, first_name, last_name, organization_name, locale, marketing_consent,
                terms_accepted_at, expires_at, ended_at, created_at, updated_at)
            select '00000000-0000-0000-0000-000000000000', gen_random_uuid(), 'new', 'expired', 'Ann', 'Lee', 'Many Co', 'en', false,
                t.at, t.at, t.at, t.at, t.at
            from generate_series(1, {requests}), (select timestamptz '{}' as at) t
            returning id, created_at
        )
        insert into audit_action_logs (tenant_id, id, seq, actor_kind, command_id, action_type, action_label, source, resource_kind,
            resource_id, related, execution_state, snapshot_after, changed_fields, created_at, updated_at)
        select '00000000-0000-0000-0000-000000000000', gen_random_uuid(), 0, 'system', 'onboarding.request.submit', 'create', 'Submit', 'system',
            'onboarding.request', id::text, '{{}}', 'done', '{{\"organizationName\": \"Many Co\"}}', '{{}}', created_at, created_at
        from ended",
        fixture.app.now()
    );
    assert_eq!(fixture.app.sql(&sql).await, requests);
}

#[actix_web::test]
async fn requests_that_ended_together_are_erased_together() {
    let builder = TestApp::builder(&MODULES).config(CONFIG).config(NO_LIMITS).config(SITE);
    let fixture = Fixture(TwoTenants::inside(builder.through_proxy().build().await).await);
    daily(&fixture).await;
    let statements = async |requests: u64| {
        insert_ended(&fixture, requests).await;
        fixture.app.advance(Duration::days(32));
        let ((), statements) = fixture.app.count_statements(daily(&fixture)).await;
        assert_eq!(fixture.app.count("onboarding_requests").await, 0);
        statements
    };
    // The first run connects.
    statements(1).await;

    let (one, many) = (statements(1).await, statements(60).await);

    assert!(many < one + 30, "{one} statements for one request, {many} for 60");
    let erased = "audit_action_logs where resource_kind = 'onboarding.request'";
    assert_eq!(fixture.app.count(erased).await, 62, "the entries stay");
    assert_eq!(
        fixture
            .app
            .count(&format!("{erased} and snapshot_after is not null"))
            .await,
        0
    );
}
