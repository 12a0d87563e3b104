use backoffice_test_support::{REDO, TestApp, UNDO};
use serde_json::json;

use crate::sign_in::{MODULES, admin, super_admin, tenant, worker};
use crate::{ACTIONS, list, organization, rename};

#[actix_web::test]
async fn an_action_is_undone_and_redone_by_its_token() {
    let app = TestApp::new(&MODULES).await;
    let acme = tenant(&app, "Acme").await;
    let token = worker(&acme, 1);
    let created = organization(&app, &token, "North", json!(null)).await;
    let changed = rename(&app, &token, &created.json()["id"], "South").await;
    let operation = changed.operation().expect("undoable");

    let (status, undone) = app
        .post(&token, UNDO, json!({"undoToken": operation["undoToken"]}))
        .await;
    let again = app
        .post(&token, UNDO, json!({"undoToken": operation["undoToken"]}))
        .await;
    let (_, redone) = app.post(&token, REDO, json!({"logId": undone["logId"]})).await;

    assert_eq!(
        (status, &undone["ok"], &undone["logId"]),
        (200, &json!(true), &operation["id"])
    );
    assert_eq!(again, (400, json!({"error": "Undo token not available"})));
    assert_eq!(
        (&redone["ok"], &redone["sourceLogId"]),
        (&json!(true), &undone["logId"])
    );
    let page = list(&app, &token, "").await;
    let items = page["items"].as_array().expect("items");
    let reported: Vec<_> = items
        .iter()
        .map(|item| (item["source"].clone(), item["executionState"].clone()))
        .collect();
    let expected = [("redo", "done"), ("undo", "done"), ("ui", "redone"), ("ui", "done")];
    assert_eq!(reported, expected.map(|(source, state)| (json!(source), json!(state))));
    assert_eq!(items[0]["undoToken"], redone["undoToken"]);
    assert_eq!(
        (&items[1]["id"], &items[1]["undoToken"]),
        (&undone["traceLogId"], &json!(null))
    );
    assert_eq!(items[1]["sourceLogId"], undone["logId"]);
}

#[actix_web::test]
async fn an_entry_records_the_change() {
    let app = TestApp::new(&MODULES).await;
    let acme = tenant(&app, "Acme").await;
    let created = organization(&app, &worker(&acme, 1), "North", json!(acme.organization_id)).await;
    let id = created.json()["id"].clone();
    let changed = rename(&app, &worker(&acme, 1), &id, "South").await;

    let page = list(&app, &worker(&acme, 1), "pageSize=1").await;

    let item = &page["items"][0];
    assert_eq!(
        (&page["total"], &page["totalPages"], &page["canViewTenant"]),
        (&json!(2), &json!(2), &json!(false))
    );
    assert_eq!(item["changes"], json!({"name": {"from": "North", "to": "South"}}));
    assert_eq!(item["changedFields"], json!(["name"]));
    assert_eq!(item["undoToken"], changed.operation().expect("undoable")["undoToken"]);
    assert_eq!(
        (&item["commandId"], &item["actionType"]),
        (&json!("directory.organization.update"), &json!("edit"))
    );
    assert_eq!(
        (&item["tenantName"], &item["organizationName"]),
        (&json!("Acme"), &json!("South"))
    );
    assert_eq!((&item["resourceId"], &item["organizationId"]), (&id, &id));
    assert_eq!(item["parentResourceId"], json!(acme.organization_id));
    assert_eq!(
        (&item["actorUserName"], &item["actorKind"]),
        (&json!("User 1"), &json!("user"))
    );
    assert_eq!(item["createdAt"], item["updatedAt"]);
}

#[actix_web::test]
async fn malformed_tokens_and_ids_have_their_own_texts() {
    let app = TestApp::new(&MODULES).await;
    let acme = tenant(&app, "Acme").await;

    for body in [
        json!({}),
        json!({"undoToken": 5}),
        json!({"undoToken": null}),
        json!({"undoToken": "x"}),
    ] {
        let response = app.post(&worker(&acme, 1), UNDO, body).await;
        assert_eq!(response, (400, json!({"error": "Invalid undo token"})));
    }
    for body in [json!({}), json!({"logId": 5}), json!({"logId": "x"})] {
        let response = app.post(&worker(&acme, 1), REDO, body).await;
        assert_eq!(response, (400, json!({"error": "Invalid log id"})));
    }
    let (status, body) = app.post(&worker(&acme, 1), UNDO, json!([])).await;
    assert_eq!((status, &body["error"]), (400, &json!("Invalid undo token")));
}

#[actix_web::test]
async fn others_actions_need_the_wider_right() {
    let app = TestApp::new(&MODULES).await;
    let acme = tenant(&app, "Acme").await;
    let other = tenant(&app, "Other").await;
    let created = organization(&app, &worker(&acme, 1), "North", json!(null)).await;

    let colleague = app.undo(&worker(&acme, 2), &created).await;
    let foreigner = app.undo(&admin(&other, ""), &created).await;
    let limited = admin(&acme, &acme.organization_id.to_string());
    let limited = app.undo(&limited, &created).await;
    let (allowed, _) = app.undo(&admin(&acme, ""), &created).await;

    assert_eq!(colleague, (400, json!({"error": "Undo token not available"})));
    assert_eq!(colleague, foreigner);
    assert_eq!(limited, (403, json!({"error": "Organization scope violation"})));
    assert_eq!(allowed, 200);
}

#[actix_web::test]
async fn a_caller_without_a_tenant_reads_nothing() {
    let app = TestApp::new(&MODULES).await;
    let acme = tenant(&app, "Acme").await;
    let platform = "00000000-0000-0000-0000-000000000000/1//audit_logs.*";

    let rejected = app.get(platform, ACTIONS).await;
    let (status, _) = app.get(&super_admin(&acme), ACTIONS).await;

    assert_eq!(rejected, (403, json!({"error": "Forbidden"})));
    assert_eq!(status, 200);
}
