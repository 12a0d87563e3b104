//! Deactivation and reactivation.

use backoffice_test_accounts::{PASSWORD, login};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{Fixture, USERS, rejection};

#[actix_web::test]
async fn a_deactivated_user_is_signed_out_until_they_are_reactivated() {
    let fixture = Fixture::new().await;
    let (id, token) = fixture.member("d@example.com", "dispatcher").await;
    assert_eq!(fixture.app.get(&token, USERS).await.0, 200);
    let sign_in = async || {
        let body = json!({"email": "d@example.com", "password": PASSWORD});
        fixture.app.post("", "/auth/login", body).await.0
    };

    let deactivated = fixture.deactivate(&fixture.a.token, id).await;
    let after = fixture.app.get(&token, USERS).await;

    assert_eq!(deactivated, (200, json!({"ok": true})));
    assert_eq!(rejection(&after), (401, "unauthorized"));
    assert_eq!(fixture.user_of(id).await["status"], "disabled");
    assert_eq!(sign_in().await, 401);

    let reactivated = fixture.post_to(&fixture.a.token, id, "reactivate").await;

    assert_eq!(reactivated, (200, json!({"ok": true})));
    assert_eq!(fixture.user_of(id).await["status"], "active");
    assert_eq!(fixture.app.get(&token, USERS).await.0, 401, "ended sessions stay ended");
    login(&fixture.app, "d@example.com").await;
}

#[actix_web::test]
async fn the_link_of_a_deactivated_user_does_not_work_any_more() {
    let fixture = Fixture::new().await;
    let id = fixture.invited("anna@example.com", "viewer").await;
    let token = fixture.mailed_token();

    assert_eq!(fixture.deactivate(&fixture.a.token, id).await.0, 200);
    assert_eq!(fixture.post_to(&fixture.a.token, id, "reactivate").await.0, 200);

    let item = fixture.user_of(id).await;
    assert_eq!((&item["status"], &item["invite"]), (&json!("invited"), &Value::Null));
    assert_eq!(fixture.set_password(&token).await, 400);
    assert_eq!(fixture.post_to(&fixture.a.token, id, "resend-invite").await.0, 200);
    assert_eq!(fixture.set_password(&fixture.mailed_token()).await, 200);
}

#[actix_web::test]
async fn oneself_administrators_and_users_of_other_tenants_cannot_be_deactivated() {
    let fixture = Fixture::new().await;
    let (other_admin, _) = fixture.user("second@alpha.test", &["admin"]).await;
    let unknown = fixture.deactivate(&fixture.a.token, Uuid::from_u128(7)).await;

    let own = fixture.deactivate(&fixture.a.token, fixture.a.admin).await;
    let admin = fixture.deactivate(&fixture.a.token, other_admin).await;
    let again = fixture.post_to(&fixture.a.token, other_admin, "reactivate").await;

    assert_eq!(rejection(&own), (400, "cannot_disable_self"));
    assert_eq!(rejection(&admin), (400, "role_not_assignable"));
    assert_eq!(rejection(&again), (400, "role_not_assignable"));
    assert_eq!(rejection(&unknown), (404, "user_not_found"));
    assert_eq!(fixture.deactivate(&fixture.a.token, fixture.b.admin).await, unknown);
    for id in [fixture.b.admin.to_string(), "nonsense".to_owned()] {
        assert_eq!(fixture.post_to(&fixture.a.token, id, "reactivate").await, unknown);
    }
}

#[actix_web::test]
async fn a_weaker_caller_does_not_deactivate_a_stronger_user() {
    let fixture = Fixture::new().await;
    fixture.role("Inviter", &["access.*"], None).await;
    let (_, inviter) = fixture.user("inviter@alpha.test", &["Inviter"]).await;
    let strong = fixture.invited("strong@example.com", "dispatcher").await;

    let deactivated = fixture.deactivate(&inviter, strong).await;

    assert_eq!(rejection(&deactivated), (403, "role_not_grantable"));
    assert_eq!(fixture.user_of(strong).await["status"], "invited");
}

#[actix_web::test]
async fn each_step_is_logged_once_and_announced() {
    let fixture = Fixture::new().await;
    let id = fixture.invited("anna@example.com", "viewer").await;
    for _ in 0..2 {
        assert_eq!(fixture.deactivate(&fixture.a.token, id).await.0, 200);
    }
    for _ in 0..2 {
        assert_eq!(fixture.post_to(&fixture.a.token, id, "reactivate").await.0, 200);
    }

    let entries = format!(
        "select command_id, undo_secret from audit_action_logs where resource_id = '{id}' and action_type = 'edit' order by id"
    );
    let entries = fixture.app.rows(&entries).await;
    let events = format!(
        "select name from core_outbox_events where payload->>'id' = '{id}' and name like 'access.user.%activated' order by name"
    );

    assert_eq!(
        entries,
        [
            json!({"command_id": "access.user.deactivate", "undo_secret": null}),
            json!({"command_id": "access.user.reactivate", "undo_secret": null})
        ]
    );
    assert_eq!(
        fixture.app.rows(&events).await,
        [
            json!({"name": "access.user.deactivated"}),
            json!({"name": "access.user.reactivated"})
        ]
    );
}
