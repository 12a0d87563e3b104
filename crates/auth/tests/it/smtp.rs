//! Mails are delivered to a mail server of the test.

use std::net::TcpListener;

use backoffice_test_support::{MailServer, TestApp};
use serde_json::json;

use crate::fixture::{CONFIG, Fixture, MODULES, NO_LIMITS};

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
