//! The roles of dispatch teams over several modules.

use actix_web::http::Method;
use backoffice_auth::sync_roles;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::call::Call;
use crate::fixture::Fixture;

/// Posts a window of unavailability of an unknown piece of equipment.
async fn post_window(fixture: &Fixture, token: &str) -> (u16, Value) {
    let window = json!({
        "resourceType": "equipment", "resourceId": Uuid::from_u128(7), "startDate": "2026-12-01",
        "endDateExclusive": "2026-12-02", "reasonCode": "maintenance",
    });
    let call = Call::post("/calendar/availability-windows", window);
    let response = call.send(&fixture.app, token).await;
    (response.status, response.json())
}

#[actix_web::test]
async fn dsp_4_dispatchers_invite_no_user_and_viewers_post_no_window() {
    let fixture = Fixture::new().await;
    let dispatcher = fixture.account(&fixture.a, "d@alpha.test", &["dispatcher"]).await;
    let viewer = fixture.account(&fixture.a, "v@alpha.test", &["viewer"]).await;
    let invitation = json!({"email": "new@alpha.test", "name": "New", "role": "viewer"});

    let invited = Call::post("/access/users", invitation)
        .send(&fixture.app, &dispatcher.token)
        .await;
    let window = post_window(&fixture, &viewer.token).await;
    let anonymous = Call::new(Method::GET, "/alerts/alerts").send(&fixture.app, "").await;

    assert_eq!((invited.status, &invited.json()["code"]), (403, &json!("forbidden")));
    assert_eq!(
        (window.0, &window.1["code"]),
        (403, &json!("forbidden")),
        "{}",
        window.1
    );
    assert_eq!(
        (anonymous.status, &anonymous.json()["code"]),
        (401, &json!("unauthorized"))
    );
}

#[actix_web::test]
async fn dsp_5_a_dispatcher_who_becomes_a_viewer_posts_no_further_window() {
    let fixture = Fixture::new().await;
    let dispatcher = fixture.account(&fixture.a, "d@alpha.test", &["dispatcher"]).await;
    let before = post_window(&fixture, &dispatcher.token).await;
    let path = format!("/access/users/{}", dispatcher.id);

    let changed = Call::put(&path, json!({"role": "viewer"}))
        .send(&fixture.app, &fixture.a.admin.token)
        .await;
    let after = post_window(&fixture, &dispatcher.token).await;

    assert_eq!(before.0, 201, "{}", before.1);
    assert_eq!(changed.status, 200, "{}", changed.text());
    assert_eq!((after.0, &after.1["code"]), (403, &json!("forbidden")), "{}", after.1);
}

#[actix_web::test]
async fn administrators_cover_both_roles_of_the_team_and_nothing_is_left_to_grant() {
    let fixture = Fixture::new().await;
    let granted = sync_roles(&fixture.app.system_context(), None)
        .await
        .expect("synchronised");

    for (role, features) in [
        (
            "dispatcher",
            json!([
                "access.users.view",
                "alerts.manage",
                "alerts.view",
                "attachments.manage",
                "attachments.view",
                "audit_logs.redo_self",
                "audit_logs.undo_self",
                "audit_logs.view_self",
                "calendar.manage",
                "calendar.view",
                "devices.manage",
                "devices.view",
                "dispatch.manage",
                "dispatch.view",
            ]),
        ),
        (
            "viewer",
            json!([
                "alerts.view",
                "attachments.view",
                "calendar.view",
                "devices.manage",
                "devices.view",
                "dispatch.view"
            ]),
        ),
    ] {
        let query = format!(
            "select a.features from auth_roles r join auth_role_acls a on a.tenant_id = r.tenant_id and a.role_id = r.id \
             where r.tenant_id = '{}' and r.name = '{role}'",
            fixture.a.tenant
        );
        assert_eq!(
            fixture.app.rows(&query).await,
            [json!({"features": features})],
            "{role}"
        );
        let body = json!({"email": format!("{role}@alpha.test"), "name": role, "role": role});
        let invited = Call::post("/access/users", body)
            .send(&fixture.app, &fixture.a.admin.token)
            .await;
        assert_eq!(invited.status, 201, "{}", invited.text());
    }
    assert_eq!(granted, 0);
}
