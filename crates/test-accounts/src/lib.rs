#![doc = include_str!("../README.md")]

use backoffice_auth::{NewAccount, create_account};
use backoffice_core::http::Json;
use backoffice_directory::commands::{CreateTenant, NewTenant};
use backoffice_test_support::TestApp;
use serde_json::{Value, json};
use uuid::Uuid;

/// Password of every account.
pub const PASSWORD: &str = "correct horse battery";

/// Signs tokens, and makes hashing and failing cheap.
pub const CONFIG: &str = r#"
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

/// Nobody is asked to come back later.
pub const NO_LIMITS: &str = "[rate_limits]\nenabled = false\n";

/// A tenant and its administrator.
#[derive(Debug)]
pub struct Tenant {
    /// Its id.
    pub id: Uuid,
    /// Its first organization.
    pub organization: Uuid,
    /// Who holds its role `admin`.
    pub admin: Uuid,
    /// Access token of the administrator.
    pub token: String,
}

/// Tenants Alpha and Beta, and somebody above them.
#[derive(Debug)]
pub struct TwoTenants {
    /// The application that they are in.
    pub app: TestApp,
    /// Alpha.
    pub a: Tenant,
    /// Beta.
    pub b: Tenant,
    /// Access token of a super administrator of the platform.
    pub root: String,
}

impl TwoTenants {
    /// Makes them in an application that has the modules `directory` and `auth`.
    pub async fn inside(app: TestApp) -> Self {
        let a = tenant(&app, "Alpha", "admin@alpha.test").await;
        let b = tenant(&app, "Beta", "admin@beta.test").await;
        account(&app, None, None, "root@platform.test", &[], true).await;
        let root = login(&app, "root@platform.test").await;
        Self { app, a, b, root }
    }

    /// A user of Alpha with these roles: id and access token.
    pub async fn user(&self, email: &str, roles: &[&str]) -> (Uuid, String) {
        let (tenant, organization) = (Some(self.a.id), Some(self.a.organization));
        let id = account(&self.app, tenant, organization, email, roles, false).await;
        (id, login(&self.app, email).await)
    }

    /// A role of Alpha with these features and organizations.
    ///
    /// # Panics
    /// When it is refused.
    pub async fn role(&self, name: &str, features: &[&str], organizations: Option<&[Uuid]>) -> Uuid {
        let (status, body) = self.app.post(&self.a.token, "/auth/roles", json!({"name": name})).await;
        assert_eq!(status, 201, "{body}");
        let id = id_of(&body);
        self.acl(id, features, organizations).await;
        id
    }

    /// What a role grants from now on.
    ///
    /// # Panics
    /// When it is refused.
    pub async fn acl(&self, role: Uuid, features: &[&str], organizations: Option<&[Uuid]>) {
        let acl = json!({"roleId": role, "features": features, "organizations": organizations});
        let (status, body) = self.app.put(&self.root, "/auth/roles/acl", acl).await;
        assert_eq!(status, 200, "{body}");
    }
}

/// The member `id` of an answer.
///
/// # Panics
/// When there is none.
#[must_use]
pub fn id_of(body: &Value) -> Uuid {
    body["id"].as_str().expect("an id").parse().expect("a UUID")
}

/// A tenant with an organization, the seeded roles and an administrator.
///
/// # Panics
/// When something of it is refused.
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
        .expect("the tenant is made");
    let (id, organization) = (id_of(&created.0[0]), id_of(&created.0[1]));
    Tenant {
        id,
        organization,
        admin: account(app, Some(id), Some(organization), email, &["admin"], false).await,
        token: login(app, email).await,
    }
}

/// An account with [`PASSWORD`]; without a tenant one of the platform.
///
/// # Panics
/// When it is refused.
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

/// Signs in: the access token.
///
/// # Panics
/// When that is refused.
pub async fn login(app: &TestApp, email: &str) -> String {
    let body = json!({"email": email, "password": PASSWORD});
    let (status, body) = app.post("", "/auth/login", body).await;
    assert_eq!(status, 200, "{body}");
    body["token"].as_str().expect("a token").to_owned()
}
