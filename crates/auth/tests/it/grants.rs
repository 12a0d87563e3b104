//! Nobody hands out what it does not hold, by whatever way.

use actix_web::http::Method;
use backoffice_test_support::TestResponse;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::world::{PASSWORD, World, account, id_of, login};

const UNDO: &str = "/audit_logs/audit-logs/actions/undo";
const REDO: &str = "/audit_logs/audit-logs/actions/redo";
const MANAGER: [&str; 4] = ["audit_logs.*", "auth.acl.manage", "auth.roles.*", "auth.users.*"];

async fn send(world: &World, token: &str, method: Method, path: &str, body: Value) -> TestResponse {
    let request = world.app.request(method, path).bearer(token);
    request.json(&body).send().await
}

async fn put(world: &World, token: &str, path: &str, body: Value) -> TestResponse {
    send(world, token, Method::PUT, path, body).await
}

fn undo_token(response: &TestResponse) -> Value {
    let told = response.operation().expect("it can be undone");
    json!({"undoToken": told["undoToken"]})
}

/// The manager's rights, in the whole tenant.
async fn grant(world: &World, role: Uuid, features: &[&str]) {
    let body = json!({"roleId": role, "features": features});
    assert_eq!(put(world, &world.root, "/auth/roles/acl", body).await.status, 200);
}

/// Organizations P > C and Q, and a manager limited to P.
struct Limited {
    world: World,
    p: Uuid,
    c: Uuid,
    q: Uuid,
    token: String,
}

impl Limited {
    async fn new() -> Self {
        let world = World::new().await;
        let make = async |name: &str, parent: Option<Uuid>| {
            let body = json!({"name": name, "parentId": parent});
            id_of(&world.app.post(&world.a.token, "/directory/organizations", body).await.1)
        };
        let p = make("P", None).await;
        let c = make("C", Some(p)).await;
        let q = make("Q", None).await;
        world.role("Limited", &MANAGER, Some(&[p])).await;
        account(
            &world.app,
            Some(world.a.id),
            Some(p),
            "limited@alpha.test",
            &["Limited"],
            false,
        )
        .await;
        let token = login(&world.app, "limited@alpha.test").await;
        Self { world, p, c, q, token }
    }

    async fn user(&self) -> Uuid {
        account(
            &self.world.app,
            Some(self.world.a.id),
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
    let (world, user) = (&limited.world, limited.user().await);
    let role = world.role("Reader", &[], Some(&[limited.c])).await;
    let whole = [limited.p, limited.c];

    for (organizations, expected) in [
        (json!([limited.c]), 200),
        (json!(whole), 200),
        (json!([limited.q]), 403),
        (json!([limited.p, limited.q]), 403),
        (json!([Uuid::from_u128(7)]), 403),
        (json!([world.b.organization]), 403),
        (json!(null), 403),
    ] {
        for (path, member, id) in [("/auth/roles/acl", "roleId", role), ("/auth/users/acl", "userId", user)] {
            let mut body = json!({"features": ["auth.users.list"], "organizations": organizations});
            body[member] = json!(id);
            let before = world.app.image().await;

            let answer = put(world, &limited.token, path, body.clone()).await;

            assert_eq!(answer.status, expected, "{path} {body}: {}", answer.text());
            if expected == 403 {
                assert_eq!(answer.json()["code"], "grant_exceeds_rights", "{path} {body}");
                assert_eq!(world.app.image().await, before, "{path} {body}");
            }
        }
    }
}

#[actix_web::test]
async fn acc_22_a_role_of_other_organizations_is_not_assigned_renamed_or_removed() {
    let limited = Limited::new().await;
    let (world, user) = (&limited.world, limited.user().await);
    let inside = world.role("Inside", &["auth.users.list"], Some(&[limited.c])).await;

    for (name, organizations) in [("Whole", None), ("Other", Some([limited.q]))] {
        let only = organizations.as_ref().map(<[Uuid; 1]>::as_slice);
        let role = world.role(name, &["auth.users.list"], only).await;
        let new = json!({"email": "new@alpha.test", "organizationId": limited.c, "roles": [role]});
        let before = world.app.image().await;
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
            let answer = send(world, &limited.token, method.clone(), &path, body).await;

            let told = (answer.status, answer.json()["code"].clone());
            assert_eq!(told, (403, json!("grant_exceeds_rights")), "{method} {path} of {name}");
            assert_eq!(world.app.image().await, before, "{method} {path} of {name}");
        }
    }
    for (method, path, body) in [
        (Method::PUT, "/auth/users", json!({"id": user, "roles": [inside]})),
        (Method::PUT, "/auth/users", json!({"id": user, "roles": []})),
        (Method::PUT, "/auth/roles", json!({"id": inside, "name": "Mine"})),
    ] {
        assert_eq!(send(world, &limited.token, method, path, body).await.status, 200);
    }
    let path = format!("/auth/roles?id={inside}");
    assert_eq!(
        send(world, &limited.token, Method::DELETE, &path, json!({}))
            .await
            .status,
        200
    );
}

#[actix_web::test]
async fn acc_22_undo_and_redo_hand_out_no_more_than_the_caller_holds_now() {
    let world = World::new().await;
    let own = world
        .role("Manager", &[&MANAGER[..], &["directory.*"]].concat(), None)
        .await;
    let (_, token) = world.user("manager@alpha.test", &["Manager"]).await;
    let role = world.role("Clerk", &["directory.*"], None).await;
    let (user, _) = world.user("ann@alpha.test", &["Clerk"]).await;
    let taken = put(
        &world,
        &token,
        "/auth/roles/acl",
        json!({"roleId": role, "features": []}),
    )
    .await;
    let given = put(
        &world,
        &token,
        "/auth/users/acl",
        json!({"userId": user, "features": ["directory.*"]}),
    )
    .await;
    let undone = send(&world, &token, Method::POST, UNDO, undo_token(&given)).await;
    assert_eq!((taken.status, given.status, undone.status), (200, 200, 200));

    grant(&world, own, &MANAGER).await;
    let before = world.app.image().await;
    let undo = send(&world, &token, Method::POST, UNDO, undo_token(&taken)).await;
    let redo = json!({"logId": given.operation().expect("it can be redone")["id"]});
    let redo = send(&world, &token, Method::POST, REDO, redo.clone()).await;

    for answer in [undo, redo] {
        assert_eq!(answer.status, 403, "{}", answer.text());
        assert_eq!(answer.json()["features"], json!(["directory.*"]));
    }
    assert_eq!(world.app.image().await, before);
}

#[actix_web::test]
async fn acc_22_a_deleted_user_is_brought_back_by_who_may_assign_its_roles() {
    let world = World::new().await;
    let own = world.role("Manager", &MANAGER, None).await;
    let (_, token) = world.user("manager@alpha.test", &["Manager"]).await;
    let (user, _) = world.user("ann@alpha.test", &["admin"]).await;
    let path = format!("/auth/users?id={user}");
    let weaker = send(&world, &token, Method::DELETE, &path, json!({})).await;
    assert_eq!(weaker.status, 403, "taking away needs cover too");
    grant(&world, own, &["*"]).await;
    let deleted = send(&world, &token, Method::DELETE, &path, json!({})).await;
    assert_eq!(deleted.status, 200, "{}", deleted.text());
    grant(&world, own, &MANAGER).await;

    let refused = send(&world, &token, Method::POST, UNDO, undo_token(&deleted)).await;
    grant(&world, own, &["*"]).await;
    let restored = send(&world, &token, Method::POST, UNDO, undo_token(&deleted)).await;

    assert_eq!((refused.status, restored.status), (403, 200), "{}", refused.text());
}

#[actix_web::test]
async fn acc_23_undo_and_redo_set_no_address_of_somebody_who_became_stronger() {
    let world = World::new().await;
    world.role("Manager", &MANAGER, None).await;
    let (_, token) = world.user("manager@alpha.test", &["Manager"]).await;
    let (ann, _) = world.user("mine@alpha.test", &[]).await;
    let (bea, _) = world.user("bea@alpha.test", &[]).await;
    let address = async |user: Uuid, email: &str| {
        let answer = put(&world, &token, "/auth/users", json!({"id": user, "email": email})).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer
    };
    let changed = address(ann, "ann@alpha.test").await;
    let taken_back = address(bea, "mine.too@alpha.test").await;
    let undone = send(&world, &token, Method::POST, UNDO, undo_token(&taken_back)).await;
    assert_eq!(undone.status, 200);
    for user in [ann, bea] {
        let strong = json!({"userId": user, "features": ["*"], "organizations": null});
        assert_eq!(put(&world, &world.root, "/auth/users/acl", strong).await.status, 200);
    }
    let before = world.app.image().await;

    let undo = send(&world, &token, Method::POST, UNDO, undo_token(&changed)).await;
    let again = json!({"logId": taken_back.operation().expect("it can be redone")["id"]});
    let redo = send(&world, &token, Method::POST, REDO, again).await;

    let refusal = json!({"error": "Not authorized to change this user's credentials."});
    assert_eq!((undo.status, undo.json()), (403, refusal.clone()));
    assert_eq!((redo.status, redo.json()), (403, refusal));
    assert_eq!(world.app.image().await, before);
}

#[actix_web::test]
async fn acc_23_credentials_of_somebody_who_is_covered_can_be_set() {
    let world = World::new().await;
    world.role("Manager", &MANAGER, None).await;
    let (_, token) = world.user("manager@alpha.test", &["Manager"]).await;
    world.role("Reader", &["auth.users.list"], None).await;
    let (ann, _) = world.user("ann@alpha.test", &["Reader"]).await;

    let body = json!({"id": ann, "email": "bea@alpha.test", "password": "a new long password"});
    let answer = put(&world, &token, "/auth/users", body).await;

    assert_eq!(answer.status, 200, "{}", answer.text());
    let sign_in = json!({"email": "bea@alpha.test", "password": "a new long password"});
    assert_eq!(world.app.post("", "/auth/login", sign_in).await.0, 200);
}

#[actix_web::test]
async fn acc_23_an_own_acl_that_restricts_counts_for_the_credentials() {
    let world = World::new().await;
    world.role("Manager", &MANAGER, None).await;
    let (_, token) = world.user("manager@alpha.test", &["Manager"]).await;
    let (ann, _) = world.user("ann@alpha.test", &["admin"]).await;
    let body = json!({"id": ann, "email": "bea@alpha.test"});

    let strong = put(&world, &token, "/auth/users", body.clone()).await.status;
    let limit = json!({"userId": ann, "features": ["auth.users.list"], "organizations": null});
    assert_eq!(put(&world, &world.root, "/auth/users/acl", limit).await.status, 200);
    let limited = put(&world, &token, "/auth/users", body).await.status;

    assert_eq!((strong, limited), (403, 200));
}

#[actix_web::test]
async fn acc_32_a_deleted_user_comes_back_with_all_that_belongs_to_it() {
    let world = World::new().await;
    let (user, token) = world.user("ann@alpha.test", &["employee"]).await;
    let (_, session) = world
        .app
        .post(
            "",
            "/auth/login",
            json!({"email": "ann@alpha.test", "password": PASSWORD}),
        )
        .await;
    let acl = json!({"userId": user, "features": ["auth.sidebar.manage"], "organizations": null});
    let given = put(&world, &world.root, "/auth/users/acl", acl).await.status;
    let variant = json!({"name": "Mine", "settings": {"hiddenItems": ["users"]}, "isActive": true});
    let (made, _) = world.app.post(&token, "/auth/sidebar/variants", variant).await;
    assert_eq!((made, given), (200, 200));
    let volatile = ["updated_at"];
    let outside = [
        "auth_sessions",
        "auth_revocations",
        "audit_action_links",
        "audit_action_logs",
        "audit_resource_versions",
        "core_outbox_events",
        "core_event_streams",
    ];
    let before = world.app.image_without(&outside, &volatile).await;
    let path = format!("/auth/users?id={user}");

    let deleted = send(&world, &world.root, Method::DELETE, &path, json!({})).await;
    let gone = world.app.image_without(&outside, &volatile).await;
    let undone = send(&world, &world.root, Method::POST, UNDO, undo_token(&deleted)).await;

    assert_eq!((deleted.status, undone.status), (200, 200), "{}", undone.text());
    assert_ne!(gone, before);
    assert_eq!(world.app.image_without(&outside, &volatile).await, before);
    let refresh = json!({"refreshToken": session["refreshToken"]});
    let old = [
        world.app.get(&token, "/auth/profile").await.0,
        world.app.post("", "/auth/session/refresh", refresh).await.0,
    ];
    assert_eq!(old, [401, 401]);
    let fresh = login(&world.app, "ann@alpha.test").await;
    let (_, profile) = world.app.get(&fresh, "/auth/profile").await;
    assert_eq!(
        (profile["id"].clone(), profile["roles"].clone()),
        (json!(user), json!(["employee"]))
    );
}
