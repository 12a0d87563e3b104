//! Two tenants. The organization of Alpha is in Warsaw, and has two job sites and an excavator. It is Monday, 2026-01-05T08:00Z.

use std::ops::Deref;

use backoffice_core::{Module, Timestamp};
use backoffice_dispatch::MODULE;
use backoffice_test_accounts::{CONFIG, NO_LIMITS, TwoTenants, id_of};
use backoffice_test_support::{TestApp, TestAppBuilder, details};
use serde_json::{Value, json};
use uuid::Uuid;

pub(crate) const JOB_SITES: &str = "/dispatch/job-sites";
pub(crate) const RESOURCES: &str = "/dispatch/resources";
pub(crate) const ASSIGNMENTS: &str = "/dispatch/assignments";
pub(crate) const BULK: &str = "/dispatch/assignments/bulk";
pub(crate) const CHECK: &str = "/dispatch/assignments/check";

pub(crate) const MODULES: [&Module; 7] = [
    &backoffice_directory::MODULE,
    &backoffice_auth::MODULE,
    &backoffice_audit_logs::MODULE,
    &backoffice_calendar::MODULE,
    &backoffice_notifications::MODULE,
    &backoffice_progress::MODULE,
    &MODULE,
];

pub(crate) struct Fixture {
    tenants: TwoTenants,
    /// The first job site.
    pub(crate) s1: Uuid,
    /// The second job site.
    pub(crate) s2: Uuid,
    /// The excavator.
    pub(crate) e1: Uuid,
}

impl Deref for Fixture {
    type Target = TwoTenants;

    fn deref(&self) -> &TwoTenants {
        &self.tenants
    }
}

pub(crate) fn builder() -> TestAppBuilder {
    let start = Timestamp::parse("2026-01-05T08:00:00Z").expect("an instant");
    TestApp::builder(&MODULES)
        .config(CONFIG)
        .config(NO_LIMITS)
        .starting_at(start)
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        Self::of(builder()).await
    }

    pub(crate) async fn of(builder: TestAppBuilder) -> Self {
        let tenants = TwoTenants::inside(builder.build().await).await;
        let mut fixture = Self {
            tenants,
            s1: Uuid::nil(),
            s2: Uuid::nil(),
            e1: Uuid::nil(),
        };
        fixture.zone(fixture.a.organization, "Europe/Warsaw").await;
        fixture.s1 = fixture.create(JOB_SITES, json!({"name": "S1"})).await;
        fixture.s2 = fixture.create(JOB_SITES, json!({"name": "S2"})).await;
        fixture.e1 = fixture
            .create(RESOURCES, json!({"type": "equipment", "name": "E1"}))
            .await;
        fixture
    }

    /// Sets the zone of an organization of Alpha, bypassing the calendar's command.
    pub(crate) async fn zone(&self, organization: Uuid, zone: &str) {
        let sql = format!(
            "insert into calendar_working_calendars
                (tenant_id, id, organization_id, time_zone, off_weekdays, created_at, updated_at)
             values ('{}', '{organization}', '{organization}', '{zone}', '{{sat,sun}}', now(), now())",
            self.a.id
        );
        assert_eq!(self.app.sql(&sql).await, 1);
    }

    /// Inserts an unavailability window of the excavator.
    pub(crate) async fn window(&self, start: &str, end: &str) -> Uuid {
        let id = self.app.system_context().new_id();
        let sql = format!(
            "insert into calendar_windows (tenant_id, id, organization_id, resource_type, resource_id, start_date,
                end_date_exclusive, start_at, end_at, reason_code, is_exception, created_at, updated_at)
             values ('{}', '{id}', '{}', 'equipment', '{}', '{}', '{}', '{start}', '{end}', 'other', false, now(), now())",
            self.a.id,
            self.a.organization,
            self.e1,
            &start[..10],
            &end[..10],
        );
        assert_eq!(self.app.sql(&sql).await, 1);
        id
    }

    /// Returns the body of an assignment of the excavator to the first job site, at hours of 2026-01-06 in UTC.
    pub(crate) fn at(&self, from: &str, to: &str) -> Value {
        let instant = |hour: &str| format!("2026-01-06T{hour}:00Z");
        json!({"jobSiteId": self.s1, "subjectType": "equipment", "subjectId": self.e1,
            "startAt": instant(from), "endAt": instant(to)})
    }

    /// Creates an assignment of the excavator to the first job site.
    pub(crate) async fn assign(&self, from: &str, to: &str) -> Uuid {
        self.create(ASSIGNMENTS, self.at(from, to)).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> (u16, Value) {
        self.app.post(&self.a.token, path, body).await
    }

    pub(crate) async fn put(&self, path: &str, id: Uuid, body: Value) -> (u16, Value) {
        self.app.put(&self.a.token, &format!("{path}/{id}"), body).await
    }

    pub(crate) async fn remove(&self, path: &str, id: Uuid) -> (u16, Value) {
        self.app
            .delete(&self.a.token, &format!("{path}/{id}"), Value::Null)
            .await
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        self.app.read(&self.a.token, path).await
    }

    pub(crate) async fn item(&self, path: &str, id: Uuid) -> Value {
        self.get(&format!("{path}/{id}")).await
    }

    /// Returns the ids of a list, in its order.
    pub(crate) async fn listed(&self, path: &str) -> Vec<Uuid> {
        let page = self.get(path).await;
        page["items"].as_array().expect("items").iter().map(id_of).collect()
    }
}

/// Returns the code of a rejection, and path and code of every violated rule.
pub(crate) fn codes(body: &Value) -> (&str, Vec<(&str, &str)>) {
    (body["code"].as_str().unwrap_or_default(), details(body))
}
