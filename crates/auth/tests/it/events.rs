//! Events about sessions, passwords and invitations.

use actix_web::http::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{Fixture, PASSWORD, account, id_of, login};
use crate::reset::{fixture, post, token_in};

/// Returns the events of this name in Alpha, in their order, each with the command that announced it.
async fn events(fixture: &Fixture, name: &str) -> Vec<Value> {
    let sql = format!(
        "select l.command_id, o.payload, o.browser from core_outbox_events o \
         left join audit_action_logs l on l.tenant_id = o.tenant_id and l.id = o.log_id \
         where o.tenant_id = '{}' and o.name = '{name}' order by o.seq",
        fixture.a.id
    );
    fixture.app.rows(&sql).await
}

/// Returns an event about a user, which no browser receives and which says nothing else.
fn about_user(fixture: &Fixture, command: &str, user: Uuid) -> Value {
    let payload = json!({"id": user, "tenantId": fixture.a.id, "organizationId": fixture.a.organization});
    json!({"command_id": command, "payload": payload, "browser": false})
}

/// Returns an event about a session of a user, which no command announces.
fn about_session(fixture: &Fixture, session: &Value, user: Uuid) -> Value {
    let payload =
        json!({"id": session, "tenantId": fixture.a.id, "organizationId": fixture.a.organization, "userId": user});
    json!({"command_id": null, "payload": payload, "browser": false})
}

/// Creates a user of Alpha without a session.
async fn ann(fixture: &Fixture) -> Uuid {
    let (tenant, organization) = (Some(fixture.a.id), Some(fixture.a.organization));
    account(&fixture.app, tenant, organization, "ann@alpha.test", &[], false).await
}

/// Returns the ids of the sessions of a user that ended for this reason, or that go on.
async fn sessions(fixture: &Fixture, user: Uuid, end_reason: Option<&str>) -> Vec<Value> {
    let reason = end_reason.unwrap_or_default();
    let sql = format!(
        "select id from auth_sessions where user_id = '{user}' and coalesce(end_reason, '') = '{reason}' order by id"
    );
    let rows = fixture.app.rows(&sql).await;
    rows.into_iter().map(|row| row["id"].clone()).collect()
}

/// Returns the events of this name about sessions of a user, in the order of the sessions.
async fn events_of(fixture: &Fixture, name: &str, user: Uuid) -> Vec<Value> {
    let mut events = events(fixture, name).await;
    events.retain(|event| event["payload"]["userId"] == json!(user));
    events.sort_by_key(|event| event["payload"]["id"].to_string());
    events
}

#[actix_web::test]
async fn a_sign_in_announces_its_session() {
    let fixture = Fixture::new().await;
    let ann = ann(&fixture).await;
    let wrong = json!({"email": "ann@alpha.test", "password": "wrong password"});
    assert_eq!(fixture.app.post("", "/auth/login", wrong).await.0, 401);
    assert_eq!(
        events_of(&fixture, "auth.session.started", ann).await,
        Vec::<Value>::new()
    );

    login(&fixture.app, "ann@alpha.test").await;

    let started = sessions(&fixture, ann, None).await;
    assert_eq!(started.len(), 1);
    assert_eq!(
        events_of(&fixture, "auth.session.started", ann).await,
        [about_session(&fixture, &started[0], ann)]
    );
}

#[actix_web::test]
async fn a_logout_announces_each_session_that_it_ends() {
    let fixture = Fixture::new().await;
    let ann = ann(&fixture).await;
    let mut tokens = Vec::new();
    for _ in 0..3 {
        tokens.push(login(&fixture.app, "ann@alpha.test").await);
    }
    let ended = async |reason: &str| {
        let sessions = sessions(&fixture, ann, Some(reason)).await;
        let events = sessions.iter().map(|session| about_session(&fixture, session, ann));
        events.collect::<Vec<Value>>()
    };
    let logout = |token: &str| fixture.app.request(Method::POST, "/auth/logout").bearer(token);

    assert_eq!(logout(&tokens[0]).send().await.status, 302);

    let first = ended("logout").await;
    assert_eq!(first.len(), 1);
    assert_eq!(events_of(&fixture, "auth.session.ended", ann).await, first);

    assert_eq!(logout(&tokens[1]).form(&[("all", "yes")]).send().await.status, 302);

    let others = ended("logout_all").await;
    assert_eq!(others.len(), 2);
    let mut all = events_of(&fixture, "auth.session.ended", ann).await;
    all.retain(|event| !first.contains(event));
    assert_eq!(all, others);
}

#[actix_web::test]
async fn every_way_to_set_a_password_announces_the_change() {
    let fixture = fixture().await;
    let ann = ann(&fixture).await;
    let name = json!({"id": ann, "name": "Ann"});
    assert_eq!(fixture.app.put(&fixture.a.token, "/auth/users", name).await.0, 200);

    let by_admin = json!({"id": ann, "password": "a second passphrase"});
    let (status, body) = fixture.app.put(&fixture.a.token, "/auth/users", by_admin).await;
    assert_eq!(status, 200, "{body}");
    let sign_in = json!({"email": "ann@alpha.test", "password": "a second passphrase"});
    let (_, session) = fixture.app.post("", "/auth/login", sign_in).await;
    let token = session["token"].as_str().expect("a token");
    let own = json!({"password": "a third passphrase", "currentPassword": "a second passphrase"});
    let (status, body) = fixture.app.put(token, "/auth/profile", own).await;
    assert_eq!(status, 200, "{body}");
    fixture.app.run_jobs().await;
    assert_eq!(fixture.app.mail().take().len(), 1, "the notice about the first change");
    post(&fixture, "/auth/reset", &[("email", "ann@alpha.test")]).await;
    fixture.app.run_jobs().await;
    let token = token_in(&fixture.app.mail().take()[0].text);
    let confirmed = post(
        &fixture,
        "/auth/reset/confirm",
        &[("token", &token), ("password", "a fourth passphrase")],
    )
    .await;
    assert_eq!(confirmed.status, 200, "{}", confirmed.text());

    assert_eq!(
        events(&fixture, "auth.user.password_changed").await,
        ["auth.user.update", "auth.profile.update", "auth.user.reset_password"]
            .map(|command| about_user(&fixture, command, ann))
    );
}

#[actix_web::test]
async fn every_invitation_is_announced() {
    let fixture = fixture().await;
    let create = async |email: &str, password: Option<&str>| {
        let mut body = json!({"email": email, "organizationId": fixture.a.organization});
        if let Some(password) = password {
            body["password"] = json!(password);
        }
        let (status, body) = fixture.app.post(&fixture.a.token, "/auth/users", body).await;
        assert_eq!(status, 201, "{body}");
        id_of(&body)
    };

    let ann = create("ann@alpha.test", None).await;
    create("bob@alpha.test", Some(PASSWORD)).await;
    let again = json!({"id": ann});
    let resent = fixture.app.post(&fixture.a.token, "/auth/users/resend-invite", again);
    assert_eq!(resent.await.0, 200);

    assert_eq!(
        events(&fixture, "auth.user.invited").await,
        ["auth.user.create", "auth.user.invite"].map(|command| about_user(&fixture, command, ann))
    );
}
