//! Crashes while a tenant is created.

use backoffice_core::jobs::{Queue, Worker};
use backoffice_test_accounts::{CONFIG, NO_LIMITS, TwoTenants};
use backoffice_test_support::{Duration, FaultMode, TestApp};
use serde_json::json;

use crate::fixture::{Fixture, MODULES, SITE};

/// More statements than the creation of a tenant sends.
const MOST_STATEMENTS: u64 = 120;

/// Runs one job; the database may fail at any of its statements.
async fn work_once(app: &TestApp) {
    for queue in Queue::ALL {
        let worker = Worker::new(app.runtime().clone()).of(queue);
        // An error is that of the crash.
        let _ = worker.run_one(None).await;
    }
}

#[actix_web::test]
async fn onb_5_a_crash_at_any_statement_leaves_one_tenant() {
    let builder = TestApp::builder(&MODULES).config(CONFIG).config(NO_LIMITS).config(SITE);
    let fixture = Fixture(TwoTenants::inside(builder.through_proxy().build().await).await);
    for mode in [FaultMode::Before, FaultMode::After] {
        let mut statement = 0;
        loop {
            statement += 1;
            assert!(statement < MOST_STATEMENTS, "the creation sends too many statements");
            let name = format!("{mode:?} {statement}");
            let email = format!("{mode:?}-{statement}@example.com").to_lowercase();
            let (person, token) = fixture.invited(&email, &name).await;
            let response = fixture.open(&token, "application/json", None).await;
            assert_eq!(response.status, 200, "{}", response.text());

            fixture.app.proxy().fail_at(statement, mode);
            for _ in 0..4 {
                work_once(&fixture.app).await;
            }
            let is_through = fixture.app.proxy().heal();
            for _ in 0..3 {
                fixture.app.advance(Duration::minutes(15));
                fixture.app.run_jobs().await;
            }

            let status = fixture.status(&person.status_token).await;
            assert_eq!(status["status"], "completed", "{name}");
            assert_eq!(fixture.tenants(&name).await, 1, "{name}");
            let users = format!("auth_users where email = '{email}'");
            assert_eq!(fixture.app.count(&users).await, 1, "{name}");
            let tenant = status["tenantId"].as_str().expect("a tenant");
            let roles = format!("auth_user_roles where tenant_id = '{tenant}'");
            assert_eq!(fixture.app.count(&roles).await, 1, "{name}");
            let mails = fixture.app.mail().take();
            let ready = mails.iter().filter(|mail| mail.to == email).count();
            // A crash after the mail was sent, and before that was noted, sends it again: at most once more.
            assert!((1..=2).contains(&ready), "{name}: {ready} mails");
            if is_through {
                assert_eq!(ready, 1);
                break;
            }
        }
        assert!(statement > 10, "only {statement} statements were tried");
    }
    let half = fixture
        .app
        .rows(
            "select t.name from directory_tenants t where t.name like 'Before %' or t.name like 'After %' \
             group by t.name having count(*) <> 1",
        )
        .await;
    assert_eq!(half, [json!(null); 0]);
}
