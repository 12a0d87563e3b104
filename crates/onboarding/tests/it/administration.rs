//! Requests as operators see them.

use backoffice_core::Call;
use backoffice_onboarding::{expire_request, list_requests};
use backoffice_test_support::Duration;
use uuid::Uuid;

use crate::fixture::Fixture;

#[actix_web::test]
async fn operators_list_open_requests_and_expire_them() {
    let fixture = Fixture::new().await;
    let call = || Call::internal(fixture.app.runtime());
    let (_, completed) = fixture.invited("done@example.com", "Completed Co").await;
    fixture.open(&completed, "application/json", None).await;
    fixture.app.run_jobs().await;
    let (late, _) = fixture.invited("late@example.com", "Late Co").await;
    fixture.app.advance(Duration::hours(25));
    let (person, token) = fixture.invited("new@example.com", "Open Co").await;

    let open = list_requests(&call(), false).await.expect("a list");
    let all = list_requests(&call(), true).await.expect("a list");

    let names = |list: &[backoffice_onboarding::RequestSummary]| -> Vec<(String, String)> {
        let one = |one: &backoffice_onboarding::RequestSummary| (one.organization_name.clone(), one.status.clone());
        list.iter().map(one).collect()
    };
    let pair = |name: &str, status: &str| (name.to_owned(), status.to_owned());
    assert_eq!(names(&open), [pair("Open Co", "pending")]);
    assert_eq!(
        names(&all),
        [
            pair("Open Co", "pending"),
            pair("Late Co", "expired"),
            pair("Completed Co", "completed")
        ]
    );
    assert!(all[2].new_tenant_id.is_some() && all[2].provisioning_job_id.is_some());

    expire_request(&call(), open[0].id).await.expect("expired");

    assert_eq!(fixture.status(&person.status_token).await["status"], "expired");
    assert_eq!(fixture.open(&token, "application/json", None).await.status, 400);
    assert_eq!(fixture.status(&late.status_token).await["status"], "expired");
    for id in [open[0].id, all[2].id, Uuid::nil()] {
        let error = expire_request(&call(), id).await.expect_err("not pending");
        assert_eq!(error.to_rejection().status, 404);
    }
}
