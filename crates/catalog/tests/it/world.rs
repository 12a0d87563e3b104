//! A tenant with organizations below each other, and another tenant beside it.

use actix_web::http::Method;
use backoffice_auth::{NewAccount, create_account};
use backoffice_core::Module;
use backoffice_core::http::Json;
use backoffice_directory::commands::{CreateTenant, NewTenant};
use backoffice_test_support::{TestApp, TestResponse};
use serde_json::{Value, json};
use uuid::Uuid;

pub(crate) const PRODUCTS: &str = "/catalog/products";
pub(crate) const VARIANTS: &str = "/catalog/variants";
pub(crate) const PRICES: &str = "/catalog/prices";
pub(crate) const CATEGORIES: &str = "/catalog/categories";
const ACTIONS: &str = "/audit_logs/audit-logs/actions";
const PASSWORD: &str = "correct horse battery";

const CONFIG: &str = r#"
rate_limits = { enabled = false }
[auth]
jwt = { keys = [{ kid = "test", secret = "0123456789012345678901234567890123456789" }] }
consent = { keys = [{ kid = "test", secret = "abcdefghijabcdefghijabcdefghijabcdefghij" }] }
argon2 = { memory_kib = 8, iterations = 1 }
login = { failure_floor = "0ms" }
"#;

const MODULES: [&Module; 4] = [
    &backoffice_directory::MODULE,
    &backoffice_auth::MODULE,
    &backoffice_audit_logs::MODULE,
    &backoffice_catalog::MODULE,
];

pub(crate) struct World {
    pub(crate) app: TestApp,
    pub(crate) tenant: Uuid,
    pub(crate) root: Uuid,
    /// Below `root` stands nothing; `child` is below `parent`.
    pub(crate) parent: Uuid,
    pub(crate) child: Uuid,
    /// Role `admin`, in `root`.
    pub(crate) admin: String,
    /// Everything of the catalog, in `child` alone.
    pub(crate) local: String,
    /// Role `employee`, in `root`.
    pub(crate) employee: String,
    /// The administrator of another tenant.
    pub(crate) stranger: String,
}

impl World {
    pub(crate) async fn new() -> Self {
        let app = TestApp::builder(&MODULES).config(CONFIG).build().await;
        let (tenant, root) = tenant(&app, "Alpha").await;
        let admin = account(&app, tenant, root, "admin", &["admin"]).await;
        let (elsewhere, office) = self::tenant(&app, "Beta").await;
        let stranger = account(&app, elsewhere, office, "stranger", &["admin"]).await;
        let made = async |path: &str, body: Value| {
            let (status, body) = app.post(&admin, path, body).await;
            assert_eq!(status, 201, "{path}: {body}");
            id_of(&body)
        };
        let parent = made("/directory/organizations", json!({"name": "Parent"})).await;
        let child = made("/directory/organizations", json!({"name": "Child", "parentId": parent})).await;
        let role = made("/auth/roles", json!({"name": "Local"})).await;
        let acl = json!({"roleId": role, "features": ["catalog.*", "audit_logs.*"], "organizations": [child]});
        assert_eq!(app.put(&admin, "/auth/roles/acl", acl).await.0, 200);
        Self {
            local: account(&app, tenant, child, "local", &["Local"]).await,
            employee: account(&app, tenant, root, "employee", &["employee"]).await,
            tenant,
            root,
            parent,
            child,
            admin,
            stranger,
            app,
        }
    }

    /// Sends a request of the administrator.
    pub(crate) async fn send(&self, method: Method, target: &str, body: &Value) -> TestResponse {
        let request = self.app.request(method, target).bearer(&self.admin);
        request.json(body).send().await
    }

    /// Something new, which must be accepted.
    pub(crate) async fn make(&self, path: &str, body: Value) -> Done {
        let response = self.send(Method::POST, path, &body).await;
        assert_eq!(response.status, 201, "{body}: {}", response.text());
        Done::of(&response)
    }

    /// A change that must be accepted.
    pub(crate) async fn change(&self, path: &str, body: Value) -> Done {
        let response = self.send(Method::PUT, path, &body).await;
        assert_eq!(response.status, 200, "{body}: {}", response.text());
        Done::of(&response)
    }

    /// A deletion that must be accepted.
    pub(crate) async fn remove(&self, path: &str, id: Uuid) -> Done {
        let target = format!("{path}?id={id}");
        let response = self.send(Method::DELETE, &target, &Value::Null).await;
        assert_eq!(response.status, 200, "{target}: {}", response.text());
        Done::of(&response)
    }

    /// A product with this title.
    pub(crate) async fn product(&self, title: &str) -> Uuid {
        self.make(PRODUCTS, json!({"title": title})).await.id
    }

    /// A category, named and spelled alike.
    pub(crate) async fn category(&self, name: &str, parent: Option<Uuid>) -> Uuid {
        let body = json!({"name": name, "slug": name, "parentId": parent});
        self.make(CATEGORIES, body).await.id
    }

    /// What the administrator reads.
    pub(crate) async fn get(&self, target: &str) -> Value {
        let (status, body) = self.app.get(&self.admin, target).await;
        assert_eq!(status, 200, "{target}: {body}");
        body
    }

    /// One row by its id.
    pub(crate) async fn one(&self, path: &str, id: Uuid) -> Value {
        self.get(&format!("{path}/{id}")).await
    }

    /// A member of each item of a list, in its order.
    pub(crate) async fn listed(&self, target: &str, member: &str) -> Vec<Value> {
        let page = self.get(target).await;
        let items = page["items"].as_array().expect("a list").iter();
        items.map(|item| item[member].clone()).collect()
    }

    pub(crate) async fn undo(&self, done: &Done) -> (u16, Value) {
        let body = json!({"undoToken": done.token});
        self.app.post(&self.admin, &format!("{ACTIONS}/undo"), body).await
    }

    pub(crate) async fn redo(&self, done: &Done) -> (u16, Value) {
        let body = json!({"logId": done.log});
        self.app.post(&self.admin, &format!("{ACTIONS}/redo"), body).await
    }

    /// Entries of the log, the latest first.
    pub(crate) async fn entries(&self, query: &str) -> Vec<Value> {
        let page = self.get(&format!("{ACTIONS}?{query}")).await;
        page["items"].as_array().expect("a list").clone()
    }

    /// What undos had to leave out.
    pub(crate) async fn dropped(&self) -> Vec<Value> {
        let entries = self.entries("limit=1000").await;
        let of_undo = entries
            .iter()
            .filter(|entry| entry["context"]["historyAction"] == "undo");
        of_undo
            .filter_map(|entry| entry["context"].get("dropped").cloned())
            .collect()
    }

    /// All rows of the catalog, without the time of their last change.
    pub(crate) async fn image(&self) -> backoffice_test_support::Image {
        let mut image = self.app.image_without(&[], &["updated_at"]).await;
        image.retain(|table, _| table.starts_with("catalog_"));
        image
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
        let told = response.operation().expect("X-Operation");
        let text = |member: &str| told[member].as_str().expect("text").to_owned();
        Self {
            id: text("resourceId").parse().expect("a UUID"),
            log: text("id").parse().expect("a UUID"),
            token: text("undoToken"),
        }
    }
}

/// The details of a refusal: where, and what.
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

pub(crate) fn id_of(body: &Value) -> Uuid {
    body["id"].as_str().expect("an id").parse().expect("a UUID")
}

async fn tenant(app: &TestApp, name: &str) -> (Uuid, Uuid) {
    let system = app.system_context();
    let input = NewTenant {
        name: name.to_owned(),
        ..NewTenant::default()
    };
    let command = CreateTenant::new(&system, input).expect("a valid tenant");
    let answer = system.execute(&command, |made| {
        Json(json!([{"id": made.id}, {"id": made.organization_id}]))
    });
    let made = answer.await.expect("the tenant is made").0;
    (id_of(&made[0]), id_of(&made[1]))
}

/// An account, signed in.
async fn account(app: &TestApp, tenant: Uuid, organization: Uuid, who: &str, roles: &[&str]) -> String {
    let email = format!("{who}@catalog.test");
    let account = NewAccount {
        tenant: Some(tenant),
        organization: Some(organization),
        email: email.clone(),
        name: None,
        password: Some(PASSWORD.to_owned().into()),
        roles: roles.iter().map(|role| (*role).to_owned()).collect(),
        super_admin: false,
    };
    create_account(&app.system_context(), account)
        .await
        .expect("the account is made");
    let sign_in = json!({"email": email, "password": PASSWORD});
    let (status, body) = app.post("", "/auth/login", sign_in).await;
    assert_eq!(status, 200, "{body}");
    body["token"].as_str().expect("a token").to_owned()
}
