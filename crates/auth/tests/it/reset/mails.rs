//! The mails of a reset: when one is sent, and what happens if it does not leave.

use actix_web::http::Method;
use backoffice_core::jobs::Worker;
use backoffice_test_support::Duration;
use serde_json::json;

use super::{fixture, post, requested, token_in};
use crate::fixture::{Fixture, PASSWORD};

#[actix_web::test]
async fn acc_14_only_this_site_and_allowed_ones_cause_mails() {
    let fixture = Fixture::with_config(
        "[app]\npublic_url = \"https://office.example\"\nallowed_origins = [\"https://console.example\"]\n[rate_limits]\nenabled = false\n",
    )
    .await;
    let from = |origin: &'static str| {
        let request = fixture
            .app
            .request(Method::POST, "/auth/reset")
            .header("Origin", origin);
        request.form(&[("email", "admin@alpha.test")]).send()
    };

    for origin in [
        "https://evil.test",
        "null",
        "http://office.example",
        "https://office.example:444",
    ] {
        let response = from(origin).await;
        assert_eq!(
            (response.status, response.text()),
            (400, r#"{"error":"Invalid request origin","ok":false}"#.to_owned()),
            "{origin}"
        );
    }
    for origin in ["https://office.example", "https://console.example"] {
        assert_eq!(from(origin).await.status, 200, "{origin}");
    }
}

#[actix_web::test]
async fn acc_14_without_a_public_url_or_a_transport_it_is_not_configured() {
    for config in [
        "",
        "[app]\npublic_url = \"https://office.example\"\n[mail]\ntransport = \"none\"\n",
    ] {
        let fixture = Fixture::with_config(config).await;

        let response = post(&fixture, "/auth/reset", &[("email", "admin@alpha.test")]).await;

        assert_eq!(response.status, 500);
        assert_eq!(response.json()["error"], "Password reset is not configured");
    }
}

#[actix_web::test]
async fn acc_14_a_mail_that_did_not_leave_is_tried_again_with_a_fresh_token() {
    let fixture = fixture().await;
    fixture.app.mail().reject(true);
    post(&fixture, "/auth/reset", &[("email", "admin@alpha.test")]).await;
    fixture.app.run_jobs().await;
    fixture.app.mail().reject(false);
    assert!(fixture.app.mail().mails().is_empty());

    // The wait after a failed attempt is 2 s, more or less.
    fixture.app.advance(Duration::seconds(3));
    fixture.app.run_jobs().await;

    let mails = fixture.app.mail().take();
    assert_eq!(mails.len(), 1);
    let tokens = fixture
        .app
        .rows("select voided_at is null as live from auth_one_time_tokens order by created_at")
        .await;
    assert_eq!(tokens, [json!({"live": false}), json!({"live": true})]);
    let response = post(
        &fixture,
        "/auth/reset/validate",
        &[("token", &token_in(&mails[0].text))],
    )
    .await;
    assert_eq!(response.json()["valid"], true);
}

#[actix_web::test]
async fn acc_14_a_job_whose_worker_died_is_taken_over() {
    let fixture = fixture().await;
    post(&fixture, "/auth/reset", &[("email", "admin@alpha.test")]).await;
    Worker::new(fixture.app.runtime().clone())
        .run_one(None)
        .await
        .expect("the queue");
    // The worker that took the job of the mail has died.
    let taken = "update core_jobs set state = 'running', attempt = 1, lease_owner = id, lease_until = '2026-11-20T08:01:00Z' \
                 where kind = 'auth.user.send_reset'";
    assert_eq!(fixture.app.sql(taken).await, 1);
    assert_eq!(fixture.app.run_jobs().await, 0, "the lease holds");

    fixture.app.advance(Duration::seconds(61));
    fixture.app.run_jobs().await;

    assert_eq!(fixture.app.mail().mails().len(), 1);
}

#[actix_web::test]
async fn after_three_attempts_the_mail_is_given_up() {
    let fixture = fixture().await;
    fixture.app.mail().reject(true);
    post(&fixture, "/auth/reset", &[("email", "admin@alpha.test")]).await;

    let mut attempts = 0;
    for _ in 0..10 {
        attempts += fixture.app.run_jobs().await;
        fixture.app.advance(Duration::minutes(1));
    }

    assert_eq!(attempts, 4, "one that finds the account, three that send");
    let dead = "select state, attempt from core_jobs where kind = 'auth.user.send_reset'";
    assert_eq!(fixture.app.rows(dead).await, [json!({"state": "dead", "attempt": 3})]);
}

#[actix_web::test]
async fn the_fourth_request_for_an_account_in_a_minute_waits() {
    let fixture = Fixture::with_config("[app]\npublic_url = \"https://office.example\"\n").await;
    let ask = |peer: &'static str, email: &'static str| {
        let request = fixture.app.request(Method::POST, "/auth/reset").peer(peer);
        request.form(&[("email", email)]).send()
    };

    let mut statuses = Vec::new();
    for peer in ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"] {
        statuses.push(ask(peer, "Admin@alpha.test").await.status);
    }

    assert_eq!(statuses, [200, 200, 200, 429]);
    assert_eq!(ask("10.0.0.4", "admin@beta.test").await.status, 200);
    // Requests without a valid address do not share a limit.
    for number in 0..6 {
        let peer = ["10.0.1.1", "10.0.1.2", "10.0.1.3", "10.0.1.4", "10.0.1.5", "10.0.1.6"][number];
        assert_eq!(ask(peer, ["", "nobody"][number % 2]).await.status, 200, "{number}");
    }
}

#[actix_web::test]
async fn a_mail_speaks_the_first_language_of_the_tenant() {
    let fixture = fixture().await;
    fixture
        .app
        .sql(&format!(
            "update directory_tenants set locales = '{{pl,de}}' where id = '{}'",
            fixture.a.id
        ))
        .await;

    requested_mail(&fixture, "pl", "Ustaw nowe hasło: Alpha").await;
}

async fn requested_mail(fixture: &Fixture, language: &str, subject: &str) {
    post(fixture, "/auth/reset", &[("email", "admin@alpha.test")]).await;
    fixture.app.run_jobs().await;
    let mails = fixture.app.mail().take();
    assert_eq!(
        (mails[0].language.as_str(), mails[0].subject.as_str()),
        (language, subject)
    );
    assert!(mails[0].html.contains(&format!("lang=\"{language}\"")));
}

#[actix_web::test]
async fn a_changed_address_voids_the_token_and_notifies_the_old_one() {
    let fixture = fixture().await;
    let token = requested(&fixture, "admin@alpha.test").await;

    let patch = json!({"email": "new@alpha.test", "currentPassword": PASSWORD});
    let (status, body) = fixture.app.put(&fixture.a.token, "/auth/profile", patch).await;
    assert_eq!(status, 200, "{body}");
    fixture.app.run_jobs().await;

    let mails = fixture.app.mail().take();
    assert_eq!(
        mails.iter().map(|mail| mail.to.as_str()).collect::<Vec<_>>(),
        ["admin@alpha.test"]
    );
    let response = post(&fixture, "/auth/reset/validate", &[("token", &token)]).await;
    assert_eq!(response.json()["valid"], false);
}
