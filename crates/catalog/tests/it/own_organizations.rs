//! Composition with accounts and organizations of another program, without `auth` and `directory`.

use std::collections::HashMap;
use std::sync::Arc;

use backoffice_core::acl::Rights;
use backoffice_core::db::Connection;
use backoffice_core::identity::{ActorKind, Identity, OrganizationTree};
use backoffice_core::{Module, Result};
use backoffice_test_support::{TestApp, Tokens};
use futures_util::future::BoxFuture;
use serde_json::json;
use uuid::Uuid;

use crate::fixture::PRODUCTS;

const TENANT: Uuid = Uuid::from_u128(0xa);
const ORGANIZATION: Uuid = Uuid::from_u128(0xb);
const TOKEN: &str = "manager";
const TOKEN_WITHOUT_ID: &str = "nameless";

static ACCOUNTS: Module = Module {
    name: "accounts",
    title: "Accounts",
    start: |startup| {
        startup.authenticator(Arc::new(Tokens(account)));
        Ok(())
    },
    ..Module::EMPTY
};

static ORGANIZATIONS: Module = Module {
    name: "organizations",
    title: "Organizations",
    start: |startup| {
        startup.organizations(Arc::new(Organizations));
        Ok(())
    },
    ..Module::EMPTY
};

/// One user, who manages the products of a tenant.
fn account(token: &str) -> Option<Identity> {
    let identity = Identity {
        kind: ActorKind::User,
        id: (token != TOKEN_WITHOUT_ID).then(|| Uuid::from_u128(1)),
        tenant: TENANT,
        organization: Some(ORGANIZATION),
        rights: Rights::granting(["catalog.*"], None),
        ..Identity::system()
    };
    [TOKEN, TOKEN_WITHOUT_ID].contains(&token).then_some(identity)
}

/// The tenant with its only organization.
struct Organizations;

impl OrganizationTree for Organizations {
    fn expand<'a>(
        &'a self,
        _: &'a mut Connection,
        _: Option<Uuid>,
        roots: &'a [Uuid],
    ) -> BoxFuture<'a, Result<Vec<Uuid>>> {
        Box::pin(async move { Ok(roots.iter().copied().filter(|root| *root == ORGANIZATION).collect()) })
    }

    fn keep<'a>(&'a self, _: &'a mut Connection, tenant: Uuid, organization: Uuid) -> BoxFuture<'a, Result<bool>> {
        Box::pin(async move { Ok((tenant, organization) == (TENANT, ORGANIZATION)) })
    }

    fn expand_each<'a>(
        &'a self,
        _: &'a mut Connection,
        _: Option<Uuid>,
        roots: &'a [Uuid],
    ) -> BoxFuture<'a, Result<HashMap<Uuid, Vec<Uuid>>>> {
        let own = roots.iter().filter(|root| **root == ORGANIZATION);
        let below = own.map(|root| (*root, vec![*root])).collect();
        Box::pin(async move { Ok(below) })
    }

    fn tenant_of<'a>(&'a self, _: &'a mut Connection, organization: Uuid) -> BoxFuture<'a, Result<Option<Uuid>>> {
        Box::pin(async move { Ok((organization == ORGANIZATION).then_some(TENANT)) })
    }

    fn tenant_is_live<'a>(&'a self, _: &'a mut Connection, tenant: Uuid) -> BoxFuture<'a, Result<bool>> {
        Box::pin(async move { Ok(tenant == TENANT) })
    }
}

#[actix_web::test]
async fn organizations_of_another_program_have_products() {
    let modules = [
        &ACCOUNTS,
        &ORGANIZATIONS,
        &backoffice_progress::MODULE,
        &backoffice_catalog::MODULE,
    ];
    let app = TestApp::builder(&modules).build().await;

    let id = app.create(TOKEN, PRODUCTS, json!({"title": "Shoe"})).await;

    let product = app.read(TOKEN, &format!("{PRODUCTS}/{id}")).await;
    assert_eq!(product["organizationId"], json!(ORGANIZATION));
    let body = json!({"title": "Boot", "organizationId": TENANT});
    let rejected = app.post(TOKEN, PRODUCTS, body).await;
    assert_eq!(rejected, (403, json!({"error": "Organization out of scope"})));
    let (anonymous, _) = app.get("", PRODUCTS).await;
    assert_eq!(anonymous, 401);
}

#[actix_web::test]
async fn a_user_without_an_id_can_do_nothing() {
    let modules = [
        &ACCOUNTS,
        &ORGANIZATIONS,
        &backoffice_progress::MODULE,
        &backoffice_catalog::MODULE,
    ];
    let app = TestApp::builder(&modules).build().await;
    let id = app.create(TOKEN, PRODUCTS, json!({"title": "Shoe"})).await;

    let (read, _) = app.get(TOKEN_WITHOUT_ID, PRODUCTS).await;
    let body = json!({"confirm": true, "scope": "selected", "ids": [id]});
    let (deleted, _) = app.post(TOKEN_WITHOUT_ID, "/catalog/bulk-delete", body).await;
    app.run_jobs().await;

    assert_eq!((read, deleted), (500, 500));
    assert_eq!(app.count("catalog_products").await, 1);
}

#[actix_web::test]
async fn without_organizations_a_product_fails_and_is_not_rejected() {
    let modules = [&ACCOUNTS, &backoffice_progress::MODULE, &backoffice_catalog::MODULE];
    let app = TestApp::builder(&modules).build().await;

    let (status, body) = app.post(TOKEN, PRODUCTS, json!({"title": "Shoe"})).await;

    assert_eq!((status, &body["error"]), (500, &json!("Internal server error")));
    assert_eq!(app.count("catalog_products").await, 0);
    assert_eq!(app.read(TOKEN, PRODUCTS).await["total"], 0);
}
