//! Invalid access tokens.

use actix_web::http::Method;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};

use crate::fixture::{CONFIG, Fixture, login};

const SECRET: &str = "0123456789012345678901234567890123456789";
const KEYS: &str = r#"keys = [{ kid = "test", secret = "0123456789012345678901234567890123456789" }]"#;
const NEXT: &str = r#"{ kid = "next", secret = "9876543210987654321098765432109876543210" }"#;

fn claims(token: &str) -> Value {
    let middle = token.split('.').nth(1).expect("three parts");
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(middle).expect("base64url")).expect("JSON")
}

fn header(kid: &str) -> Header {
    let mut header = Header::new(Algorithm::HS256);
    header.typ = Some("at+jwt".to_owned());
    header.kid = Some(kid.to_owned());
    header
}

fn signed(header: &Header, claims: &Value) -> String {
    encode(header, claims, &EncodingKey::from_secret(SECRET.as_bytes())).expect("signed")
}

/// Returns the token's claims with some of them replaced, signed with the right key.
fn with(token: &str, changes: Value) -> String {
    let mut claims = claims(token);
    for (name, value) in changes.as_object().expect("an object") {
        claims[name] = value.clone();
    }
    signed(&header("test"), &claims)
}

fn unsigned(token: &str, header: Value) -> String {
    let middle = token.split('.').nth(1).expect("three parts");
    format!("{}.{middle}.", URL_SAFE_NO_PAD.encode(header.to_string()))
}

#[actix_web::test]
async fn acc_6_a_token_that_was_created_otherwise_is_rejected() {
    let fixture = Fixture::new().await;
    let (_, other) = fixture.user("ann@alpha.test", &[]).await;
    let token = &fixture.a.token;
    let now = fixture.app.now().unix_millis() / 1000;
    let own = claims(token);
    let kind = |typ: Option<&str>| Header {
        typ: typ.map(str::to_owned),
        ..header("test")
    };
    let nameless = Header {
        kid: None,
        ..header("test")
    };
    let critical = |names: &[&str]| Header {
        crit: Some(names.iter().map(|name| (*name).to_owned()).collect()),
        ..header("test")
    };
    let mut other_algorithm = header("test");
    other_algorithm.alg = Algorithm::HS512;
    let signature = token.rsplit_once('.').expect("three parts").1;
    let other_claims = token.replace(
        token.split('.').nth(1).expect("three parts"),
        &URL_SAFE_NO_PAD.encode(json!({"sub": fixture.b.admin}).to_string()),
    );
    assert!(other_claims.ends_with(signature));
    let mut changed = token.clone().into_bytes();
    let place = changed.len() - 8;
    changed[place] = if changed[place] == b'A' { b'B' } else { b'A' };

    assert_eq!(
        fixture.app.get(&with(token, json!({})), "/auth/profile").await.0,
        200,
        "signed again as it was"
    );
    for (what, forged) in [
        (
            "alg none",
            unsigned(token, json!({"alg": "none", "typ": "at+jwt", "kid": "test"})),
        ),
        (
            "no signature",
            unsigned(token, json!({"alg": "HS256", "typ": "at+jwt", "kid": "test"})),
        ),
        ("another alg", signed(&other_algorithm, &own)),
        ("f24: a critical extension", signed(&critical(&["exp"]), &own)),
        (
            "f24: an empty list of critical extensions",
            signed(&critical(&[]), &own),
        ),
        (
            "f24: another tenant",
            with(token, json!({"tenantId": claims(&fixture.b.token)["tenantId"]})),
        ),
        ("unknown kid", signed(&header("other"), &own)),
        ("no kid", signed(&nameless, &own)),
        ("wrong typ", signed(&kind(Some("JWT")), &own)),
        ("no typ", signed(&kind(None), &own)),
        ("wrong iss", with(token, json!({"iss": "somebody"}))),
        ("wrong aud", with(token, json!({"aud": "another-api"}))),
        ("expired", with(token, json!({"exp": now - 6}))),
        ("not yet valid", with(token, json!({"nbf": now + 6}))),
        (
            "session of another user",
            with(token, json!({"sid": claims(&other)["sid"]})),
        ),
        (
            "user of another session",
            with(token, json!({"sub": claims(&other)["sub"]})),
        ),
        ("unknown session", with(token, json!({"sid": fixture.b.id}))),
        ("other claims", other_claims),
        ("one byte changed", String::from_utf8(changed).expect("ascii")),
        ("nothing", "..".to_owned()),
    ] {
        let (status, body) = fixture.app.get(&forged, "/auth/profile").await;
        assert_eq!((status, body), (401, json!({"error": "Unauthorized"})), "{what}");
        let by_cookie = fixture
            .app
            .request(Method::GET, "/auth/profile")
            .cookie("auth_token", &forged)
            .send()
            .await;
        assert_eq!(by_cookie.status, 401, "{what} as a cookie");
        let cleared = by_cookie.cookie("auth_token").and_then(|cookie| cookie.max_age());
        assert_eq!(
            cleared.map(time::SignedDuration::whole_seconds),
            Some(0),
            "{what} as a cookie"
        );
    }
    assert_eq!(fixture.app.get(token, "/auth/profile").await.0, 200);
}

#[actix_web::test]
async fn f24_the_tenant_of_a_token_is_compared_with_that_of_a_remembered_session() {
    let fixture = Fixture::new().await;
    // From here on, this node reads revocations and caches sessions.
    fixture.app.start_background();
    let token = &fixture.a.token;
    let forged = with(token, json!({"tenantId": claims(&fixture.b.token)["tenantId"]}));

    for _ in 0..40 {
        assert_eq!(fixture.app.get(token, "/auth/profile").await.0, 200);
        assert_eq!(fixture.app.get(&forged, "/auth/profile").await.0, 401);
        tokio::time::sleep(std::time::Duration::from_millis(25)).await;
    }
}

#[actix_web::test]
async fn acc_6_a_token_outlives_a_rotation_and_not_the_removal_of_its_key() {
    let fixture = Fixture::new().await;
    let with_keys = |keys: String| format!("{}[rate_limits]\nenabled = false\n", CONFIG.replace(KEYS, &keys));
    let old = KEYS.trim_start_matches("keys = [").trim_end_matches(']');
    let rotated = with_keys(format!("keys = [{NEXT}, {old}]"));
    let removed = with_keys(format!("keys = [{NEXT}]"));
    assert!(rotated.contains("next") && rotated.contains("\"test\""));

    let rotated = fixture.app.second_node_with(&rotated).await;
    let removed = fixture.app.second_node_with(&removed).await;
    let fresh = login(&rotated, "admin@alpha.test").await;

    assert_eq!(rotated.get(&fixture.a.token, "/auth/profile").await.0, 200);
    assert_eq!(removed.get(&fixture.a.token, "/auth/profile").await.0, 401);
    assert_eq!(removed.get(&fresh, "/auth/profile").await.0, 200);
    assert_eq!(
        fixture.app.get(&fresh, "/auth/profile").await.0,
        401,
        "a node that has the old key only"
    );
}
