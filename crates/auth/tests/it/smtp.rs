//! Mails are delivered to a mail server of the test.

use std::net::TcpListener;
use std::time::Duration;

use backoffice_test_support::{MailServer, TestApp};
use serde_json::json;

use crate::fixture::{CONFIG, Fixture, MODULES, NO_LIMITS};
use crate::reset::post;

/// Creates a fixture with this configuration of mail.
async fn fixture_with(mail: &str) -> Fixture {
    let config = format!("{CONFIG}{NO_LIMITS}[app]\npublic_url = \"https://office.example\"\n{mail}");
    let app = TestApp::builder(&MODULES).config(&config).with_real_mail();
    Fixture::inside(app.build().await).await
}

#[actix_web::test]
async fn an_invitation_reaches_a_mail_server() {
    let server = MailServer::start().await;
    let fixture = fixture_with(&server.config()).await;

    let body = json!({"email": "ann@alpha.test", "name": "Ann", "organizationId": fixture.a.organization});
    let (status, body) = fixture.app.post(&fixture.a.token, "/auth/users", body).await;

    assert_eq!((status, &body["emailSent"]), (201, &json!(true)), "{body}");
    let received = server.received().join("\n");
    for expected in [
        "MAIL FROM:<office@office.example>",
        "RCPT TO:<ann@alpha.test>",
        "From: Office <office@office.example>",
        "To: ann@alpha.test",
        "Subject: Your account at Alpha",
        "Content-Type: multipart/alternative",
        "Content-Type: text/plain",
        "Content-Type: text/html",
        "https://office.example/reset#token=",
    ] {
        assert!(received.contains(expected), "{expected} is not in\n{received}");
    }
}

#[actix_web::test]
async fn without_a_mail_server_a_user_is_created_and_the_response_says_that_no_mail_was_sent() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let address = listener.local_addr().expect("a bound listener has an address");
    drop(listener);
    let mail =
        format!("[mail]\ntransport = \"smtp\"\nsmtp_url = \"smtp://{address}\"\nfrom = \"office@office.example\"\n");
    let fixture = fixture_with(&mail).await;

    let body = json!({"email": "ann@alpha.test", "organizationId": fixture.a.organization, "sendInviteEmail": true});
    let (status, body) = fixture.app.post(&fixture.a.token, "/auth/users", body).await;

    assert_eq!((status, &body["emailSent"]), (201, &json!(false)), "{body}");
}

#[actix_web::test]
async fn every_address_that_an_account_may_have_gets_mails() {
    let server = MailServer::start().await;
    let fixture = fixture_with(&server.config()).await;
    let long = format!("{}@alpha.test", "x".repeat(65));
    for (address, written) in [
        ("a..b@alpha.test", "\"a..b\"@alpha.test"),
        (".a@alpha.test", "\".a\"@alpha.test"),
        ("a.@alpha.test", "\"a.\"@alpha.test"),
        (&long, long.as_str()),
    ] {
        let body = json!({"email": address, "organizationId": fixture.a.organization, "sendInviteEmail": true});
        let (status, body) = fixture.app.post(&fixture.a.token, "/auth/users", body).await;

        assert_eq!((status, &body["emailSent"]), (201, &json!(true)), "{address}: {body}");
        let received = server.received().join("\n");
        let expected = format!("RCPT TO:<{written}>");
        assert!(received.contains(&expected), "{expected} is not in\n{received}");
    }
}

#[actix_web::test]
async fn a_job_waits_until_a_slow_mail_server_has_accepted_its_mail() {
    let server = MailServer::accepting_after(Duration::from_secs(9)).await;
    let fixture = fixture_with(&server.config()).await;
    fixture.user("ann@alpha.test", &[]).await;

    let response = post(&fixture, "/auth/reset", &[("email", "ann@alpha.test")]).await;
    assert_eq!(response.status, 200);
    fixture.app.run_jobs().await;

    let unfinished = "core_jobs where kind = 'auth.user.send_reset' and state <> 'done'";
    assert_eq!(fixture.app.count(unfinished).await, 0);
    assert_eq!(server.messages().len(), 1);
    let received = server.received();
    assert_eq!(received[0], "EHLO office.example");
    let has_id = |line: &String| line.starts_with("Message-ID: <") && line.ends_with("@office.example>");
    assert!(received.iter().any(has_id), "{received:?}");
}

#[actix_web::test]
async fn an_attempt_that_sends_the_same_mail_again_has_the_same_message_id() {
    let server = MailServer::start().await;
    let fixture = fixture_with(&server.config()).await;
    let (user, _) = fixture.user("ann@alpha.test", &[]).await;
    let moved = json!({"id": user, "email": "bea@alpha.test"});
    assert_eq!(fixture.app.put(&fixture.a.token, "/auth/users", moved).await.0, 200);

    fixture.app.run_jobs().await;
    // As if the process had crashed before it recorded the end of the job.
    let repeat =
        "update core_jobs set state = 'queued', finished_at = null where kind = 'auth.user.notify_old_address'";
    assert_eq!(fixture.app.sql(repeat).await, 1);
    fixture.app.run_jobs().await;

    let received = server.received();
    let ids: Vec<&String> = received
        .iter()
        .filter(|line| line.starts_with("Message-ID: "))
        .collect();
    assert_eq!(ids.len(), 2, "{received:?}");
    assert_eq!(ids[0], ids[1]);
}

#[actix_web::test]
async fn a_job_that_the_mail_server_rejects_keeps_the_reason() {
    let server = MailServer::start().await;
    let fixture = fixture_with(&server.config().replace("\"\nfrom", "/?tls=required\"\nfrom")).await;
    fixture.user("ann@alpha.test", &[]).await;

    post(&fixture, "/auth/reset", &[("email", "ann@alpha.test")]).await;
    fixture.app.run_jobs().await;

    let failed = "select last_error from core_jobs where kind = 'auth.user.send_reset'";
    let rows = fixture.app.rows(failed).await;
    let error = rows[0]["last_error"].as_str().unwrap_or_default();
    assert!(error.contains("STARTTLS is not supported"), "{error}");
    assert!(!error.contains("ann@alpha.test"), "{error}");
}
