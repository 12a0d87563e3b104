//! The rows of a sidebar belong to their user, who alone undoes and redoes changes of them.

use actix_web::http::Method;
use serde_json::{Value, json};

use super::{PREFERENCES, VARIANTS, ordered};
use crate::fixture::Fixture;

const ACTIONS: &str = "/audit_logs/audit-logs/actions";

fn unavailable(target: &str) -> (u16, Value) {
    (400, json!({"error": format!("{target} not available")}))
}

/// Returns the entries of tenant A on variants.
async fn entries(fixture: &Fixture, token: &str, query: &str) -> Vec<Value> {
    let path = format!("{ACTIONS}?resourceKind=auth.sidebar_variant&{query}");
    let request = fixture.app.request(Method::GET, &path).bearer(token);
    let page = request.header("x-tenant-id", &fixture.a.id.to_string()).send().await;
    assert_eq!(page.status, 200, "{}", page.text());
    page.json()["items"].as_array().expect("items").clone()
}

#[actix_web::test]
async fn what_a_user_arranged_is_undone_and_redone_by_no_other_user() {
    let fixture = Fixture::new().await;
    let app = &fixture.app;
    let (_, token) = fixture.user("ann@alpha.test", &["admin"]).await;
    let others = [&fixture.a.token, &fixture.root];
    let own = json!({"settings": ordered("own")});
    let preference = app.send(&token, Method::PUT, PREFERENCES, own).await;
    let variant = app.send(&token, Method::POST, VARIANTS, json!({"name": "Mine"})).await;

    for write in [&preference, &variant] {
        for other in others {
            assert_eq!(app.undo(other, write).await, unavailable("Undo token"));
        }
        let (status, body) = app.undo(&token, write).await;
        assert_eq!(status, 200, "{body}");
        for other in others {
            assert_eq!(app.redo(other, write).await, unavailable("Redo target"));
        }
        let (status, body) = app.redo(&token, write).await;
        assert_eq!(status, 200, "{body}");
    }

    for other in others {
        let all = entries(&fixture, other, "").await;
        assert_eq!(all.len(), 3, "{all:?}");
        assert!(all.iter().all(|entry| entry["undoToken"].is_null()), "{all:?}");
        assert!(entries(&fixture, other, "undoableOnly=true").await.is_empty());
    }
    for kind in ["auth.sidebar_variant", "auth.sidebar_preference"] {
        let undoable = format!("{ACTIONS}?undoableOnly=true&resourceKind={kind}");
        let undoable = app.read(&token, &undoable).await;
        assert_eq!(undoable["total"], 1, "{undoable}");
    }
}

#[actix_web::test]
async fn an_undone_variant_blocks_no_redo_by_others() {
    let fixture = Fixture::new().await;
    let app = &fixture.app;
    let (_, token) = fixture.user("ann@alpha.test", &["admin"]).await;
    let mut writes = Vec::new();
    for name in ["First", "Second"] {
        let role = json!({"name": name});
        writes.push(app.send(&token, Method::POST, "/auth/roles", role).await);
    }
    writes.push(app.send(&token, Method::POST, VARIANTS, json!({"name": "Mine"})).await);
    for write in &writes {
        let (status, body) = app.undo(&token, write).await;
        assert_eq!(status, 200, "{body}");
    }

    for (other, role) in [(&fixture.root, &writes[1]), (&fixture.a.token, &writes[0])] {
        let (status, body) = app.redo(other, role).await;
        assert_eq!(status, 200, "{body}");
    }

    let (status, body) = app.redo(&token, &writes[2]).await;
    assert_eq!(status, 200, "{body}");
}

#[actix_web::test]
async fn a_variant_that_can_not_come_back_names_the_reason() {
    let fixture = Fixture::new().await;
    let (app, token) = (&fixture.app, &fixture.a.token);
    let create = async |body: Value| {
        let (status, body) = app.post(token, VARIANTS, body).await;
        assert_eq!(status, 200, "{body}");
        format!("{VARIANTS}/{}", body["variant"]["id"].as_str().expect("an id"))
    };
    let one = create(json!({"name": "One", "isActive": true})).await;
    let deleted = app.send(token, Method::DELETE, &one, Value::Null).await;
    let two = create(json!({"name": "Two", "isActive": true})).await;

    let (_, active) = app.undo(token, &deleted).await;
    app.put(token, &two, json!({"name": "one", "isActive": false})).await;
    let (_, named) = app.undo(token, &deleted).await;

    assert_eq!(active["fields"], json!(["isActive"]), "{active}");
    assert_eq!(named["fields"], json!(["name"]), "{named}");
}
