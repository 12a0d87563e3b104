//! Changes between a check and the write that relies on it.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{Fixture, PASSWORD, account, login};

const AUTOLOGIN: &str = r#"
[rate_limits]
enabled = false
[auth.autologin]
enabled = true
email = "admin@alpha.test"
password = "correct horse battery"
"#;

async fn sessions(fixture: &Fixture) -> usize {
    fixture.app.rows("select id from auth_sessions").await.len()
}

#[actix_web::test]
async fn no_session_starts_when_the_account_changes_while_it_signs_in() {
    for change in [
        "password_hash = 'another'",
        "password_hash = null",
        "is_active = false",
        "is_confirmed = false",
        "deleted_at = now()",
    ] {
        let fixture = Fixture::with_config(AUTOLOGIN).await;
        let before = sessions(&fixture).await;
        let sql = format!("update auth_users set {change} where email = 'admin@alpha.test'");
        let login = json!({"email": "admin@alpha.test", "password": PASSWORD});

        let login = fixture.app.post("", "/auth/login", login);
        let (status, body) = fixture.app.database().while_changing(&sql, login).await;

        let expected = json!({"ok": false, "error": "Invalid email or password"});
        assert_eq!((status, body), (401, expected), "{change}");
        assert_eq!(sessions(&fixture).await, before, "{change}");
    }
}

#[actix_web::test]
async fn no_session_of_the_demo_account_starts_when_it_changes_meanwhile() {
    let fixture = Fixture::with_config(AUTOLOGIN).await;
    let before = sessions(&fixture).await;
    let sql = "update auth_users set password_hash = 'another' where email = 'admin@alpha.test'";

    let request = fixture.app.request(actix_web::http::Method::GET, "/auth/autologin");
    let response = fixture.app.database().while_changing(sql, request.send()).await;

    assert_eq!(
        (response.status, response.header("location").as_deref()),
        (307, Some("/login"))
    );
    assert!(response.cookies().is_empty());
    assert_eq!(sessions(&fixture).await, before);
}

#[actix_web::test]
async fn a_new_hash_of_the_same_password_locks_no_user_out() {
    let fixture = Fixture::new().await;
    let sql = "update auth_users set password_hash = (select password_hash from auth_users where email = 'admin@beta.test') \
               where email = 'admin@alpha.test'";
    let login = json!({"email": "admin@alpha.test", "password": PASSWORD});

    let login = fixture.app.post("", "/auth/login", login);
    let (status, body) = fixture.app.database().while_changing(sql, login).await;

    assert_eq!(status, 200, "{body}");
}

#[actix_web::test]
async fn a_session_that_met_the_closing_of_its_tenant_or_organization_is_dead_after_the_reopening() {
    for (path, of_tenant) in [("/directory/tenants", true), ("/directory/organizations", false)] {
        let fixture = Fixture::new().await;
        let depot = fixture.organization("Depot", None).await;
        account(
            &fixture.app,
            Some(fixture.a.id),
            Some(depot),
            "ann@alpha.test",
            &[],
            false,
        )
        .await;
        let token = login(&fixture.app, "ann@alpha.test").await;
        let (closer, id) = if of_tenant {
            (&fixture.root, fixture.a.id)
        } else {
            (&fixture.a.token, depot)
        };
        let activate = |active: bool| fixture.app.put(closer, path, json!({"id": id, "isActive": active}));
        let (closed, _) = activate(false).await;
        // The state left by a sign-in that began before the closing and committed after it.
        let late = "update auth_sessions s set ended_at = null, end_reason = null \
                    from auth_users u where u.id = s.user_id and u.email = 'ann@alpha.test'";
        fixture.app.sql(late).await;

        let (opened, _) = activate(true).await;

        assert_eq!((closed, opened), (200, 200), "{path}");
        assert_eq!(fixture.app.get(&token, "/auth/profile").await.0, 401, "{path}");
    }
}

fn new_user(organization: Uuid, roles: &[&str]) -> Value {
    json!({"email": "ann@alpha.test", "organizationId": organization, "password": PASSWORD, "roles": roles})
}

#[actix_web::test]
async fn a_role_that_is_removed_while_it_is_given_is_not_found() {
    let expected = json!({"error": "Role(s) not found: \"Dispatcher\""});

    let fixture = Fixture::new().await;
    let role = fixture.role("Dispatcher", &[], None).await;
    let sql = format!("delete from auth_roles where id = '{role}'");
    let create = fixture.app.post(
        &fixture.a.token,
        "/auth/users",
        new_user(fixture.a.organization, &["Dispatcher"]),
    );
    let created = fixture.app.database().while_changing(&sql, create).await;
    assert_eq!(created, (400, expected.clone()));

    let role = fixture.role("Dispatcher", &[], None).await;
    let (user, _) = fixture.user("bob@alpha.test", &[]).await;
    let sql = format!("delete from auth_roles where id = '{role}'");
    let body = json!({"id": user, "roles": ["Dispatcher"]});
    let update = fixture.app.put(&fixture.a.token, "/auth/users", body);
    let updated = fixture.app.database().while_changing(&sql, update).await;
    assert_eq!(updated, (400, expected));
}

#[actix_web::test]
async fn no_user_is_moved_into_an_organization_during_its_deletion() {
    let fixture = Fixture::new().await;
    let (user, _) = fixture.user("bob@alpha.test", &[]).await;
    for update in [false, true] {
        let depot = fixture.organization("Depot", None).await;
        let sql = format!("update directory_organizations set deleted_at = now() where id = '{depot}'");

        let work = async {
            if update {
                let body = json!({"id": user, "organizationId": depot});
                fixture.app.put(&fixture.a.token, "/auth/users", body).await
            } else {
                fixture
                    .app
                    .post(&fixture.a.token, "/auth/users", new_user(depot, &[]))
                    .await
            }
        };
        let response = fixture.app.database().while_changing(&sql, work).await;

        assert_eq!(response, (400, json!({"error": "Organization not found"})), "{update}");
        let there = format!("select id from auth_users where organization_id = '{depot}'");
        assert!(fixture.app.rows(&there).await.is_empty(), "{update}");
    }
}

#[actix_web::test]
async fn a_password_that_was_replaced_while_it_was_confirmed_confirms_nothing() {
    for (path, change) in [
        ("/auth/profile", json!({"password": "a new long password"})),
        ("/auth/profile", json!({"email": "new@alpha.test"})),
        ("/auth/users", json!({"password": "a new long password"})),
        ("/auth/users", json!({"email": "new@alpha.test"})),
    ] {
        let fixture = Fixture::new().await;
        let (mut body, admin) = (change.clone(), fixture.a.admin);
        body["currentPassword"] = json!(PASSWORD);
        if path == "/auth/users" {
            body["id"] = json!(admin);
        }
        let sql = format!("update auth_users set password_hash = 'another' where id = '{admin}'");

        let put = fixture.app.put(&fixture.a.token, path, body);
        let (status, response) = fixture.app.database().while_changing(&sql, put).await;

        let code = response["code"].as_str();
        assert_eq!(
            (status, code),
            (400, Some("invalid_current_password")),
            "{path} {change}"
        );
        let stored = format!("select email, password_hash from auth_users where id = '{admin}'");
        let expected = json!({"email": "admin@alpha.test", "password_hash": "another"});
        assert_eq!(fixture.app.rows(&stored).await, [expected], "{path} {change}");
    }
}
