//! Revoked credentials are rejected at once: on the next request to the same process, within a second on another process. The table follows section
//! 3.4 of the accounts specification.

mod event;

use actix_web::http::Method;
use backoffice_core::http::{AUTH_COOKIE, SESSION_COOKIE};
use backoffice_test_support::{TestApp, UndoableWrite};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::call::Call;
use crate::fixture::{Account, Fixture, PASSWORD, builder, sign_in};
use event::{Event, Key};

/// The state of the user's mailed tokens after the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mail {
    Dead,
    Works,
    /// It works again once the tenant exists and is active.
    Waits,
}

/// The state of a session after the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    /// Every credential of the session is rejected.
    Ended,
    /// The session is signed in, without the feature.
    Filtered,
    /// The session is unchanged.
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

/// The event, and the resulting state of the session that causes or observes it, of another session of the same user, of an API key with the user's
/// role in the user's organization, and of the user's password tokens.
const ROWS: [(Event, Then, Then, Then, Mail); 19] = [
    (Event::Logout, Then::Ended, Then::GoesOn, Then::GoesOn, Mail::Works),
    (Event::LogoutOfAll, Then::Ended, Then::Ended, Then::GoesOn, Mail::Works),
    (Event::OwnPassword, Then::GoesOn, Then::Ended, Then::GoesOn, Mail::Dead),
    (Event::OwnAddress, Then::GoesOn, Then::GoesOn, Then::GoesOn, Mail::Dead),
    (
        Event::PasswordByAdministrator,
        Then::Ended,
        Then::Ended,
        Then::GoesOn,
        Mail::Dead,
    ),
    (Event::Deactivated, Then::Ended, Then::Ended, Then::GoesOn, Mail::Dead),
    (Event::Deleted, Then::Ended, Then::Ended, Then::GoesOn, Mail::Dead),
    (
        Event::RoleAcl,
        Then::Filtered,
        Then::Filtered,
        Then::Filtered,
        Mail::Works,
    ),
    (
        Event::UserAcl,
        Then::Filtered,
        Then::Filtered,
        Then::GoesOn,
        Mail::Works,
    ),
    (
        Event::RolesTaken,
        Then::Filtered,
        Then::Filtered,
        Then::GoesOn,
        Mail::Works,
    ),
    (
        Event::OrganizationClosed,
        Then::Ended,
        Then::Ended,
        Then::Ended,
        Mail::Works,
    ),
    (Event::TenantClosed, Then::Ended, Then::Ended, Then::Ended, Mail::Waits),
    (Event::TenantDeleted, Then::Ended, Then::Ended, Then::Ended, Mail::Waits),
    (Event::Reset, Then::Ended, Then::Ended, Then::GoesOn, Mail::Dead),
    (Event::KeyDeleted, Then::GoesOn, Then::GoesOn, Then::Ended, Mail::Works),
    (
        Event::PasswordByCommandLine,
        Then::Ended,
        Then::Ended,
        Then::GoesOn,
        Mail::Dead,
    ),
    (
        Event::OrganizationChanged,
        Then::GoesOn,
        Then::GoesOn,
        Then::GoesOn,
        Mail::Works,
    ),
    (
        Event::OrganizationCreated,
        Then::GoesOn,
        Then::GoesOn,
        Then::GoesOn,
        Mail::Works,
    ),
    (
        Event::OrganizationMoved,
        Then::GoesOn,
        Then::GoesOn,
        Then::GoesOn,
        Mail::Works,
    ),
];

/// Tokens that the user might have in a mail, one for each purpose; only their hashes are stored.
const TOKENS: [(&str, &str); 2] = [
    ("invite", "invite-token-0123456789abcdefghijklmnopqrst"),
    ("reset", "reset-token-0123456789abcdefghijklmnopqrstu"),
];

async fn issue_tokens(app: &TestApp, user: Uuid) {
    for (purpose, token) in TOKENS {
        let sql = format!(
            "insert into auth_one_time_tokens (tenant_id, id, user_id, purpose, token_hash, expires_at, created_at, updated_at) \
             select tenant_id, gen_random_uuid(), id, '{purpose}', sha256(convert_to('{token}', 'UTF8')), \
             '2026-11-20T08:30:00Z', '2026-11-20T08:00:00Z', '2026-11-20T08:00:00Z' from auth_users where id = '{user}'"
        );
        assert_eq!(app.sql(&sql).await, 1);
    }
}

/// Returns whether each token can set a password now.
async fn tokens_that_work(app: &TestApp) -> [bool; 2] {
    let mut valid = [false; 2];
    for (valid, (_, token)) in valid.iter_mut().zip(TOKENS) {
        let (status, outcome) = app.post("", "/auth/reset/validate", json!({"token": token})).await;
        assert_eq!(status, 200, "{outcome}");
        *valid = outcome["valid"] == true;
    }
    valid
}

impl Then {
    fn expected(self, credential: Credential) -> u16 {
        match (self, credential) {
            (Self::Ended, _) => 401,
            (Self::Filtered, Credential::Bearer | Credential::Cookie) => 403,
            (Self::Filtered, Credential::Refresh) | (Self::GoesOn, _) => 200,
        }
    }
}

impl Credential {
    /// Returns the status of a call that needs the feature `auth.users.list`, or of the exchange of the refresh token.
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

/// The statuses for each credential of both sessions, and for the key.
type Reported = (Vec<(Credential, [u16; 2])>, u16);

async fn statuses(app: &TestApp, sessions: &[&Account; 2], key: &Key) -> Reported {
    let mut reported = Vec::new();
    for credential in CREDENTIALS {
        let [acting, other] = sessions;
        let pair = [
            credential.present(app, acting).await,
            credential.present(app, other).await,
        ];
        reported.push((credential, pair));
    }
    (reported, key.present(app).await)
}

fn expected(acting: Then, other: Then, key: Then) -> Reported {
    let pair = |credential| (credential, [acting.expected(credential), other.expected(credential)]);
    (
        CREDENTIALS.into_iter().map(pair).collect(),
        key.expected(Credential::Bearer),
    )
}

/// Tests one row of the table on two processes that notify each other and cache sessions, and what an undo restores.
async fn takes_effect(event: Event) {
    let (_, acting, other, of_key, mail) = *ROWS
        .iter()
        .find(|(one, ..)| *one == event)
        .expect("the table has every event");
    let fixture = Fixture::new().await;
    let node = fixture.app.second_node().await;
    fixture.app.start_background();
    node.start_background();
    fixture.app.poll_revocations().await;
    node.poll_revocations().await;
    let second = fixture.sign_in(&fixture.a.user.email).await;
    let key = Key::new(&fixture).await;
    issue_tokens(&fixture.app, fixture.a.user.id).await;
    assert_eq!(tokens_that_work(&fixture.app).await, [true; 2]);
    let sessions = [&fixture.a.user, &second];
    for app in [&fixture.app, &node] {
        assert_eq!(
            statuses(app, &sessions, &key).await,
            expected(Then::GoesOn, Then::GoesOn, Then::GoesOn),
            "before"
        );
    }

    let reported = event.happens(&fixture, &fixture.a.user, &key).await;
    let here = statuses(&fixture.app, &sessions, &key).await;
    node.poll_revocations().await;
    let there = statuses(&node, &sessions, &key).await;

    assert_eq!(here, expected(acting, other, of_key), "{event:?} on the same process");
    assert_eq!(there, expected(acting, other, of_key), "{event:?} on another process");
    let works = tokens_that_work(&fixture.app).await;
    assert_eq!(works, [mail == Mail::Works; 2], "tokens after {event:?}");
    let Some(operation) = reported.filter(|reported| reported["undoToken"].is_string()) else {
        return;
    };
    let undoing = event.undone_by(&fixture);
    let operation = UndoableWrite::from_entry(&operation);
    let (undone, why) = fixture.app.undo(&undoing.token, operation).await;
    assert_eq!(undone, 200, "{event:?}: {why}");
    let back = |then| if then == Then::Filtered { Then::GoesOn } else { then };
    let again = statuses(&fixture.app, &sessions, &key).await;
    assert_eq!(
        again,
        expected(back(acting), back(other), back_of_key(event, of_key)),
        "ended sessions stay ended: {event:?}"
    );
    let works = tokens_that_work(&fixture.app).await;
    assert_eq!(works, [mail != Mail::Dead; 2], "dead tokens stay dead: {event:?}");
}

/// A key survives the closing of its organization or tenant: it is rejected only while they are closed.
fn back_of_key(event: Event, then: Then) -> Then {
    match event {
        Event::OrganizationClosed | Event::TenantClosed | Event::RoleAcl => Then::GoesOn,
        _ => then,
    }
}

#[actix_web::test]
async fn acc_08_a_deleted_key_is_rejected() {
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
async fn acc_08_a_password_set_on_the_command_line_ends_every_session() {
    takes_effect(Event::PasswordByCommandLine).await;
}

#[actix_web::test]
async fn acc_08_another_organization_of_a_user_ends_no_session() {
    takes_effect(Event::OrganizationChanged).await;
}

#[actix_web::test]
async fn acc_08_a_new_organization_ends_no_session() {
    takes_effect(Event::OrganizationCreated).await;
}

#[actix_web::test]
async fn acc_08_a_moved_organization_ends_no_session() {
    takes_effect(Event::OrganizationMoved).await;
}

#[actix_web::test]
async fn acc_08_a_role_with_holders_is_not_deleted() {
    let fixture = Fixture::new().await;
    let (tenant_fixture, key) = (&fixture.a, Key::new(&fixture).await);
    let delete = async || {
        Call::delete("/auth/roles", tenant_fixture.role)
            .send(&fixture.app, &tenant_fixture.tenant_admin.token)
            .await
    };

    let by_user_and_key = delete().await;
    Event::RolesTaken.happens(&fixture, &tenant_fixture.user, &key).await;
    let by_keys = delete().await;
    let after = statuses(&fixture.app, &[&tenant_fixture.user, &tenant_fixture.user], &key).await;
    for key in [key.id, tenant_fixture.key] {
        let call = Call::delete("/api_keys/keys", key);
        assert_eq!(
            call.send(&fixture.app, &tenant_fixture.tenant_admin.token).await.status,
            200
        );
    }
    let without_holders = delete().await;

    for rejected in [by_user_and_key, by_keys] {
        assert_eq!(
            (rejected.status, rejected.json()["code"].clone()),
            (400, json!("role_in_use"))
        );
    }
    assert_eq!(after, expected(Then::Filtered, Then::Filtered, Then::GoesOn));
    assert_eq!(without_holders.status, 200, "{}", without_holders.text());
}

/// Runs a check before and after an event: on the node of the event at once, on another node after a second.
async fn seen_by_both(event: Event, fixture: &Fixture, check: impl AsyncFn(&TestApp) -> Value) -> [Value; 4] {
    let node = fixture.app.second_node().await;
    fixture.app.start_background();
    node.start_background();
    fixture.app.poll_revocations().await;
    node.poll_revocations().await;
    let before = [check(&fixture.app).await, check(&node).await];
    event.happens(fixture, &fixture.a.user, &Key::new(fixture).await).await;
    let here = check(&fixture.app).await;
    node.poll_revocations().await;
    let [first, second] = before;
    [first, second, here, check(&node).await]
}

#[actix_web::test]
async fn acc_08_a_user_works_in_its_new_organization_at_once() {
    let fixture = Fixture::new().await;
    let organization = async |app: &TestApp| {
        let (status, body) = app.get(&fixture.a.user.token, "/auth/admin/nav").await;
        assert_eq!(status, 200, "{body}");
        body["currentOrganization"]["id"].clone()
    };

    let seen = seen_by_both(Event::OrganizationChanged, &fixture, organization).await;

    let [before, after] = [json!(fixture.a.other), json!(fixture.a.parent)];
    assert_eq!(seen, [before.clone(), before, after.clone(), after]);
}

#[actix_web::test]
async fn acc_08_an_organization_that_moved_is_out_of_reach_at_once() {
    let fixture = Fixture::new().await;
    let is_seen = async |app: &TestApp| {
        let path = format!("/directory/organizations?id={}", fixture.a.leaf);
        app.get(&fixture.a.local.token, &path).await.1["total"].clone()
    };

    let seen = seen_by_both(Event::OrganizationMoved, &fixture, is_seen).await;

    assert_eq!(seen, [1, 1, 0, 0]);
}

#[actix_web::test]
async fn acc_08_an_organization_that_is_new_is_in_reach_at_once() {
    let fixture = Fixture::new().await;
    let only = [fixture.a.other];
    fixture
        .role(&fixture.a, "Other", &["directory.organizations.view"], Some(&only))
        .await;
    let limited = fixture.account(&fixture.a, "limited@alpha.test", &["Other"]).await;
    let count = async |app: &TestApp| app.get(&limited.token, "/directory/organizations").await.1["total"].clone();

    let seen = seen_by_both(Event::OrganizationCreated, &fixture, count).await;

    assert_eq!(seen, [1, 1, 2, 2]);
}

#[actix_web::test]
async fn acc_08_without_a_database_nothing_is_said_about_a_credential() {
    let fixture = Fixture::of(builder().through_proxy()).await;
    let account = &fixture.a.user;

    fixture.app.proxy().cut();
    let mut reported = Vec::new();
    for credential in CREDENTIALS {
        reported.push(credential.present(&fixture.app, account).await);
    }
    let body = json!({"refreshToken": account.refresh_token});
    let refresh = fixture.app.request(Method::POST, "/auth/session/refresh").json(&body);
    let by_browser = fixture
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
    fixture.app.proxy().restore();

    assert_eq!(reported, [503, 503, 503]);
    assert!(cookies.iter().all(Vec::is_empty), "{cookies:?}");
    assert_eq!(
        sign_in(&fixture.app, &account.email, PASSWORD).await.id,
        account.id,
        "it was the database"
    );
}
