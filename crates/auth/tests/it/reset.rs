//! Forgotten passwords, from the request to the mail to the new password.

use actix_web::http::Method;
use backoffice_core::jobs::Worker;
use backoffice_test_support::{Duration, TestResponse};
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::world::{PASSWORD, World, account};

pub(crate) const SITE: &str = "https://office.example";
const NEW: &str = "quite another phrase";

pub(crate) async fn world() -> World {
    World::with_config("[app]\npublic_url = \"https://office.example\"\n[rate_limits]\nenabled = false\n").await
}

pub(crate) async fn post(world: &World, path: &str, members: &[(&str, &str)]) -> TestResponse {
    world.app.request(Method::POST, path).form(members).send().await
}

/// The token in the link of a mail.
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

async fn requested(world: &World, email: &str) -> String {
    let answer = post(world, "/auth/reset", &[("email", email)]).await;
    assert_eq!(answer.status, 200);
    world.app.run_jobs().await;
    let mails = world.app.mail().take();
    assert_eq!(mails.len(), 1, "one mail");
    token_in(&mails[0].text)
}

async fn sign_in(world: &World, email: &str, password: &str) -> u16 {
    let body = json!({"email": email, "password": password});
    world.app.post("", "/auth/login", body).await.0
}

#[actix_web::test]
async fn acc_11_every_address_gets_the_same_answer_and_every_account_its_own_mail() {
    let world = world().await;
    account(
        &world.app,
        Some(world.b.id),
        Some(world.b.organization),
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
        let answer = post(&world, "/auth/reset", members).await;
        bodies.push((answer.status, answer.text()));
    }
    world.app.run_jobs().await;

    assert_eq!(bodies, vec![(200, r#"{"ok":true}"#.to_owned()); 5]);
    let mails = world.app.mail().take();
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
        &world,
        "/auth/reset/confirm",
        &[("token", &token_in(&to_alpha.text)), ("password", NEW)],
    )
    .await;
    assert_eq!(confirmed.json()["redirect"], format!("/login?tenant={}", world.a.id));
    // The other tenant's account keeps its password.
    let login = async |password: &str, tenant| {
        let body = json!({"email": "admin@alpha.test", "password": password, "tenantId": tenant});
        world.app.post("", "/auth/login", body).await.0
    };
    assert_eq!(
        (login(PASSWORD, world.b.id).await, login(NEW, world.b.id).await),
        (200, 401)
    );
    assert_eq!(
        (login(PASSWORD, world.a.id).await, login(NEW, world.a.id).await),
        (401, 200)
    );

    let to_beta = mails.iter().find(|mail| mail.subject.contains("Beta")).expect("a mail");
    let other = "yet another phrase";
    let members = [("token", token_in(&to_beta.text)), ("password", other.to_owned())];
    let members: Vec<(&str, &str)> = members.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let confirmed = post(&world, "/auth/reset/confirm", &members).await;
    assert_eq!(confirmed.json()["redirect"], format!("/login?tenant={}", world.b.id));
    assert_eq!(
        (login(PASSWORD, world.b.id).await, login(other, world.b.id).await),
        (401, 200)
    );
    assert_eq!(
        (login(NEW, world.a.id).await, login(other, world.a.id).await),
        (200, 401)
    );
}

#[actix_web::test]
async fn acc_10_forged_hosts_change_no_link_of_a_mail() {
    let world = world().await;
    let forged = |method: Method, path: &str| {
        let request = world.app.request(method, path).header("host", "evil.test");
        let request = request.header("x-forwarded-host", "evil.test");
        let request = request.header("x-forwarded-proto", "gopher");
        request.header("forwarded", "host=evil.test;proto=gopher")
    };

    let reset = forged(Method::POST, "/auth/reset").form(&[("email", "admin@alpha.test")]);
    let reset = reset.send().await.status;
    world.app.run_jobs().await;
    let new = json!({"email": "ann@alpha.test", "organizationId": world.a.organization, "sendInviteEmail": true});
    let made = forged(Method::POST, "/auth/users")
        .bearer(&world.a.token)
        .json(&new)
        .send()
        .await;
    let again = forged(Method::POST, "/auth/users/resend-invite").bearer(&world.a.token);
    let again = again.json(&json!({"id": made.json()["id"]})).send().await.status;

    assert_eq!((reset, made.status, again), (200, 201, 200));
    let mails = world.app.mail().take();
    assert_eq!(mails.len(), 3);
    for mail in mails {
        assert!(!token_in(&mail.text).is_empty());
        let told = format!("{mail:?}");
        assert!(!told.contains("evil.test") && !told.contains("gopher"), "{told}");
    }
}

#[actix_web::test]
async fn acc_11_known_and_unknown_addresses_cost_the_same_statements() {
    let world = World::counting_with("[app]\npublic_url = \"https://office.example\"\n").await;
    post(&world, "/auth/reset", &[("email", "warm@up.test")]).await;

    let known = world
        .app
        .count_statements(post(&world, "/auth/reset", &[("email", "admin@alpha.test")]))
        .await;
    let unknown = world
        .app
        .count_statements(post(&world, "/auth/reset", &[("email", "nobody@nowhere.test")]))
        .await;

    assert_eq!((known.0.text(), known.1), (unknown.0.text(), unknown.1));
}

#[actix_web::test]
async fn s5_no_job_keeps_an_address_once_it_is_done() {
    let world = world().await;
    let payloads = "select state, payload from core_jobs where kind = 'auth.user.request_resets' order by id";
    for address in ["admin@alpha.test", "nobody@nowhere.test"] {
        post(&world, "/auth/reset", &[("email", address)]).await;
    }
    world.app.run_jobs().await;
    let done = json!({"state": "done", "payload": {}});
    assert_eq!(world.app.rows(payloads).await, [done.clone(), done]);
}

#[actix_web::test]
async fn acc_12_only_the_latest_token_works_and_only_once() {
    let world = world().await;
    let other_session = crate::world::login(&world.app, "admin@alpha.test").await;
    let first = requested(&world, "admin@alpha.test").await;
    let second = requested(&world, "admin@alpha.test").await;

    let dead = post(&world, "/auth/reset/confirm", &[("token", &first), ("password", NEW)]).await;
    let set = post(&world, "/auth/reset/confirm", &[("token", &second), ("password", NEW)]).await;
    let again = post(&world, "/auth/reset/confirm", &[("token", &second), ("password", NEW)]).await;

    assert_eq!(
        (dead.status, dead.text()),
        (400, r#"{"error":"Invalid or expired token","ok":false}"#.to_owned())
    );
    assert_eq!(
        set.json(),
        json!({"ok": true, "redirect": format!("/login?tenant={}", world.a.id)})
    );
    assert!(set.cookies().is_empty(), "nobody is signed in by it");
    assert_eq!((again.status, again.text()), (400, dead.text()));
    for token in [&world.a.token, &other_session] {
        assert_eq!(world.app.get(token, "/auth/profile").await.0, 401);
    }
    assert_eq!(sign_in(&world, "admin@alpha.test", PASSWORD).await, 401);
    assert_eq!(sign_in(&world, "admin@alpha.test", NEW).await, 200);
}

#[actix_web::test]
async fn acc_12_of_fifty_at_once_one_sets_the_password() {
    let world = world().await;
    let token = requested(&world, "admin@alpha.test").await;
    let members = [("token", token.as_str()), ("password", NEW)];

    let answers = join_all((0..50).map(|_| post(&world, "/auth/reset/confirm", &members))).await;

    let count = |status: u16| answers.iter().filter(|answer| answer.status == status).count();
    assert_eq!((count(200), count(400)), (1, 49));
}

#[actix_web::test]
async fn acc_13_validation_tells_nothing_and_uses_nothing() {
    let world = world().await;
    let used = requested(&world, "admin@alpha.test").await;
    post(&world, "/auth/reset/confirm", &[("token", &used), ("password", NEW)]).await;
    let void = requested(&world, "admin@beta.test").await;
    let live = requested(&world, "admin@beta.test").await;
    let unknown = "0".repeat(43);

    let mut answers = Vec::new();
    for token in [used.as_str(), void.as_str(), unknown.as_str(), "short", ""] {
        answers.push(post(&world, "/auth/reset/validate", &[("token", token)]).await.text());
    }
    let before = world.app.image().await;
    let valid = post(&world, "/auth/reset/validate", &[("token", &live)]).await.text();
    let after = world.app.image().await;
    let weak = post(
        &world,
        "/auth/reset/confirm",
        &[("token", &live), ("password", "password1")],
    )
    .await;
    let still = post(&world, "/auth/reset/validate", &[("token", &live)]).await.text();
    world.app.advance(Duration::minutes(61));
    let expired = post(&world, "/auth/reset/validate", &[("token", &live)]).await.text();

    answers.push(expired);
    assert_eq!(answers, vec![r#"{"ok":true,"valid":false}"#; 6]);
    assert_eq!(valid, r#"{"ok":true,"valid":true}"#);
    assert_eq!(before, after);
    assert_eq!(
        (weak.status, weak.json()["code"].clone()),
        (400, json!("password_policy"))
    );
    assert_eq!(still, valid);
}

#[actix_web::test]
async fn acc_13_a_token_is_dead_while_its_user_or_tenant_is_closed() {
    let world = world().await;
    let (id, _) = world.user("ann@alpha.test", &[]).await;
    let token = requested(&world, "ann@alpha.test").await;
    let sent = async |token: String| post(&world, "/auth/reset/validate", &[("token", &token)]).await.json();

    world
        .app
        .sql(&format!(
            "update directory_tenants set is_active = false where id = '{}'",
            world.a.id
        ))
        .await;
    let closed = sent(token.clone()).await;
    world
        .app
        .sql(&format!(
            "update directory_tenants set is_active = true where id = '{}'",
            world.a.id
        ))
        .await;
    let open = sent(token.clone()).await;
    let (status, body) = world
        .app
        .put(&world.a.token, "/auth/users", json!({"id": id, "isActive": false}))
        .await;
    assert_eq!(status, 200, "{body}");
    world
        .app
        .put(&world.a.token, "/auth/users", json!({"id": id, "isActive": true}))
        .await;
    let void = sent(token).await;

    assert_eq!(
        [closed, open, void].map(|answer| answer["valid"].clone()),
        [json!(false), json!(true), json!(false)]
    );
}

#[actix_web::test]
async fn acc_14_only_this_site_and_allowed_ones_make_mails_leave() {
    let world = World::with_config(
        "[app]\npublic_url = \"https://office.example\"\nallowed_origins = [\"https://console.example\"]\n[rate_limits]\nenabled = false\n",
    )
    .await;
    let from = |origin: &'static str| {
        let request = world.app.request(Method::POST, "/auth/reset").header("Origin", origin);
        request.form(&[("email", "admin@alpha.test")]).send()
    };

    for origin in [
        "https://evil.test",
        "null",
        "http://office.example",
        "https://office.example:444",
    ] {
        let answer = from(origin).await;
        assert_eq!(
            (answer.status, answer.text()),
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
        let world = World::with_config(config).await;

        let answer = post(&world, "/auth/reset", &[("email", "admin@alpha.test")]).await;

        assert_eq!(answer.status, 500);
        assert_eq!(answer.json()["error"], "Password reset is not configured");
    }
}

#[actix_web::test]
async fn acc_14_a_mail_that_did_not_leave_is_tried_again_with_a_fresh_token() {
    let world = world().await;
    world.app.mail().refuse(true);
    post(&world, "/auth/reset", &[("email", "admin@alpha.test")]).await;
    world.app.run_jobs().await;
    world.app.mail().refuse(false);
    assert!(world.app.mail().mails().is_empty());

    // The wait after a failed attempt is 2 s, more or less.
    world.app.advance(Duration::seconds(3));
    world.app.run_jobs().await;

    let mails = world.app.mail().take();
    assert_eq!(mails.len(), 1);
    let tokens = world
        .app
        .rows("select voided_at is null as live from auth_one_time_tokens order by created_at")
        .await;
    assert_eq!(tokens, [json!({"live": false}), json!({"live": true})]);
    let answer = post(&world, "/auth/reset/validate", &[("token", &token_in(&mails[0].text))]).await;
    assert_eq!(answer.json()["valid"], true);
}

#[actix_web::test]
async fn acc_14_a_job_whose_worker_died_is_taken_over() {
    let world = world().await;
    post(&world, "/auth/reset", &[("email", "admin@alpha.test")]).await;
    Worker::new(world.app.runtime().clone())
        .run_one(None)
        .await
        .expect("the queue");
    // The worker that took the job of the mail is gone.
    let taken = "update core_jobs set state = 'running', attempt = 1, lease_owner = id, lease_until = '2026-11-20T08:01:00Z' \
                 where kind = 'auth.user.send_reset'";
    assert_eq!(world.app.sql(taken).await, 1);
    assert_eq!(world.app.run_jobs().await, 0, "the lease holds");

    world.app.advance(Duration::seconds(61));
    world.app.run_jobs().await;

    assert_eq!(world.app.mail().mails().len(), 1);
}

#[actix_web::test]
async fn after_three_attempts_the_mail_is_given_up() {
    let world = world().await;
    world.app.mail().refuse(true);
    post(&world, "/auth/reset", &[("email", "admin@alpha.test")]).await;

    let mut attempts = 0;
    for _ in 0..10 {
        attempts += world.app.run_jobs().await;
        world.app.advance(Duration::minutes(1));
    }

    assert_eq!(attempts, 4, "one that finds the account, three that send");
    let dead = "select state, attempt from core_jobs where kind = 'auth.user.send_reset'";
    assert_eq!(world.app.rows(dead).await, [json!({"state": "dead", "attempt": 3})]);
}

#[actix_web::test]
async fn the_fourth_request_for_an_account_in_a_minute_waits() {
    let world = World::with_config("[app]\npublic_url = \"https://office.example\"\n").await;
    let ask = |peer: &'static str, email: &'static str| {
        let request = world.app.request(Method::POST, "/auth/reset").peer(peer);
        request.form(&[("email", email)]).send()
    };

    let mut statuses = Vec::new();
    for peer in ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"] {
        statuses.push(ask(peer, "Admin@alpha.test").await.status);
    }

    assert_eq!(statuses, [200, 200, 200, 429]);
    assert_eq!(ask("10.0.0.4", "admin@beta.test").await.status, 200);
    // Clients that send no address do not count for each other.
    for number in 0..6 {
        let peer = ["10.0.1.1", "10.0.1.2", "10.0.1.3", "10.0.1.4", "10.0.1.5", "10.0.1.6"][number];
        assert_eq!(ask(peer, ["", "nobody"][number % 2]).await.status, 200, "{number}");
    }
}

#[actix_web::test]
async fn a_mail_speaks_the_first_language_of_the_tenant() {
    let world = world().await;
    world
        .app
        .sql(&format!(
            "update directory_tenants set locales = '{{pl,de}}' where id = '{}'",
            world.a.id
        ))
        .await;

    requested_mail(&world, "pl", "Ustaw nowe hasło: Alpha").await;
}

async fn requested_mail(world: &World, language: &str, subject: &str) {
    post(world, "/auth/reset", &[("email", "admin@alpha.test")]).await;
    world.app.run_jobs().await;
    let mails = world.app.mail().take();
    assert_eq!(
        (mails[0].language.as_str(), mails[0].subject.as_str()),
        (language, subject)
    );
    assert!(mails[0].html.contains(&format!("lang=\"{language}\"")));
}

#[actix_web::test]
async fn a_changed_address_voids_the_token_and_tells_the_old_one() {
    let world = world().await;
    let token = requested(&world, "admin@alpha.test").await;

    let patch = json!({"email": "new@alpha.test", "currentPassword": PASSWORD});
    let (status, body) = world.app.put(&world.a.token, "/auth/profile", patch).await;
    assert_eq!(status, 200, "{body}");
    world.app.run_jobs().await;

    let mails = world.app.mail().take();
    assert_eq!(
        mails.iter().map(|mail| mail.to.as_str()).collect::<Vec<_>>(),
        ["admin@alpha.test"]
    );
    let answer = post(&world, "/auth/reset/validate", &[("token", &token)]).await;
    assert_eq!(answer.json()["valid"], false);
}

#[actix_web::test]
async fn no_table_keeps_a_clear_token() {
    let world = world().await;
    let token = requested(&world, "admin@alpha.test").await;

    for table in world.app.tables().await {
        let found = world
            .app
            .rows(&format!(
                "select 1 as found from {table} t where t::text like '%{token}%'"
            ))
            .await;
        assert_eq!(found, Vec::<Value>::new(), "{table}");
    }
}
