//! Users are notified when another user changes their credentials.

use backoffice_test_support::Duration;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{Fixture, PASSWORD, account};
use crate::reset::{fixture, post, token_in};

/// Creates a fixture whose notices have limits.
async fn limited() -> Fixture {
    Fixture::with_config("[app]\npublic_url = \"https://office.example\"\n").await
}

async fn put(fixture: &Fixture, token: &str, body: Value) {
    let (status, response) = fixture.app.put(token, "/auth/users", body).await;
    assert_eq!(status, 200, "{response}");
}

async fn set_password(fixture: &Fixture, token: &str, user: Uuid) {
    let body = json!({"id": user, "password": "a password of the office"});
    put(fixture, token, body).await;
}

/// Returns the addresses to which the jobs that are due send mails.
async fn notified(fixture: &Fixture) -> Vec<String> {
    fixture.app.run_jobs().await;
    fixture.app.mail().take().into_iter().map(|mail| mail.to).collect()
}

#[actix_web::test]
async fn f15_a_password_set_by_another_user_is_announced_without_its_value() {
    let fixture = fixture().await;
    let (user, token) = fixture.user("ann@alpha.test", &[]).await;
    let secret = "a password of the office";

    let set = json!({"id": user, "password": secret});
    assert_eq!(fixture.app.put(&fixture.a.token, "/auth/users", set).await.0, 200);
    fixture.app.run_jobs().await;

    let mails = fixture.app.mail().take();
    assert_eq!(mails.len(), 1);
    assert_eq!(mails[0].to, "ann@alpha.test");
    assert!(mails[0].subject.contains("password"), "{}", mails[0].subject);
    assert!(!mails[0].text.contains(secret) && !mails[0].html.contains(secret));
    assert_eq!(
        fixture.app.get(&token, "/auth/profile").await.0,
        401,
        "its sessions ended"
    );
}

#[actix_web::test]
async fn f15_a_password_set_by_its_owner_is_not_announced() {
    let fixture = fixture().await;
    let (_, token) = fixture.user("ann@alpha.test", &[]).await;

    let own = json!({"password": "quite another phrase", "currentPassword": PASSWORD});
    assert_eq!(fixture.app.put(&token, "/auth/profile", own).await.0, 200);
    fixture.app.run_jobs().await;

    assert_eq!(fixture.app.mail().take().len(), 0);
}

#[actix_web::test]
async fn f15_an_address_set_by_another_user_is_announced_to_the_old_one() {
    let fixture = fixture().await;
    let (user, _) = fixture.user("ann@alpha.test", &[]).await;

    let moved = json!({"id": user, "email": "bea@alpha.test"});
    assert_eq!(fixture.app.put(&fixture.a.token, "/auth/users", moved).await.0, 200);
    fixture.app.run_jobs().await;

    let mails = fixture.app.mail().take();
    let to: Vec<&str> = mails.iter().map(|mail| mail.to.as_str()).collect();
    assert_eq!(to, ["ann@alpha.test"]);
    assert!(!mails[0].text.contains("bea@alpha.test"));
}

#[actix_web::test]
async fn f15_another_spelling_of_an_address_is_not_announced_and_voids_no_token() {
    let fixture = fixture().await;
    let (user, _) = fixture.user("ann@alpha.test", &[]).await;
    post(&fixture, "/auth/reset", &[("email", "ann@alpha.test")]).await;
    fixture.app.run_jobs().await;
    let token = token_in(&fixture.app.mail().take()[0].text);
    let is_valid = async || {
        let response = post(&fixture, "/auth/reset/validate", &[("token", &token)]).await;
        response.json()["valid"].clone()
    };

    put(
        &fixture,
        &fixture.a.token,
        json!({"id": user, "email": "Ann@Alpha.test"}),
    )
    .await;

    assert_eq!(notified(&fixture).await, [""; 0]);
    assert_eq!(is_valid().await, true);
    put(
        &fixture,
        &fixture.a.token,
        json!({"id": user, "email": "bea@alpha.test"}),
    )
    .await;
    assert_eq!(notified(&fixture).await, ["Ann@Alpha.test"]);
    assert_eq!(is_valid().await, false);
}

#[actix_web::test]
async fn f15_only_repetitions_of_a_notice_are_dropped_and_only_for_an_hour() {
    let fixture = limited().await;
    let (user, _) = fixture.user("ann@alpha.test", &[]).await;
    for _ in 0..11 {
        set_password(&fixture, &fixture.a.token, user).await;
    }
    assert_eq!(notified(&fixture).await, ["ann@alpha.test"; 10]);

    for (email, of_another_kind) in [
        ("bea@alpha.test", "ann@alpha.test"),
        ("Ann@alpha.test", "bea@alpha.test"),
    ] {
        put(&fixture, &fixture.a.token, json!({"id": user, "email": email})).await;
        assert_eq!(notified(&fixture).await, [of_another_kind]);
    }
    set_password(&fixture, &fixture.a.token, user).await;
    assert_eq!(notified(&fixture).await, [""; 0], "another spelling of the address");
    fixture.app.advance(Duration::minutes(61));
    set_password(&fixture, &fixture.a.token, user).await;
    assert_eq!(notified(&fixture).await, ["Ann@alpha.test"]);
}

#[actix_web::test]
async fn f15_notices_of_a_replaced_address_have_a_limit() {
    let fixture = limited().await;
    let (user, _) = fixture.user("ann@alpha.test", &[]).await;

    for _ in 0..11 {
        for email in ["bea@alpha.test", "ann@alpha.test"] {
            put(&fixture, &fixture.a.token, json!({"id": user, "email": email})).await;
        }
    }

    let notified = notified(&fixture).await;
    for address in ["ann@alpha.test", "bea@alpha.test"] {
        assert_eq!(notified.iter().filter(|to| *to == address).count(), 10, "{address}");
    }
}

#[actix_web::test]
async fn f15_notices_of_another_tenant_use_up_no_limit() {
    let fixture = limited().await;
    let (user, _) = fixture.user("ann@alpha.test", &[]).await;
    let beta = (Some(fixture.b.id), Some(fixture.b.organization));
    let namesake = account(&fixture.app, beta.0, beta.1, "ann@alpha.test", &[], false).await;
    for _ in 0..11 {
        set_password(&fixture, &fixture.b.token, namesake).await;
    }
    assert_eq!(notified(&fixture).await.len(), 10);

    set_password(&fixture, &fixture.a.token, user).await;

    assert_eq!(notified(&fixture).await, ["ann@alpha.test"]);
}

#[actix_web::test]
async fn f15_attempts_that_send_nothing_use_up_no_limit() {
    let fixture = limited().await;
    let (user, _) = fixture.user("ann@alpha.test", &[]).await;
    fixture.app.mail().reject(true);
    for _ in 0..3 {
        set_password(&fixture, &fixture.a.token, user).await;
    }
    for _ in 0..4 {
        fixture.app.run_jobs().await;
        fixture.app.advance(Duration::minutes(1));
    }

    fixture.app.mail().reject(false);

    assert_eq!(notified(&fixture).await, ["ann@alpha.test"; 3]);
}
