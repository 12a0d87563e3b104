//! A valid request for every endpoint, and the ids that it takes. An endpoint without an entry fails the tests that walk the table.

pub(crate) mod access;
mod accounts;
pub(crate) mod alerts;
pub(crate) mod attachments;
pub(crate) mod business_rules;
pub(crate) mod calendar;
pub(crate) mod catalog;
pub(crate) mod customers;
pub(crate) mod devices;
pub(crate) mod dispatch;
pub(crate) mod notifications;
pub(crate) mod onboarding;
pub(crate) mod progress;
mod table;

use actix_web::http::Method;
use backoffice_core::command::UndoToken;
use backoffice_core::http::{Access, EndpointInfo};
use backoffice_core::module::document;
use backoffice_test_support::{UNDO, UndoableWrite};
use serde_json::Value;
use uuid::Uuid;

use crate::alerts::further;
use crate::call::{Call, Place};
use crate::catalog::top as catalog_top;
use crate::customers::Customer;
use crate::fixture::{Account, Fixture, TenantFixture};
use crate::progress::Job;

pub(crate) use table::table;

/// A fixture in which the admin of each tenant has run a command and undone another one.
pub(crate) struct Setting {
    pub(crate) fixture: Fixture,
    pub(crate) a: History,
    pub(crate) b: History,
    /// The API document.
    pub(crate) document: Value,
}

/// The actions of an admin.
pub(crate) struct History {
    pub(crate) done: UndoableWrite,
    pub(crate) undone: UndoableWrite,
    /// A variant of the admin's sidebar.
    pub(crate) variant: Uuid,
    /// A token with which the admin's colleague can set a password.
    pub(crate) reset_token: String,
}

/// The kind of resource that an id names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Tenant,
    Organization,
    /// An organization with another one below it.
    Parent,
    User,
    /// The user to whom the customers belong.
    Owner,
    /// A user without a password.
    Invited,
    Role,
    /// An API key.
    Key,
    /// An undo token.
    Token,
    /// The entry of an undone action.
    Undone,
    /// A variant of the admin's sidebar.
    Variant,
    /// A record of the customers.
    Customer(Customer),
    /// A category with another one below it.
    TopCategory,
    /// The job site and the vehicle of an alert, which have the same id.
    Alerted,
    /// A job of the admin.
    Job(Job),
}

/// An id that a request takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target {
    pub(crate) place: Place,
    pub(crate) kind: Kind,
    /// Whether an invalid id is rejected.
    pub(crate) strict: bool,
}

/// A caller who may send the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sender {
    Admin,
    SuperAdmin,
    /// A caller whose session may end.
    Plain,
}

type MakeCall = fn(&TenantFixture, &History) -> Call;

/// An entry of the table.
pub(crate) struct Entry {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    pub(crate) call: MakeCall,
    pub(crate) targets: Vec<Target>,
    pub(crate) sender: Sender,
}

impl Setting {
    pub(crate) async fn new(fixture: Fixture) -> Self {
        for tenant_fixture in [&fixture.a, &fixture.b] {
            crate::composed::seed(&fixture, tenant_fixture).await;
        }
        Self::on_seeded(fixture).await
    }

    /// Adds the history to a fixture that has the records of every module.
    pub(crate) async fn on_seeded(fixture: Fixture) -> Self {
        Self::act_in_a(&fixture).await;
        let a = Self::history(&fixture, &fixture.a).await;
        let b = Self::history(&fixture, &fixture.b).await;
        let document = document(fixture.app.platform().modules()).expect("a sound document");
        Self {
            fixture,
            a,
            b,
            document,
        }
    }

    /// Lets two users of tenant A give consents, and one of them read another user, so that both logs have entries about them. In tenant B no user does:
    /// reading an entry about others adds an entry, so two responses of the access log would differ.
    async fn act_in_a(fixture: &Fixture) {
        let (app, a) = (&fixture.app, &fixture.a);
        let consent = |kind: &str| {
            let body = serde_json::json!({"consentType": kind, "isGranted": true});
            Call::put("/auth/profile/consents", body)
        };
        let read = Call::get("/auth/users").with_query("id", &a.invited.to_string());
        for (call, caller) in [
            (consent("terms"), &a.user),
            (consent("news"), &a.tenant_admin),
            (read, &a.user),
        ] {
            let response = call.send(app, &caller.token).await;
            assert_eq!(response.status, 200, "{call}: {}", response.text());
        }
    }

    async fn history(fixture: &Fixture, tenant_fixture: &TenantFixture) -> History {
        let create = async |name: &str| {
            let call = Call::post("/auth/roles", serde_json::json!({"name": name}));
            call.send(&fixture.app, &tenant_fixture.tenant_admin.token)
                .await
                .undoable_write()
        };
        let (done, undone) = (create("Done").await, create("Undone").await);
        let (status, body) = fixture.app.undo(&tenant_fixture.tenant_admin.token, &undone).await;
        assert_eq!(status, 200, "{body}");
        let call = Call::post("/auth/sidebar/variants", serde_json::json!({}));
        let variant = call
            .send(&fixture.app, &tenant_fixture.tenant_admin.token)
            .await
            .undoable_write()
            .resource;
        let reset_token = reset_token(fixture, &tenant_fixture.colleague.email).await;
        History {
            done,
            undone,
            variant,
            reset_token,
        }
    }

    /// Returns every endpoint that the platform serves, with its entry. The endpoint after which no user of the tenant can send a request is the
    /// last.
    pub(crate) fn endpoints(&self) -> Vec<(EndpointInfo, Entry)> {
        let mut table = table();
        let endpoints = self.fixture.app.platform().endpoints();
        let found = endpoints.into_iter().map(|info| {
            let index = table
                .iter()
                .position(|entry| entry.method == info.method && entry.path == info.path);
            let index = index.unwrap_or_else(|| panic!("{} {} has no entry in the table", info.method, info.path));
            (info, table.remove(index))
        });
        let mut found: Vec<_> = found.collect();
        found.sort_by_key(|(info, _)| info.method == Method::DELETE && info.path == "/directory/tenants");
        found
    }

    /// Returns the endpoints in an order in which each request leaves the records that the next one needs.
    pub(crate) fn endpoints_in_stable_order(&self) -> impl Iterator<Item = (EndpointInfo, Entry)> {
        // A user is reactivated after the deactivation.
        let ends = [UNDO, "/access/users/{id}/reactivate"];
        let is_end = |info: &EndpointInfo| info.method == Method::DELETE || ends.contains(&info.path);
        let (ends, others): (Vec<_>, Vec<_>) = self.endpoints().into_iter().partition(|(info, _)| is_end(info));
        others.into_iter().chain(ends)
    }

    /// Returns the endpoints that need a signed-in caller, at least for some records.
    pub(crate) fn private(&self) -> Vec<(EndpointInfo, Entry)> {
        let mut endpoints = self.endpoints();
        endpoints.retain(|(info, _)| info.access != Access::Public);
        endpoints
    }

    /// Returns the endpoints that need a signed-in caller for every record, and so reject an invalid credential.
    pub(crate) fn signed_in_only(&self) -> Vec<(EndpointInfo, Entry)> {
        let mut endpoints = self.endpoints();
        endpoints.retain(|(info, _)| !info.access.serves_visitors());
        endpoints
    }

    /// Returns an endpoint's part of the API document.
    pub(crate) fn operation(&self, info: &EndpointInfo) -> &Value {
        &self.document["paths"][info.path][info.method.as_str().to_lowercase()]
    }

    /// Returns a valid request to an endpoint about tenant A.
    pub(crate) fn call(&self, entry: &Entry) -> Call {
        (entry.call)(&self.fixture.a, &self.a)
    }

    /// Returns a caller who may send the request.
    pub(crate) fn sender(&self, entry: &Entry) -> &Account {
        match entry.sender {
            Sender::Admin => &self.fixture.a.tenant_admin,
            Sender::SuperAdmin => &self.fixture.root,
            Sender::Plain => &self.fixture.a.plain,
        }
    }
}

/// Requests a reset and returns the token of its mail, with which the account's password can be set.
pub(crate) async fn reset_token(fixture: &Fixture, email: &str) -> String {
    let call = Call::post("/auth/reset", serde_json::json!({"email": email}));
    assert_eq!(call.send(&fixture.app, "").await.status, 200);
    fixture.app.run_jobs().await;
    let mails = fixture.app.mail().take();
    let (_, rest) = mails[0].text.split_once("#token=").expect("a link");
    rest.chars().take_while(|c| !c.is_whitespace()).collect()
}

/// Status of the response to a field of the wrong format: 400, unless the contract says otherwise.
pub(crate) fn malformed_status(path: &str) -> u16 {
    match path {
        "/auth/users/resend-invite" => 422,
        // Their responses do not depend on the address or the token, whatever its format.
        "/auth/reset" | "/auth/reset/validate" | "/onboarding/onboarding/resend" => 200,
        _ => 400,
    }
}

/// Status of the response to a parameter of a query with U+0000: 400, unless a rule of the parameter's own decides about it.
pub(crate) fn status_of_nul(path: &str, parameter: &str) -> u16 {
    match (path, parameter) {
        // A destination that is no path on this site is replaced, whatever it contains.
        ("/auth/session/refresh" | "/auth/locale", "redirect") => 302,
        ("/auth/autologin", "redirect") => 307,
        // A token with the character is one that does not exist.
        ("/onboarding/onboarding/status", "statusToken") => 404,
        _ => 400,
    }
}

impl Target {
    /// Returns an id of this kind in this tenant.
    pub(crate) fn of(self, tenant_fixture: &TenantFixture, history: &History) -> String {
        match self.kind {
            Kind::Tenant => tenant_fixture.tenant.to_string(),
            Kind::Organization => tenant_fixture.other.to_string(),
            Kind::Parent => tenant_fixture.parent.to_string(),
            Kind::User => tenant_fixture.user.id.to_string(),
            Kind::Owner => tenant_fixture.tenant_admin.id.to_string(),
            Kind::Invited => tenant_fixture.invited.to_string(),
            Kind::Role => tenant_fixture.role.to_string(),
            Kind::Key => tenant_fixture.key.to_string(),
            Kind::Token => history.done.token.clone(),
            Kind::Undone => history.undone.log_id.to_string(),
            Kind::Variant => history.variant.to_string(),
            Kind::Customer(customer) => customer.of(tenant_fixture).to_string(),
            Kind::TopCategory => catalog_top(tenant_fixture).to_string(),
            Kind::Alerted => further(tenant_fixture.other, 0).to_string(),
            Kind::Job(job) => job.of(tenant_fixture).to_string(),
        }
    }

    /// Returns an id of this kind that no record has.
    pub(crate) fn unknown(self) -> String {
        let id = Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0042);
        match self.kind {
            Kind::Token => UndoToken::new(id, [7; 32]).to_string(),
            _ => id.to_string(),
        }
    }
}
