#![doc = include_str!("../README.md")]
#![expect(clippy::expect_used, reason = "a test fails by a panic")]

use backoffice_auth::{NewAccount, create_account};
use backoffice_core::http::Json;
use backoffice_directory::commands::{CreateTenant, NewTenant};
use backoffice_test_support::TestApp;
pub use backoffice_test_support::id_of;
use serde_json::{Value, json};
use uuid::Uuid;

/// Password of every account.
pub const PASSWORD: &str = "correct horse battery";

/// Configures the signing keys and the key of sealed values, and makes hashing and failed sign-ins cheap.
pub const CONFIG: &str = r#"
[auth.jwt]
keys = [{ kid = "test", secret = "0123456789012345678901234567890123456789" }]
[auth.consent]
keys = [{ kid = "test", secret = "abcdefghijabcdefghijabcdefghijabcdefghij" }]
[vault]
keys = [{ kid = "test", secret = "vaultvaultvaultvaultvaultvaultvaultvault" }]
[auth.argon2]
memory_kib = 8
iterations = 1
[auth.login]
failure_floor = "0ms"
"#;

/// Disables rate limits.
pub const NO_LIMITS: &str = "[rate_limits]\nenabled = false\n";

/// Path of the organizations.
pub const ORGANIZATIONS: &str = "/directory/organizations";

/// A tenant and its administrator.
#[derive(Debug)]
pub struct Tenant {
    /// The id.
    pub id: Uuid,
    /// The first organization.
    pub organization: Uuid,
    /// The user with the role `admin`.
    pub admin: Uuid,
    /// Access token of the administrator.
    pub token: String,
}

/// Tenants Alpha and Beta, and a super administrator of the platform.
#[derive(Debug)]
pub struct TwoTenants {
    /// The application that holds both tenants.
    pub app: TestApp,
    /// Alpha.
    pub a: Tenant,
    /// Beta.
    pub b: Tenant,
    /// Access token of a super administrator of the platform.
    pub root: String,
}

impl TwoTenants {
    /// Creates both tenants in an application with the modules `directory` and `auth`.
    pub async fn inside(app: TestApp) -> Self {
        let a = tenant(&app, "Alpha", "admin@alpha.test").await;
        let b = tenant(&app, "Beta", "admin@beta.test").await;
        account(&app, None, None, "root@platform.test", &[], true).await;
        let root = login(&app, "root@platform.test").await;
        Self { app, a, b, root }
    }

    /// Creates a user of Alpha with these roles; returns their id and access token.
    pub async fn user(&self, email: &str, roles: &[&str]) -> (Uuid, String) {
        let (tenant, organization) = (Some(self.a.id), Some(self.a.organization));
        let id = account(&self.app, tenant, organization, email, roles, false).await;
        (id, login(&self.app, email).await)
    }

    /// Creates a record as the administrator of Alpha and returns its id.
    ///
    /// # Panics
    /// As [`TestApp::create`].
    pub async fn create(&self, path: &str, body: Value) -> Uuid {
        self.app.create(&self.a.token, path, body).await
    }

    /// Creates an organization of Alpha and returns its id; without a parent, at the top of the tenant.
    ///
    /// # Panics
    /// If the request is rejected.
    pub async fn organization(&self, name: &str, parent: Option<Uuid>) -> Uuid {
        let body = json!({"name": name, "parentId": parent});
        self.create(ORGANIZATIONS, body).await
    }

    /// Creates a role of Alpha with these features and organizations.
    ///
    /// # Panics
    /// If a request is rejected.
    pub async fn role(&self, name: &str, features: &[&str], organizations: Option<&[Uuid]>) -> Uuid {
        let id = self.create("/auth/roles", json!({"name": name})).await;
        self.acl(id, features, organizations).await;
        id
    }

    /// Deletes the tenant Alpha as the super administrator.
    ///
    /// # Panics
    /// If the request is rejected.
    pub async fn delete_alpha(&self) {
        let path = format!("/directory/tenants?id={}", self.a.id);
        let deleted = self.app.delete(&self.root, &path, Value::Null).await;
        assert_eq!(deleted, (200, json!({"ok": true})));
    }

    /// Brings the deleted tenant Alpha back, as an operator does in the database.
    ///
    /// # Panics
    /// If the tenant is not deleted.
    pub async fn restore_alpha(&self) {
        let restore = format!(
            "update directory_tenants set deleted_at = null where id = '{}' and deleted_at is not null",
            self.a.id
        );
        assert_eq!(self.app.sql(&restore).await, 1);
    }

    /// Replaces the grants of a role.
    ///
    /// # Panics
    /// If the request is rejected.
    pub async fn acl(&self, role: Uuid, features: &[&str], organizations: Option<&[Uuid]>) {
        let acl = json!({"roleId": role, "features": features, "organizations": organizations});
        let (status, body) = self.app.put(&self.root, "/auth/roles/acl", acl).await;
        assert_eq!(status, 200, "{body}");
    }
}

/// Creates a tenant with an organization, the seeded roles and an administrator.
///
/// # Panics
/// If a command is rejected.
pub async fn tenant(app: &TestApp, name: &str, email: &str) -> Tenant {
    let system = app.system_context();
    let input = NewTenant {
        name: name.to_owned(),
        ..NewTenant::default()
    };
    let command = CreateTenant::new(&system, input).expect("a valid tenant");
    let created = system
        .execute(&command, |created| {
            Json(json!([{"id": created.id}, {"id": created.organization_id}]))
        })
        .await
        .expect("created tenant");
    let (id, organization) = (id_of(&created.0[0]), id_of(&created.0[1]));
    Tenant {
        id,
        organization,
        admin: account(app, Some(id), Some(organization), email, &["admin"], false).await,
        token: login(app, email).await,
    }
}

/// Creates an account with [`PASSWORD`]; without a tenant, an account of the platform.
///
/// # Panics
/// If the command is rejected.
pub async fn account(
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
    create_account(&app.system_context(), account)
        .await
        .unwrap_or_else(|error| panic!("{email}: {error}"))
}

/// Signs in and returns the access token.
///
/// # Panics
/// If the sign-in is rejected.
pub async fn login(app: &TestApp, email: &str) -> String {
    let body = json!({"email": email, "password": PASSWORD});
    let (status, body) = app.post("", "/auth/login", body).await;
    assert_eq!(status, 200, "{body}");
    body["token"].as_str().expect("a token").to_owned()
}
