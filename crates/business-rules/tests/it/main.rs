//! The module over HTTP.

mod rules;

use backoffice_business_rules::MODULE;
use backoffice_test_accounts::{CONFIG, NO_LIMITS, TwoTenants, id_of};
use backoffice_test_support::TestApp;
use serde_json::Value;
use uuid::Uuid;

/// Creates two tenants, each with an organization and an administrator.
async fn fixture() -> TwoTenants {
    let modules = [&backoffice_directory::MODULE, &backoffice_auth::MODULE, &MODULE];
    let app = TestApp::builder(&modules)
        .config(CONFIG)
        .config(NO_LIMITS)
        .build()
        .await;
    TwoTenants::inside(app).await
}

/// Creates a record as the administrator of Alpha and returns its id.
async fn create(fixture: &TwoTenants, path: &str, body: Value) -> Uuid {
    let (status, body) = fixture.app.post(&fixture.a.token, path, body).await;
    assert_eq!(status, 201, "{body}");
    id_of(&body)
}

/// Returns the path and the error code of every invalid field.
fn codes(body: &Value) -> Vec<(&str, &str)> {
    let details = body["details"].as_array().into_iter().flatten();
    details
        .filter_map(|detail| Some((detail["path"].as_str()?, detail["code"].as_str()?)))
        .collect()
}
