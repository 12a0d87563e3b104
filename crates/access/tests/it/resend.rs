//! Invitations that are sent again.

use actix_web::http::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{Fixture, USERS, rejection};

#[actix_web::test]
async fn users_who_need_no_link_get_none() {
    let fixture = Fixture::new().await;
    let (active, _) = fixture.member("active@example.com", "viewer").await;
    let disabled = fixture.invited("disabled@example.com", "viewer").await;
    assert_eq!(fixture.deactivate(&fixture.a.token, disabled).await.0, 200);
    let _ = fixture.app.mail().take();

    let to_active = fixture.post_to(&fixture.a.token, active, "resend-invite").await;
    let to_disabled = fixture.post_to(&fixture.a.token, disabled, "resend-invite").await;

    assert_eq!(rejection(&to_active), (409, "user_already_active"));
    assert_eq!(rejection(&to_disabled), (409, "user_disabled"));
    assert!(fixture.app.mail().take().is_empty());
}

#[actix_web::test]
async fn a_deactivated_user_with_a_password_has_been_active_already() {
    let fixture = Fixture::new().await;
    let (id, _) = fixture.member("anna@example.com", "viewer").await;
    assert_eq!(fixture.deactivate(&fixture.a.token, id).await.0, 200);

    let resent = fixture.post_to(&fixture.a.token, id, "resend-invite").await;

    assert_eq!(rejection(&resent), (409, "user_already_active"));
    assert!(fixture.app.mail().take().is_empty());
}

#[actix_web::test]
async fn unknown_foreign_and_malformed_ids_are_the_same() {
    let fixture = Fixture::new().await;
    let unknown = fixture
        .post_to(&fixture.a.token, Uuid::from_u128(7), "resend-invite")
        .await;

    assert_eq!(rejection(&unknown), (404, "user_not_found"));
    for id in [fixture.b.admin.to_string(), "nonsense".to_owned()] {
        assert_eq!(
            fixture.post_to(&fixture.a.token, &id, "resend-invite").await,
            unknown,
            "{id}"
        );
    }
}

#[actix_web::test]
async fn without_a_public_url_no_link_is_issued() {
    let fixture = Fixture::without_site().await;
    let body = json!({"email": "anna@example.com", "organizationId": fixture.a.organization});
    let (status, body) = fixture.app.post(&fixture.a.token, "/auth/users", body).await;
    assert_eq!(status, 201, "{body}");
    let id = backoffice_test_accounts::id_of(&body);

    let resent = fixture.post_to(&fixture.a.token, id, "resend-invite").await;

    assert_eq!(rejection(&resent), (500, "invite_origin_not_configured"));
    assert!(fixture.app.rows("select id from auth_one_time_tokens").await.is_empty());
}

#[actix_web::test]
async fn a_user_with_more_rights_gets_no_link_from_a_weaker_caller() {
    let fixture = Fixture::new().await;
    fixture.role("Inviter", &["access.*"], None).await;
    let (_, inviter) = fixture.user("inviter@alpha.test", &["Inviter"]).await;
    let strong = fixture.invited("strong@example.com", "dispatcher").await;
    let _ = fixture.app.mail().take();

    let resent = fixture.post_to(&inviter, strong, "resend-invite").await;

    assert_eq!(rejection(&resent), (403, "role_not_grantable"));
    assert!(fixture.app.mail().take().is_empty());
}

#[actix_web::test]
async fn an_expired_invitation_is_shown_and_can_be_renewed() {
    let fixture = Fixture::new().await;
    let id = fixture.invited("anna@example.com", "viewer").await;
    let token = fixture.mailed_token();
    // Access tokens live shorter than invitations.
    fixture.app.advance(backoffice_test_support::Duration::hours(48));
    let admin = backoffice_test_accounts::login(&fixture.app, "admin@alpha.test").await;
    let invite = async || fixture.app.get(&admin, &format!("{USERS}/{id}")).await.1["invite"].clone();

    assert_eq!(invite().await["expired"], json!(true));
    assert_eq!(fixture.set_password(&token).await, 400);
    assert_eq!(fixture.post_to(&admin, id, "resend-invite").await.0, 200);
    assert_eq!(invite().await["expired"], json!(false));
}

#[actix_web::test]
async fn a_repeat_returns_the_stored_response_whatever_has_become_of_the_user_and_the_limits() {
    let fixture = Fixture::with_limits().await;
    let send = async |path: &str, body: &Value| {
        let request = fixture.app.request(Method::POST, path).bearer(&fixture.a.token);
        request.header("Idempotency-Key", "one").json(body).send().await
    };
    let new = json!({"email": "anna@example.com", "name": "Anna", "role": "viewer"});
    let created = send(USERS, &new).await;
    let path = format!(
        "{USERS}/{}/resend-invite",
        created.json()["id"].as_str().expect("an id")
    );
    let _ = fixture.app.mail().take();
    let resent = send(&path, &json!({})).await;
    assert_eq!(fixture.set_password(&fixture.mailed_token()).await, 200);

    for _ in 0..4 {
        for (path, body, first) in [(USERS, &new, &created), (path.as_str(), &json!({}), &resent)] {
            let again = send(path, body).await;
            assert_eq!((again.status, again.json()), (first.status, first.json()), "{path}");
            assert_eq!(again.header("idempotency-replayed").as_deref(), Some("true"), "{path}");
        }
    }

    assert_eq!(resent.json(), json!({"emailSent": true}));
    assert!(fixture.app.mail().take().is_empty());
    let (status, body) = fixture.app.post(&fixture.a.token, &path, json!({})).await;
    assert_eq!(
        rejection(&(status, body)),
        (409, "user_already_active"),
        "without the key"
    );
}
