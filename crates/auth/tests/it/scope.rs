//! The tenant and the organizations of a request (accounts specification, section 4.2).

use actix_web::http::Method;
use backoffice_core::http::{Access, Json as Response, Routes};
use backoffice_core::{Module, RequestContext, Result};
use backoffice_test_accounts::ORGANIZATIONS;
use backoffice_test_support::TestResponse;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{Fixture, account, id_of, login};

const USERS: &str = "/auth/users";

/// Reports the organization of a write that names none.
static LANDING: Module = Module {
    name: "landing",
    requires: &["auth"],
    routes,
    ..Module::EMPTY
};

fn routes(routes: &mut Routes) {
    routes.post("/landing", Access::Authenticated, land);
}

async fn land(ctx: RequestContext) -> Result<Response<Value>> {
    Ok(Response(json!({"organization": ctx.scope().write_organization})))
}

/// Organizations P > C > G, and Q next to P, with a user in each.
struct Tree {
    fixture: Fixture,
    p: Uuid,
    c: Uuid,
    g: Uuid,
    q: Uuid,
}

impl Tree {
    async fn new() -> Self {
        let fixture = Fixture::with_modules(&[&LANDING]).await;
        let create = async |name: &str, parent: Option<Uuid>| {
            let body = json!({"name": name, "parentId": parent});
            let (status, created) = fixture.app.post(&fixture.a.token, ORGANIZATIONS, body).await;
            assert_eq!(status, 201, "{created}");
            let id = id_of(&created);
            let email = format!("{}@alpha.test", name.to_lowercase());
            account(&fixture.app, Some(fixture.a.id), Some(id), &email, &[], false).await;
            id
        };
        let p = create("P", None).await;
        let c = create("C", Some(p)).await;
        let g = create("G", Some(c)).await;
        let q = create("Q", None).await;
        Self { fixture, p, c, g, q }
    }

    /// Creates a user with all rights over users and organizations, limited to the organizations `to`, and belonging to `home`.
    async fn limited(&self, name: &str, home: Uuid, to: &[Uuid]) -> String {
        let features = ["auth.users.*", "directory.organizations.*"];
        self.fixture.role(name, &features, Some(to)).await;
        let email = format!("{name}@alpha.test");
        account(
            &self.fixture.app,
            Some(self.fixture.a.id),
            Some(home),
            &email,
            &[name],
            false,
        )
        .await;
        login(&self.fixture.app, &email).await
    }

    async fn send(&self, method: Method, token: &str, path: &str, selection: &Selection) -> TestResponse {
        let request = self.fixture.app.request(method.clone(), path).bearer(token);
        let request = match selection {
            Selection::None => request,
            Selection::Header(id) => request.header("X-Organization-Id", &id.to_string()),
            Selection::Cookie(id) => request.cookie("selected_org", &id.to_string()),
        };
        let request = if method == Method::GET {
            request
        } else {
            request.json(&json!({}))
        };
        request.send().await
    }

    /// Returns the names of the visible organizations, sorted.
    async fn organizations(&self, token: &str, selection: &Selection) -> Vec<String> {
        let response = self.send(Method::GET, token, ORGANIZATIONS, selection).await;
        assert_eq!(response.status, 200, "{}", response.text());
        names(&response.json(), "name")
    }

    async fn users(&self, token: &str, selection: &Selection) -> Vec<String> {
        let response = self.send(Method::GET, token, USERS, selection).await;
        assert_eq!(response.status, 200, "{}", response.text());
        names(&response.json(), "organizationName")
    }
}

#[derive(Debug, Clone, Copy)]
enum Selection {
    None,
    Header(Uuid),
    Cookie(Uuid),
}

/// Returns one field of the items, each value once, sorted.
fn names(list: &Value, field: &str) -> Vec<String> {
    let items = list["items"].as_array().expect("items");
    let mut names: Vec<String> = items
        .iter()
        .map(|item| item[field].as_str().unwrap_or("null").to_owned())
        .collect();
    names.sort();
    names.dedup();
    names
}

#[actix_web::test]
async fn acc_27_a_limited_caller_sees_its_organizations_and_what_lies_below() {
    let tree = Tree::new().await;
    let token = tree.limited("limited", tree.p, &[tree.p]).await;
    let features = json!({"features": ["auth.users.list", "auth.users.edit", "auth.roles.list"]});
    let granted = async |selection: Selection| {
        let request = tree
            .fixture
            .app
            .request(Method::POST, "/auth/feature-check")
            .bearer(&token);
        let request = match selection {
            Selection::Header(id) => request.header("X-Organization-Id", &id.to_string()),
            _ => request,
        };
        request.json(&features).send().await.json()["granted"].clone()
    };

    for seen in [
        tree.organizations(&token, &Selection::None).await,
        tree.users(&token, &Selection::None).await,
    ] {
        assert_eq!(seen, ["C", "G", "P"]);
    }
    let selected = Selection::Header(tree.c);
    assert_eq!(tree.organizations(&token, &selected).await, ["C", "G"]);
    assert_eq!(tree.users(&token, &Selection::Cookie(tree.c)).await, ["C", "G"]);
    assert_eq!(
        granted(selected).await,
        granted(Selection::None).await,
        "rights do not depend on it"
    );
}

#[actix_web::test]
async fn acc_27_an_organization_that_is_not_allowed_cannot_be_selected() {
    let tree = Tree::new().await;
    let token = tree.limited("limited", tree.p, &[tree.p]).await;

    for foreign in [tree.q, tree.fixture.b.organization, Uuid::from_u128(7)] {
        let (header, cookie) = (Selection::Header(foreign), Selection::Cookie(foreign));
        let in_header = tree.send(Method::GET, &token, USERS, &header).await;
        assert_eq!(
            (in_header.status, in_header.json()),
            (403, json!({"error": "Organization out of scope"}))
        );
        assert_eq!(
            tree.users(&token, &cookie).await,
            ["C", "G", "P"],
            "reads go on without it"
        );
        let write = tree.send(Method::POST, &token, USERS, &cookie).await;
        assert_eq!(
            (write.status, &write.json()["code"]),
            (403, &json!("selection_rejected"))
        );
    }
}

#[actix_web::test]
async fn acc_27_an_empty_limit_shows_nothing() {
    let tree = Tree::new().await;
    let token = tree.limited("nowhere", tree.p, &[]).await;

    for (path, feature) in [
        (ORGANIZATIONS, "directory.organizations.view"),
        (USERS, "auth.users.list"),
    ] {
        let response = tree.send(Method::GET, &token, path, &Selection::None).await;
        let reported = (response.status, response.json()["requiredFeatures"].clone());
        assert_eq!(reported, (403, json!([feature])), "held nowhere");
    }
    let selecting = tree.send(Method::GET, &token, USERS, &Selection::Header(tree.p)).await;
    assert_eq!(selecting.status, 403);
    let (_, switcher) = tree.fixture.app.get(&token, "/directory/organization-switcher").await;
    assert_eq!(
        (&switcher["items"], &switcher["canViewAllOrganizations"]),
        (&json!([]), &json!(false))
    );
}

#[actix_web::test]
async fn acc_27_a_moved_organization_is_seen_from_its_new_place_at_once() {
    let tree = Tree::new().await;
    let (above, beside) = (
        tree.limited("above", tree.p, &[tree.p]).await,
        tree.limited("beside", tree.q, &[tree.q]).await,
    );
    assert_eq!(tree.organizations(&beside, &Selection::None).await, ["Q"]);

    let body = json!({"id": tree.c, "parentId": tree.q});
    let (moved, _) = tree.fixture.app.put(&tree.fixture.a.token, ORGANIZATIONS, body).await;

    assert_eq!(moved, 200);
    assert_eq!(tree.organizations(&above, &Selection::None).await, ["P"]);
    assert_eq!(tree.users(&beside, &Selection::None).await, ["C", "G", "Q"]);
    let path = format!("{ORGANIZATIONS}?id={}", tree.g);
    let (_, found) = tree.fixture.app.get(&beside, &path).await;
    assert_eq!(found["items"][0]["pathLabel"], "Q / C / G");
}

#[actix_web::test]
async fn acc_28_a_write_lands_in_the_selected_organization_or_the_own_one() {
    let tree = Tree::new().await;
    let landing = async |token: &str, selection: Selection| {
        let response = tree.send(Method::POST, token, "/landing", &selection).await;
        assert_eq!(response.status, 200, "{}", response.text());
        response.json()["organization"].clone()
    };
    let token = tree.limited("limited", tree.p, &[tree.p]).await;
    let away = tree.limited("away", tree.q, &[tree.p]).await;

    assert_eq!(landing(&token, Selection::Header(tree.c)).await, json!(tree.c));
    assert_eq!(landing(&token, Selection::Cookie(tree.g)).await, json!(tree.g));
    assert_eq!(landing(&token, Selection::None).await, json!(tree.p));
    assert_eq!(
        landing(&away, Selection::None).await,
        Value::Null,
        "the own one is not allowed"
    );
    assert_eq!(landing(&tree.fixture.root, Selection::None).await, Value::Null);
    let selected = Selection::Header(tree.c);
    let response = tree.send(Method::POST, &tree.fixture.root, "/landing", &selected).await;
    assert_eq!(response.status, 403, "of another tenant than the selected one");
}

#[actix_web::test]
async fn acc_28_an_organization_outside_the_selection_is_rejected() {
    let tree = Tree::new().await;
    let token = tree.limited("limited", tree.p, &[tree.p]).await;
    let create = async |organization: Uuid| {
        let request = tree.fixture.app.request(Method::POST, USERS).bearer(&token);
        let request = request.header("X-Organization-Id", &tree.c.to_string());
        let body = json!({"email": format!("{organization}@alpha.test"), "organizationId": organization});
        let response = request.json(&body).send().await;
        (response.status, response.json()["error"].clone())
    };
    let before = tree.fixture.app.snapshot().await;

    for outside in [tree.p, tree.q] {
        assert_eq!(create(outside).await, (400, json!("Organization not found")));
    }
    assert!(tree.fixture.app.snapshot().await == before);
    assert_eq!(create(tree.g).await.0, 201);
}

#[actix_web::test]
async fn acc_20_users_get_no_organization_that_the_caller_may_not_name() {
    let tree = Tree::new().await;
    let fixture = &tree.fixture;
    let token = tree.limited("limited", tree.p, &[tree.p]).await;
    let (_, list) = fixture.app.get(&token, &format!("{USERS}?search=g@alpha")).await;
    let user = id_of(&list["items"][0]);
    let before = fixture.app.snapshot().await;
    let rejected = (400, json!({"error": "Organization not found"}));

    for organization in [tree.q, fixture.b.organization, Uuid::from_u128(7)] {
        let created = json!({"email": "new@alpha.test", "organizationId": organization});
        assert_eq!(fixture.app.post(&token, USERS, created).await, rejected);
        let moved = json!({"id": user, "organizationId": organization});
        assert_eq!(fixture.app.put(&token, USERS, moved).await, rejected);
    }
    // Users never change their tenant, even by a super administrator's request.
    for organization in [fixture.b.organization, Uuid::from_u128(7)] {
        let moved = json!({"id": user, "organizationId": organization});
        assert_eq!(fixture.app.put(&fixture.root, USERS, moved).await, rejected);
    }
    assert!(fixture.app.snapshot().await == before);
    let moved = json!({"id": user, "organizationId": tree.q});
    assert_eq!(fixture.app.put(&fixture.root, USERS, moved).await.0, 200);
}

#[actix_web::test]
async fn acc_29_a_super_administrator_sees_all_tenants_or_the_selected_one() {
    let fixture = Fixture::new().await;
    fixture
        .app
        .post(&fixture.a.token, "/auth/roles", json!({"name": "Only A"}))
        .await;
    fixture
        .app
        .post(&fixture.b.token, "/auth/roles", json!({"name": "Only B"}))
        .await;
    let list = async |path: &str, tenant: Option<&str>| {
        let request = fixture.app.request(Method::GET, path).bearer(&fixture.root);
        let request = match tenant {
            Some(tenant) => request.header("X-Tenant-Id", tenant),
            None => request,
        };
        let response = request.send().await;
        assert_eq!(response.status, 200, "{}", response.text());
        response.json()
    };
    let a = fixture.a.id.to_string();

    for all in [None, Some("all")] {
        let users = names(&list(USERS, all).await, "tenantName");
        assert_eq!(users, ["Alpha", "Beta", "null"], "{all:?}");
        let roles = names(&list("/auth/roles", all).await, "name");
        assert!(
            ["Only A", "Only B", "superadmin"]
                .iter()
                .all(|name| roles.contains(&(*name).to_owned()))
        );
        assert_eq!(list("/directory/tenants", all).await["total"], 2);
        assert_eq!(list(ORGANIZATIONS, all).await["total"], 2);
    }
    assert_eq!(names(&list(USERS, Some(&a)).await, "tenantName"), ["Alpha"]);
    let roles = names(&list("/auth/roles", Some(&a)).await, "name");
    assert!(roles.contains(&"Only A".to_owned()) && !roles.contains(&"Only B".to_owned()));
    assert_eq!(names(&list("/directory/tenants", Some(&a)).await, "name"), ["Alpha"]);
    assert_eq!(names(&list(ORGANIZATIONS, Some(&a)).await, "name"), ["Alpha"]);
}

#[actix_web::test]
async fn acc_29_others_select_no_other_tenant() {
    let fixture = Fixture::new().await;
    let (own, other) = (fixture.a.id.to_string(), fixture.b.id.to_string());
    let status = async |method: Method, tenant: &str| {
        let request = fixture.app.request(method, USERS).bearer(&fixture.a.token);
        let response = request.header("X-Tenant-Id", tenant).send().await;
        (response.status, response.json()["error"].clone())
    };

    for method in [Method::GET, Method::POST, Method::DELETE] {
        for foreign in [other.as_str(), "00000000-0000-0000-0000-000000000007", "x"] {
            let rejected = (403, json!("Not authorized to target this tenant."));
            assert_eq!(status(method.clone(), foreign).await, rejected, "{method} {foreign}");
        }
    }
    for allowed in [own.as_str(), "all"] {
        assert_eq!(status(Method::GET, allowed).await.0, 200, "{allowed}");
    }
}

#[actix_web::test]
async fn an_organization_outside_of_the_scope_is_forbidden_on_every_page_of_the_log() {
    let tree = Tree::new().await;
    let features = ["audit_logs.view_self", "audit_logs.view_tenant"];
    tree.fixture.role("Auditor", &features, Some(&[tree.c])).await;
    let (_, token) = tree.fixture.user("auditor@alpha.test", &["Auditor"]).await;

    for log in ["actions", "access"] {
        for (organization, expected) in [(tree.p, 403), (tree.q, 403), (tree.c, 200), (tree.g, 200)] {
            for paging in ["", "&includeTotal=false", "&includeTotal=false&page=99"] {
                let path = format!("/audit_logs/audit-logs/{log}?organizationId={organization}{paging}");

                let (status, body) = tree.fixture.app.get(&token, &path).await;

                assert_eq!(status, expected, "{path}: {body}");
            }
        }
    }
}
