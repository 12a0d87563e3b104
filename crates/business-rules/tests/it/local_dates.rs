//! `{{localToday}}`: the date in the zone of the record's organization.

use backoffice_core::Module;
use backoffice_test_accounts::{CONFIG, NO_LIMITS, TwoTenants};
use backoffice_test_support::TestApp;
use serde_json::{Value, json};

use crate::fixture::{EXECUTE, MODULES, RULES, rule, with};

/// Eleven hours behind UTC: at 08:00Z its date is that of the day before.
const ZONE: &str = "Pacific/Pago_Pago";

async fn fixture(modules: &[&'static Module]) -> TwoTenants {
    let app = TestApp::builder(modules).config(CONFIG).config(NO_LIMITS);
    TwoTenants::inside(app.build().await).await
}

async fn with_calendar() -> TwoTenants {
    let mut modules = MODULES.to_vec();
    modules.push(&backoffice_calendar::MODULE);
    let fixture = fixture(&modules).await;
    let calendar = json!({"timeZone": ZONE, "offWeekdays": [], "holidays": []});
    let (status, body) = fixture
        .app
        .put(&fixture.a.token, "/calendar/working-calendar", calendar)
        .await;
    assert_eq!(status, 200, "{body}");
    fixture
}

fn is_local_today() -> Value {
    json!({"conditionExpression": {"field": "day", "operator": "=", "value": "{{localToday}}"}})
}

async fn holds(fixture: &TwoTenants, day: &str) -> Value {
    let body = json!({"entityType": "customers.company", "data": {"day": day}});
    let (status, body) = fixture.app.post(&fixture.a.token, EXECUTE, body).await;
    assert_eq!(status, 200, "{body}");
    body["executedRules"][0]["conditionResult"].clone()
}

/// Returns the UTC date of the clock, and the day before.
fn days(fixture: &TwoTenants) -> (String, String) {
    let now = fixture.app.now();
    let day = |instant: backoffice_core::Timestamp| instant.get().date().to_string();
    (day(now), day(now.before(time::Duration::DAY)))
}

#[actix_web::test]
async fn the_local_date_is_that_of_the_organizations_zone() {
    let fixture = with_calendar().await;
    let (today, yesterday) = days(&fixture);
    let body = with(rule("local", "ACTION", "customers.company"), is_local_today());
    fixture.create(RULES, body).await;

    assert_eq!(holds(&fixture, &yesterday).await, true);
    assert_eq!(holds(&fixture, &today).await, false);
}

#[actix_web::test]
async fn a_guard_knows_the_local_date() {
    let fixture = with_calendar().await;
    let (today, yesterday) = days(&fixture);
    let is_name = json!({"conditionExpression": {"field": "displayName", "operator": "=", "value": "{{localToday}}"}});
    let body = with(rule("local", "GUARD", "customers.company"), is_name);
    fixture.create(RULES, body).await;

    let company = |name: &str| json!({"displayName": name});
    let (of_today, _) = fixture
        .app
        .post(&fixture.a.token, "/customers/companies", company(&today))
        .await;
    let (of_yesterday, _) = fixture
        .app
        .post(&fixture.a.token, "/customers/companies", company(&yesterday))
        .await;

    assert_eq!((of_today, of_yesterday), (422, 201));
}

#[actix_web::test]
async fn without_the_calendar_the_local_date_is_that_of_utc() {
    let fixture = fixture(&MODULES).await;
    let (today, yesterday) = days(&fixture);
    let body = with(rule("local", "ACTION", "customers.company"), is_local_today());
    fixture.create(RULES, body).await;

    assert_eq!(holds(&fixture, &today).await, true);
    assert_eq!(holds(&fixture, &yesterday).await, false);
}
