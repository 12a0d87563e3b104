//! Users are notified when another user changes their credentials.

use serde_json::json;

use crate::fixture::PASSWORD;
use crate::reset::fixture;

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
