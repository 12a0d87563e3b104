//! Log lines of rejected requests.

use actix_web::http::Method;
use backoffice_test_support::{Duration, Logs, TestApp};
use serde_json::{Value, json};

use crate::fixture::{AUTH, Fixture, MODULES, sign_in};

/// Captures the log lines of this thread from `info` on.
fn capture() -> (Logs, tracing::subscriber::DefaultGuard) {
    let logs = Logs::default();
    let writer = logs.clone();
    let subscriber = tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_max_level(tracing::Level::INFO)
        .with_writer(move || writer.clone())
        .finish();
    (logs, tracing::subscriber::set_default(subscriber))
}

fn lines(logs: &Logs, message: &str) -> Vec<Value> {
    let text = logs.text();
    let lines = text.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    lines.filter(|line: &Value| line["message"] == message).collect()
}

#[actix_web::test]
async fn every_rejection_is_logged_with_who_and_why() {
    let fixture = Fixture::new().await;
    let plain = &fixture.a.plain;
    let (logs, _guard) = capture();
    let request = |method: Method, path: &str| {
        let request = fixture.app.request(method, path).peer("192.0.2.7");
        request.header("x-request-id", "mine")
    };

    let anonymous = request(Method::GET, "/auth/roles?name=x").send().await;
    let garbage = request(Method::GET, "/auth/profile").bearer("garbage").send().await;
    let weak = request(Method::GET, "/auth/roles").bearer(&plain.token).send().await;
    let write = request(Method::POST, "/auth/roles")
        .cookie("auth_token", &plain.token)
        .json(&json!({"name": "R"}));
    let write = write.send().await;

    let statuses = [&anonymous, &garbage, &weak, &write].map(|response| response.status);
    assert_eq!(statuses, [401, 401, 403, 403]);
    let lines = lines(&logs, "request rejected");
    let said = |name: &str| lines.iter().map(|line| line[name].clone()).collect::<Vec<_>>();
    assert_eq!(said("level"), ["INFO"; 4]);
    assert_eq!(said("http.status"), [401, 401, 403, 403]);
    assert_eq!(said("http.method"), ["GET", "GET", "GET", "POST"]);
    assert_eq!(
        said("http.path"),
        ["/auth/roles", "/auth/profile", "/auth/roles", "/auth/roles"]
    );
    assert_eq!(said("client.ip"), ["192.0.2.7"; 4]);
    assert_eq!(said("request.id"), ["mine"; 4]);
    let reasons = [
        "Unauthorized",
        "Unauthorized",
        "Forbidden",
        "Cross-origin request rejected",
    ];
    assert_eq!(said("rejection.reason"), reasons);
    assert_eq!(lines[2]["rejection.features"], r#"["auth.roles.list"]"#);
    let actor = [Value::Null, Value::Null, json!(plain.id), json!(plain.id)];
    let tenant = [
        Value::Null,
        Value::Null,
        json!(fixture.a.tenant),
        json!(fixture.a.tenant),
    ];
    assert_eq!((said("actor.id"), said("tenant.id")), (actor.to_vec(), tenant.to_vec()));
    assert!(!logs.text().contains(&plain.token) && !logs.text().contains("garbage"));
}

#[actix_web::test]
async fn failed_sign_ins_are_logged_without_the_address() {
    let fixture = Fixture::new().await;
    let (logs, _guard) = capture();

    for email in ["unknown@alpha.test", &fixture.a.plain.email] {
        let body = json!({"email": email, "password": "a wrong one"});
        assert_eq!(fixture.app.post("", "/auth/login", body).await.0, 401);
    }
    sign_in(&fixture.app, &fixture.a.plain.email, crate::fixture::PASSWORD).await;

    let lines = lines(&logs, "request rejected");
    assert_eq!(lines.len(), 2, "{lines:?}");
    for line in &lines {
        let hash = line["address.hash"].as_str().expect("a hash");
        assert_eq!((line["http.path"].as_str(), hash.len()), (Some("/auth/login"), 64));
        assert_eq!(line["rejection.reason"], "Invalid email or password");
    }
    assert_ne!(lines[0]["address.hash"], lines[1]["address.hash"]);
    assert_eq!(
        (&lines[0]["actor.id"], &lines[1]["actor.id"]),
        (&Value::Null, &json!(fixture.a.plain.id))
    );
    let text = logs.text();
    assert!(
        !text.contains("unknown@alpha.test") && !text.contains("a wrong one"),
        "{text}"
    );
}

#[actix_web::test]
async fn a_flood_of_rejections_does_not_fill_the_log() {
    let app = TestApp::builder(MODULES).config(AUTH).build().await;
    let (logs, _guard) = capture();
    let body = json!({"email": "nobody@alpha.test", "password": "wrong"});

    for _ in 0..60 {
        app.post("", "/auth/login", body.clone()).await;
    }
    let (written, others) = (lines(&logs, "request rejected"), lines(&logs, "request"));
    app.advance(Duration::seconds(1));
    app.get("", "/auth/profile").await;

    assert_eq!((written.len(), others.len()), (20, 0));
    assert!(written.iter().any(|line| line["http.status"] == 429));
    let suppressed = lines(&logs, "rejections not logged");
    assert_eq!(suppressed.len(), 1);
    assert_eq!(suppressed[0]["rejections.suppressed"], 40);
}
