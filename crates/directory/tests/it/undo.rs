use actix_web::http::Method;
use backoffice_core::http::Json;
use backoffice_core::identity::Identity;
use backoffice_core::{Feature, RequestContext, Scope};
use backoffice_test_support::{TestApp, TestResponse};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::sign_in::{MODULES, admin, tenant};

const PATH: &str = "/directory/organizations";
/// Substitute for the feature of the audit log, which is not enabled here; the system holds every feature.
const OTHERS: Feature = Feature::new("directory.organizations.manage", "Manage organizations");

fn context(app: &TestApp) -> RequestContext {
    RequestContext::new(
        app.system_context().call().clone(),
        Identity::system().into(),
        Scope::system(),
    )
}

async fn undo(app: &TestApp, token: &str) -> Result<Uuid, Value> {
    let log = std::sync::Mutex::new(Uuid::nil());
    let outcome = context(app)
        .undo(token, OTHERS, |outcome| {
            *log.lock().expect("not poisoned") = outcome.source_log_id;
            Json(())
        })
        .await;
    outcome.map_err(|error| error.to_rejection().to_body(backoffice_core::ErrorShape::default(), ""))?;
    Ok(log.into_inner().expect("not poisoned"))
}

async fn redo(app: &TestApp, log: Uuid) {
    context(app).redo(log, OTHERS, |_| Json(())).await.expect("redone");
}

fn token(response: &TestResponse) -> String {
    let operation = response
        .operation()
        .unwrap_or_else(|| panic!("no operation: {}", response.text()));
    operation["undoToken"].as_str().expect("a token").to_owned()
}

async fn rows(app: &TestApp) -> Vec<Value> {
    app.rows(
        "select id, name, slug, parent_id, logo_url, is_active, created_at from directory_organizations \
         where deleted_at is null order by id",
    )
    .await
}

#[actix_web::test]
async fn every_change_of_an_organization_is_undone_and_redone() {
    let app = TestApp::new(&MODULES).await;
    let acme = tenant(&app, "Acme").await;
    let root = acme.organization_id;
    let (_, created) = app
        .post(&admin(&acme), PATH, json!({"name": "North", "parentId": root}))
        .await;
    let north = created["id"].as_str().expect("an id").to_owned();
    let changes = [
        (
            Method::POST,
            PATH.to_owned(),
            json!({"name": "South", "parentId": north, "logoUrl": "https://x.example/l.png"}),
        ),
        (
            Method::PUT,
            PATH.to_owned(),
            json!({"id": north, "name": "N", "slug": "n", "parentId": null, "isActive": false}),
        ),
        (Method::DELETE, format!("{PATH}?id={north}"), json!({})),
    ];

    for (method, path, body) in changes {
        app.advance(backoffice_test_support::Duration::SECOND);
        let before = rows(&app).await;
        let response = app
            .request(method.clone(), &path)
            .bearer(&admin(&acme))
            .json(&body)
            .send()
            .await;
        let after = rows(&app).await;
        assert_ne!(before, after, "{method}: {}", response.text());

        let log = undo(&app, &token(&response)).await.expect("undone");
        assert_eq!(rows(&app).await, before, "{method}");
        redo(&app, log).await;
        assert_eq!(rows(&app).await, after, "{method}");
        if method == Method::POST {
            // Moves it out of the way of the deletion below.
            let south = response.json()["id"].as_str().expect("an id").to_owned();
            app.delete(&admin(&acme), &format!("{PATH}?id={south}"), Value::Null)
                .await;
        }
    }
}

#[actix_web::test]
async fn a_deleted_organization_does_not_return_below_a_deleted_parent() {
    let app = TestApp::new(&MODULES).await;
    let acme = tenant(&app, "Acme").await;
    let (_, parent) = app.post(&admin(&acme), PATH, json!({"name": "Parent"})).await;
    let (_, child) = app
        .post(&admin(&acme), PATH, json!({"name": "Child", "parentId": parent["id"]}))
        .await;
    let delete = async |id: &Value| {
        let path = format!("{PATH}?id={}", id.as_str().expect("an id"));
        app.request(Method::DELETE, &path).bearer(&admin(&acme)).send().await
    };
    let response = delete(&child["id"]).await;
    delete(&parent["id"]).await;

    let rejected = undo(&app, &token(&response)).await.expect_err("the parent is gone");

    assert_eq!(
        (&rejected["code"], &rejected["fields"]),
        (&json!("undo_conflict"), &json!(["parentId"]))
    );
}

#[actix_web::test]
async fn the_creation_of_an_organization_with_children_is_not_undone() {
    let app = TestApp::new(&MODULES).await;
    let acme = tenant(&app, "Acme").await;
    let response = app
        .request(Method::POST, PATH)
        .bearer(&admin(&acme))
        .json(&json!({"name": "Parent"}))
        .send()
        .await;
    app.post(
        &admin(&acme),
        PATH,
        json!({"name": "Child", "parentId": response.json()["id"]}),
    )
    .await;

    let rejected = undo(&app, &token(&response)).await.expect_err("there are children");

    assert_eq!(
        (&rejected["code"], &rejected["fields"]),
        (&json!("undo_conflict"), &json!(["directory.organization"]))
    );
}
