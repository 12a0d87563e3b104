//! API keys and the log.

use actix_web::http::Method;
use backoffice_test_support::{REDO, UNDO};
use serde_json::{Value, json};

use crate::fixture::{Fixture, text};
use crate::history::{ACTIONS, unavailable};

#[actix_web::test]
async fn aud_31_a_key_lists_undoes_and_redoes_what_it_did_itself() {
    let fixture = Fixture::new().await;
    let tenant_admin = &fixture.a.tenant_admin;
    let features = [
        "auth.roles.*",
        "audit_logs.view_self",
        "audit_logs.undo_self",
        "audit_logs.redo_self",
    ];
    let role = fixture.role(&fixture.a, "Program", &features, None).await;
    let body = json!({"name": "Program", "roles": [role], "organizationId": null});
    let (status, key) = fixture.app.post(&tenant_admin.token, "/api_keys/keys", body).await;
    assert_eq!(status, 201, "{key}");
    let secret = text(&key["secret"]);
    let send = async |method: Method, path: &str, body: Option<Value>| {
        let request = fixture.app.request(method, path).header("X-Api-Key", &secret);
        match body {
            Some(body) => request.json(&body).send().await,
            None => request.send().await,
        }
    };

    let created = send(Method::POST, "/auth/roles", Some(json!({"name": "Made by a program"}))).await;
    assert_eq!(created.status, 201, "{}", created.text());
    let operation = created.undoable_write();
    let mine = send(Method::GET, ACTIONS, None).await.json();
    let listed = mine["items"].as_array().expect("a list");
    assert_eq!(listed.len(), 1, "{mine}");
    assert_eq!(
        (&listed[0]["id"], &listed[0]["actorUserId"]),
        (&json!(operation.log_id), &key["id"])
    );

    // The user who created the key may undo other users' actions through a feature, but does not own these actions.
    let (_, of_maker) = fixture
        .app
        .get(
            &fixture.a.tenant_admin.token,
            &format!("{ACTIONS}?actorUserId={}", tenant_admin.id),
        )
        .await;
    let owned = of_maker["items"].as_array().expect("a list");
    assert!(
        owned.iter().all(|entry| entry["id"] != json!(operation.log_id)),
        "{of_maker}"
    );

    // Without that feature the user may not undo them, though they created the key and may undo their own actions.
    fixture
        .role(&fixture.a, "Narrow", &[&features[..], &["api_keys.*"]].concat(), None)
        .await;
    let maker = fixture.account(&fixture.a, "maker@alpha.test", &["Narrow"]).await;
    let body = json!({"name": "Of the maker", "roles": [role], "organizationId": null});
    let (status, own) = fixture.app.post(&maker.token, "/api_keys/keys", body).await;
    assert_eq!(status, 201, "{own}");
    let by_key = fixture
        .app
        .request(Method::POST, "/auth/roles")
        .header("X-Api-Key", &text(&own["secret"]));
    let by_key = by_key.json(&json!({"name": "By the maker's key"})).send().await;
    let rejected = fixture.app.undo(&maker.token, &by_key).await;
    assert_eq!(rejected, (400, unavailable()));
    assert_eq!(
        fixture.app.undo(&tenant_admin.token, &by_key).await.0,
        200,
        "with undo_tenant"
    );
    let (status, response) = fixture.app.redo(&maker.token, &by_key).await;
    assert_eq!((status, response), (400, json!({"error": "Redo target not available"})));

    let undone = send(Method::POST, UNDO, Some(json!({"undoToken": operation.token}))).await;
    assert_eq!(undone.status, 200, "{}", undone.text());
    let redone = send(Method::POST, REDO, Some(json!({"logId": operation.log_id}))).await;
    assert_eq!(redone.status, 200, "{}", redone.text());
    let roles = fixture
        .app
        .rows("select 1 as found from auth_roles where name = 'Made by a program'")
        .await;
    assert_eq!(roles.len(), 1);
}
