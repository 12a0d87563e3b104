//! Two tenants with an administrator each, and a super administrator.

use backoffice_auth::{NewAccount, create_account};
use backoffice_core::Module;
use backoffice_core::http::Json;
use backoffice_directory::commands::{CreateTenant, NewTenant};
use backoffice_test_support::{TestApp, TestAppBuilder};
use serde_json::{Value, json};
use uuid::Uuid;

pub(crate) const PASSWORD: &str = "correct horse battery";

pub(crate) const CONFIG: &str = r#"
[auth.jwt]
keys = [{ kid = "test", secret = "0123456789012345678901234567890123456789" }]
[auth.consent]
keys = [{ kid = "test", secret = "abcdefghijabcdefghijabcdefghijabcdefghij" }]
[auth.argon2]
memory_kib = 8
iterations = 1
[auth.login]
failure_floor = "0ms"
"#;

/// A tenant and its administrator.
pub(crate) struct Tenant {
    pub(crate) id: Uuid,
    pub(crate) organization: Uuid,
    pub(crate) admin: Uuid,
    pub(crate) token: String,
}

pub(crate) struct World {
    pub(crate) app: TestApp,
    pub(crate) a: Tenant,
    pub(crate) b: Tenant,
    pub(crate) root: String,
}

/// The modules of every world.
pub(crate) const MODULES: [&Module; 3] = [
    &backoffice_directory::MODULE,
    &backoffice_auth::MODULE,
    &backoffice_audit_logs::MODULE,
];

fn builder(extra: &[&'static Module]) -> TestAppBuilder {
    TestApp::builder(&[&MODULES, extra].concat())
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with_config("[rate_limits]\nenabled = false\n").await
    }

    pub(crate) async fn with_config(extra: &str) -> Self {
        Self::build(extra, &[]).await
    }

    /// With further modules of the test.
    pub(crate) async fn with_modules(modules: &[&'static Module]) -> Self {
        Self::build("[rate_limits]\nenabled = false\n", modules).await
    }

    /// Where only this many passwords wait to be hashed.
    pub(crate) async fn with_queue(places: usize) -> Self {
        Self::replacing("memory_kib = 8", &format!("memory_kib = 8\nqueue = {places}")).await
    }

    /// With one of the settings replaced, and without limits.
    pub(crate) async fn replacing(setting: &str, by: &str) -> Self {
        assert!(CONFIG.contains(setting), "{setting} is set");
        let config = format!("{}[rate_limits]\nenabled = false\n", CONFIG.replace(setting, by));
        Self::inside(builder(&[]).config(&config).build().await).await
    }

    /// On a connection that counts statements.
    pub(crate) async fn counting() -> Self {
        Self::counting_with("").await
    }

    /// The same with more configuration.
    pub(crate) async fn counting_with(extra: &str) -> Self {
        let config = format!("{CONFIG}{extra}[rate_limits]\nenabled = false\n");
        Self::inside(builder(&[]).config(&config).through_proxy().build().await).await
    }

    async fn build(extra: &str, modules: &[&'static Module]) -> Self {
        Self::inside(builder(modules).config(&format!("{CONFIG}{extra}")).build().await).await
    }

    pub(crate) async fn inside(app: TestApp) -> Self {
        let a = tenant(&app, "Alpha", "admin@alpha.test").await;
        let b = tenant(&app, "Beta", "admin@beta.test").await;
        account(&app, None, None, "root@platform.test", &[], true).await;
        let root = login(&app, "root@platform.test").await;
        Self { app, a, b, root }
    }

    /// A user of tenant A with these roles; returns its id and token.
    pub(crate) async fn user(&self, email: &str, roles: &[&str]) -> (Uuid, String) {
        let id = account(
            &self.app,
            Some(self.a.id),
            Some(self.a.organization),
            email,
            roles,
            false,
        )
        .await;
        (id, login(&self.app, email).await)
    }

    /// A role of tenant A with these features and organizations.
    pub(crate) async fn role(&self, name: &str, features: &[&str], organizations: Option<&[Uuid]>) -> Uuid {
        let (status, body) = self.app.post(&self.a.token, "/auth/roles", json!({"name": name})).await;
        assert_eq!(status, 201, "{body}");
        let id = id_of(&body);
        let acl = json!({"roleId": id, "features": features, "organizations": organizations});
        let (status, body) = self.app.put(&self.root, "/auth/roles/acl", acl).await;
        assert_eq!(status, 200, "{body}");
        id
    }
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
    let admin = account(app, Some(made.id), Some(made.organization_id), email, &["admin"], false).await;
    Tenant {
        id: made.id,
        organization: made.organization_id,
        admin,
        token: login(app, email).await,
    }
}

pub(crate) async fn account(
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

pub(crate) async fn login(app: &TestApp, email: &str) -> String {
    let (status, body) = app
        .post("", "/auth/login", json!({"email": email, "password": PASSWORD}))
        .await;
    assert_eq!(status, 200, "{body}");
    body["token"].as_str().expect("a token").to_owned()
}
