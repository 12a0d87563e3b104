//! How long sessions, one-time tokens, revocations and the tombstones of users are kept.

use actix_web::http::Method;
use backoffice_core::jobs::enqueue_due;
use backoffice_core::{Call, retention};
use backoffice_test_support::Duration;
use serde_json::{Value, json};

use crate::fixture::{Fixture, PASSWORD, account, id_of, login};
use crate::reset::{self, post, token_in};

/// Lets the schedules that are due run.
async fn run_due(fixture: &Fixture) {
    let due = enqueue_due(&Call::internal(fixture.app.runtime())).await;
    due.expect("the database can be read");
    fixture.app.run_jobs().await;
}

async fn log_out(fixture: &Fixture, token: &str, members: &[(&str, &str)]) {
    let request = fixture.app.request(Method::POST, "/auth/logout").bearer(token);
    let request = match members.is_empty() {
        true => request,
        false => request.form(members),
    };
    assert_eq!(request.send().await.status, 302);
}

#[actix_web::test]
async fn sessions_are_deleted_30_days_after_their_end() {
    let fixture = Fixture::new().await;
    run_due(&fixture).await;
    let ended = login(&fixture.app, "admin@alpha.test").await;
    log_out(&fixture, &ended, &[]).await;
    let remembered = json!({"email": "admin@alpha.test", "password": PASSWORD, "remember": true});
    assert_eq!(fixture.app.post("", "/auth/login", remembered).await.0, 200);
    let sessions = async || fixture.app.count("auth_sessions").await;
    let all = sessions().await;

    // The session that a log-out ended, then those that expired after 8 hours, at last the one that expired after 30 days.
    for (wait, left) in [
        (Duration::days(29), all),
        (Duration::hours(25), all - 1),
        (Duration::hours(8), 1),
        (Duration::days(29), 1),
        (Duration::days(1), 0),
    ] {
        fixture.app.advance(wait);
        run_due(&fixture).await;
        assert_eq!(sessions().await, left, "after {wait}");
    }
}

#[actix_web::test]
async fn a_session_that_has_expired_is_not_ended_again() {
    let fixture = Fixture::new().await;
    let depot = fixture.organization("Depot", None).await;
    let in_depot = async |email: &str| {
        let (tenant, organization) = (Some(fixture.a.id), Some(depot));
        let id = account(&fixture.app, tenant, organization, email, &[], false).await;
        login(&fixture.app, email).await;
        id
    };
    let ann = in_depot("ann@alpha.test").await;
    in_depot("bob@alpha.test").await;
    fixture.app.advance(Duration::hours(9));
    let expired = fixture.app.count("auth_sessions").await;
    let (root, admin) = (
        login(&fixture.app, "root@platform.test").await,
        login(&fixture.app, "admin@alpha.test").await,
    );
    for email in ["ann@alpha.test", "bob@alpha.test"] {
        login(&fixture.app, email).await;
    }

    let password = json!({"id": ann, "password": "quite another phrase"});
    assert_eq!(fixture.app.put(&admin, "/auth/users", password).await.0, 200);
    let closed = json!({"id": depot, "isActive": false});
    let path = "/directory/organizations";
    assert_eq!(fixture.app.put(&admin, path, closed).await.0, 200);
    log_out(&fixture, &admin, &[("all", "yes")]).await;
    login(&fixture.app, "admin@alpha.test").await;
    let closed = json!({"id": fixture.a.id, "isActive": false});
    assert_eq!(fixture.app.put(&root, "/directory/tenants", closed).await.0, 200);

    let ended = "select end_reason from auth_sessions where ended_at is not null order by end_reason";
    let reasons = ["logout_all", "organization_closed", "password_changed", "tenant_closed"];
    assert_eq!(
        fixture.app.rows(ended).await,
        reasons.map(|reason| json!({"end_reason": reason}))
    );
    let not_ended = format!(
        "auth_sessions where ended_at is null and expires_at <= '{}'",
        fixture.app.now()
    );
    assert_eq!(fixture.app.count(&not_ended).await, expired);
}

#[actix_web::test]
async fn links_are_deleted_30_days_after_their_end_except_for_an_open_invitation() {
    let fixture = reset::fixture().await;
    run_due(&fixture).await;
    let invite = async |email: &str| {
        let body = json!({"email": email, "organizationId": fixture.a.organization});
        let (status, body) = fixture.app.post(&fixture.a.token, "/auth/users", body).await;
        assert_eq!(status, 201, "{body}");
        id_of(&body)
    };
    invite("ann@alpha.test").await;
    let bob = json!({"id": invite("bob@alpha.test").await});
    let resent = fixture
        .app
        .post(&fixture.a.token, "/auth/users/resend-invite", bob)
        .await;
    assert_eq!(resent.0, 200, "{}", resent.1);
    post(&fixture, "/auth/reset", &[("email", "admin@alpha.test")]).await;
    fixture.app.run_jobs().await;
    let tokens = async || fixture.app.count("auth_one_time_tokens").await;
    assert_eq!(tokens().await, 4);

    // The reset that expired after an hour, then the void invitation that expired after two days.
    for (wait, left) in [
        (Duration::days(30), 4),
        (Duration::hours(2), 3),
        (Duration::days(2), 2),
        (Duration::days(365), 2),
    ] {
        fixture.app.advance(wait);
        run_due(&fixture).await;
        assert_eq!(tokens().await, left, "after {wait}");
    }
    let open = "auth_one_time_tokens where purpose = 'invite' and used_at is null and voided_at is null";
    assert_eq!(fixture.app.count(open).await, 2);
}

#[actix_web::test]
async fn a_user_who_got_links_in_mails_is_purged_with_the_log() {
    let fixture = reset::fixture().await;
    let body = json!({"email": "ann@alpha.test", "organizationId": fixture.a.organization});
    let (status, body) = fixture.app.post(&fixture.a.token, "/auth/users", body).await;
    assert_eq!(status, 201, "{body}");
    let (ann, token) = (id_of(&body), token_in(&fixture.app.mail().take()[0].text));
    let members = [("token", token.as_str()), ("password", PASSWORD)];
    assert_eq!(post(&fixture, "/auth/reset/confirm", &members).await.status, 200);
    login(&fixture.app, "ann@alpha.test").await;
    post(&fixture, "/auth/reset", &[("email", "ann@alpha.test")]).await;
    fixture.app.run_jobs().await;
    let of_ann = |table: &str| format!("{table} where user_id = '{ann}'");
    assert_eq!(fixture.app.count(&of_ann("auth_one_time_tokens")).await, 2);
    assert_eq!(fixture.app.count(&of_ann("auth_sessions")).await, 1);
    let path = format!("/auth/users?id={ann}");
    let (status, body) = fixture.app.delete(&fixture.a.token, &path, Value::Null).await;
    assert_eq!(status, 200, "{body}");

    let old = format!("update auth_users set deleted_at = '2020-01-01T00:00:00Z' where id = '{ann}'");
    assert_eq!(fixture.app.sql(&old).await, 1);
    let complete = retention::maintain_logs(&Call::internal(fixture.app.runtime())).await;

    assert!(complete.expect("maintained"));
    assert_eq!(fixture.app.count(&format!("auth_users where id = '{ann}'")).await, 0);
    for table in ["auth_one_time_tokens", "auth_sessions"] {
        assert_eq!(fixture.app.count(&of_ann(table)).await, 0, "{table}");
    }
}

#[actix_web::test]
async fn old_revocations_are_deleted_in_batches_without_waiting_for_locked_rows() {
    let fixture = Fixture::new().await;
    let app = &fixture.app;
    let old = "auth_revocations where created_at < clock_timestamp() - interval '24 hours'";
    let insert = format!(
        "insert into auth_revocations (tenant_id, id, subject_kind, subject_id, created_at, updated_at) \
         select '{}', gen_random_uuid(), 'user', gen_random_uuid(), written, written \
         from generate_series(1, 6000), (select clock_timestamp() - interval '25 hours' as written) t",
        fixture.a.id
    );
    assert_eq!(app.sql(&insert).await, 6000);
    app.sql(&format!("begin; select id from {old} order by id limit 1 for update"))
        .await;

    app.start_background();
    for _ in 0..3 {
        app.poll_revocations().await;
    }

    let left = app.count(old).await;
    app.sql("rollback").await;
    assert_eq!(left, 1, "the locked one");
}

#[actix_web::test]
async fn live_sessions_are_one_range_of_an_index() {
    let fixture = Fixture::new().await;

    let index = "pg_indexes where tablename = 'auth_sessions' \
                 and indexdef like '%(tenant_id, user_id, ended_at, expires_at)'";

    assert_eq!(fixture.app.count(index).await, 1);
}
