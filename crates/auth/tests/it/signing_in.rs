//! Details of signing in: the form, its cookies, how long a refusal takes, several tenants and several nodes.

use std::cell::Cell;
use std::time::Duration;

use actix_web::cookie::{Cookie, SameSite};
use actix_web::http::Method;
use backoffice_auth::Accounts;
use backoffice_test_support::Duration as Span;
use serde_json::{Value, json};

use crate::world::{PASSWORD, World, account};

/// `HttpOnly`, `SameSite`, `Path`, `Secure` and seconds of life.
type Attributes = (bool, Option<SameSite>, Option<String>, bool, Option<i64>);

fn attributes(cookie: &Cookie<'_>) -> Attributes {
    assert_eq!(cookie.domain(), None);
    (
        cookie.http_only().unwrap_or(false),
        cookie.same_site(),
        cookie.path().map(str::to_owned),
        cookie.secure().unwrap_or(false),
        cookie.max_age().map(|age| age.whole_seconds()),
    )
}

async fn cookies_of_a_login(world: &World, remember: Value) -> [Attributes; 2] {
    let body = json!({"email": "admin@alpha.test", "password": PASSWORD, "remember": remember});
    let answer = world.app.request(Method::POST, "/auth/login").json(&body).send().await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(
        answer.json()["expiresIn"],
        8 * 3600,
        "the token's life does not depend on it"
    );
    ["auth_token", "session_token"].map(|name| attributes(&answer.cookie(name).expect("a cookie")))
}

#[actix_web::test]
async fn acc_1_the_cookies_are_for_this_site_and_no_script() {
    let (day, lax, root) = (24 * 3600, Some(SameSite::Lax), Some("/".to_owned()));
    let with = |secure: bool, life: i64| (true, lax, root.clone(), secure, Some(life));
    let world = World::with_config("[http]\ninsecure_cookies = false\n[rate_limits]\nenabled = false\n").await;
    for (remember, life) in [
        (json!(false), day / 3),
        (json!(0), day / 3),
        (json!("off"), day / 3),
        (json!(null), day / 3),
        (json!(true), 30 * day),
        (json!(1), 30 * day),
        (json!("1"), 30 * day),
        (json!("yes"), 30 * day),
    ] {
        let found = cookies_of_a_login(&world, remember.clone()).await;
        assert_eq!(found, [with(true, day / 3), with(true, life)], "{remember}");
    }
    for bad in [json!(2), json!(-1), json!(1.5), json!("maybe"), json!([true])] {
        let body = json!({"email": "admin@alpha.test", "password": PASSWORD, "remember": bad});
        let (status, text) = world.app.post("", "/auth/login", body).await;
        assert_eq!(
            (status, text["error"].as_str()),
            (400, Some("Invalid request")),
            "{bad}"
        );
    }

    let insecure = World::with_config("[http]\ninsecure_cookies = true\n[rate_limits]\nenabled = false\n").await;
    let found = cookies_of_a_login(&insecure, json!(true)).await;
    assert_eq!(found, [with(false, day / 3), with(false, 30 * day)]);
}

/// Addresses and passwords that do not sign in, one for each reason.
async fn reasons(world: &World) -> Vec<(&'static str, &'static str)> {
    let closed = json!({"name": "Closed", "slug": "closed"});
    let (status, body) = world.app.post(&world.a.token, "/directory/organizations", closed).await;
    assert_eq!(status, 201, "{body}");
    let closed = body["id"].as_str().expect("an id").to_owned();
    for (email, change) in [
        ("inactive@alpha.test", "is_active = false".to_owned()),
        ("unconfirmed@alpha.test", "is_confirmed = false".to_owned()),
        ("passwordless@alpha.test", "password_hash = null".to_owned()),
        ("elsewhere@alpha.test", format!("organization_id = '{closed}'")),
    ] {
        let (user, _) = world.user(email, &[]).await;
        let change = format!("update auth_users set {change} where id = '{user}'");
        assert_eq!(world.app.sql(&change).await, 1);
    }
    for (table, id) in [
        ("directory_organizations", closed),
        ("directory_tenants", world.b.id.to_string()),
    ] {
        let change = format!("update {table} set is_active = false where id = '{id}'");
        assert_eq!(world.app.sql(&change).await, 1);
    }
    vec![
        ("admin@alpha.test", "wrong password"),
        ("nobody@alpha.test", PASSWORD),
        ("inactive@alpha.test", PASSWORD),
        ("unconfirmed@alpha.test", PASSWORD),
        ("passwordless@alpha.test", PASSWORD),
        ("elsewhere@alpha.test", PASSWORD),
        ("admin@beta.test", PASSWORD),
    ]
}

/// The bytes of a refusal.
async fn refusal(world: &World, email: &str, password: &str) -> (u16, String) {
    let body = json!({"email": email, "password": password});
    let answer = world.app.request(Method::POST, "/auth/login").json(&body).send().await;
    assert!(answer.cookies().is_empty(), "{email}");
    (answer.status, answer.text())
}

#[actix_web::test]
async fn acc_2_a_refusal_is_released_at_the_floor_whatever_the_reason() {
    let world = World::replacing("0ms", "300ms").await;
    let reasons = reasons(&world).await;
    let answered = Cell::new(0);
    let attempt = async |email: &str, password: &str| {
        let answer = refusal(&world, email, password).await;
        answered.set(answered.get() + 1);
        answer
    };
    let attempts = futures_util::future::join_all(reasons.iter().map(|(email, password)| attempt(email, password)));
    let watch = async {
        let clock = world.app.clock();
        while clock.waiting() < reasons.len() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let mut told = Vec::new();
        for milliseconds in [0, 299, 1] {
            world.app.advance(Span::milliseconds(milliseconds));
            tokio::time::sleep(Duration::from_millis(100)).await;
            told.push(answered.get());
        }
        told
    };

    let (found, told) = futures_util::future::join(attempts, watch).await;

    assert_eq!(told, [0, 0, reasons.len()], "none earlier, all at the same instant");
    for ((email, _), (status, text)) in reasons.iter().zip(&found) {
        assert_eq!((*status, text), (401, &found[0].1), "{email}");
    }
}

#[actix_web::test]
async fn acc_2_a_refusal_costs_one_verification_whatever_the_reason() {
    let world = World::new().await;
    let reasons = reasons(&world).await;
    let accounts = world.app.platform().provided().get::<Accounts>().expect("the module");

    let mut costs = Vec::new();
    for (email, password) in &reasons {
        let before = accounts.verifications();
        refusal(&world, email, password).await;
        costs.push((*email, accounts.verifications() - before));
    }

    assert_eq!(costs, reasons.iter().map(|(email, _)| (*email, 1)).collect::<Vec<_>>());
}

#[actix_web::test]
async fn acc_3_each_password_signs_in_to_its_own_tenant() {
    let world = World::new().await;
    let make = async |token: &str, password: &str, organization: uuid::Uuid| {
        let body = json!({
            "email": "both@x.test", "password": password, "organizationId": organization, "roles": []
        });
        let (status, body) = world.app.post(token, "/auth/users", body).await;
        assert_eq!(status, 201, "{body}");
    };
    let sign_in = async |password: &str| {
        let body = json!({"email": "both@x.test", "password": password});
        world.app.post("", "/auth/login", body).await
    };
    let tenant_of = async |body: Value| {
        let token = body["token"].as_str().expect("a token").to_owned();
        world.app.get(&token, "/auth/profile").await.1["tenantId"].clone()
    };
    make(&world.a.token, "the password of alpha", world.a.organization).await;
    let (alone, _) = sign_in("the password of alpha").await;

    // Another tenant's administrator takes the same address.
    make(&world.b.token, "the password of beta", world.b.organization).await;
    let (alpha, alpha_body) = sign_in("the password of alpha").await;
    let (beta, beta_body) = sign_in("the password of beta").await;

    assert_eq!((alone, alpha, beta), (200, 200, 200));
    assert_eq!(tenant_of(alpha_body).await, json!(world.a.id));
    assert_eq!(tenant_of(beta_body).await, json!(world.b.id));
    let elsewhere = json!({
        "email": "both@x.test", "password": "the password of alpha", "tenantId": world.b.id
    });
    assert_eq!(world.app.post("", "/auth/login", elsewhere).await.0, 401);
}

#[actix_web::test]
async fn acc_3_equal_passwords_name_the_tenants_that_they_fit() {
    let world = World::new().await;
    for tenant in [&world.a, &world.b] {
        let (id, organization) = (Some(tenant.id), Some(tenant.organization));
        account(&world.app, id, organization, "both@x.test", &[], false).await;
    }

    let ask = json!({"email": "both@x.test", "password": PASSWORD});
    let (status, body) = world.app.post("", "/auth/login", ask).await;

    let tenants = json!([{"id": world.a.id, "name": "Alpha"}, {"id": world.b.id, "name": "Beta"}]);
    assert_eq!((status, body["tenants"].clone()), (400, tenants));
    for name in ["tenantId", "tenant"] {
        let chosen = json!({"email": "both@x.test", "password": PASSWORD, name: world.a.id});
        assert_eq!(world.app.post("", "/auth/login", chosen).await.0, 200, "{name}");
    }
}

#[actix_web::test]
async fn acc_5_malformed_attempts_count_like_others() {
    let world = World::with_config("").await;
    let attempt = async |peer: &str, body: &Value| {
        let request = world.app.request(Method::POST, "/auth/login").peer(peer).json(body);
        let answer = request.send().await;
        (answer.status, answer.json()["ok"].clone())
    };
    let malformed = [
        json!({"email": "admin@alpha.test", "password": 7}),
        json!({"email": "admin@alpha.test"}),
        json!({"email": "admin@alpha.test", "password": PASSWORD, "remember": "maybe"}),
        json!({"email": "admin@alpha.test", "password": PASSWORD, "tenantId": "none"}),
        json!({"email": " Admin@Alpha.test", "password": ""}),
    ];

    for body in &malformed {
        assert_eq!(attempt("10.0.0.1", body).await, (400, json!(false)), "{body}");
    }

    let right = json!({"email": "admin@alpha.test", "password": PASSWORD});
    assert_eq!(attempt("10.0.0.1", &right).await, (429, json!(false)), "the sixth");
    assert_eq!(
        attempt("10.0.0.1", &malformed[0]).await.0,
        429,
        "before its form is looked at"
    );
    assert_eq!(attempt("10.0.0.2", &right).await.0, 200, "another client");
    for _ in 0..5 {
        assert_eq!(attempt("10.0.0.3", &json!({"email": 7})).await.0, 400);
    }
    assert_eq!(
        attempt("10.0.0.3", &json!({"email": 7})).await.0,
        429,
        "nobody's address is one too"
    );
}

#[actix_web::test]
async fn acc_7_a_second_node_refuses_bearer_cookie_and_refresh_token_of_an_ended_session() {
    let world = World::new().await;
    let second = world.app.second_node().await;
    world.app.start_background();
    second.start_background();
    tokio::time::sleep(Duration::from_millis(600)).await;
    let sign_in = async || {
        let body = json!({"email": "admin@alpha.test", "password": PASSWORD});
        let (_, body) = world.app.post("", "/auth/login", body).await;
        let text = |name: &str| body[name].as_str().expect("a text").to_owned();
        (text("token"), text("refreshToken"))
    };
    let (ended, ended_refresh) = sign_in().await;
    let (other, other_refresh) = sign_in().await;
    let ask = async |token: &str, refresh: &str| {
        let bearer = second.get(token, "/auth/profile").await.0;
        let request = second.request(Method::GET, "/auth/profile").cookie("auth_token", token);
        let cookie = request.send().await.status;
        let body = json!({"refreshToken": refresh});
        [bearer, cookie, second.post("", "/auth/session/refresh", body).await.0]
    };
    assert_eq!(ask(&ended, &ended_refresh).await, [200; 3]);
    assert_eq!(ask(&other, &other_refresh).await, [200; 3]);

    world
        .app
        .request(Method::POST, "/auth/logout")
        .bearer(&ended)
        .send()
        .await;
    tokio::time::sleep(Duration::from_secs(1)).await;

    assert_eq!(ask(&ended, &ended_refresh).await, [401; 3]);
    assert_eq!(ask(&other, &other_refresh).await, [200; 3], "another session goes on");
}

#[actix_web::test]
async fn acc_7_logout_ends_the_session_of_the_cookie_too() {
    let world = World::new().await;
    let body = json!({"email": "admin@alpha.test", "password": PASSWORD});
    let (_, session) = world.app.post("", "/auth/login", body).await;
    let refresh = session["refreshToken"].as_str().expect("a token");

    // Called by another session of the same user.
    world
        .app
        .request(Method::POST, "/auth/logout")
        .bearer(&world.a.token)
        .cookie("session_token", refresh)
        .send()
        .await;

    for token in [&world.a.token, session["token"].as_str().expect("a token")] {
        assert_eq!(world.app.get(token, "/auth/profile").await.0, 401);
    }
}

#[actix_web::test]
async fn acc_9_a_fresh_token_never_outlives_its_session() {
    let world = World::new().await;
    let body = json!({"email": "admin@alpha.test", "password": PASSWORD, "remember": true});
    let (_, session) = world.app.post("", "/auth/login", body).await;
    let ask = json!({"refreshToken": session["refreshToken"]});
    let refreshed = async || world.app.post("", "/auth/session/refresh", ask.clone()).await;

    for (hours, expected) in [(1, 8 * 3600), (30 * 24 - 9, 8 * 3600), (5, 3 * 3600), (2, 3600)] {
        world.app.advance(Span::hours(hours));
        let (status, body) = refreshed().await;
        assert_eq!((status, body["expiresIn"].as_i64()), (200, Some(expected)));
    }
    let (_, last) = refreshed().await;
    let last = last["accessToken"].as_str().expect("a token");
    world
        .app
        .request(Method::POST, "/auth/logout")
        .bearer(last)
        .send()
        .await;

    let (status, body) = refreshed().await;
    assert_eq!(
        (status, body),
        (401, json!({"ok": false, "error": "Invalid or expired refresh token"}))
    );
    for missing in [json!({}), json!({"refreshToken": 7}), json!({"refreshToken": ""})] {
        let (status, body) = world.app.post("", "/auth/session/refresh", missing).await;
        assert_eq!((status, body["error"].as_str()), (400, Some("Missing refresh token")));
    }
}
