//! Limits of mails.

use actix_web::http::Method;
use backoffice_core::Cause;
use backoffice_core::http::internal::{InternalCaller, InternalRequest};
use backoffice_core::identity::{ActorKind, Identity};
use backoffice_test_support::Duration;
use serde_json::json;
use uuid::Uuid;

use crate::fixture::{Fixture, USERS, rejection};

#[actix_web::test]
async fn one_actor_sends_twenty_invitations_in_an_hour() {
    let fixture = Fixture::with_limits().await;
    for number in 0..20 {
        let (status, body) = fixture.invite(&format!("u{number}@example.com"), "U", "viewer").await;
        assert_eq!(status, 201, "{body}");
    }

    let rejected = fixture.invite("u20@example.com", "U", "viewer").await;
    let body = json!({"email": "u20@example.com", "name": "U", "role": "viewer"});
    let other = fixture.app.post(&fixture.b.token, USERS, body).await;

    assert_eq!(rejection(&rejected), (429, "rate_limited"));
    assert_eq!(other.0, 201, "{}", other.1);
}

#[actix_web::test]
async fn the_platform_sends_twenty_invitations_of_a_tenant_in_an_hour() {
    let fixture = Fixture::with_limits().await;
    let key = Identity {
        kind: ActorKind::ApiKey,
        id: Some(Uuid::from_u128(6)),
        tenant: fixture.a.id,
        ..Identity::system()
    };
    let cause = Cause {
        rule: Uuid::from_u128(7),
        depth: 1,
    };
    let organization = Some(fixture.a.organization);
    let invite = async |number: u32| {
        let body = json!({"email": format!("u{number}@example.com"), "name": "U", "role": "viewer"});
        let request = InternalRequest {
            method: Method::POST,
            target: USERS.to_owned(),
            body: Some(body),
            headers: Vec::new(),
            caller: InternalCaller::by_key(Identity::system(), &key, fixture.a.id, organization, cause),
        };
        let response = fixture.app.runtime().request(request).await.expect("a response");
        response.map(|response| response.status)
    };
    for number in 0..20 {
        assert_eq!(invite(number).await, Some(201));
    }

    assert_eq!(invite(20).await, Some(429));
    assert_eq!(
        fixture.invite("u20@example.com", "U", "viewer").await.0,
        201,
        "another actor"
    );
}

#[actix_web::test]
async fn one_address_of_a_tenant_gets_three_invitations_in_five_minutes() {
    let fixture = Fixture::with_limits().await;
    for expected in [201, 400, 400] {
        assert_eq!(fixture.invite("anna@example.com", "Anna", "viewer").await.0, expected);
    }

    let rejected = fixture.invite(" ANNA@example.com", "Anna", "viewer").await;
    fixture.app.advance(Duration::seconds(301));
    let later = fixture.invite("anna@example.com", "Anna", "viewer").await;

    assert_eq!(rejection(&rejected), (429, "rate_limited"));
    assert_eq!(rejection(&later), (400, "email_already_exists"));
}

#[actix_web::test]
async fn one_user_gets_three_links_in_five_minutes() {
    let fixture = Fixture::with_limits().await;
    let id = fixture.invited("anna@example.com", "viewer").await;
    for _ in 0..3 {
        assert_eq!(fixture.post_to(&fixture.a.token, id, "resend-invite").await.0, 200);
    }

    let rejected = fixture
        .post_to(&fixture.a.token, id.to_string().to_uppercase(), "resend-invite")
        .await;

    assert_eq!(rejection(&rejected), (429, "rate_limited"));
}
