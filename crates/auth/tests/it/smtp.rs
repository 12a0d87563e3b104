//! A mail server of the test's own receives what the platform sends.

use std::sync::{Arc, Mutex};

use backoffice_test_support::TestApp;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::world::{CONFIG, MODULES, World};

/// What the server was told: commands and messages, line by line.
type Heard = Arc<Mutex<Vec<String>>>;

/// Answers one conversation after the other.
async fn listen(listener: TcpListener, heard: Heard) {
    while let Ok((stream, _)) = listener.accept().await {
        converse(stream, &heard).await;
    }
}

async fn converse(stream: TcpStream, heard: &Heard) {
    let (read, mut write) = stream.into_split();
    let mut lines = BufReader::new(read).lines();
    let mut in_message = false;
    write.write_all(b"220 mail.test\r\n").await.expect("greets");
    while let Ok(Some(line)) = lines.next_line().await {
        let answer: &[u8] = match (in_message, line.to_ascii_uppercase()) {
            (true, _) if line == "." => {
                in_message = false;
                b"250 taken\r\n"
            }
            (true, _) => b"",
            (false, command) if command.starts_with("DATA") => {
                in_message = true;
                b"354 go on\r\n"
            }
            (false, command) if command.starts_with("QUIT") => b"221 bye\r\n",
            (false, _) => b"250 fine\r\n",
        };
        heard.lock().expect("one thread").push(line);
        if write.write_all(answer).await.is_err() {
            return;
        }
    }
}

async fn world_with(url: &str) -> World {
    let config = format!(
        "{CONFIG}[app]\npublic_url = \"https://office.example\"\n[rate_limits]\nenabled = false\n\
         [mail]\ntransport = \"smtp\"\nsmtp_url = \"{url}\"\nfrom = \"Office <office@office.example>\"\n"
    );
    World::inside(
        TestApp::builder(&MODULES)
            .config(&config)
            .with_real_mail()
            .build()
            .await,
    )
    .await
}

#[actix_web::test]
async fn an_invitation_reaches_a_mail_server() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let heard = Heard::default();
    actix_web::rt::spawn(listen(listener, Arc::clone(&heard)));
    let world = world_with(&format!("smtp://127.0.0.1:{port}")).await;

    let body = json!({"email": "ann@alpha.test", "name": "Ann", "organizationId": world.a.organization});
    let (status, body) = world.app.post(&world.a.token, "/auth/users", body).await;

    assert_eq!((status, &body["emailSent"]), (201, &json!(true)), "{body}");
    let heard = heard.lock().expect("one thread").join("\n");
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
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    drop(listener);
    let world = world_with(&format!("smtp://127.0.0.1:{port}")).await;

    let body = json!({"email": "ann@alpha.test", "organizationId": world.a.organization, "sendInviteEmail": true});
    let (status, body) = world.app.post(&world.a.token, "/auth/users", body).await;

    assert_eq!((status, &body["emailSent"]), (201, &json!(false)), "{body}");
}
