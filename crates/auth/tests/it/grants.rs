//! Callers cannot grant more than they hold, by any operation.

use actix_web::http::Method;
use backoffice_test_support::TestResponse;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{Fixture, PASSWORD, account, login};

const MANAGER: [&str; 4] = ["audit_logs.*", "auth.acl.manage", "auth.roles.*", "auth.users.*"];

async fn put(fixture: &Fixture, token: &str, path: &str, body: Value) -> TestResponse {
    fixture.app.send(token, Method::PUT, path, body).await
}

/// Sets the manager's rights, in the whole tenant.
async fn grant(fixture: &Fixture, role: Uuid, features: &[&str]) {
    let body = json!({"roleId": role, "features": features});
    assert_eq!(put(fixture, &fixture.root, "/auth/roles/acl", body).await.status, 200);
}

/// Organizations P > C and Q, and a manager limited to P.
struct Limited {
    fixture: Fixture,
    p: Uuid,
    c: Uuid,
    q: Uuid,
    token: String,
}

impl Limited {
    async fn new() -> Self {
        let fixture = Fixture::new().await;
        let p = fixture.organization("P", None).await;
        let c = fixture.organization("C", Some(p)).await;
        let q = fixture.organization("Q", None).await;
        fixture.role("Limited", &MANAGER, Some(&[p])).await;
        account(
            &fixture.app,
            Some(fixture.a.id),
            Some(p),
            "limited@alpha.test",
            &["Limited"],
            false,
        )
        .await;
        let token = login(&fixture.app, "limited@alpha.test").await;
        Self {
            fixture,
            p,
            c,
            q,
            token,
        }
    }

    async fn user(&self) -> Uuid {
        account(
            &self.fixture.app,
            Some(self.fixture.a.id),
            Some(self.c),
            "ann@alpha.test",
            &[],
            false,
        )
        .await
    }
}

#[actix_web::test]
async fn acc_22_organizations_are_handed_out_within_the_own_ones() {
    let limited = Limited::new().await;
    let (fixture, user) = (&limited.fixture, limited.user().await);
    let role = fixture.role("Reader", &[], Some(&[limited.c])).await;
    let whole = [limited.p, limited.c];

    for (organizations, expected) in [
        (json!([limited.c]), 200),
        (json!(whole), 200),
        (json!([limited.q]), 403),
        (json!([limited.p, limited.q]), 403),
        (json!([Uuid::from_u128(7)]), 403),
        (json!([fixture.b.organization]), 403),
        (json!(null), 403),
    ] {
        for (path, field, id) in [("/auth/roles/acl", "roleId", role), ("/auth/users/acl", "userId", user)] {
            let mut body = json!({"features": ["auth.users.list"], "organizations": organizations});
            body[field] = json!(id);
            let before = fixture.app.snapshot().await;

            let response = put(fixture, &limited.token, path, body.clone()).await;

            assert_eq!(response.status, expected, "{path} {body}: {}", response.text());
            if expected == 403 {
                assert_eq!(response.json()["code"], "grant_exceeds_rights", "{path} {body}");
                assert_eq!(fixture.app.snapshot().await, before, "{path} {body}");
            }
        }
    }
}

#[actix_web::test]
async fn acc_22_a_role_of_other_organizations_is_not_assigned_renamed_or_removed() {
    let limited = Limited::new().await;
    let (fixture, user) = (&limited.fixture, limited.user().await);
    let inside = fixture.role("Inside", &["auth.users.list"], Some(&[limited.c])).await;

    for (name, organizations) in [("Whole", None), ("Other", Some([limited.q]))] {
        let only = organizations.as_ref().map(<[Uuid; 1]>::as_slice);
        let role = fixture.role(name, &["auth.users.list"], only).await;
        let new = json!({"email": "new@alpha.test", "organizationId": limited.c, "roles": [role]});
        let before = fixture.app.snapshot().await;
        for (method, path, body) in [
            (
                Method::PUT,
                "/auth/users".to_owned(),
                json!({"id": user, "roles": [role]}),
            ),
            (Method::POST, "/auth/users".to_owned(), new),
            (
                Method::PUT,
                "/auth/roles".to_owned(),
                json!({"id": role, "name": "Mine"}),
            ),
            (Method::DELETE, format!("/auth/roles?id={role}"), json!({})),
        ] {
            let response = fixture.app.send(&limited.token, method.clone(), &path, body).await;

            let reported = (response.status, response.json()["code"].clone());
            assert_eq!(
                reported,
                (403, json!("grant_exceeds_rights")),
                "{method} {path} of {name}"
            );
            assert_eq!(fixture.app.snapshot().await, before, "{method} {path} of {name}");
        }
    }
    for (method, path, body) in [
        (Method::PUT, "/auth/users", json!({"id": user, "roles": [inside]})),
        (Method::PUT, "/auth/users", json!({"id": user, "roles": []})),
        (Method::PUT, "/auth/roles", json!({"id": inside, "name": "Mine"})),
    ] {
        assert_eq!(fixture.app.send(&limited.token, method, path, body).await.status, 200);
    }
    let path = format!("/auth/roles?id={inside}");
    assert_eq!(
        fixture
            .app
            .send(&limited.token, Method::DELETE, &path, json!({}))
            .await
            .status,
        200
    );
}

#[actix_web::test]
async fn acc_22_undo_and_redo_hand_out_no_more_than_the_caller_holds_now() {
    let fixture = Fixture::new().await;
    let own = fixture
        .role("Manager", &[&MANAGER[..], &["directory.*"]].concat(), None)
        .await;
    let (_, token) = fixture.user("manager@alpha.test", &["Manager"]).await;
    let role = fixture.role("Clerk", &["directory.*"], None).await;
    let (user, _) = fixture.user("ann@alpha.test", &["Clerk"]).await;
    let taken = put(
        &fixture,
        &token,
        "/auth/roles/acl",
        json!({"roleId": role, "features": []}),
    )
    .await;
    let given = put(
        &fixture,
        &token,
        "/auth/users/acl",
        json!({"userId": user, "features": ["directory.*"]}),
    )
    .await;
    let undone = fixture.app.undo(&token, &given).await;
    assert_eq!((taken.status, given.status, undone.0), (200, 200, 200));

    grant(&fixture, own, &MANAGER).await;
    let before = fixture.app.snapshot().await;
    let undo = fixture.app.undo(&token, &taken).await;
    let redo = fixture.app.redo(&token, &given).await;

    for (status, body) in [undo, redo] {
        assert_eq!(status, 403, "{body}");
        assert_eq!(body["features"], json!(["directory.*"]));
    }
    assert_eq!(fixture.app.snapshot().await, before);
}

#[actix_web::test]
async fn acc_22_a_deleted_user_is_brought_back_by_who_may_assign_its_roles() {
    let fixture = Fixture::new().await;
    let own = fixture.role("Manager", &MANAGER, None).await;
    let (_, token) = fixture.user("manager@alpha.test", &["Manager"]).await;
    let (user, _) = fixture.user("ann@alpha.test", &["admin"]).await;
    let path = format!("/auth/users?id={user}");
    let weaker = fixture.app.send(&token, Method::DELETE, &path, json!({})).await;
    assert_eq!(weaker.status, 403, "taking away needs cover too");
    grant(&fixture, own, &["*"]).await;
    let deleted = fixture.app.send(&token, Method::DELETE, &path, json!({})).await;
    assert_eq!(deleted.status, 200, "{}", deleted.text());
    grant(&fixture, own, &MANAGER).await;

    let rejected = fixture.app.undo(&token, &deleted).await;
    grant(&fixture, own, &["*"]).await;
    let restored = fixture.app.undo(&token, &deleted).await;

    assert_eq!((rejected.0, restored.0), (403, 200), "{}", rejected.1);
}

#[actix_web::test]
async fn acc_23_undo_and_redo_set_no_address_of_a_user_who_became_stronger() {
    let fixture = Fixture::new().await;
    fixture.role("Manager", &MANAGER, None).await;
    let (_, token) = fixture.user("manager@alpha.test", &["Manager"]).await;
    let (ann, _) = fixture.user("mine@alpha.test", &[]).await;
    let (bea, _) = fixture.user("bea@alpha.test", &[]).await;
    let address = async |user: Uuid, email: &str| {
        let response = put(&fixture, &token, "/auth/users", json!({"id": user, "email": email})).await;
        assert_eq!(response.status, 200, "{}", response.text());
        response
    };
    let changed = address(ann, "ann@alpha.test").await;
    let taken_back = address(bea, "mine.too@alpha.test").await;
    let undone = fixture.app.undo(&token, &taken_back).await;
    assert_eq!(undone.0, 200);
    for user in [ann, bea] {
        let strong = json!({"userId": user, "features": ["*"], "organizations": null});
        assert_eq!(
            put(&fixture, &fixture.root, "/auth/users/acl", strong).await.status,
            200
        );
    }
    let before = fixture.app.snapshot().await;

    let undo = fixture.app.undo(&token, &changed).await;
    let redo = fixture.app.redo(&token, &taken_back).await;

    let rejection = json!({"error": "Not authorized to change this user's credentials."});
    assert_eq!(undo, (403, rejection.clone()));
    assert_eq!(redo, (403, rejection));
    assert_eq!(fixture.app.snapshot().await, before);
}

#[actix_web::test]
async fn acc_23_credentials_of_a_covered_user_can_be_set() {
    let fixture = Fixture::new().await;
    fixture.role("Manager", &MANAGER, None).await;
    let (_, token) = fixture.user("manager@alpha.test", &["Manager"]).await;
    fixture.role("Reader", &["auth.users.list"], None).await;
    let (ann, _) = fixture.user("ann@alpha.test", &["Reader"]).await;

    let body = json!({"id": ann, "email": "bea@alpha.test", "password": "a new long password"});
    let response = put(&fixture, &token, "/auth/users", body).await;

    assert_eq!(response.status, 200, "{}", response.text());
    let sign_in = json!({"email": "bea@alpha.test", "password": "a new long password"});
    assert_eq!(fixture.app.post("", "/auth/login", sign_in).await.0, 200);
}

#[actix_web::test]
async fn acc_23_an_own_acl_that_restricts_counts_for_the_credentials() {
    let fixture = Fixture::new().await;
    fixture.role("Manager", &MANAGER, None).await;
    let (_, token) = fixture.user("manager@alpha.test", &["Manager"]).await;
    let (ann, _) = fixture.user("ann@alpha.test", &["admin"]).await;
    let body = json!({"id": ann, "email": "bea@alpha.test"});

    let strong = put(&fixture, &token, "/auth/users", body.clone()).await.status;
    let limit = json!({"userId": ann, "features": ["auth.users.list"], "organizations": null});
    assert_eq!(put(&fixture, &fixture.root, "/auth/users/acl", limit).await.status, 200);
    let limited = put(&fixture, &token, "/auth/users", body).await.status;

    assert_eq!((strong, limited), (403, 200));
}

#[actix_web::test]
async fn acc_32_a_deleted_user_comes_back_with_all_that_belongs_to_it() {
    let fixture = Fixture::new().await;
    let (user, token) = fixture.user("ann@alpha.test", &["employee"]).await;
    let (_, session) = fixture
        .app
        .post(
            "",
            "/auth/login",
            json!({"email": "ann@alpha.test", "password": PASSWORD}),
        )
        .await;
    let acl = json!({"userId": user, "features": ["auth.sidebar.manage"], "organizations": null});
    let given = put(&fixture, &fixture.root, "/auth/users/acl", acl).await.status;
    let variant = json!({"name": "Mine", "settings": {"hiddenItems": ["users"]}, "isActive": true});
    let (created, _) = fixture.app.post(&token, "/auth/sidebar/variants", variant).await;
    assert_eq!((created, given), (200, 200));
    let volatile = ["updated_at"];
    let outside = [
        "auth_sessions",
        "auth_revocations",
        "audit_action_links",
        "audit_action_logs",
        "audit_resource_versions",
        "core_outbox_events",
        "core_collections",
        "core_event_streams",
    ];
    let before = fixture.app.snapshot_without(&outside, &volatile).await;
    let path = format!("/auth/users?id={user}");

    let deleted = fixture.app.send(&fixture.root, Method::DELETE, &path, json!({})).await;
    let gone = fixture.app.snapshot_without(&outside, &volatile).await;
    let undone = fixture.app.undo(&fixture.root, &deleted).await;

    assert_eq!((deleted.status, undone.0), (200, 200), "{}", undone.1);
    assert_ne!(gone, before);
    assert_eq!(fixture.app.snapshot_without(&outside, &volatile).await, before);
    let refresh = json!({"refreshToken": session["refreshToken"]});
    let old = [
        fixture.app.get(&token, "/auth/profile").await.0,
        fixture.app.post("", "/auth/session/refresh", refresh).await.0,
    ];
    assert_eq!(old, [401, 401]);
    let fresh = login(&fixture.app, "ann@alpha.test").await;
    let (_, profile) = fixture.app.get(&fresh, "/auth/profile").await;
    assert_eq!(
        (profile["id"].clone(), profile["roles"].clone()),
        (json!(user), json!(["employee"]))
    );
}
