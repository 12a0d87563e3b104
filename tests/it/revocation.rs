//! What takes credentials away takes them away at once: on the next request on the same process, within a second on another one. The
//! table follows section 3.4 of the accounts specification.

use std::time::Duration;

use actix_web::http::Method;
use backoffice_core::http::{AUTH_COOKIE, SESSION_COOKIE};
use backoffice_test_support::{TestApp, TestResponse};
use serde_json::json;
use uuid::Uuid;

use crate::call::Call;
use crate::history;
use crate::world::{Account, PASSWORD, World, builder, id, sign_in, text};

/// What takes something away from a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    Logout,
    LogoutOfAll,
    OwnPassword,
    OwnAddress,
    PasswordByAdministrator,
    Deactivated,
    Deleted,
    RoleAcl,
    UserAcl,
    RolesTaken,
    OrganizationClosed,
    TenantClosed,
    TenantDeleted,
    Reset,
    KeyDeleted,
}

/// What a session is afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    /// Every credential of it is refused.
    Ended,
    /// It is signed in, without the feature.
    Narrowed,
    /// Nothing changed for it.
    GoesOn,
}

/// A way to present a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Credential {
    Bearer,
    Cookie,
    Refresh,
}

const CREDENTIALS: [Credential; 3] = [Credential::Bearer, Credential::Cookie, Credential::Refresh];

/// The event; what becomes of the session that causes it or just watches, of another session of the same user, and of an API key with the
/// user's role in the user's organization.
const ROWS: [(Event, Then, Then, Then); 15] = [
    (Event::Logout, Then::Ended, Then::GoesOn, Then::GoesOn),
    (Event::LogoutOfAll, Then::Ended, Then::Ended, Then::GoesOn),
    (Event::OwnPassword, Then::GoesOn, Then::Ended, Then::GoesOn),
    (Event::OwnAddress, Then::GoesOn, Then::GoesOn, Then::GoesOn),
    (Event::PasswordByAdministrator, Then::Ended, Then::Ended, Then::GoesOn),
    (Event::Deactivated, Then::Ended, Then::Ended, Then::GoesOn),
    (Event::Deleted, Then::Ended, Then::Ended, Then::GoesOn),
    (Event::RoleAcl, Then::Narrowed, Then::Narrowed, Then::Narrowed),
    (Event::UserAcl, Then::Narrowed, Then::Narrowed, Then::GoesOn),
    (Event::RolesTaken, Then::Narrowed, Then::Narrowed, Then::GoesOn),
    (Event::OrganizationClosed, Then::Ended, Then::Ended, Then::Ended),
    (Event::TenantClosed, Then::Ended, Then::Ended, Then::Ended),
    (Event::TenantDeleted, Then::Ended, Then::Ended, Then::Ended),
    (Event::Reset, Then::Ended, Then::Ended, Then::GoesOn),
    (Event::KeyDeleted, Then::GoesOn, Then::GoesOn, Then::Ended),
];

/// An API key and its secret.
struct Key {
    id: Uuid,
    secret: String,
}

impl Key {
    async fn new(world: &World) -> Self {
        let body = json!({"name": "Watching", "roles": [world.a.role], "organizationId": world.a.other});
        let (status, body) = world.app.post(&world.a.keeper.token, "/api_keys/keys", body).await;
        assert_eq!(status, 201, "{body}");
        Self {
            id: id(&body["id"]),
            secret: text(&body["secret"]),
        }
    }

    /// The status of a call that needs the feature `auth.users.list`.
    async fn present(&self, app: &TestApp) -> u16 {
        let list = app.request(Method::GET, "/auth/users");
        list.header("X-Api-Key", &self.secret).send().await.status
    }
}

impl Event {
    async fn happens(self, world: &World, acting: &Account, key: &Key) -> TestResponse {
        let (house, user) = (&world.a, acting.id);
        let (call, caller) = match self {
            Self::Logout => (Call::post("/auth/logout", json!({})), acting),
            Self::LogoutOfAll => {
                let request = world.app.request(Method::POST, "/auth/logout");
                return request.bearer(&acting.token).form(&[("all", "yes")]).send().await;
            }
            Self::OwnPassword => {
                let body = json!({"password": "a new long password", "currentPassword": PASSWORD});
                (Call::put("/auth/profile", body), acting)
            }
            Self::OwnAddress => {
                let body = json!({"email": "moved@alpha.test", "currentPassword": PASSWORD});
                (Call::put("/auth/profile", body), acting)
            }
            Self::PasswordByAdministrator => {
                let body = json!({"id": user, "password": "a new long password"});
                (Call::put("/auth/users", body), &house.keeper)
            }
            Self::Deactivated => {
                let body = json!({"id": user, "isActive": false});
                (Call::put("/auth/users", body), &house.keeper)
            }
            Self::Deleted => (Call::delete("/auth/users", user), &house.keeper),
            Self::RoleAcl => {
                let body = json!({"roleId": house.role, "features": ["auth.roles.list"]});
                (Call::put("/auth/roles/acl", body), &house.keeper)
            }
            Self::UserAcl => {
                let body = json!({"userId": user, "features": ["auth.roles.list"]});
                (Call::put("/auth/users/acl", body), &house.keeper)
            }
            Self::RolesTaken => {
                let body = json!({"id": user, "roles": []});
                (Call::put("/auth/users", body), &house.keeper)
            }
            Self::OrganizationClosed => {
                let body = json!({"id": house.other, "isActive": false});
                (Call::put("/directory/organizations", body), &world.root)
            }
            Self::TenantClosed => {
                let body = json!({"id": house.tenant, "isActive": false});
                (Call::put("/directory/tenants", body), &world.root)
            }
            Self::TenantDeleted => (Call::delete("/directory/tenants", house.tenant), &world.root),
            Self::KeyDeleted => (Call::delete("/api_keys/keys", key.id), &house.keeper),
            Self::Reset => {
                let token = crate::endpoints::reset_token(world, &acting.email).await;
                let body = json!({"token": token, "password": "a new long password"});
                (Call::post("/auth/reset/confirm", body), acting)
            }
        };
        call.send(&world.app, &caller.token).await
    }

    /// Who can take it back, if it can be taken back.
    fn undone_by(self, world: &World) -> &Account {
        match self {
            Self::OrganizationClosed => &world.root,
            _ => &world.a.keeper,
        }
    }
}

impl Then {
    fn expected(self, credential: Credential) -> u16 {
        match (self, credential) {
            (Self::Ended, _) => 401,
            (Self::Narrowed, Credential::Bearer | Credential::Cookie) => 403,
            (Self::Narrowed, Credential::Refresh) | (Self::GoesOn, _) => 200,
        }
    }
}

impl Credential {
    /// The status of a call that needs the feature `auth.users.list`, or of the exchange of the refresh token.
    async fn present(self, app: &TestApp, account: &Account) -> u16 {
        let list = app.request(Method::GET, "/auth/users");
        let request = match self {
            Self::Bearer => list.bearer(&account.token),
            Self::Cookie => list.cookie(AUTH_COOKIE, &account.token),
            Self::Refresh => {
                let body = json!({"refreshToken": account.refresh_token});
                app.request(Method::POST, "/auth/session/refresh").json(&body)
            }
        };
        request.send().await.status
    }
}

/// What each credential gets: the sessions in every way, and the key.
type Told = (Vec<(Credential, [u16; 2])>, u16);

async fn statuses(app: &TestApp, sessions: &[&Account; 2], key: &Key) -> Told {
    let mut told = Vec::new();
    for credential in CREDENTIALS {
        let [acting, other] = sessions;
        let pair = [
            credential.present(app, acting).await,
            credential.present(app, other).await,
        ];
        told.push((credential, pair));
    }
    (told, key.present(app).await)
}

fn expected(acting: Then, other: Then, key: Then) -> Told {
    let pair = |credential| (credential, [acting.expected(credential), other.expected(credential)]);
    (
        CREDENTIALS.into_iter().map(pair).collect(),
        key.expected(Credential::Bearer),
    )
}

/// Two processes that hear of each other and remember the sessions, one row of the table, and what undoing it brings back.
async fn takes_effect(event: Event) {
    let (_, acting, other, of_key) = *ROWS
        .iter()
        .find(|(one, ..)| *one == event)
        .expect("the table has every event");
    let world = World::new().await;
    let node = world.app.second_node().await;
    world.app.start_background();
    node.start_background();
    tokio::time::sleep(Duration::from_millis(600)).await;
    let second = world.sign_in(&world.a.user.email).await;
    let key = Key::new(&world).await;
    let sessions = [&world.a.user, &second];
    for app in [&world.app, &node] {
        assert_eq!(
            statuses(app, &sessions, &key).await,
            expected(Then::GoesOn, Then::GoesOn, Then::GoesOn),
            "before"
        );
    }

    let answer = event.happens(&world, &world.a.user, &key).await;
    assert!(answer.status < 400, "{event:?}: {}", answer.text());
    let here = statuses(&world.app, &sessions, &key).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let there = statuses(&node, &sessions, &key).await;

    assert_eq!(here, expected(acting, other, of_key), "{event:?} on the same process");
    assert_eq!(there, expected(acting, other, of_key), "{event:?} on another process");
    let Some(operation) = answer.operation().filter(|told| told["undoToken"].is_string()) else {
        return;
    };
    let undoing = event.undone_by(&world);
    let (undone, why) = history::undo(&world.app, undoing, &text(&operation["undoToken"])).await;
    assert_eq!(undone, 200, "{event:?}: {why}");
    let back = |then| if then == Then::Narrowed { Then::GoesOn } else { then };
    let again = statuses(&world.app, &sessions, &key).await;
    assert_eq!(
        again,
        expected(back(acting), back(other), back_of_key(event, of_key)),
        "ended sessions stay ended: {event:?}"
    );
}

/// A key does not end with its organization or tenant: it is refused while they are closed.
fn back_of_key(event: Event, then: Then) -> Then {
    match event {
        Event::OrganizationClosed | Event::TenantClosed | Event::RoleAcl => Then::GoesOn,
        _ => then,
    }
}

#[actix_web::test]
async fn acc_08_a_deleted_key_is_refused() {
    takes_effect(Event::KeyDeleted).await;
}

#[actix_web::test]
async fn acc_08_logout_ends_one_session() {
    takes_effect(Event::Logout).await;
}

#[actix_web::test]
async fn acc_08_logout_of_all_ends_every_session() {
    takes_effect(Event::LogoutOfAll).await;
}

#[actix_web::test]
async fn acc_08_an_own_new_password_ends_the_other_sessions() {
    takes_effect(Event::OwnPassword).await;
}

#[actix_web::test]
async fn acc_08_a_new_address_ends_no_session() {
    takes_effect(Event::OwnAddress).await;
}

#[actix_web::test]
async fn acc_08_a_password_set_by_an_administrator_ends_every_session() {
    takes_effect(Event::PasswordByAdministrator).await;
}

#[actix_web::test]
async fn acc_08_deactivating_a_user_ends_every_session() {
    takes_effect(Event::Deactivated).await;
}

#[actix_web::test]
async fn acc_08_deleting_a_user_ends_every_session() {
    takes_effect(Event::Deleted).await;
}

#[actix_web::test]
async fn acc_08_a_changed_role_acl_changes_the_rights_of_its_holders() {
    takes_effect(Event::RoleAcl).await;
}

#[actix_web::test]
async fn acc_08_an_own_acl_changes_the_rights_of_its_user() {
    takes_effect(Event::UserAcl).await;
}

#[actix_web::test]
async fn acc_08_a_role_that_was_taken_grants_nothing() {
    takes_effect(Event::RolesTaken).await;
}

#[actix_web::test]
async fn acc_08_closing_an_organization_ends_the_sessions_of_its_users() {
    takes_effect(Event::OrganizationClosed).await;
}

#[actix_web::test]
async fn acc_08_a_reset_ends_every_session() {
    takes_effect(Event::Reset).await;
}

#[actix_web::test]
async fn acc_08_closing_a_tenant_ends_the_sessions_of_its_users() {
    takes_effect(Event::TenantClosed).await;
}

#[actix_web::test]
async fn acc_08_deleting_a_tenant_ends_the_sessions_of_its_users() {
    takes_effect(Event::TenantDeleted).await;
}

#[actix_web::test]
async fn acc_08_without_a_database_nothing_is_said_about_a_credential() {
    let world = World::of(builder().through_proxy()).await;
    let account = &world.a.user;

    world.app.proxy().cut();
    let mut told = Vec::new();
    for credential in CREDENTIALS {
        told.push(credential.present(&world.app, account).await);
    }
    let body = json!({"refreshToken": account.refresh_token});
    let refresh = world.app.request(Method::POST, "/auth/session/refresh").json(&body);
    let by_browser = world
        .app
        .request(Method::GET, "/auth/session/refresh?redirect=/backend");
    let cookies = [
        refresh.send().await.cookies(),
        by_browser
            .cookie(SESSION_COOKIE, &account.refresh_token)
            .send()
            .await
            .cookies(),
    ];
    world.app.proxy().restore();

    assert_eq!(told, [503, 503, 503]);
    assert!(cookies.iter().all(Vec::is_empty), "{cookies:?}");
    assert_eq!(
        sign_in(&world.app, &account.email, PASSWORD).await.id,
        account.id,
        "it was the database"
    );
}
