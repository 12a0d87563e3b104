//! Rules, sets and members of the whole tenant, and callers who are limited to organizations.

use actix_web::http::Method;
use backoffice_test_accounts::TwoTenants;
use backoffice_test_support::{TestResponse, UndoableWrite, details};
use serde_json::{Value, json};

use crate::fixture::{RULES, fixture, rule, with};

const SETS: &str = "/business_rules/sets";
const FEATURES: [&str; 3] = ["business_rules.*", "audit_logs.undo_self", "audit_logs.redo_self"];

/// Returns the body with the whole tenant as its place.
fn of_tenant(body: Value) -> Value {
    with(body, json!({"organizationId": null}))
}

fn set(key: &str) -> Value {
    of_tenant(json!({"setId": key, "setName": "S"}))
}

/// Returns status and text of a response.
fn outcome((status, body): (u16, Value)) -> (u16, Value) {
    (status, body["error"].clone())
}

/// Creates two resources. Undoes the creation of the first one, and deletes the second one by its id in this parameter. Returns the first creation and
/// the deletion.
async fn undone_and_deleted(
    fixture: &TwoTenants,
    token: &str,
    path: &str,
    parameter: &str,
    bodies: [Value; 2],
) -> (UndoableWrite, TestResponse) {
    let app = &fixture.app;
    let [first, second] = bodies;
    let created = app.send(token, Method::POST, path, first).await;
    assert_eq!(created.status, 201, "{}", created.text());
    let (status, body) = app.undo(token, &created).await;
    assert_eq!(status, 200, "{body}");
    let id = app.create(token, path, second).await;
    let deletion = format!("{path}?{parameter}={id}");
    let deleted = app.send(token, Method::DELETE, &deletion, Value::Null).await;
    assert_eq!(deleted.status, 200, "{}", deleted.text());
    (created.undoable_write(), deleted)
}

#[actix_web::test]
async fn a_caller_who_was_limited_meanwhile_restores_nothing_of_the_whole_tenant() {
    let fixture = fixture().await;
    let app = &fixture.app;
    let branch = fixture.organization("Branch", None).await;
    let role = fixture.role("Rules", &FEATURES, None).await;
    let (_, token) = fixture.user("rules@alpha.test", &["Rules"]).await;
    let of_key = |key: &str| of_tenant(rule(key, "ACTION", "x.y"));
    let first = app.create(&token, RULES, of_key("first")).await;
    let second = app.create(&token, RULES, of_key("second")).await;
    let kept = app.create(&token, SETS, set("kept")).await;
    let members = format!("{SETS}/{kept}/members");
    let out_of_scope = (403, json!("Organization out of scope"));

    for (path, parameter, bodies) in [
        (RULES, "id", [of_key("undone"), of_key("deleted")]),
        (SETS, "id", [set("undone"), set("deleted")]),
        (
            &*members,
            "memberId",
            [json!({"ruleId": first}), json!({"ruleId": second})],
        ),
    ] {
        let (created, deleted) = undone_and_deleted(&fixture, &token, path, parameter, bodies).await;

        fixture.acl(role, &FEATURES, Some(&[branch])).await;
        let redone = app.redo(&token, &created).await;
        let undone = app.undo(&token, &deleted).await;
        assert_eq!(outcome(redone), out_of_scope, "redo of a creation: {path}");
        assert_eq!(outcome(undone), out_of_scope, "undo of a deletion: {path}");

        fixture.acl(role, &FEATURES, None).await;
        let redone = app.redo(&token, &created).await;
        assert_eq!(redone.0, 200, "{path}: {}", redone.1);
        let undone = app.undo(&token, &deleted).await;
        assert_eq!(undone.0, 200, "{path}: {}", undone.1);
    }
}

#[actix_web::test]
async fn a_rule_and_a_set_are_updated_with_what_was_read_and_keep_their_place() {
    let fixture = fixture().await;
    let (app, token) = (&fixture.app, &fixture.a.token);
    let immutable = (400, vec![("organizationId", "immutable")]);
    for (path, whole, own) in [
        (
            RULES,
            of_tenant(rule("whole", "ACTION", "x.y")),
            rule("own", "ACTION", "x.y"),
        ),
        (SETS, set("whole"), json!({"setId": "own", "setName": "S"})),
    ] {
        let whole = fixture.create(path, whole).await;
        let own = fixture.create(path, own).await;

        for id in [whole, own] {
            let read = app.read(token, &format!("{path}/{id}")).await;
            let (status, body) = app.put(token, path, read.clone()).await;
            assert_eq!(status, 200, "{path}: {body}");
            let again = app.read(token, &format!("{path}/{id}")).await;
            assert_eq!(again, read, "nothing has changed");
        }
        for (id, organization) in [(whole, json!(fixture.a.organization)), (own, Value::Null)] {
            let body = json!({"id": id, "organizationId": organization});
            let (status, body) = app.put(token, path, body).await;
            assert_eq!((status, details(&body)), immutable, "{path}");
        }
    }
}

#[actix_web::test]
async fn a_caller_of_one_organization_restores_what_belongs_to_it() {
    let fixture = fixture().await;
    let branch = fixture.organization("Branch", None).await;
    fixture.role("Rules", &FEATURES, Some(&[branch])).await;
    let (_, token) = fixture.user("rules@alpha.test", &["Rules"]).await;
    let of_branch = |key: &str| with(rule(key, "ACTION", "x.y"), json!({"organizationId": branch}));

    let bodies = [of_branch("undone"), of_branch("deleted")];
    let (created, deleted) = undone_and_deleted(&fixture, &token, RULES, "id", bodies).await;
    let redone = fixture.app.redo(&token, &created).await;
    let undone = fixture.app.undo(&token, &deleted).await;

    assert_eq!((redone.0, undone.0), (200, 200), "{} {}", redone.1, undone.1);
}
