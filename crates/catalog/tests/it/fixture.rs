//! A tenant with nested organizations, and another tenant.

use actix_web::http::Method;
use backoffice_core::Module;
pub(crate) use backoffice_test_accounts::id_of;
use backoffice_test_accounts::{CONFIG, NO_LIMITS, TwoTenants, account, login};
use backoffice_test_support::{TestApp, TestResponse};
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
        let organization = async |name: &str, parent: Option<Uuid>| {
            let body = json!({"name": name, "parentId": parent});
            let target = "/directory/organizations";
            let (status, body) = tenants.app.post(&tenants.a.token, target, body).await;
            assert_eq!(status, 201, "{body}");
            id_of(&body)
        };
        let parent = organization("Parent", None).await;
        let child = organization("Child", Some(parent)).await;
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

    /// Sends a request of the administrator.
    pub(crate) async fn send(&self, method: Method, target: &str, body: &Value) -> TestResponse {
        let request = self.app.request(method, target).bearer(&self.admin);
        request.json(body).send().await
    }

    /// Creates a row; the request must succeed.
    pub(crate) async fn create(&self, path: &str, body: Value) -> Done {
        let response = self.send(Method::POST, path, &body).await;
        assert_eq!(response.status, 201, "{body}: {}", response.text());
        Done::of(&response)
    }

    /// Updates a row; the request must succeed.
    pub(crate) async fn change(&self, path: &str, body: Value) -> Done {
        let response = self.send(Method::PUT, path, &body).await;
        assert_eq!(response.status, 200, "{body}: {}", response.text());
        Done::of(&response)
    }

    /// Deletes a row; the request must succeed.
    pub(crate) async fn remove(&self, path: &str, id: Uuid) -> Done {
        let target = format!("{path}?id={id}");
        let response = self.send(Method::DELETE, &target, &Value::Null).await;
        assert_eq!(response.status, 200, "{target}: {}", response.text());
        Done::of(&response)
    }

    /// Creates a product with this title.
    pub(crate) async fn product(&self, title: &str) -> Uuid {
        self.create(PRODUCTS, json!({"title": title})).await.id
    }

    /// Creates a category with this name and slug.
    pub(crate) async fn category(&self, name: &str, parent: Option<Uuid>) -> Uuid {
        let body = json!({"name": name, "slug": name, "parentId": parent});
        self.create(CATEGORIES, body).await.id
    }

    /// Sends a GET request of the administrator, which must succeed.
    pub(crate) async fn get(&self, target: &str) -> Value {
        let (status, body) = self.app.get(&self.admin, target).await;
        assert_eq!(status, 200, "{target}: {body}");
        body
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

    pub(crate) async fn undo(&self, done: &Done) -> (u16, Value) {
        let body = json!({"undoToken": done.token});
        self.app.post(&self.admin, &format!("{ACTIONS}/undo"), body).await
    }

    pub(crate) async fn redo(&self, done: &Done) -> (u16, Value) {
        let body = json!({"logId": done.log});
        self.app.post(&self.admin, &format!("{ACTIONS}/redo"), body).await
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

/// An undoable write.
pub(crate) struct Done {
    pub(crate) id: Uuid,
    pub(crate) log: Uuid,
    pub(crate) token: String,
}

impl Done {
    fn of(response: &TestResponse) -> Self {
        let reported = response.operation().expect("X-Operation");
        let text = |field: &str| reported[field].as_str().expect("text").to_owned();
        Self {
            id: text("resourceId").parse().expect("a UUID"),
            log: text("id").parse().expect("a UUID"),
            token: text("undoToken"),
        }
    }
}

/// Returns path and code of the details of a rejection.
pub(crate) fn details(body: &Value) -> Vec<(&str, &str)> {
    let details = body["details"].as_array().map(Vec::as_slice).unwrap_or_default();
    details
        .iter()
        .map(|one| {
            (
                one["path"].as_str().expect("a path"),
                one["code"].as_str().expect("a code"),
            )
        })
        .collect()
}
