//! A tenant with nested organizations, and another tenant.

use actix_web::http::Method;
use backoffice_core::Module;
pub(crate) use backoffice_test_accounts::id_of;
use backoffice_test_accounts::{CONFIG, NO_LIMITS, TwoTenants, account, login};
pub(crate) use backoffice_test_support::details;
use backoffice_test_support::{TestApp, UndoableWrite};
use serde_json::{Value, json};
use uuid::Uuid;

pub(crate) const PRODUCTS: &str = "/catalog/products";
pub(crate) const VARIANTS: &str = "/catalog/variants";
pub(crate) const PRICES: &str = "/catalog/prices";
pub(crate) const CATEGORIES: &str = "/catalog/categories";
const ACTIONS: &str = "/audit_logs/audit-logs/actions";

const MODULES: [&Module; 5] = [
    &backoffice_directory::MODULE,
    &backoffice_auth::MODULE,
    &backoffice_audit_logs::MODULE,
    &backoffice_progress::MODULE,
    &backoffice_catalog::MODULE,
];

pub(crate) struct Fixture {
    pub(crate) app: TestApp,
    pub(crate) tenant: Uuid,
    pub(crate) root: Uuid,
    /// The parent of `child`.
    pub(crate) parent: Uuid,
    pub(crate) child: Uuid,
    /// Role `admin`, in `root`.
    pub(crate) admin: String,
    /// All features of this module, in `child` alone.
    pub(crate) local: String,
    /// Role `employee`, in `root`.
    pub(crate) employee: String,
    /// The administrator of another tenant.
    pub(crate) stranger: String,
    /// A super administrator of the platform, without a tenant.
    pub(crate) platform: String,
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        Self::of(&MODULES).await
    }

    /// Creates the fixture with an additional module.
    pub(crate) async fn beside(module: &'static Module) -> Self {
        Self::of(&[&MODULES[..], &[module]].concat()).await
    }

    async fn of(modules: &[&'static Module]) -> Self {
        let app = TestApp::builder(modules).config(CONFIG).config(NO_LIMITS);
        let tenants = TwoTenants::inside(app.build().await).await;
        let parent = tenants.organization("Parent", None).await;
        let child = tenants.organization("Child", Some(parent)).await;
        tenants
            .role("Local", &["catalog.*", "audit_logs.*"], Some(&[child]))
            .await;
        let email = "local@alpha.test";
        account(&tenants.app, Some(tenants.a.id), Some(child), email, &["Local"], false).await;
        Self {
            local: login(&tenants.app, email).await,
            employee: tenants.user("employee@alpha.test", &["employee"]).await.1,
            tenant: tenants.a.id,
            root: tenants.a.organization,
            parent,
            child,
            admin: tenants.a.token,
            stranger: tenants.b.token,
            platform: tenants.root,
            app: tenants.app,
        }
    }

    /// Creates a row; the request must succeed.
    pub(crate) async fn create(&self, path: &str, body: Value) -> UndoableWrite {
        let response = self.app.send(&self.admin, Method::POST, path, &body).await;
        assert_eq!(response.status, 201, "{body}: {}", response.text());
        response.undoable_write()
    }

    /// Updates a row; the request must succeed.
    pub(crate) async fn change(&self, path: &str, body: Value) -> UndoableWrite {
        let response = self.app.send(&self.admin, Method::PUT, path, &body).await;
        assert_eq!(response.status, 200, "{body}: {}", response.text());
        response.undoable_write()
    }

    /// Deletes a row; the request must succeed.
    pub(crate) async fn remove(&self, path: &str, id: Uuid) -> UndoableWrite {
        let target = format!("{path}?id={id}");
        let response = self.app.send(&self.admin, Method::DELETE, &target, &Value::Null).await;
        assert_eq!(response.status, 200, "{target}: {}", response.text());
        response.undoable_write()
    }

    /// Creates a product with this title.
    pub(crate) async fn product(&self, title: &str) -> Uuid {
        self.create(PRODUCTS, json!({"title": title})).await.resource
    }

    /// Creates a category with this name and slug.
    pub(crate) async fn category(&self, name: &str, parent: Option<Uuid>) -> Uuid {
        let body = json!({"name": name, "slug": name, "parentId": parent});
        self.create(CATEGORIES, body).await.resource
    }

    /// Sends a GET request of the administrator, which must succeed.
    pub(crate) async fn get(&self, target: &str) -> Value {
        self.app.read(&self.admin, target).await
    }

    /// Reads a row by its id.
    pub(crate) async fn one(&self, path: &str, id: Uuid) -> Value {
        self.get(&format!("{path}/{id}")).await
    }

    /// Returns a field of each item of a list, in its order.
    pub(crate) async fn listed(&self, target: &str, field: &str) -> Vec<Value> {
        let page = self.get(target).await;
        let items = page["items"].as_array().expect("a list").iter();
        items.map(|item| item[field].clone()).collect()
    }

    /// Returns entries of the log, the latest first.
    pub(crate) async fn entries(&self, query: &str) -> Vec<Value> {
        let page = self.get(&format!("{ACTIONS}?{query}")).await;
        page["items"].as_array().expect("a list").clone()
    }

    /// Returns what undos had to leave out.
    pub(crate) async fn dropped(&self) -> Vec<Value> {
        let entries = self.entries("limit=1000").await;
        let of_undo = entries
            .iter()
            .filter(|entry| entry["context"]["historyAction"] == "undo");
        of_undo
            .filter_map(|entry| entry["context"].get("dropped").cloned())
            .collect()
    }

    /// Returns all rows of the catalog, without the time of their last change.
    pub(crate) async fn snapshot(&self) -> backoffice_test_support::DatabaseSnapshot {
        let mut snapshot = self.app.snapshot_without(&[], &["updated_at"]).await;
        snapshot.retain(|table, _| table.starts_with("catalog_"));
        snapshot
    }
}
