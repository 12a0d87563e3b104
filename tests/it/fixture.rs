//! Two tenants of the same shape, and a super administrator above them.

use backoffice_api_keys::commands::{CreateKey, NewKeyInput};
use backoffice_auth::commands::{CreateRole, RoleInput, UpdateRoleAcl};
use backoffice_auth::{AclInput, NewAccount, create_account};
use backoffice_core::http::Json;
use backoffice_core::{Module, Patch, RequestContext};
use backoffice_directory::commands::{CreateOrganization, CreateTenant, NewTenant, OrganizationInput};
use backoffice_test_support::{TestApp, TestAppBuilder};
use serde_json::{Value, json};
use uuid::Uuid;

pub(crate) const MODULES: &[&Module] = &[
    &backoffice_access::MODULE,
    &backoffice_alerts::MODULE,
    &backoffice_attachments::MODULE,
    &backoffice_business_rules::MODULE,
    &backoffice_calendar::MODULE,
    &backoffice_directory::MODULE,
    &backoffice_auth::MODULE,
    &backoffice_audit_logs::MODULE,
    &backoffice_api_keys::MODULE,
    &backoffice_api_docs::MODULE,
    &backoffice_dispatch::MODULE,
    &backoffice_events::MODULE,
    &backoffice_notifications::MODULE,
    &backoffice_onboarding::MODULE,
    &crate::notifications::SAMPLES,
    &backoffice_progress::MODULE,
    &backoffice_customers::MODULE,
    &backoffice_catalog::MODULE,
    &backoffice_devices::MODULE,
];

/// Signing keys, cheap hashing, and no delay on failed sign-ins.
pub(crate) const AUTH: &str = r#"
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

pub(crate) const NO_LIMITS: &str = "[rate_limits]\nenabled = false\n";

/// Password of every account.
pub(crate) const PASSWORD: &str = "correct horse battery";

/// The features of a user limited to one organization: all that such a user can have.
const EVERYTHING: &[&str] = &[
    "access.*",
    "alerts.*",
    "api_keys.*",
    "attachments.*",
    "audit_logs.*",
    "auth.*",
    "business_rules.*",
    "calendar.*",
    "catalog.*",
    "customers.*",
    "devices.*",
    "directory.organizations.*",
    "dispatch.*",
    "progress.*",
];

/// A signed-in account.
#[derive(Debug, Clone)]
pub(crate) struct Account {
    pub(crate) id: Uuid,
    pub(crate) email: String,
    pub(crate) token: String,
    pub(crate) refresh_token: String,
}

/// A tenant with organizations root, parent > child > leaf, and other; with users and roles.
#[derive(Debug)]
pub(crate) struct TenantFixture {
    pub(crate) tenant: Uuid,
    pub(crate) root: Uuid,
    pub(crate) parent: Uuid,
    pub(crate) child: Uuid,
    /// Below `child`, without users.
    pub(crate) leaf: Uuid,
    pub(crate) other: Uuid,
    /// Role with an ACL, held by `user`.
    pub(crate) role: Uuid,
    /// Role with an ACL, held by no user.
    pub(crate) spare_role: Uuid,
    /// An API key in `other`, with `role`.
    pub(crate) key: Uuid,
    /// A user in `other`, with `role`.
    pub(crate) user: Account,
    /// A user in `child`, without roles.
    pub(crate) colleague: Account,
    /// Role `admin`, in `root`.
    pub(crate) admin: Account,
    /// All features of the tenant, in `root`.
    pub(crate) tenant_admin: Account,
    /// All features, in `child` alone.
    pub(crate) local: Account,
    /// No feature at all.
    pub(crate) plain: Account,
    /// A user in `other` without a password.
    pub(crate) invited: Uuid,
}

pub(crate) struct Fixture {
    pub(crate) app: TestApp,
    pub(crate) a: TenantFixture,
    pub(crate) b: TenantFixture,
    /// A super administrator of the platform.
    pub(crate) root: Account,
}

/// Lets mails contain links.
pub(crate) const SITE: &str = "[app]\npublic_url = \"https://office.example\"\n";

/// All modules, no limits, cheap hashing.
pub(crate) fn builder() -> TestAppBuilder {
    builder_without_site().config(SITE)
}

/// As `builder`, without the platform's public URL.
pub(crate) fn builder_without_site() -> TestAppBuilder {
    TestApp::builder(MODULES).config(AUTH).config(NO_LIMITS)
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        Self::of(builder()).await
    }

    pub(crate) async fn without_predicates() -> Self {
        Self::of(builder().without_tenant_predicates()).await
    }

    pub(crate) async fn of(builder: TestAppBuilder) -> Self {
        Self::inside(builder.build().await).await
    }

    pub(crate) async fn inside(app: TestApp) -> Self {
        let maker = Maker {
            app: &app,
            ctx: app.system_context(),
        };
        let (a, b) = (maker.tenant_fixture("alpha").await, maker.tenant_fixture("beta").await);
        let root = maker.account(None, None, "root@platform.test", &[], true).await;
        Self { app, a, b, root }
    }

    /// Creates another session of an account.
    pub(crate) async fn sign_in(&self, email: &str) -> Account {
        sign_in(&self.app, email, PASSWORD).await
    }

    /// Changes the version of everything, as a migration does.
    pub(crate) async fn change_all_collections(&self) {
        let change = "update core_collections set version = version + 1 where kind = '*'";
        assert_eq!(self.app.sql(change).await, 1);
    }

    /// Creates an account in a tenant's root organization and signs in.
    pub(crate) async fn account(&self, tenant_fixture: &TenantFixture, email: &str, roles: &[&str]) -> Account {
        let ctx = self.app.system_context();
        let maker = Maker { app: &self.app, ctx };
        maker
            .account(
                Some(tenant_fixture.tenant),
                Some(tenant_fixture.root),
                email,
                roles,
                false,
            )
            .await
    }

    /// Creates a role of a tenant with these features.
    pub(crate) async fn role(
        &self,
        tenant_fixture: &TenantFixture,
        name: &str,
        features: &[&str],
        only: Option<&[Uuid]>,
    ) -> Uuid {
        let ctx = self.app.system_context();
        let maker = Maker { app: &self.app, ctx };
        maker.role(tenant_fixture.tenant, name, features, only).await
    }
}

/// Signs in over HTTP.
pub(crate) async fn sign_in(app: &TestApp, email: &str, password: &str) -> Account {
    let (status, body) = app
        .post("", "/auth/login", json!({"email": email, "password": password}))
        .await;
    assert_eq!(status, 200, "{email} signs in: {body}");
    let token = text(&body["token"]);
    let (_, profile) = app.get(&token, "/auth/profile").await;
    Account {
        id: id(&profile["id"]),
        email: email.to_owned(),
        token,
        refresh_token: text(&body["refreshToken"]),
    }
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

pub(crate) fn id(value: &Value) -> Uuid {
    text(value).parse().expect("a UUID")
}

struct Maker<'a> {
    app: &'a TestApp,
    ctx: RequestContext,
}

impl Maker<'_> {
    async fn tenant_fixture(&self, name: &str) -> TenantFixture {
        let (tenant, root) = self.tenant(name).await;
        let parent = self.organization(tenant, "Parent", None).await;
        let child = self.organization(tenant, "Child", Some(parent)).await;
        let leaf = self.organization(tenant, "Leaf", Some(child)).await;
        let other = self.organization(tenant, "Other", None).await;
        let role = self.role(tenant, "Clerk", &["auth.users.list"], None).await;
        let spare_role = self
            .role(tenant, "Spare", &["auth.roles.*"], Some(&[parent, other]))
            .await;
        self.role(tenant, "Local", EVERYTHING, Some(&[child])).await;
        self.role(tenant, "Keeper", &["*"], None).await;
        let field = async |organization, who: &str, roles: &[&str]| {
            let email = format!("{who}@{name}.test");
            self.account(Some(tenant), Some(organization), &email, roles, false)
                .await
        };
        // Some tests omit modules.
        let has_keys = self
            .app
            .platform()
            .modules()
            .iter()
            .any(|module| module.name == "api-keys");
        let key = if has_keys {
            self.key(tenant, other, role).await
        } else {
            Uuid::nil()
        };
        TenantFixture {
            key,
            user: field(other, "user", &["Clerk"]).await,
            colleague: field(child, "colleague", &[]).await,
            admin: field(root, "admin", &["admin"]).await,
            tenant_admin: field(root, "keeper", &["Keeper"]).await,
            local: field(child, "local", &["Local"]).await,
            plain: field(root, "plain", &[]).await,
            invited: self.invited(tenant, other, &format!("invited@{name}.test")).await,
            tenant,
            root,
            parent,
            child,
            leaf,
            other,
            role,
            spare_role,
        }
    }

    async fn invited(&self, tenant: Uuid, organization: Uuid, email: &str) -> Uuid {
        let account = NewAccount {
            tenant: Some(tenant),
            organization: Some(organization),
            email: email.to_owned(),
            name: None,
            password: None,
            roles: Vec::new(),
            super_admin: false,
        };
        create_account(&self.ctx, account).await.expect("an account")
    }

    async fn tenant(&self, name: &str) -> (Uuid, Uuid) {
        let input = NewTenant {
            name: name.to_owned(),
            ..NewTenant::default()
        };
        let command = CreateTenant::new(&self.ctx, input).expect("a valid tenant");
        let created = self
            .ctx
            .execute(&command, |created| Json(json!([created.id, created.organization_id])))
            .await
            .expect("the tenant is created");
        (id(&created.0[0]), id(&created.0[1]))
    }

    async fn organization(&self, tenant: Uuid, name: &str, parent: Option<Uuid>) -> Uuid {
        let input = OrganizationInput {
            name: name.to_owned().into(),
            parent_id: parent.map_or(Patch::Keep, Patch::Set),
            tenant_id: tenant.into(),
            ..OrganizationInput::default()
        };
        let command = CreateOrganization::new(&self.ctx, input).await;
        let command = command.expect("a valid organization");
        self.ctx
            .execute(&command, |created| Json(json!(created)))
            .await
            .map(|created| id(&created.0))
            .expect("the organization is created")
    }

    async fn role(&self, tenant: Uuid, name: &str, features: &[&str], only: Option<&[Uuid]>) -> Uuid {
        let input = RoleInput {
            name: Patch::Set(name.to_owned()),
            tenant_id: Patch::Set(tenant),
        };
        let command = CreateRole::new(&self.ctx, input).await.expect("a valid role");
        let created = self.ctx.execute(&command, |id| Json(json!(id))).await;
        let role = created.map(|created| id(&created.0)).expect("the role is created");
        let input = AclInput {
            features: Some(features.iter().map(|feature| (*feature).to_owned()).collect()),
            is_super_admin: None,
            organizations: only.map_or(Patch::Clear, |only| Patch::Set(only.to_vec())),
        };
        self.run(&UpdateRoleAcl { role, input }).await;
        role
    }

    async fn key(&self, tenant: Uuid, organization: Uuid, role: Uuid) -> Uuid {
        let requested = NewKeyInput {
            tenant,
            name: "Key".to_owned(),
            description: None,
            organization: Some(organization),
            roles: vec![role.to_string()],
            expires_at: None,
        };
        let command = CreateKey::new(&self.ctx, requested).expect("a valid key");
        self.run(&command).await;
        command.id
    }

    async fn run<C: backoffice_core::command::Command>(&self, command: &C) {
        self.ctx
            .execute(command, |_| Json(Value::Null))
            .await
            .unwrap_or_else(|error| panic!("{}: {error}", C::ID));
    }

    async fn account(
        &self,
        tenant: Option<Uuid>,
        organization: Option<Uuid>,
        email: &str,
        roles: &[&str],
        super_admin: bool,
    ) -> Account {
        let account = NewAccount {
            tenant,
            organization,
            email: email.to_owned(),
            name: Some(format!("Name of {email}")),
            password: Some(PASSWORD.to_owned().into()),
            roles: roles.iter().map(|role| (*role).to_owned()).collect(),
            super_admin,
        };
        create_account(&self.ctx, account)
            .await
            .unwrap_or_else(|error| panic!("{email}: {error}"));
        sign_in(self.app, email, PASSWORD).await
    }
}
