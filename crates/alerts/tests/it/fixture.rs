//! Two tenants. The organization of Alpha is in Warsaw and works from Monday to Friday; it has two job sites and an excavator. D dispatches, V views.
//! It is Monday, 2026-01-05T08:00Z.

use std::ops::Deref;

use actix_web::http::Method;
use backoffice_core::jobs::enqueue_due;
use backoffice_core::{Call, Module, Timestamp};
use backoffice_test_accounts::{CONFIG, NO_LIMITS, TwoTenants, login};
use backoffice_test_support::{Duration, TestApp, TestAppBuilder, TestResponse};
use serde_json::{Value, json};
use uuid::Uuid;

pub(crate) const ALERTS: &str = "/alerts/alerts";
pub(crate) const JOB_SITES: &str = "/dispatch/job-sites";
pub(crate) const RESOURCES: &str = "/dispatch/resources";
pub(crate) const ASSIGNMENTS: &str = "/dispatch/assignments";
pub(crate) const BULK: &str = "/dispatch/assignments/bulk";
pub(crate) const WINDOWS: &str = "/calendar/availability-windows";
pub(crate) const CALENDAR: &str = "/calendar/working-calendar";

const MODULES: [&Module; 8] = [
    &backoffice_directory::MODULE,
    &backoffice_auth::MODULE,
    &backoffice_audit_logs::MODULE,
    &backoffice_calendar::MODULE,
    &backoffice_notifications::MODULE,
    &backoffice_progress::MODULE,
    &backoffice_dispatch::MODULE,
    &backoffice_alerts::MODULE,
];

/// A user of Alpha.
pub(crate) struct Person {
    pub(crate) id: Uuid,
    pub(crate) token: String,
}

pub(crate) struct Fixture {
    tenants: TwoTenants,
    pub(crate) d: Person,
    pub(crate) v: Person,
    pub(crate) s1: Uuid,
    pub(crate) s2: Uuid,
    pub(crate) e1: Uuid,
}

impl Deref for Fixture {
    type Target = TwoTenants;

    fn deref(&self) -> &TwoTenants {
        &self.tenants
    }
}

pub(crate) fn builder() -> TestAppBuilder {
    TestApp::builder(&MODULES)
        .config(CONFIG)
        .config(NO_LIMITS)
        .starting_at(instant("2026-01-05T08:00:00Z"))
}

pub(crate) fn instant(text: &str) -> Timestamp {
    Timestamp::parse(text).expect("an instant")
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        Self::with(builder()).await
    }

    pub(crate) async fn with(builder: TestAppBuilder) -> Self {
        let tenants = TwoTenants::inside(builder.build().await).await;
        let dispatcher = [
            "alerts.view",
            "alerts.manage",
            "calendar.*",
            "dispatch.*",
            "audit_logs.*",
        ];
        tenants.role("D", &dispatcher, None).await;
        tenants.role("V", &["alerts.view", "dispatch.view"], None).await;
        let person = |(id, token)| Person { id, token };
        let d = person(tenants.user("d@alpha.test", &["D"]).await);
        let v = person(tenants.user("v@alpha.test", &["V"]).await);
        let nil = Uuid::nil();
        let mut fixture = Self {
            tenants,
            d,
            v,
            s1: nil,
            s2: nil,
            e1: nil,
        };
        fixture.fill().await;
        fixture
    }

    async fn fill(&mut self) {
        self.calendar(&["sat", "sun"]).await;
        self.s1 = self.create(JOB_SITES, json!({"name": "S1"})).await;
        self.s2 = self.create(JOB_SITES, json!({"name": "S2"})).await;
        self.e1 = self.resource("E1").await;
    }

    /// Empties the tables of dispatch, calendar and alerts, and begins again at this time. Users stay, and sign in.
    pub(crate) async fn restart(&mut self, start: Timestamp) {
        let emptied =
            "do $$ begin execute (select 'truncate ' || string_agg(quote_ident(tablename), ', ') from pg_tables
                where tablename ~ '^(alerts|calendar|dispatch)_' or tablename = 'core_jobs'); end $$;
            update core_collections set version = version + 1";
        self.app.sql(emptied).await;
        self.app.clock().set(start);
        self.tenants.a.token = login(&self.tenants.app, "admin@alpha.test").await;
        self.d.token = login(&self.tenants.app, "d@alpha.test").await;
        self.v.token = login(&self.tenants.app, "v@alpha.test").await;
        self.fill().await;
    }

    /// Replaces the working calendar of Alpha.
    pub(crate) async fn calendar(&self, off: &[&str]) -> TestResponse {
        let body = json!({"timeZone": "Europe/Warsaw", "offWeekdays": off, "holidays": []});
        let response = self.app.send(&self.a.token, Method::PUT, CALENDAR, body).await;
        assert_eq!(response.status, 200, "{}", response.text());
        response
    }

    pub(crate) async fn resource(&self, name: &str) -> Uuid {
        self.create(RESOURCES, json!({"type": "equipment", "name": name})).await
    }

    /// Returns the body of an assignment of the excavator. Times are `06T08`, or with minutes `06T08:30`, in January 2026.
    pub(crate) fn at(&self, site: Uuid, from: &str, to: &str) -> Value {
        json!({"jobSiteId": site, "subjectType": "equipment", "subjectId": self.e1, "startAt": time(from), "endAt": time(to)})
    }

    /// Creates an assignment of the excavator on the first job site, a minute later.
    pub(crate) async fn assign(&self, from: &str, to: &str) -> Uuid {
        self.app.advance(Duration::MINUTE);
        self.create(ASSIGNMENTS, self.at(self.s1, from, to)).await
    }

    /// Changes a record as the administrator, a minute later.
    pub(crate) async fn change(&self, path: &str, id: Uuid, body: Value) -> TestResponse {
        self.app.advance(Duration::MINUTE);
        let response = self
            .app
            .send(&self.a.token, Method::PUT, &format!("{path}/{id}"), body)
            .await;
        assert_eq!(response.status, 200, "{path}: {}", response.text());
        response
    }

    /// Deletes a record as the administrator, a minute later.
    pub(crate) async fn remove(&self, path: &str, id: Uuid) -> TestResponse {
        self.app.advance(Duration::MINUTE);
        let path = format!("{path}/{id}");
        let response = self.app.send(&self.a.token, Method::DELETE, &path, Value::Null).await;
        assert_eq!(response.status, 200, "{path}: {}", response.text());
        response
    }

    /// Undoes what the response is about, a minute later.
    pub(crate) async fn undo(&self, token: &str, of: &TestResponse) -> (u16, Value) {
        self.app.advance(Duration::MINUTE);
        self.app.undo(token, of).await
    }

    /// Redoes what the command of the response has done, after it was undone.
    pub(crate) async fn redo(&self, token: &str, of: &TestResponse) -> (u16, Value) {
        self.app.advance(Duration::MINUTE);
        self.app.redo(token, of).await
    }

    /// Returns the page of alerts of a path with its query, as the user sees it.
    pub(crate) async fn page(&self, token: &str, query: &str) -> Value {
        self.app.read(token, &format!("{ALERTS}{query}")).await
    }

    /// Returns the open alerts as D sees them.
    pub(crate) async fn open(&self) -> Vec<Value> {
        let page = self.page(&self.d.token, "?pageSize=100").await;
        page["items"].as_array().expect("items").clone()
    }

    /// Returns the open alerts of all pages; their number is the total.
    pub(crate) async fn all_open(&self, token: &str) -> Vec<Value> {
        let mut all = Vec::new();
        for page in 1.. {
            let page = self.page(token, &format!("?pageSize=100&page={page}")).await;
            let items = page["items"].as_array().expect("items");
            all.extend_from_slice(items);
            if items.is_empty() {
                assert_eq!(page["total"], all.len(), "the number of open alerts");
                break;
            }
        }
        all
    }

    /// Returns the only open alert.
    pub(crate) async fn only(&self) -> Value {
        let mut open = self.open().await;
        assert_eq!(open.len(), 1, "{open:?}");
        open.remove(0)
    }

    /// Returns kinds and assignments of the open alerts, sorted.
    pub(crate) async fn conflicts(&self) -> Vec<(String, Vec<Uuid>)> {
        let mut all: Vec<_> = self
            .open()
            .await
            .iter()
            .map(|one| (text(&one["kind"]), assignments(one)))
            .collect();
        all.sort();
        all
    }

    pub(crate) async fn item(&self, token: &str, alert: &Value) -> Value {
        let path = format!("{ALERTS}/{}", text(&alert["alertId"]));
        self.app.read(token, &path).await
    }

    /// Sends a request about an alert.
    pub(crate) async fn about(
        &self,
        token: &str,
        method: Method,
        alert: &Value,
        action: &str,
        body: Value,
    ) -> TestResponse {
        let path = format!("{ALERTS}/{}/{action}", text(&alert["alertId"]));
        self.app.send(token, method, &path, body).await
    }

    pub(crate) async fn read(&self, token: &str, alert: &Value) {
        let response = self.about(token, Method::POST, alert, "read", Value::Null).await;
        assert_eq!(response.status, 200, "{}", response.text());
        assert_eq!(response.json(), json!({"id": alert["alertId"], "read": true}));
    }

    /// Lets the schedules that are due run.
    pub(crate) async fn run_schedules(&self) {
        let due = enqueue_due(&Call::internal(self.app.runtime())).await;
        due.expect("the database can be read");
        self.app.run_jobs().await;
    }

    /// Returns the notifications of a user, the newest first.
    pub(crate) async fn notifications(&self, token: &str) -> Vec<Value> {
        self.app.deliver_events().await;
        self.app.run_jobs().await;
        let page = self.app.read(token, "/notifications?pageSize=100").await;
        page["items"].as_array().expect("items").clone()
    }

    /// Checks that a recomputation of everything would change nothing.
    pub(crate) async fn assert_no_difference(&self) {
        let call = Call::internal(self.app.runtime());
        let all = backoffice_alerts::recompute_all(&call, None)
            .await
            .expect("the database can be reached");
        assert_eq!(all.differences, 0);
    }
}

/// Writes `06T08:30` as an instant of January 2026.
pub(crate) fn time(short: &str) -> String {
    let minutes = if short.len() == 5 { ":00" } else { "" };
    format!("2026-01-{short}{minutes}:00Z")
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

/// Returns the assignments of an alert.
pub(crate) fn assignments(alert: &Value) -> Vec<Uuid> {
    let ids = alert["conflictingAssignmentIds"].as_array().expect("ids").iter();
    ids.map(|id| id.as_str().expect("an id").parse().expect("a UUID"))
        .collect()
}

/// Returns the names of the job sites of an alert.
pub(crate) fn sites(alert: &Value) -> Vec<String> {
    let sites = alert["jobSites"].as_array().expect("sites").iter();
    sites.map(|site| text(&site["name"])).collect()
}
