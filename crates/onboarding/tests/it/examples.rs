//! Example records of new tenants.

use backoffice_core::examples::Examples;
use backoffice_core::{Module, Rejection};
use backoffice_test_accounts::NO_LIMITS;
use serde_json::{Value, json};

use crate::fixture::{Fixture, MODULES, SITE, body};

const WITH_EXAMPLES: [&Module; 8] = [
    &backoffice_api_keys::MODULE,
    &backoffice_notifications::MODULE,
    &backoffice_progress::MODULE,
    &backoffice_calendar::MODULE,
    &FAILING,
    &backoffice_customers::MODULE,
    &backoffice_catalog::MODULE,
    &backoffice_dispatch::MODULE,
];

/// A module whose examples can't be created.
static FAILING: Module = Module {
    name: "failing",
    title: "Failing",
    register: |registry| {
        registry.extend(Examples {
            module: "failing",
            create: |_, _| Box::pin(async { Err(Rejection::conflict("never").into()) }),
        });
    },
    ..Module::EMPTY
};

async fn fixture(examples: bool) -> Fixture {
    let config = format!("{NO_LIMITS}{SITE}[onboarding]\nexamples = {examples}\n");
    Fixture::with_all(&[&MODULES[..], &WITH_EXAMPLES].concat(), &config).await
}

/// Signs up in Polish and returns the tenant.
async fn sign_up(fixture: &Fixture) -> String {
    let mut submission = body("new@example.com", "New");
    submission["locale"] = json!("pl");
    let person = fixture.submit(&submission).await.json();
    fixture.app.run_jobs().await;
    let token = fixture.mailed_token("new@example.com");
    fixture.open(&token, "application/json", None).await;
    fixture.app.run_jobs().await;
    let status = fixture.status(person["statusToken"].as_str().expect("a token")).await;
    assert_eq!(status["status"], "completed");
    status["tenantId"].as_str().expect("a tenant").to_owned()
}

async fn names(fixture: &Fixture, tenant: &str, table: &str, column: &str) -> Vec<Value> {
    let sql = format!("select {column} as name from {table} where tenant_id = '{tenant}'");
    let rows = fixture.app.rows(&sql).await;
    rows.into_iter().map(|row| row["name"].clone()).collect()
}

const EXAMPLES: [(&str, &str, &str); 8] = [
    ("customers_companies", "display_name", "Przykładowa firma"),
    ("customers_people", "display_name", "Anna Przykład"),
    ("customers_deals", "title", "Przykładowa transakcja"),
    ("catalog_categories", "name", "Przykłady"),
    ("catalog_products", "title", "Przykładowy produkt"),
    ("dispatch_job_sites", "name", "Przykładowa budowa"),
    ("dispatch_resources", "name", "Przykładowa koparka"),
    ("dispatch_assignments", "status", "planned"),
];

#[actix_web::test]
async fn a_new_tenant_gets_the_examples_of_every_module_and_a_failure_is_skipped() {
    let fixture = fixture(true).await;

    let tenant = sign_up(&fixture).await;

    for (table, column, name) in EXAMPLES {
        assert_eq!(names(&fixture, &tenant, table, column).await, [json!(name)], "{table}");
    }
    let sql = format!(
        "select distinct actor_id, source from audit_action_logs where tenant_id = '{tenant}' and command_id <> 'onboarding.workspace.create'"
    );
    assert_eq!(
        fixture.app.rows(&sql).await,
        [json!({"actor_id": null, "source": "system"})]
    );
}

#[actix_web::test]
async fn without_the_setting_a_new_tenant_has_no_examples() {
    let fixture = fixture(false).await;

    let tenant = sign_up(&fixture).await;

    for (table, column, _) in EXAMPLES {
        assert_eq!(
            names(&fixture, &tenant, table, column).await,
            [] as [Value; 0],
            "{table}"
        );
    }
}
