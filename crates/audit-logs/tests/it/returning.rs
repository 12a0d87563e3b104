//! Deleted organizations are in no scope: restoring one is authorized by its parent.

use actix_web::http::Method;
use backoffice_directory::commands::TenantCreated;
use backoffice_test_support::{TestApp, TestResponse, UNDO, UndoableWrite};
use serde_json::{Value, json};

use crate::sign_in::{MODULES, admin, tenant};
use crate::{ORGANIZATIONS, organization, rename};

/// Tenant Acme with organization north, which contains inner, and with side.
struct Tree {
    app: TestApp,
    acme: TenantCreated,
    north: String,
    inner: String,
    side: String,
}

impl Tree {
    async fn new() -> Self {
        let app = TestApp::new(&MODULES).await;
        let acme = tenant(&app, "Acme").await;
        let token = admin(&acme, "");
        let create = async |name: &str, parent: Value| {
            let created = organization(&app, &token, name, parent).await.json();
            created["id"].as_str().expect("an id").to_owned()
        };
        let north = create("North", json!(acme.organization_id)).await;
        let inner = create("Inner", json!(north)).await;
        let side = create("Side", json!(north)).await;
        Self {
            app,
            acme,
            north,
            inner,
            side,
        }
    }

    async fn delete(&self, token: &str, id: &str) -> UndoableWrite {
        let path = format!("{ORGANIZATIONS}?id={id}");
        let response = self.app.send(token, Method::DELETE, &path, Value::Null).await;
        assert_eq!(response.status, 200, "{}", response.text());
        response.undoable_write()
    }

    async fn selecting(&self, token: &str, selected: &str, write: &UndoableWrite) -> TestResponse {
        let request = self.app.request(Method::POST, UNDO);
        let request = request.bearer(token).header("X-Organization-Id", selected);
        request.json(&json!({"undoToken": write.token})).send().await
    }

    async fn is_there(&self, id: &str) -> bool {
        let path = format!("{ORGANIZATIONS}?id={id}");
        self.app.get(&admin(&self.acme, ""), &path).await.1["total"] == 1
    }
}

fn out_of_scope() -> (u16, Value) {
    (403, json!({"error": "Organization scope violation"}))
}

#[actix_web::test]
async fn the_caller_who_deleted_a_child_organization_can_restore_it() {
    let tree = Tree::new().await;
    let token = admin(&tree.acme, &tree.north);
    let deleted = tree.delete(&token, &tree.inner).await;

    let (undone, body) = tree.app.undo(&token, &deleted).await;
    let back = tree.is_there(&tree.inner).await;
    let (redone, _) = tree.app.redo(&token, &deleted).await;

    assert_eq!((undone, back, redone), (200, true, 200), "{body}");
    assert!(!tree.is_there(&tree.inner).await);
}

#[actix_web::test]
async fn an_organization_that_the_rights_name_comes_back_into_the_scope() {
    let tree = Tree::new().await;
    let token = admin(&tree.acme, &format!("{},{}", tree.inner, tree.side));
    let deleted = tree.delete(&token, &tree.inner).await;

    let (status, body) = tree.app.undo(&token, &deleted).await;

    assert_eq!(status, 200, "{body}");
    assert!(tree.is_there(&tree.inner).await);
}

#[actix_web::test]
async fn rights_in_a_deleted_organization_alone_are_no_rights() {
    let tree = Tree::new().await;
    let token = admin(&tree.acme, &tree.inner);
    let deleted = tree.delete(&token, &tree.inner).await;

    let (status, body) = tree.app.undo(&token, &deleted).await;

    assert_eq!(
        (status, &body["requiredFeatures"][0]),
        (403, &json!("audit_logs.undo_self")),
        "{body}"
    );
    assert!(!tree.is_there(&tree.inner).await);
    assert_eq!(tree.app.undo(&admin(&tree.acme, &tree.north), &deleted).await.0, 200);
}

#[actix_web::test]
async fn an_undone_creation_is_redone_by_its_place() {
    let tree = Tree::new().await;
    let token = admin(&tree.acme, &tree.north);
    let created = organization(&tree.app, &token, "Made", json!(tree.north)).await;
    let operation = created.undoable_write();
    assert_eq!(tree.app.undo(&token, &operation).await.0, 200);

    let elsewhere = tree.app.redo(&admin(&tree.acme, &tree.side), &operation).await;
    let (redone, body) = tree.app.redo(&token, &operation).await;

    assert_eq!(elsewhere, out_of_scope());
    assert_eq!(redone, 200, "{body}");
}

#[actix_web::test]
async fn records_deleted_outside_the_scope_stay_deleted() {
    let tree = Tree::new().await;
    let whole = admin(&tree.acme, "");
    let inner = tree.delete(&whole, &tree.inner).await;
    let (limited, sideways) = (admin(&tree.acme, &tree.side), admin(&tree.acme, &tree.north));

    // The parent is above the caller's organization, or beside the selected one.
    assert_eq!(tree.app.undo(&limited, &inner).await, out_of_scope());
    let selected = tree.selecting(&sideways, &tree.side, &inner).await;
    assert_eq!((selected.status, selected.json()), out_of_scope());
    assert!(!tree.is_there(&tree.inner).await);

    let selected = tree.selecting(&sideways, &tree.north, &inner).await;
    assert_eq!(selected.status, 200, "{}", selected.text());

    // Only callers of the whole tenant may write at the top of the tenant.
    let top = organization(&tree.app, &whole, "Top", json!(null)).await.json();
    let top = tree.delete(&whole, top["id"].as_str().expect("an id")).await;
    assert_eq!(tree.app.undo(&sideways, &top).await, out_of_scope());
    assert_eq!(tree.app.undo(&whole, &top).await.0, 200);
}

#[actix_web::test]
async fn an_undone_creation_lies_on_the_redo_stack_of_a_limited_caller() {
    let tree = Tree::new().await;
    let token = admin(&tree.acme, &tree.north);
    let renamed = rename(&tree.app, &token, &json!(tree.side), "Renamed").await;
    let renamed = renamed.undoable_write();
    let created = organization(&tree.app, &token, "Made", json!(tree.north)).await;
    let created = created.undoable_write();
    for operation in [&renamed, &created] {
        assert_eq!(tree.app.undo(&token, operation).await.0, 200);
    }

    let (early, body) = tree.app.redo(&token, &renamed).await;

    assert_eq!((early, body), (400, json!({"error": "Redo target not available"})));
    assert_eq!(tree.app.redo(&token, &created).await.0, 200);
    assert_eq!(tree.app.redo(&token, &renamed).await.0, 200);
}
