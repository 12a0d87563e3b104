//! Random steps.

use actix_web::http::Method;
use backoffice_test_accounts::login;
use backoffice_test_support::{Duration, REDO, TestResponse, UNDO};
use serde_json::{Value, json};
use uuid::Uuid;

use super::Random;
use crate::fixture::{ASSIGNMENTS, BULK, CALENDAR, Fixture, JOB_SITES, RESOURCES, WINDOWS};

const CALLERS: [&str; 4] = ["admin@alpha.test", "d@alpha.test", "x@alpha.test", "y@alpha.test"];
/// Zones whose clocks change, at midnight or by half an hour.
const ZONES: [&str; 4] = ["Europe/Warsaw", "America/Havana", "Australia/Lord_Howe", "UTC"];

/// What a step has done: method, path, status.
pub(super) type Done = (Method, String, u16);

/// A history in progress.
pub(super) struct History<'f> {
    fixture: &'f Fixture,
    random: Random,
    tokens: Vec<String>,
    subjects: Vec<Uuid>,
    sites: Vec<Uuid>,
    /// Assignments and windows that were created, deleted ones included.
    assignments: Vec<Uuid>,
    windows: Vec<Uuid>,
    /// Callers and operations.
    undoable: Vec<(usize, Value)>,
    undone: Vec<(usize, Value)>,
}

impl<'f> History<'f> {
    /// Creates the callers that the fixture lacks.
    pub(super) async fn create_callers(fixture: &Fixture) {
        for email in &CALLERS[2..] {
            fixture.user(email, &["D"]).await;
        }
    }

    pub(super) async fn new(fixture: &'f Fixture, random: Random) -> Self {
        let mut history = Self {
            fixture,
            random,
            tokens: Vec::new(),
            subjects: vec![fixture.e1],
            sites: vec![fixture.s1, fixture.s2],
            assignments: Vec::new(),
            windows: Vec::new(),
            undoable: Vec::new(),
            undone: Vec::new(),
        };
        for number in 2..=5 {
            history.subjects.push(fixture.resource(&format!("E{number}")).await);
        }
        history
            .sites
            .push(fixture.create(JOB_SITES, json!({"name": "S3"})).await);
        history.sign_in().await;
        history
    }

    /// Returns the token of the administrator.
    pub(super) fn token(&self) -> &str {
        &self.tokens[0]
    }

    async fn sign_in(&mut self) {
        self.tokens.clear();
        for email in CALLERS {
            self.tokens.push(login(&self.fixture.app, email).await);
        }
    }

    /// Makes a random step.
    pub(super) async fn step(&mut self) -> Done {
        match self.random.below(20) {
            0..=4 => {
                let body = self.assignment();
                self.create(ASSIGNMENTS, body).await
            }
            5 => {
                let items: Vec<Value> = (0..=self.random.below(8)).map(|_| self.assignment()).collect();
                self.create(BULK, json!({ "items": items })).await
            }
            6 | 7 => self.change_assignment().await,
            8 => self.delete(ASSIGNMENTS, self.assignments.clone()).await,
            9 => self.bulk_update().await,
            10 | 11 => {
                let body = self.window();
                self.create(WINDOWS, body).await
            }
            12 => self.change_window().await,
            13 => self.change_resource().await,
            14 => self.change_site().await,
            15 => self.replace_calendar().await,
            16 | 17 => self.undo().await,
            18 => self.redo().await,
            _ => self.wait().await,
        }
    }

    /// An instant within four days, on the half hour.
    fn instant(&mut self) -> backoffice_core::Timestamp {
        let half_hours = i64::try_from(self.random.below(200)).expect("a small number") - 8;
        self.fixture.app.now().after(Duration::minutes(30 * half_hours))
    }

    fn day(&mut self, from: usize, days: usize) -> String {
        let offset = i64::try_from(from + self.random.below(days)).expect("a small number");
        self.fixture.app.now().after(Duration::days(offset)).to_string()[..10].to_owned()
    }

    fn assignment(&mut self) -> Value {
        let mut body = json!({"jobSiteId": self.random.one(&self.sites), "subjectType": "equipment",
            "subjectId": self.random.one(&self.subjects)});
        self.add_time(&mut body);
        body
    }

    fn add_time(&mut self, body: &mut Value) {
        if self.random.below(3) == 0 {
            body["startDate"] = json!(self.day(0, 3));
            body["endDateExclusive"] = json!(self.day(3, 2));
        } else {
            let start = self.instant();
            let minutes = i64::try_from(30 * (1 + self.random.below(40))).expect("a small number");
            body["startAt"] = json!(start);
            body["endAt"] = json!(start.after(Duration::minutes(minutes)));
        }
    }

    fn window(&mut self) -> Value {
        json!({"resourceType": "equipment", "resourceId": self.random.one(&self.subjects), "startDate": self.day(0, 3),
            "endDateExclusive": self.day(3, 3), "reasonCode": "maintenance"})
    }

    async fn send(&mut self, method: Method, path: &str, body: Value) -> (Done, TestResponse) {
        let caller = self.random.below(CALLERS.len());
        self.send_as(caller, method, path, body).await
    }

    async fn send_as(&mut self, caller: usize, method: Method, path: &str, body: Value) -> (Done, TestResponse) {
        self.fixture.app.advance(Duration::SECOND);
        let response = self
            .fixture
            .app
            .send(&self.tokens[caller], method.clone(), path, body.clone())
            .await;
        assert!(
            response.status < 500 && response.status != 401 && response.status != 403,
            "{method} {path} {body}: {}",
            response.text()
        );
        if let Some(operation) = response.operation() {
            self.undoable.push((caller, operation));
        }
        ((method, format!("{path} {body}"), response.status), response)
    }

    async fn create(&mut self, path: &str, body: Value) -> Done {
        let (done, response) = self.send(Method::POST, path, body).await;
        let written = response.json();
        let ids = written["ids"]
            .as_array()
            .cloned()
            .unwrap_or_else(|| vec![written["id"].clone()]);
        let ids = ids.iter().filter_map(|id| id.as_str()?.parse::<Uuid>().ok());
        match path {
            WINDOWS => self.windows.extend(ids),
            _ => self.assignments.extend(ids),
        }
        done
    }

    async fn put(&mut self, path: &str, ids: &[Uuid], body: Value) -> Done {
        if ids.is_empty() {
            return self.wait().await;
        }
        let path = format!("{path}/{}", self.random.one(ids));
        self.send(Method::PUT, &path, body).await.0
    }

    async fn delete(&mut self, path: &str, ids: Vec<Uuid>) -> Done {
        if ids.is_empty() {
            return self.wait().await;
        }
        let path = format!("{path}/{}", self.random.one(&ids));
        self.send(Method::DELETE, &path, Value::Null).await.0
    }

    async fn change_assignment(&mut self) -> Done {
        let mut body = json!({});
        match self.random.below(4) {
            0 => body["status"] = json!(self.random.one(&["planned", "confirmed", "cancelled", "completed"])),
            1 => body["jobSiteId"] = json!(self.random.one(&self.sites)),
            2 => body["subjectId"] = json!(self.random.one(&self.subjects)),
            _ => self.add_time(&mut body),
        }
        let ids = self.assignments.clone();
        self.put(ASSIGNMENTS, &ids, body).await
    }

    async fn change_window(&mut self) -> Done {
        let ids = self.windows.clone();
        match self.random.below(3) {
            0 => self.delete(WINDOWS, ids).await,
            1 => {
                let body = json!({"resourceId": self.random.one(&self.subjects)});
                self.put(WINDOWS, &ids, body).await
            }
            _ => {
                let body = json!({"startDate": self.day(0, 3), "endDateExclusive": self.day(3, 3)});
                self.put(WINDOWS, &ids, body).await
            }
        }
    }

    async fn change_resource(&mut self) -> Done {
        let ids = self.subjects.clone();
        match self.random.below(6) {
            0 => self.delete(RESOURCES, ids).await,
            1..=3 => self.put(RESOURCES, &ids, json!({"isActive": true})).await,
            _ => self.put(RESOURCES, &ids, json!({"isActive": false})).await,
        }
    }

    async fn change_site(&mut self) -> Done {
        let ids = self.sites.clone();
        let body = match self.random.below(5) {
            0 => return self.delete(JOB_SITES, ids).await,
            1 => json!({"status": "closed"}),
            2 => json!({"startDate": self.day(0, 3), "endDateExclusive": self.day(3, 3)}),
            _ => json!({"status": "active", "startDate": null, "endDateExclusive": null}),
        };
        self.put(JOB_SITES, &ids, body).await
    }

    async fn replace_calendar(&mut self) -> Done {
        let holidays: Vec<Value> = match self.random.below(2) {
            0 => Vec::new(),
            _ => vec![json!({"date": self.day(0, 4)})],
        };
        let off = self.random.one(&[
            vec!["sat", "sun"],
            vec!["sun"],
            vec!["fri", "sat", "sun", "mon"],
            vec![],
        ]);
        let body = json!({"timeZone": self.random.one(&ZONES), "offWeekdays": off, "holidays": holidays});
        self.send(Method::PUT, CALENDAR, body).await.0
    }

    async fn bulk_update(&mut self) -> Done {
        let mut ids: Vec<Uuid> = self.assignments.clone();
        ids.retain(|_| self.random.below(2) == 0);
        if ids.is_empty() {
            return self.wait().await;
        }
        let body = match self.random.below(3) {
            0 => {
                json!({"ids": ids, "shiftMinutes": 60 * i64::try_from(self.random.below(9)).expect("a small number") - 240})
            }
            1 => json!({"ids": ids, "status": self.random.one(&["planned", "cancelled", "confirmed"])}),
            _ => json!({"ids": ids, "jobSiteId": self.random.one(&self.sites)}),
        };
        let done = self
            .send(Method::POST, "/dispatch/assignments/bulk-update", body)
            .await
            .0;
        self.fixture.app.run_jobs().await;
        done
    }

    /// Undoes one of the latest operations.
    async fn undo(&mut self) -> Done {
        let latest = self.undoable.len().min(5);
        if latest == 0 {
            return self.wait().await;
        }
        let index = self.undoable.len() - 1 - self.random.below(latest);
        let (caller, operation) = self.undoable.remove(index);
        let body = json!({"undoToken": operation["undoToken"]});
        let (done, response) = self.send_as(caller, Method::POST, UNDO, body).await;
        if response.status == 200 {
            self.undone.push((caller, operation));
        }
        done
    }

    /// Redoes what was undone last.
    async fn redo(&mut self) -> Done {
        let Some((caller, operation)) = self.undone.pop() else {
            return self.undo().await;
        };
        self.send_as(caller, Method::POST, REDO, json!({"logId": operation["id"]}))
            .await
            .0
    }

    async fn wait(&mut self) -> Done {
        let minutes = i64::try_from(self.random.below(240)).expect("a small number");
        self.fixture.app.advance(Duration::minutes(minutes));
        self.sign_in().await;
        if self.random.below(2) == 0 {
            self.fixture.run_schedules().await;
        }
        (Method::GET, format!("{minutes} minutes"), 0)
    }
}
