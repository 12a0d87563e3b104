//! Two tenants with an administrator each, organizations below each other, and a super administrator.

use actix_web::http::Method;
use backoffice_auth::{NewAccount, create_account};
use backoffice_core::Module;
use backoffice_core::http::Json;
use backoffice_directory::commands::{CreateTenant, NewTenant};
use backoffice_test_support::{TestApp, TestResponse};
use serde_json::{Value, json};
use uuid::Uuid;

pub(crate) const KEYS: &str = "/api_keys/keys";
const PASSWORD: &str = "correct horse battery";

const CONFIG: &str = r#"
[auth.jwt]
keys = [{ kid = "test", secret = "0123456789012345678901234567890123456789" }]
[auth.consent]
keys = [{ kid = "test", secret = "abcdefghijabcdefghijabcdefghijabcdefghij" }]
[auth.argon2]
memory_kib = 8
iterations = 1
[auth.login]
failure_floor = "0ms"
[rate_limits]
enabled = false
"#;

const MODULES: [&Module; 4] = [
    &backoffice_directory::MODULE,
    &backoffice_auth::MODULE,
    &backoffice_audit_logs::MODULE,
    &backoffice_api_keys::MODULE,
];

/// A tenant and its administrator.
pub(crate) struct Tenant {
    pub(crate) id: Uuid,
    pub(crate) organization: Uuid,
    pub(crate) token: String,
}

pub(crate) struct World {
    pub(crate) app: TestApp,
    pub(crate) a: Tenant,
    pub(crate) b: Tenant,
    pub(crate) root: String,
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with_config("").await
    }

    pub(crate) async fn with_config(extra: &str) -> Self {
        let app = TestApp::builder(&MODULES).config(CONFIG).config(extra).build().await;
        let a = tenant(&app, "Alpha", "admin@alpha.test").await;
        let b = tenant(&app, "Beta", "admin@beta.test").await;
        account(&app, None, None, "root@platform.test", &[], true).await;
        let root = login(&app, "root@platform.test").await;
        Self { app, a, b, root }
    }

    /// A user of tenant A with these roles, signed in.
    pub(crate) async fn user(&self, email: &str, roles: &[&str]) -> String {
        let (tenant, organization) = (Some(self.a.id), Some(self.a.organization));
        account(&self.app, tenant, organization, email, roles, false).await;
        login(&self.app, email).await
    }

    /// A role of tenant A with these features and organizations.
    pub(crate) async fn role(&self, name: &str, features: &[&str], organizations: Option<&[Uuid]>) -> Uuid {
        let (status, body) = self.app.post(&self.a.token, "/auth/roles", json!({"name": name})).await;
        assert_eq!(status, 201, "{body}");
        let id = id_of(&body);
        self.acl(id, features, organizations).await;
        id
    }

    /// What a role grants from now on.
    pub(crate) async fn acl(&self, role: Uuid, features: &[&str], organizations: Option<&[Uuid]>) {
        let acl = json!({"roleId": role, "features": features, "organizations": organizations});
        let (status, body) = self.app.put(&self.root, "/auth/roles/acl", acl).await;
        assert_eq!(status, 200, "{body}");
    }

    /// An organization of tenant A.
    pub(crate) async fn organization(&self, name: &str, parent: Option<Uuid>) -> Uuid {
        let body = json!({"name": name, "parentId": parent});
        let (status, body) = self.app.post(&self.a.token, "/directory/organizations", body).await;
        assert_eq!(status, 201, "{body}");
        id_of(&body)
    }

    /// A key that the administrator of tenant A makes.
    pub(crate) async fn key(&self, body: Value) -> Key {
        let (status, body) = self.app.post(&self.a.token, KEYS, body).await;
        assert_eq!(status, 201, "{body}");
        Key {
            id: id_of(&body),
            secret: body["secret"].as_str().expect("a key").to_owned(),
        }
    }

    /// `GET` with a key.
    pub(crate) async fn get(&self, key: &Key, path: &str) -> (u16, Value) {
        let response = self.send(key, Method::GET, path).await;
        (response.status, response.json())
    }

    /// A request without body, with a key.
    pub(crate) async fn send(&self, key: &Key, method: Method, path: &str) -> TestResponse {
        let request = self.app.request(method, path).header("X-Api-Key", &key.secret);
        request.send().await
    }
}

/// A key and its text.
pub(crate) struct Key {
    pub(crate) id: Uuid,
    pub(crate) secret: String,
}

pub(crate) fn id_of(body: &Value) -> Uuid {
    body["id"].as_str().expect("an id").parse().expect("a UUID")
}

async fn tenant(app: &TestApp, name: &str, email: &str) -> Tenant {
    let system = app.system_context();
    let input = NewTenant {
        name: name.to_owned(),
        ..NewTenant::default()
    };
    let command = CreateTenant::new(&system, input).expect("valid");
    let made = std::sync::Mutex::new(None);
    system
        .execute(&command, |created| {
            *made.lock().expect("one thread") = Some(created);
            Json(Value::Null)
        })
        .await
        .expect("made");
    let made = made.into_inner().expect("one thread").expect("an output");
    account(app, Some(made.id), Some(made.organization_id), email, &["admin"], false).await;
    Tenant {
        id: made.id,
        organization: made.organization_id,
        token: login(app, email).await,
    }
}

async fn account(
    app: &TestApp,
    tenant: Option<Uuid>,
    organization: Option<Uuid>,
    email: &str,
    roles: &[&str],
    super_admin: bool,
) -> Uuid {
    let account = NewAccount {
        tenant,
        organization,
        email: email.to_owned(),
        name: None,
        password: Some(PASSWORD.to_owned().into()),
        roles: roles.iter().map(|role| (*role).to_owned()).collect(),
        super_admin,
    };
    create_account(&app.system_context(), account).await.expect("made")
}

async fn login(app: &TestApp, email: &str) -> String {
    let (status, body) = app
        .post("", "/auth/login", json!({"email": email, "password": PASSWORD}))
        .await;
    assert_eq!(status, 200, "{body}");
    body["token"].as_str().expect("a token").to_owned()
}
