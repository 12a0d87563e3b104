//! A mail server of the test's own receives what the platform sends.

use std::net::TcpListener;

use backoffice_test_support::{MailServer, TestApp};
use serde_json::json;

use crate::world::{CONFIG, MODULES, NO_LIMITS, World};

/// A world that sends mail as this section says.
async fn world_with(mail: &str) -> World {
    let config = format!("{CONFIG}{NO_LIMITS}[app]\npublic_url = \"https://office.example\"\n{mail}");
    let app = TestApp::builder(&MODULES).config(&config).with_real_mail();
    World::inside(app.build().await).await
}

#[actix_web::test]
async fn an_invitation_reaches_a_mail_server() {
    let server = MailServer::start().await;
    let world = world_with(&server.config()).await;

    let body = json!({"email": "ann@alpha.test", "name": "Ann", "organizationId": world.a.organization});
    let (status, body) = world.app.post(&world.a.token, "/auth/users", body).await;

    assert_eq!((status, &body["emailSent"]), (201, &json!(true)), "{body}");
    let heard = server.heard().join("\n");
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
        assert!(heard.contains(expected), "{expected} is not in\n{heard}");
    }
}

#[actix_web::test]
async fn without_its_mail_server_a_user_is_made_and_told_that_no_mail_left() {
    let nobody = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let address = nobody.local_addr().expect("a bound listener has an address");
    drop(nobody);
    let mail =
        format!("[mail]\ntransport = \"smtp\"\nsmtp_url = \"smtp://{address}\"\nfrom = \"office@office.example\"\n");
    let world = world_with(&mail).await;

    let body = json!({"email": "ann@alpha.test", "organizationId": world.a.organization, "sendInviteEmail": true});
    let (status, body) = world.app.post(&world.a.token, "/auth/users", body).await;

    assert_eq!((status, &body["emailSent"]), (201, &json!(false)), "{body}");
}
