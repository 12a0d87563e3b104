//! Limits of mails.

use backoffice_test_support::Duration;
use serde_json::json;

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
