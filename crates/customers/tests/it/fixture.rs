//! Two tenants of the same shape, with users who see different parts of them.

use actix_web::http::Method;
use backoffice_core::Module;
pub(crate) use backoffice_test_accounts::id_of;
use backoffice_test_accounts::{CONFIG, NO_LIMITS, ORGANIZATIONS, account, login, tenant};
use backoffice_test_support::{TestApp, TestAppBuilder, UndoableWrite, details};
use serde_json::{Value, json};
use uuid::Uuid;

pub(crate) const DEALS: &str = "/customers/deals";
pub(crate) const PIPELINES: &str = "/customers/pipelines";
pub(crate) const STAGES: &str = "/customers/pipeline-stages";
pub(crate) const COMPANIES: &str = "/customers/companies";
pub(crate) const PEOPLE: &str = "/customers/people";
pub(crate) const ACTIONS: &str = "/audit_logs/audit-logs/actions";
const MODULES: [&Module; 5] = [
    &backoffice_directory::MODULE,
    &backoffice_auth::MODULE,
    &backoffice_audit_logs::MODULE,
    &backoffice_progress::MODULE,
    &backoffice_customers::MODULE,
];

/// A signed-in user.
#[derive(Debug, Clone)]
pub(crate) struct Account {
    pub(crate) id: Uuid,
    pub(crate) email: String,
    pub(crate) token: String,
}

/// A tenant: organizations root, parent > child, and other.
pub(crate) struct TenantFixture {
    pub(crate) id: Uuid,
    pub(crate) root: Uuid,
    pub(crate) parent: Uuid,
    pub(crate) child: Uuid,
    pub(crate) other: Uuid,
    /// All features in the whole tenant; belongs to `root`.
    pub(crate) admin: Account,
    /// All features of this module, in `child` alone.
    pub(crate) local: Account,
    /// All features of this module, in `other` alone.
    pub(crate) stranger: Account,
    /// No features; belongs to `root`.
    pub(crate) plain: Account,
}

pub(crate) struct Fixture {
    pub(crate) app: TestApp,
    pub(crate) a: TenantFixture,
    pub(crate) b: TenantFixture,
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        Self::of(TestApp::builder(&MODULES)).await
    }

    /// Creates the fixture with an additional module.
    pub(crate) async fn beside(module: &'static Module) -> Self {
        Self::of(TestApp::builder(&[&MODULES[..], &[module]].concat())).await
    }

    /// Creates the fixture with enough connections for several waiting requests.
    pub(crate) async fn with_room() -> Self {
        Self::of(TestApp::builder(&MODULES).pool_size(8)).await
    }

    /// Creates the fixture on a connection that counts statements.
    pub(crate) async fn behind_a_proxy() -> Self {
        Self::of(TestApp::builder(&MODULES).through_proxy()).await
    }

    async fn of(builder: TestAppBuilder) -> Self {
        let app = builder.config(CONFIG).config(NO_LIMITS).build().await;
        let (a, b) = (tenant_fixture(&app, "alpha").await, tenant_fixture(&app, "beta").await);
        Self { app, a, b }
    }

    /// Creates a record; the request must succeed.
    pub(crate) async fn create(&self, who: &Account, path: &str, body: Value) -> Uuid {
        self.write(who, Method::POST, path, body).await.resource
    }

    /// Sends a write that must succeed and be undoable.
    pub(crate) async fn write(&self, who: &Account, method: Method, path: &str, body: Value) -> UndoableWrite {
        let response = self.app.send(&who.token, method, path, body).await;
        assert!(response.status < 300, "{path}: {} {}", response.status, response.text());
        response.undoable_write()
    }

    /// Deletes a record; the request must succeed.
    pub(crate) async fn remove(&self, who: &Account, path: &str, id: Uuid) -> UndoableWrite {
        let response = self
            .app
            .send(&who.token, Method::DELETE, &format!("{path}?id={id}"), Value::Null)
            .await;
        assert_eq!(response.status, 200, "{path}: {}", response.text());
        response.undoable_write()
    }

    pub(crate) async fn get(&self, who: &Account, path: &str) -> (u16, Value) {
        self.app.get(&who.token, path).await
    }

    /// Sends a deletion that may be rejected and returns status and body.
    pub(crate) async fn delete(&self, who: &Account, path: &str) -> (u16, Value) {
        self.app.delete(&who.token, path, Value::Null).await
    }

    /// Reads a record that must exist.
    pub(crate) async fn item(&self, who: &Account, path: &str, id: Uuid) -> Value {
        self.app.read(&who.token, &format!("{path}/{id}")).await
    }

    /// Returns the ids of a list, in its order.
    pub(crate) async fn list(&self, who: &Account, path: &str) -> Vec<Uuid> {
        let body = self.app.read(&who.token, path).await;
        let items = body["items"].as_array().expect("a list");
        assert_eq!(body["total"], items.len(), "{path}: one page holds all");
        items.iter().map(id_of).collect()
    }

    /// Returns the newest entry of the log, as this account sees it.
    pub(crate) async fn last_entry(&self, who: &Account) -> Value {
        let body = self.app.read(&who.token, &format!("{ACTIONS}?pageSize=1")).await;
        body["items"][0].clone()
    }

    /// Returns names and payloads of tenant A's events about a record, in their order.
    pub(crate) async fn events(&self, about: Uuid) -> Vec<(String, Value)> {
        let query = format!(
            "select name, payload from core_outbox_events where tenant_id = '{}' and payload->>'id' = '{about}' order by seq",
            self.a.id
        );
        let rows = self.app.rows(&query).await.into_iter();
        rows.map(|row| (row["name"].as_str().expect("a name").to_owned(), row["payload"].clone()))
            .collect()
    }

    /// Creates another account of a tenant, in one of its organizations, with features in the listed ones (`None`: everywhere).
    pub(crate) async fn account(
        &self,
        tenant_fixture: &TenantFixture,
        organization: Uuid,
        email: &str,
        features: &[&str],
        only: Option<&[Uuid]>,
    ) -> Account {
        signed_in(
            &self.app,
            tenant_fixture.id,
            organization,
            email,
            Some((features, only)),
        )
        .await
    }
}

/// Returns path and code of the only detail of a 400.
pub(crate) fn detail(body: &Value) -> (&str, &str) {
    let details = details(body);
    assert_eq!(details.len(), 1, "{body}");
    details[0]
}

async fn tenant_fixture(app: &TestApp, name: &str) -> TenantFixture {
    let created = tenant(app, name, &format!("seeded@{name}.test")).await;
    let (tenant, root) = (created.id, created.organization);
    let everything = Some((&["*"][..], None));
    let admin = signed_in(app, tenant, root, &format!("admin@{name}.test"), everything).await;
    let organization = async |title: &str, parent: Option<Uuid>| {
        let body = json!({"name": title, "parentId": parent});
        app.create(&admin.token, ORGANIZATIONS, body).await
    };
    let parent = organization("Parent", None).await;
    let child = organization("Child", Some(parent)).await;
    let other = organization("Other", None).await;
    let limited = async |who: &str, only: Uuid| {
        let rights = Some((&["customers.*", "audit_logs.*"][..], Some(&[only][..])));
        signed_in(app, tenant, only, &format!("{who}@{name}.test"), rights).await
    };
    TenantFixture {
        id: tenant,
        root,
        parent,
        child,
        other,
        local: limited("local", child).await,
        stranger: limited("stranger", other).await,
        plain: signed_in(app, tenant, root, &format!("plain@{name}.test"), None).await,
        admin,
    }
}

/// Creates an account with its own features and signs it in.
async fn signed_in(
    app: &TestApp,
    tenant: Uuid,
    organization: Uuid,
    email: &str,
    rights: Option<(&[&str], Option<&[Uuid]>)>,
) -> Account {
    let id = account(app, Some(tenant), Some(organization), email, &[], false).await;
    if let Some((features, only)) = rights {
        let only = match only {
            Some(ids) => {
                let ids: Vec<String> = ids.iter().map(Uuid::to_string).collect();
                format!("'{{{}}}'", ids.join(","))
            }
            None => "null".to_owned(),
        };
        let acl = format!(
            "insert into auth_user_acls (tenant_id, id, user_id, is_super_admin, features, organizations, created_at, updated_at) \
             values ('{tenant}', '{id}', '{id}', false, '{{{}}}', {only}, now(), now())",
            features.join(",")
        );
        assert_eq!(app.sql(&acl).await, 1);
    }
    Account {
        id,
        email: email.to_owned(),
        token: login(app, email).await,
    }
}

impl Fixture {
    /// Inserts a person, bypassing the command log.
    pub(crate) async fn person(&self, tenant_fixture: &TenantFixture, organization: Uuid, name: &str) -> Uuid {
        let columns = "first_name, last_name, display_name";
        let values = format!("'{name}', 'Doe', '{name} Doe'");
        self.party("customers_people", columns, &values, tenant_fixture, organization)
            .await
    }

    /// Inserts a company, bypassing the command log.
    pub(crate) async fn company(&self, tenant_fixture: &TenantFixture, organization: Uuid, name: &str) -> Uuid {
        let values = format!("'{name}'");
        self.party(
            "customers_companies",
            "display_name",
            &values,
            tenant_fixture,
            organization,
        )
        .await
    }

    async fn party(
        &self,
        table: &str,
        columns: &str,
        values: &str,
        tenant_fixture: &TenantFixture,
        organization: Uuid,
    ) -> Uuid {
        let id = self.app.system_context().new_id();
        let sql = format!(
            "insert into {table} (tenant_id, id, organization_id, {columns}, is_active, created_at, updated_at) \
             values ('{}', '{id}', '{organization}', {values}, true, now(), now())",
            tenant_fixture.id
        );
        assert_eq!(self.app.sql(&sql).await, 1);
        id
    }

    /// Creates a pipeline with stages of these labels and returns its id and theirs.
    pub(crate) async fn pipeline(&self, who: &Account, organization: Uuid, labels: &[&str]) -> (Uuid, Vec<Uuid>) {
        let name = format!("Pipeline {}", self.app.system_context().new_id());
        let body = json!({"name": name, "organizationId": organization});
        let pipeline = self.create(who, PIPELINES, body).await;
        let mut stages = Vec::new();
        for label in labels {
            stages.push(
                self.create(who, STAGES, json!({"pipelineId": pipeline, "label": label}))
                    .await,
            );
        }
        (pipeline, stages)
    }

    /// Creates a deal of an organization with additional fields.
    pub(crate) async fn deal(&self, who: &Account, organization: Uuid, members: Value) -> Uuid {
        let mut body = json!({"title": "A deal", "organizationId": organization});
        let further = members.as_object().expect("an object").clone();
        body.as_object_mut().expect("an object").extend(further);
        self.create(who, DEALS, body).await
    }

    /// Sends a change and returns status and body.
    pub(crate) async fn put(&self, who: &Account, path: &str, body: Value) -> (u16, Value) {
        self.app.put(&who.token, path, body).await
    }
}
