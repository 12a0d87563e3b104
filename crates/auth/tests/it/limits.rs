//! Rate limits: how clients and accounts are distinguished, and what one principal may send.

use actix_web::http::Method;
use backoffice_test_support::{Duration, TestResponse};
use serde_json::json;
use uuid::Uuid;

use crate::fixture::{CONFIG, Fixture, NO_LIMITS, PASSWORD, account};

const BEHIND_A_PROXY: &str = "[http]\nproxy_depth = 1\n";

async fn attempt(fixture: &Fixture, address: &str, email: &str, password: &str) -> TestResponse {
    let request = fixture.app.request(Method::POST, "/auth/login");
    let body = json!({"email": email, "password": password});
    request.header("x-forwarded-for", address).json(&body).send().await
}

/// Counts the statuses 401 and 429 of sign-ins with a wrong password from these addresses.
async fn rejected(fixture: &Fixture, addresses: impl Iterator<Item = String>, email: &str) -> [usize; 2] {
    let mut counted = [0, 0];
    for address in addresses {
        match attempt(fixture, &address, email, "wrong password").await.status {
            401 => counted[0] += 1,
            429 => counted[1] += 1,
            other => panic!("{address}: {other}"),
        }
    }
    counted
}

#[actix_web::test]
async fn acc_45_f5_a_network_of_ipv6_is_one_client() {
    let fixture = Fixture::with_config(BEHIND_A_PROXY).await;
    let addresses = (1..=60).map(|number| format!("2001:db8:1:2::{number:x}"));

    assert_eq!(rejected(&fixture, addresses, "admin@alpha.test").await, [5, 55]);

    let next = attempt(&fixture, "2001:db8:1:3::1", "admin@alpha.test", PASSWORD).await;
    assert_eq!(next.status, 200, "another network");
}

#[actix_web::test]
async fn acc_45_f5_an_ipv4_mapped_address_counts_as_its_ipv4_address() {
    let fixture = Fixture::with_config(BEHIND_A_PROXY).await;
    let addresses = (0..12).map(|number| ["192.0.2.1", "::ffff:192.0.2.1"][number % 2].to_owned());

    assert_eq!(rejected(&fixture, addresses, "admin@alpha.test").await, [5, 7]);
}

#[actix_web::test]
async fn acc_45_f5_an_account_is_counted_over_all_addresses() {
    let fixture = Fixture::with_config(BEHIND_A_PROXY).await;
    // Setup signed them in; let that count expire.
    fixture.app.advance(Duration::hours(1));
    let addresses = || (1..=120).map(|number| format!("10.0.0.{number}"));

    assert_eq!(rejected(&fixture, addresses(), "admin@alpha.test").await, [100, 20]);
    assert_eq!(
        rejected(&fixture, addresses(), "nobody@alpha.test").await,
        [100, 20],
        "unknown accounts are counted alike"
    );

    let own = attempt(&fixture, "10.0.1.1", "Admin@alpha.test", PASSWORD).await;
    assert_eq!(own.status, 429);
    assert!(own.header("retry-after").is_some());
    assert_eq!(
        attempt(&fixture, "10.0.1.1", "admin@beta.test", PASSWORD).await.status,
        200
    );
    fixture.app.advance(Duration::hours(1));
    assert_eq!(
        attempt(&fixture, "10.0.1.1", "admin@alpha.test", PASSWORD).await.status,
        200
    );
}

#[actix_web::test]
async fn f5_a_sign_in_does_not_lift_the_limit_of_the_account() {
    let config = format!("{BEHIND_A_PROXY}[rate_limits.limits]\n\"auth.login.account\" = \"4/60\"\n");
    let fixture = Fixture::with_config(&config).await;
    let addresses = |from: u8| (from..from + 2).map(|number| format!("10.0.0.{number}"));
    let email = "admin@beta.test";
    // Setup signed them in; let that count expire.
    fixture.app.advance(Duration::hours(1));

    assert_eq!(rejected(&fixture, addresses(1), email).await, [2, 0]);
    assert_eq!(attempt(&fixture, "10.0.0.9", email, PASSWORD).await.status, 200);

    assert_eq!(rejected(&fixture, addresses(3), email).await, [1, 1]);
}

#[actix_web::test]
async fn the_password_of_one_account_lifts_no_limit_of_others_with_the_address() {
    let fixture = Fixture::with_config("").await;
    let (app, shared) = (&fixture.app, "shared@alpha.test");
    account(app, Some(fixture.a.id), None, shared, &[], false).await;
    let attempt = async |email: &str, password: &str, tenant: Option<Uuid>| {
        let body = json!({"email": email, "password": password, "tenantId": tenant});
        let request = app.request(Method::POST, "/auth/login");
        request.json(&body).send().await.status
    };
    app.advance(Duration::minutes(2));
    for expected in [401, 401, 401, 401] {
        assert_eq!(attempt(shared, "wrong password", None).await, expected);
    }
    assert_eq!(attempt(shared, PASSWORD, None).await, 200);
    assert_eq!(attempt(shared, "wrong password", None).await, 401, "the only account");

    app.advance(Duration::minutes(2));
    account(app, Some(fixture.b.id), None, shared, &[], false).await;
    let other = format!(
        "update auth_users set password_hash = 'x' where tenant_id = '{}' and email_norm = '{shared}'",
        fixture.a.id
    );
    app.sql(&other).await;
    for tenant in [None, Some(fixture.b.id), None, Some(fixture.b.id), None] {
        assert_eq!(attempt(shared, PASSWORD, tenant).await, 200);
    }

    assert_eq!(attempt(shared, "wrong password", None).await, 429);
}

#[actix_web::test]
async fn f5_sessions_keep_the_address_and_not_the_network() {
    let fixture = Fixture::with_config(BEHIND_A_PROXY).await;

    attempt(&fixture, "[2001:db8:1:2::7]:4711", "admin@alpha.test", PASSWORD).await;

    let kept = "select ip from auth_sessions where ip like '2001%'";
    assert_eq!(fixture.app.rows(kept).await, [json!({"ip": "2001:db8:1:2::7"})]);
}

#[actix_web::test]
async fn a_principal_has_a_budget_and_others_have_theirs() {
    let fixture = Fixture::with_config("").await;
    let node = fixture
        .app
        .second_node_with(&format!("{CONFIG}[http]\nprincipal_rate = 2\n"))
        .await;
    let profile = async |token: &str| {
        let request = node.request(Method::GET, "/auth/profile").bearer(token);
        request.send().await
    };

    for _ in 0..10 {
        assert_eq!(profile(&fixture.a.token).await.status, 200);
    }
    let rejected = profile(&fixture.a.token).await;

    assert_eq!(
        (rejected.status, rejected.json()),
        (429, json!({"error": "Too many requests"}))
    );
    let headers = ["retry-after", "ratelimit-policy", "ratelimit"].map(|name| rejected.header(name));
    assert_eq!(
        headers.map(Option::unwrap_or_default),
        ["1", "\"http.principal\";q=10;w=5", "\"http.principal\";r=0;t=1"]
    );
    assert_eq!(profile(&fixture.b.token).await.status, 200);
    assert_eq!(profile("nonsense").await.status, 401);
    fixture.app.advance(Duration::milliseconds(500));
    assert_eq!(profile(&fixture.a.token).await.status, 200);
    assert_eq!(profile(&fixture.a.token).await.status, 429);
}

#[actix_web::test]
async fn without_limits_or_with_a_rate_of_0_there_is_no_budget() {
    let fixture = Fixture::new().await;
    for config in [
        format!("[http]\nprincipal_rate = 1\n{NO_LIMITS}"),
        "[http]\nprincipal_rate = 0\n".to_owned(),
    ] {
        let node = fixture.app.second_node_with(&format!("{CONFIG}{config}")).await;
        for _ in 0..30 {
            assert_eq!(node.get(&fixture.a.token, "/auth/profile").await.0, 200);
        }
    }
}

#[actix_web::test]
async fn a_block_does_not_shorten_a_longer_window() {
    let config = format!("{BEHIND_A_PROXY}[rate_limits.limits]\n\"auth.login.account_ip\" = \"2/900\"\n");
    let fixture = Fixture::with_config(&config).await;
    let guess = async || {
        let response = attempt(&fixture, "10.0.0.1", "admin@alpha.test", "wrong password").await;
        (response.status, response.header("retry-after"))
    };
    let over = |seconds: &str| (429, Some(seconds.to_owned()));
    assert_eq!((guess().await, guess().await), ((401, None), (401, None)));

    assert_eq!(guess().await, over("900"));
    fixture.app.advance(Duration::seconds(60));
    assert_eq!(guess().await, over("840"));
    fixture.app.advance(Duration::seconds(839));
    assert_eq!(guess().await, over("1"));
    fixture.app.advance(Duration::seconds(1));
    assert_eq!(guess().await, (401, None));
}

#[actix_web::test]
async fn a_block_outlasts_a_shorter_window() {
    let config = format!("{BEHIND_A_PROXY}[rate_limits.limits]\n\"auth.login.account_ip\" = \"1/10\"\n");
    let fixture = Fixture::with_config(&config).await;
    let guess = async || {
        let response = attempt(&fixture, "10.0.0.1", "admin@alpha.test", "wrong password").await;
        (response.status, response.header("retry-after"))
    };
    assert_eq!(guess().await, (401, None));

    assert_eq!(guess().await, (429, Some("60".to_owned())));
    fixture.app.advance(Duration::seconds(59));
    assert_eq!(guess().await, (429, Some("1".to_owned())));
    fixture.app.advance(Duration::seconds(1));
    assert_eq!(guess().await, (401, None));
}
