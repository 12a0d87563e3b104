//! Forgotten passwords, from the request to the mail to the new password.

mod mails;

use actix_web::http::Method;
use backoffice_test_support::{Duration, TestResponse, details};
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::fixture::{Fixture, PASSWORD, account};

pub(crate) const SITE: &str = "https://office.example";
const NEW: &str = "quite another phrase";

pub(crate) async fn fixture() -> Fixture {
    Fixture::with_config("[app]\npublic_url = \"https://office.example\"\n[rate_limits]\nenabled = false\n").await
}

pub(crate) async fn post(fixture: &Fixture, path: &str, members: &[(&str, &str)]) -> TestResponse {
    fixture.app.request(Method::POST, path).form(members).send().await
}

/// Returns the token in the link of a mail.
pub(crate) fn token_in(text: &str) -> String {
    let start = text.find(&format!("{SITE}/reset#token=")).expect("a link of this site");
    text[start..]
        .split_once('=')
        .expect("a token")
        .1
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || "-_".contains(*c))
        .collect()
}

async fn requested(fixture: &Fixture, email: &str) -> String {
    let response = post(fixture, "/auth/reset", &[("email", email)]).await;
    assert_eq!(response.status, 200);
    fixture.app.run_jobs().await;
    let mails = fixture.app.mail().take();
    assert_eq!(mails.len(), 1, "one mail");
    token_in(&mails[0].text)
}

async fn sign_in(fixture: &Fixture, email: &str, password: &str) -> u16 {
    let body = json!({"email": email, "password": password});
    fixture.app.post("", "/auth/login", body).await.0
}

#[actix_web::test]
async fn acc_11_every_address_gets_the_same_response_and_every_account_its_own_mail() {
    let fixture = fixture().await;
    account(
        &fixture.app,
        Some(fixture.b.id),
        Some(fixture.b.organization),
        "admin@alpha.test",
        &[],
        false,
    )
    .await;

    let mut bodies = Vec::new();
    for members in [
        &[("email", "admin@alpha.test")][..],
        &[("email", "nobody@nowhere.test")],
        &[("email", "not an address")],
        &[("email", "")],
        &[],
    ] {
        let response = post(&fixture, "/auth/reset", members).await;
        bodies.push((response.status, response.text()));
    }
    fixture.app.run_jobs().await;

    assert_eq!(bodies, vec![(200, r#"{"ok":true}"#.to_owned()); 5]);
    let mails = fixture.app.mail().take();
    let mut subjects: Vec<&str> = mails.iter().map(|mail| mail.subject.as_str()).collect();
    subjects.sort_unstable();
    assert_eq!(
        subjects,
        ["Set a new password for Alpha", "Set a new password for Beta"]
    );
    let to_alpha = mails
        .iter()
        .find(|mail| mail.subject.contains("Alpha"))
        .expect("a mail");
    let confirmed = post(
        &fixture,
        "/auth/reset/confirm",
        &[("token", &token_in(&to_alpha.text)), ("password", NEW)],
    )
    .await;
    assert_eq!(confirmed.json()["redirect"], format!("/login?tenant={}", fixture.a.id));
    // The other tenant's account keeps its password.
    let login = async |password: &str, tenant| {
        let body = json!({"email": "admin@alpha.test", "password": password, "tenantId": tenant});
        fixture.app.post("", "/auth/login", body).await.0
    };
    assert_eq!(
        (login(PASSWORD, fixture.b.id).await, login(NEW, fixture.b.id).await),
        (200, 401)
    );
    assert_eq!(
        (login(PASSWORD, fixture.a.id).await, login(NEW, fixture.a.id).await),
        (401, 200)
    );

    let to_beta = mails.iter().find(|mail| mail.subject.contains("Beta")).expect("a mail");
    let other = "yet another phrase";
    let members = [("token", token_in(&to_beta.text)), ("password", other.to_owned())];
    let members: Vec<(&str, &str)> = members.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let confirmed = post(&fixture, "/auth/reset/confirm", &members).await;
    assert_eq!(confirmed.json()["redirect"], format!("/login?tenant={}", fixture.b.id));
    assert_eq!(
        (login(PASSWORD, fixture.b.id).await, login(other, fixture.b.id).await),
        (401, 200)
    );
    assert_eq!(
        (login(NEW, fixture.a.id).await, login(other, fixture.a.id).await),
        (200, 401)
    );
}

#[actix_web::test]
async fn a_new_password_leads_to_the_sign_in_with_its_own_query() {
    let config = format!("[app]\npublic_url = '{SITE}'\nlogin_path = '/login?client=office'\n");
    let fixture = Fixture::with_config(&config).await;
    let token = requested(&fixture, "admin@alpha.test").await;

    let set = post(&fixture, "/auth/reset/confirm", &[("token", &token), ("password", NEW)]).await;

    assert_eq!(
        set.json()["redirect"],
        format!("/login?client=office&tenant={}", fixture.a.id)
    );
}

#[actix_web::test]
async fn acc_10_forged_hosts_change_no_link_of_a_mail() {
    let fixture = fixture().await;
    let forged = |method: Method, path: &str| {
        let request = fixture.app.request(method, path).header("host", "evil.test");
        let request = request.header("x-forwarded-host", "evil.test");
        let request = request.header("x-forwarded-proto", "gopher");
        request.header("forwarded", "host=evil.test;proto=gopher")
    };

    let reset = forged(Method::POST, "/auth/reset").form(&[("email", "admin@alpha.test")]);
    let reset = reset.send().await.status;
    fixture.app.run_jobs().await;
    let new = json!({"email": "ann@alpha.test", "organizationId": fixture.a.organization, "sendInviteEmail": true});
    let created = forged(Method::POST, "/auth/users")
        .bearer(&fixture.a.token)
        .json(&new)
        .send()
        .await;
    let again = forged(Method::POST, "/auth/users/resend-invite").bearer(&fixture.a.token);
    let again = again.json(&json!({"id": created.json()["id"]})).send().await.status;

    assert_eq!((reset, created.status, again), (200, 201, 200));
    let mails = fixture.app.mail().take();
    assert_eq!(mails.len(), 3);
    for mail in mails {
        assert!(!token_in(&mail.text).is_empty());
        let reported = format!("{mail:?}");
        assert!(
            !reported.contains("evil.test") && !reported.contains("gopher"),
            "{reported}"
        );
    }
}

#[actix_web::test]
async fn acc_11_known_and_unknown_addresses_cost_the_same_statements() {
    let fixture = Fixture::counting_with("[app]\npublic_url = \"https://office.example\"\n").await;
    post(&fixture, "/auth/reset", &[("email", "warm@up.test")]).await;

    let known = fixture
        .app
        .count_statements(post(&fixture, "/auth/reset", &[("email", "admin@alpha.test")]))
        .await;
    let unknown = fixture
        .app
        .count_statements(post(&fixture, "/auth/reset", &[("email", "nobody@nowhere.test")]))
        .await;

    assert_eq!((known.0.text(), known.1), (unknown.0.text(), unknown.1));
}

#[actix_web::test]
async fn s5_no_job_keeps_an_address_once_it_is_done() {
    let fixture = fixture().await;
    let payloads = "select state, payload from core_jobs where kind = 'auth.user.request_resets' order by id";
    for address in ["admin@alpha.test", "nobody@nowhere.test"] {
        post(&fixture, "/auth/reset", &[("email", address)]).await;
    }
    fixture.app.run_jobs().await;
    let done = json!({"state": "done", "payload": {}});
    assert_eq!(fixture.app.rows(payloads).await, [done.clone(), done]);
}

#[actix_web::test]
async fn acc_12_only_the_latest_token_works_and_only_once() {
    let fixture = fixture().await;
    let other_session = crate::fixture::login(&fixture.app, "admin@alpha.test").await;
    let first = requested(&fixture, "admin@alpha.test").await;
    let second = requested(&fixture, "admin@alpha.test").await;

    let dead = post(&fixture, "/auth/reset/confirm", &[("token", &first), ("password", NEW)]).await;
    let set = post(
        &fixture,
        "/auth/reset/confirm",
        &[("token", &second), ("password", NEW)],
    )
    .await;
    let again = post(
        &fixture,
        "/auth/reset/confirm",
        &[("token", &second), ("password", NEW)],
    )
    .await;

    assert_eq!(
        (dead.status, dead.text()),
        (400, r#"{"error":"Invalid or expired token","ok":false}"#.to_owned())
    );
    assert_eq!(
        set.json(),
        json!({"ok": true, "redirect": format!("/login?tenant={}", fixture.a.id)})
    );
    assert!(set.cookies().is_empty(), "it does not sign in");
    assert_eq!((again.status, again.text()), (400, dead.text()));
    for token in [&fixture.a.token, &other_session] {
        assert_eq!(fixture.app.get(token, "/auth/profile").await.0, 401);
    }
    assert_eq!(sign_in(&fixture, "admin@alpha.test", PASSWORD).await, 401);
    assert_eq!(sign_in(&fixture, "admin@alpha.test", NEW).await, 200);
}

#[actix_web::test]
async fn acc_12_of_fifty_at_once_one_sets_the_password() {
    let fixture = fixture().await;
    let token = requested(&fixture, "admin@alpha.test").await;
    let members = [("token", token.as_str()), ("password", NEW)];

    let responses = join_all((0..50).map(|_| post(&fixture, "/auth/reset/confirm", &members))).await;

    let count = |status: u16| responses.iter().filter(|response| response.status == status).count();
    assert_eq!((count(200), count(400)), (1, 49));
}

#[actix_web::test]
async fn acc_13_validation_reveals_nothing_and_uses_nothing() {
    let fixture = fixture().await;
    let used = requested(&fixture, "admin@alpha.test").await;
    post(&fixture, "/auth/reset/confirm", &[("token", &used), ("password", NEW)]).await;
    let void = requested(&fixture, "admin@beta.test").await;
    let live = requested(&fixture, "admin@beta.test").await;
    let unknown = "0".repeat(43);

    let mut responses = Vec::new();
    for token in [used.as_str(), void.as_str(), unknown.as_str(), "short", ""] {
        responses.push(post(&fixture, "/auth/reset/validate", &[("token", token)]).await.text());
    }
    let before = fixture.app.snapshot().await;
    let valid = post(&fixture, "/auth/reset/validate", &[("token", &live)]).await.text();
    let after = fixture.app.snapshot().await;
    let weak = post(
        &fixture,
        "/auth/reset/confirm",
        &[("token", &live), ("password", "password1")],
    )
    .await;
    let still = post(&fixture, "/auth/reset/validate", &[("token", &live)]).await.text();
    fixture.app.advance(Duration::minutes(61));
    let expired = post(&fixture, "/auth/reset/validate", &[("token", &live)]).await.text();

    responses.push(expired);
    assert_eq!(responses, vec![r#"{"ok":true,"valid":false}"#; 6]);
    assert_eq!(valid, r#"{"ok":true,"valid":true}"#);
    assert_eq!(before, after);
    assert_eq!(
        (weak.status, weak.json()["code"].clone()),
        (400, json!("password_policy"))
    );
    assert_eq!(still, valid);
}

#[actix_web::test]
async fn acc_13_a_text_with_nul_is_malformed_like_any_other() {
    let fixture = fixture().await;
    let live = requested(&fixture, "admin@alpha.test").await;
    let send = async |path: &str, fields: &[(&str, &str)]| {
        let form = post(&fixture, path, fields).await;
        let body: Value = fields.iter().map(|(name, value)| (*name, json!(value))).collect();
        let (status, body) = fixture.app.post("", path, body).await;
        assert_eq!((form.status, form.json()), (status, body.clone()), "{path}");
        (status, body)
    };

    let validated = send("/auth/reset/validate", &[("token", "a\0b")]).await;
    let requested = send("/auth/reset", &[("email", "a\0b@alpha.test")]).await;
    let confirmed = send("/auth/reset/confirm", &[("token", "a\0b"), ("password", NEW)]).await;
    let weak = send(
        "/auth/reset/confirm",
        &[("token", live.as_str()), ("password", "a long \0 text")],
    )
    .await;
    let elsewhere = send("/auth/reset/validate", &[("token", live.as_str()), ("more", "a\0b")]).await;

    assert_eq!(validated, (200, json!({"ok": true, "valid": false})));
    assert_eq!(requested, (200, json!({"ok": true})));
    assert_eq!(
        confirmed,
        (400, json!({"ok": false, "error": "Invalid or expired token"}))
    );
    assert_eq!(
        (weak.0, &weak.1["code"], details(&weak.1)),
        (400, &json!("password_policy"), vec![("password", "invalid_value")])
    );
    assert_eq!(
        (elsewhere.0, details(&elsewhere.1)),
        (400, vec![("more", "invalid_value")])
    );
}

#[actix_web::test]
async fn acc_13_a_token_is_dead_while_its_user_or_tenant_is_closed() {
    let fixture = fixture().await;
    let (id, _) = fixture.user("ann@alpha.test", &[]).await;
    let token = requested(&fixture, "ann@alpha.test").await;
    let sent = async |token: String| {
        post(&fixture, "/auth/reset/validate", &[("token", &token)])
            .await
            .json()
    };

    fixture
        .app
        .sql(&format!(
            "update directory_tenants set is_active = false where id = '{}'",
            fixture.a.id
        ))
        .await;
    let closed = sent(token.clone()).await;
    fixture
        .app
        .sql(&format!(
            "update directory_tenants set is_active = true where id = '{}'",
            fixture.a.id
        ))
        .await;
    let open = sent(token.clone()).await;
    let (status, body) = fixture
        .app
        .put(&fixture.a.token, "/auth/users", json!({"id": id, "isActive": false}))
        .await;
    assert_eq!(status, 200, "{body}");
    fixture
        .app
        .put(&fixture.a.token, "/auth/users", json!({"id": id, "isActive": true}))
        .await;
    let void = sent(token).await;

    assert_eq!(
        [closed, open, void].map(|response| response["valid"].clone()),
        [json!(false), json!(true), json!(false)]
    );
}

#[actix_web::test]
async fn no_table_keeps_a_clear_token() {
    let fixture = fixture().await;
    let token = requested(&fixture, "admin@alpha.test").await;

    for table in fixture.app.tables().await {
        let found = fixture
            .app
            .rows(&format!(
                "select 1 as found from {table} t where t::text like '%{token}%'"
            ))
            .await;
        assert_eq!(found, Vec::<Value>::new(), "{table}");
    }
}

#[actix_web::test]
async fn the_log_names_a_user_who_resets_their_password() {
    let fixture = fixture().await;
    let (_, token) = fixture.user("ann@alpha.test", &[]).await;
    fixture.app.put(&token, "/auth/profile", json!({"name": "Ann"})).await;

    for email in ["ann@alpha.test", "admin@alpha.test"] {
        let token = requested(&fixture, email).await;
        let confirmed = post(&fixture, "/auth/reset/confirm", &[("token", &token), ("password", NEW)]).await;
        assert_eq!(confirmed.status, 200, "{}", confirmed.text());
    }

    let logged = "select actor_name from audit_action_logs where command_id = 'auth.user.reset_password' order by seq";
    let expected = ["Ann", "admin@alpha.test"].map(|name| json!({"actor_name": name}));
    assert_eq!(fixture.app.rows(logged).await, expected, "the name, else the address");
}
