//! Entries with documents that are nested deeper than the parser reads, as earlier releases could store them.

use actix_web::http::Method;
use backoffice_test_support::TestApp;
use serde_json::json;

use crate::sign_in::{MODULES, admin, tenant};
use crate::{ACTIONS, list, organization, rename};

/// Returns a value inside of this many lists, as JSON.
fn lists(levels: usize, inner: &str) -> String {
    "[".repeat(levels) + inner + &"]".repeat(levels)
}

#[actix_web::test]
async fn a_deep_document_costs_neither_the_page_nor_the_export() {
    let app = TestApp::new(&MODULES).await;
    let acme = tenant(&app, "Acme").await;
    let token = admin(&acme, "");
    let id = organization(&app, &token, "North", json!(acme.organization_id))
        .await
        .json()["id"]
        .clone();
    rename(&app, &token, &id, "South").await;
    let deep = lists(200, "7");
    let sql = format!(
        "update audit_action_logs set changes = '{{\"name\": {{\"from\": null, \"to\": {deep}}}}}' \
         where command_id = 'directory.organization.update'"
    );
    assert_eq!(app.sql(&sql).await, 1);
    let id = id.as_str().expect("an id");

    let page = list(&app, &token, &format!("resourceId={id}")).await;
    let export = app.request(Method::GET, &format!("{ACTIONS}/export?resourceId={id}"));
    let export = export.bearer(&token).send().await;

    let items = page["items"].as_array().expect("items");
    // The document itself and the change of the field are the two levels around the lists.
    let shown = lists(98, "null");
    assert_eq!(items.len(), 2);
    assert_eq!(items[0]["changes"]["name"]["to"].to_string(), shown);
    assert_eq!(items[1]["changes"]["name"]["to"], "North");
    assert_eq!(export.status, 200, "{}", export.text());
    assert!(export.text().contains(&shown), "{}", export.text());
}
