//! The creation of the tenant.

use backoffice_test_support::{Duration, Logs};
use serde_json::{Value, json};

use crate::fixture::{Fixture, body};

#[actix_web::test]
async fn a_tenant_has_an_organization_roles_an_administrator_and_consents() {
    let fixture = Fixture::new().await;
    let mut submission = body("new@example.com", "Łódź & Söhne");
    submission["marketingConsent"] = json!(false);
    let person = fixture.submit(&submission).await.json();
    fixture.app.run_jobs().await;
    let token = fixture.mailed_token("new@example.com");
    fixture.open(&token, "application/json", None).await;

    fixture.app.run_jobs().await;

    let status = fixture.status(person["statusToken"].as_str().expect("a token")).await;
    let tenant = status["tenantId"].as_str().expect("a tenant").to_owned();
    let of_tenant = async |columns: &str, table: &str| {
        let sql = format!("select {columns} from {table} where tenant_id = '{tenant}' order by 1");
        fixture.app.rows(&sql).await
    };
    let organizations = of_tenant("name, slug, parent_id", "directory_organizations").await;
    assert_eq!(
        organizations,
        [json!({"name": "Łódź & Söhne", "slug": "lodz-sohne", "parent_id": null})]
    );
    let users = of_tenant("email, name, is_active, is_confirmed", "auth_users").await;
    assert_eq!(
        users,
        [json!({"email": "new@example.com", "name": "Ann Lee", "is_active": true, "is_confirmed": true})]
    );
    let sql = format!(
        "select r.name from auth_user_roles l join auth_roles r on r.tenant_id = l.role_tenant_id and r.id = l.role_id \
         where l.tenant_id = '{tenant}'"
    );
    assert_eq!(fixture.app.rows(&sql).await, [json!({"name": "admin"})]);
    let consents = of_tenant("consent_type, is_granted, source", "auth_consents").await;
    assert_eq!(
        consents,
        [
            json!({"consent_type": "marketing_email", "is_granted": false, "source": "onboarding"}),
            json!({"consent_type": "terms", "is_granted": true, "source": "onboarding"}),
        ]
    );
    let entries = of_tenant("command_id, resource_kind, touched", "audit_action_logs").await;
    assert_eq!(entries.len(), 1);
    let affected = entries[0]["touched"].as_array().expect("affected resources");
    let mut kinds: Vec<&str> = affected.iter().filter_map(|one| one["kind"].as_str()).collect();
    kinds.sort_unstable();
    assert_eq!(kinds, ["auth.consent", "auth.consent", "auth.user"]);
    assert!(
        affected
            .iter()
            .all(|one| one["before"].is_null() && one["versionAfter"] == 1)
    );
    let sql = "select status, password_hash, ready_email_sent_at is not null as sent from onboarding_requests";
    assert_eq!(
        fixture.app.rows(sql).await,
        [json!({"status": "completed", "password_hash": null, "sent": true})]
    );
}

#[actix_web::test]
async fn later_mails_are_in_the_language_of_the_sign_up() {
    let fixture = Fixture::new().await;
    for (name, locale, locales, subject) in [
        ("first", "pl-PL", json!(["pl", "en", "es", "de"]), "Ustaw nowe hasło"),
        ("second", "de", json!(["de", "en", "pl", "es"]), "Neues Passwort"),
        ("third", "en", Value::Null, "Set a new password"),
        ("fourth", "fr", Value::Null, "Set a new password"),
    ] {
        let email = format!("{name}@example.com");
        let mut submission = body(&email, name);
        submission["locale"] = json!(locale);
        fixture.submit(&submission).await;
        fixture.app.run_jobs().await;
        let token = fixture.mailed_token(&email);
        fixture.open(&token, "application/json", None).await;
        fixture.app.run_jobs().await;
        assert_eq!(fixture.app.mail().take().len(), 1, "the tenant is ready");

        let request = fixture.app.request(actix_web::http::Method::POST, "/auth/reset");
        let response = request.form(&[("email", email.as_str())]).send().await;
        fixture.app.run_jobs().await;

        assert_eq!(response.status, 200, "{}", response.text());
        let sql = format!("select locales from directory_tenants where name = '{name}'");
        assert_eq!(fixture.app.rows(&sql).await, [json!({"locales": locales})], "{locale}");
        let mails = fixture.app.mail().take();
        assert_eq!(mails.len(), 1, "{locale}");
        assert!(mails[0].subject.starts_with(subject), "{}", mails[0].subject);
    }
}

#[actix_web::test]
async fn the_consents_pass_the_check_of_their_integrity() {
    let fixture = Fixture::new().await;
    let (_, token) = fixture.invited("new@example.com", "New").await;
    fixture.open(&token, "application/json", None).await;
    fixture.app.run_jobs().await;
    let form = [("email", "new@example.com"), ("password", crate::fixture::SECRET)];
    let request = fixture.app.request(actix_web::http::Method::POST, "/auth/login");
    let access = request.form(&form).send().await.json()["token"].clone();

    let (status, body) = fixture
        .app
        .get(access.as_str().expect("a token"), "/auth/profile/consents")
        .await;

    assert_eq!(status, 200, "{body}");
    let items = body["items"].as_array().expect("consents");
    assert_eq!(items.len(), 2);
    assert!(items.iter().all(|item| item["integrityVerified"] == true), "{body}");
}

#[actix_web::test]
async fn an_account_that_was_created_meanwhile_ends_the_request() {
    let fixture = Fixture::new().await;
    let (person, token) = fixture.invited("new@example.com", "New").await;
    fixture.user("new@example.com", &["employee"]).await;

    assert_eq!(fixture.open(&token, "application/json", None).await.status, 200);
    fixture.app.run_jobs().await;

    assert_eq!(fixture.tenants("New").await, 0);
    assert_eq!(fixture.status(&person.status_token).await["status"], "expired");
    let mails = fixture.app.mail().take();
    assert_eq!(mails.len(), 1);
    assert_eq!(mails[0].subject, "You already have an account");
}

#[actix_web::test]
async fn a_request_of_an_address_with_an_account_expires_before_its_mail_is_sent() {
    let fixture = Fixture::new().await;
    let (person, token) = fixture.invited("new@example.com", "New").await;
    fixture.user("new@example.com", &["employee"]).await;
    fixture.open(&token, "application/json", None).await;
    fixture.app.mail().reject(true);

    fixture.app.run_jobs().await;

    assert_eq!(fixture.status(&person.status_token).await["status"], "expired");
    fixture.app.mail().reject(false);
    fixture.app.advance(Duration::minutes(1));
    fixture.app.run_jobs().await;
    let mails = fixture.app.mail().take();
    assert_eq!(mails.len(), 1);
    assert_eq!(
        (mails[0].to.as_str(), mails[0].subject.as_str()),
        ("new@example.com", "You already have an account")
    );
}

#[actix_web::test]
async fn onb_8_a_tenant_that_can_not_be_created_fails() {
    let fixture = Fixture::new().await;
    let (person, token) = fixture.invited("new@example.com", "New").await;
    fixture
        .app
        .sql("alter table directory_tenants add constraint no_new_tenant check (name <> 'New') not valid")
        .await;
    fixture.open(&token, "application/json", None).await;
    for _ in 0..12 {
        fixture.app.run_jobs().await;
        fixture.app.advance(Duration::minutes(11));
    }

    let status = fixture.status(&person.status_token).await;

    assert_eq!(
        (&status["status"], &status["tenantId"]),
        (&json!("failed"), &Value::Null)
    );
    assert_eq!(fixture.tenants("New").await, 0);
    assert_eq!(
        fixture
            .app
            .count("onboarding_requests where password_hash is not null")
            .await,
        0
    );
    assert_eq!(fixture.app.mail().take(), []);
}

#[actix_web::test]
async fn onb_2_a_tenant_has_the_roles_of_the_enabled_modules() {
    let fixture = Fixture::with_modules(&[&backoffice_access::MODULE]).await;
    let person = fixture.submit(&body("new@example.com", "New")).await.json();
    fixture.app.run_jobs().await;
    let token = fixture.mailed_token("new@example.com");
    fixture.open(&token, "application/json", None).await;

    fixture.app.run_jobs().await;

    let status = fixture.status(person["statusToken"].as_str().expect("a token")).await;
    let tenant = status["tenantId"].as_str().expect("a tenant");
    let roles = format!("select name, seeded_as from auth_roles where tenant_id = '{tenant}' order by name");
    let seeded = ["admin", "dispatcher", "employee", "viewer"];
    assert_eq!(
        fixture.app.rows(&roles).await,
        seeded.map(|name| json!({"name": name, "seeded_as": name}))
    );
    let grants = format!(
        "select a.features from auth_roles r join auth_role_acls a on a.tenant_id = r.tenant_id and a.role_id = r.id \
         where r.tenant_id = '{tenant}' and r.name = 'dispatcher'"
    );
    let granted = &fixture.app.rows(&grants).await[0]["features"];
    assert!(
        granted
            .as_array()
            .expect("a list")
            .contains(&json!("access.users.view")),
        "{granted}"
    );
}

#[actix_web::test]
async fn a_dead_job_completes_the_request_of_a_tenant_that_exists() {
    let fixture = Fixture::new().await;

    let person = fixture.dead_after_creation("new@example.com", "New").await;

    let jobs = "select state from core_jobs where kind = 'onboarding.request.provision'";
    assert_eq!(fixture.app.rows(jobs).await, [json!({"state": "dead"})]);
    assert_eq!(fixture.tenants("New").await, 1);
    let status = fixture.status(&person.status_token).await;
    assert_eq!(
        (&status["status"], &status["ready"]),
        (&json!("completed"), &json!(true)),
        "{status}"
    );
    assert!(
        status["tenantId"].is_string() && status["loginUrl"].is_string(),
        "{status}"
    );
    let stored = "select password_hash, ended_at is not null as ended, ready_email_sent_at is not null as sent from onboarding_requests";
    assert_eq!(
        fixture.app.rows(stored).await,
        [json!({"password_hash": null, "ended": true, "sent": true})]
    );
    let mails = fixture.app.mail().take();
    assert_eq!((mails.len(), mails[0].subject.as_str()), (1, "New is ready"));
    let form = [("email", "new@example.com"), ("password", crate::fixture::SECRET)];
    let request = fixture.app.request(actix_web::http::Method::POST, "/auth/login");
    assert_eq!(request.form(&form).send().await.status, 200);
}

#[actix_web::test]
async fn a_dead_job_is_logged_and_counted() {
    let logs = Logs::default();
    let writer = logs.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::ERROR)
        .with_writer(move || writer.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let recorder = metrics_exporter_prometheus::PrometheusBuilder::new().build_recorder();
    let counted = recorder.handle();
    metrics::set_global_recorder(recorder).expect("the only recorder of this process");
    let fixture = Fixture::new().await;

    fixture.dead_after_creation("new@example.com", "New").await;

    let logs = logs.text();
    assert_eq!(
        logs.matches("provisioning failed after the tenant was created").count(),
        1,
        "{logs}"
    );
    let counted = counted.render();
    assert!(counted.contains("onboarding_failed_total 1"), "{counted}");
}
