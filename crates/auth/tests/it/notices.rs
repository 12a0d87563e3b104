//! Users are told of what others change of their credentials.

use serde_json::json;

use crate::reset::world;
use crate::world::PASSWORD;

#[actix_web::test]
async fn f15_a_password_that_somebody_else_set_is_told_without_what_it_is() {
    let world = world().await;
    let (user, token) = world.user("ann@alpha.test", &[]).await;
    let secret = "a password of the office";

    let set = json!({"id": user, "password": secret});
    assert_eq!(world.app.put(&world.a.token, "/auth/users", set).await.0, 200);
    world.app.run_jobs().await;

    let mails = world.app.mail().take();
    assert_eq!(mails.len(), 1);
    assert_eq!(mails[0].to, "ann@alpha.test");
    assert!(mails[0].subject.contains("password"), "{}", mails[0].subject);
    assert!(!mails[0].text.contains(secret) && !mails[0].html.contains(secret));
    assert_eq!(
        world.app.get(&token, "/auth/profile").await.0,
        401,
        "its sessions ended"
    );
}

#[actix_web::test]
async fn f15_nobody_is_told_of_the_password_that_it_set_itself() {
    let world = world().await;
    let (_, token) = world.user("ann@alpha.test", &[]).await;

    let own = json!({"password": "quite another phrase", "currentPassword": PASSWORD});
    assert_eq!(world.app.put(&token, "/auth/profile", own).await.0, 200);
    world.app.run_jobs().await;

    assert_eq!(world.app.mail().take().len(), 0);
}

#[actix_web::test]
async fn f15_an_address_that_somebody_else_set_is_told_to_the_old_one() {
    let world = world().await;
    let (user, _) = world.user("ann@alpha.test", &[]).await;

    let moved = json!({"id": user, "email": "bea@alpha.test"});
    assert_eq!(world.app.put(&world.a.token, "/auth/users", moved).await.0, 200);
    world.app.run_jobs().await;

    let mails = world.app.mail().take();
    let to: Vec<&str> = mails.iter().map(|mail| mail.to.as_str()).collect();
    assert_eq!(to, ["ann@alpha.test"]);
    assert!(!mails[0].text.contains("bea@alpha.test"));
}
