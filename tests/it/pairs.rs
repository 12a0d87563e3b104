//! Rights are pairs of a feature and an organization (accounts specification, 4.1), and principals with more rights are protected (4.4): over all
//! modules, for every way to read or change a record.

mod protection;
mod reach;
mod selection;

use actix_web::http::Method;
use backoffice_test_support::TestResponse;
use serde_json::json;
use uuid::Uuid;

use crate::fixture::{Account, Fixture, TenantFixture, id};

const ACL: &str = "/auth/roles/acl";
const DEALS: &str = "/customers/deals";
const KEYS: &str = "/api_keys/keys";
const ROLES: &str = "/auth/roles";
const USERS: &str = "/auth/users";
const ORGANIZATIONS: &str = "/directory/organizations";

/// The features of a user who manages accounts; none of the customers.
const MANAGER: [&str; 5] = ["auth.*", "api_keys.*", "audit_logs.*", "catalog.*", "progress.*"];

async fn ids(fixture: &Fixture, token: &str, path: &str) -> Vec<Uuid> {
    let body = fixture.app.read(token, path).await;
    let items = body["items"].as_array().expect("a list");
    items.iter().map(|item| id(&item["id"])).collect()
}

/// Creates a deal in this organization as the admin.
async fn deal(fixture: &Fixture, tenant_fixture: &TenantFixture, organization: Uuid) -> (Uuid, TestResponse) {
    let token = &tenant_fixture.tenant_admin.token;
    let body = json!({"title": "A deal", "organizationId": organization});
    let response = fixture.app.send(token, Method::POST, DEALS, body).await;
    assert_eq!(response.status, 201, "{}", response.text());
    (id(&response.json()["id"]), response)
}

/// Creates a user with the deals of `parent` and the other features, including those of the log, in the whole tenant.
async fn split(fixture: &Fixture) -> Account {
    let tenant_fixture = &fixture.a;
    fixture
        .role(
            tenant_fixture,
            "Deals",
            &["customers.deals.*"],
            Some(&[tenant_fixture.parent]),
        )
        .await;
    let wide = ["catalog.products.view", "audit_logs.*", "progress.*", "auth.users.list"];
    fixture.role(tenant_fixture, "Wide", &wide, None).await;
    fixture
        .account(tenant_fixture, "split@alpha.test", &["Deals", "Wide"])
        .await
}
