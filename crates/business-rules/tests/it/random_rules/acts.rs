//! Saves rules and runs steps.

use actix_web::http::Method;
use backoffice_test_accounts::id_of;
use backoffice_test_support::{DatabaseSnapshot, TestResponse};
use serde_json::{Value, json};
use uuid::Uuid;

use super::case::{Case, Record, SavedRule};
use super::checks::Change;
use super::plan::{Act, Kind, Plan, StepPlan};
use super::tally::count;
use crate::fixture::{EXECUTE, RULES};

const ACTIONS: &str = "/audit_logs/audit-logs/actions";

/// A request.
type Request = (Method, String, Value);

impl Case<'_> {
    /// Saves the rules that the API accepts. Nothing of the others is stored.
    pub(super) async fn save_rules(&mut self, plan: &Plan) {
        for (number, planned) in plan.rules.iter().enumerate() {
            let editor = planned.editor % self.callers.len();
            let body = self.body(number, planned);
            let request = (Method::POST, RULES.to_owned(), body.clone());
            let response = self.send(editor, &request).await;
            let organization = self.place_of(planned).map(|place| self.at(place));
            match response.status {
                201 => {
                    let id = id_of(&response.json());
                    let rule = saved(id, editor, self.callers[editor].rights.tenant, planned.kind, &body);
                    self.check_editor(&rule);
                    assert_eq!(rule.organization, organization);
                    self.rules.push(rule);
                }
                400 | 403 | 404 => count(&self.tally.rejected_rules, 1),
                status => panic!("{status} {}: {body}", response.text()),
            }
            let rows = self.fixture.app.rows("select id from business_rules_rules").await;
            assert_eq!(rows.len(), self.rules.len(), "{body}");
        }
        count(&self.tally.saved, self.rules.len());
    }

    /// Runs a step with everything that it causes, and checks it. Returns the rows after it.
    pub(super) async fn step(&mut self, plan: StepPlan, before: DatabaseSnapshot) -> DatabaseSnapshot {
        self.step += 1;
        let caller = plan.caller % self.callers.len();
        let Some(request) = self.request(plan.act, caller).await else {
            return before;
        };
        let what = format!("step {}, {plan:?} by caller {caller}: {request:?}", self.step);
        let response = self.send(caller, &request).await;
        assert!(response.status < 500, "{what}: {}", response.text());
        let is_execution = matches!(plan.act, Act::Execute { .. });
        let tenant = self.callers[caller].rights.tenant;
        if response.status >= 400 {
            self.check_rejected(&response, tenant, &before, &what).await;
        } else {
            count(&self.tally.changes, 1);
            self.note(plan.act, caller, &response);
        }
        count(
            &self.tally.executed,
            usize::from(is_execution && response.status == 200),
        );
        let rounds = self.settle().await;
        let after = self.snapshot().await;
        let change = Change {
            tenant,
            caller: self.callers[caller].id,
            is_execution,
            rounds,
            before: &before,
            after: &after,
            what: &what,
        };
        self.check(&change);
        after
    }

    /// Repeats the effects of rules as their editors, without a rule: none is forbidden.
    pub(super) async fn repeat_effects(&mut self) {
        let acted = std::mem::take(&mut self.acted);
        for (editor, kind, organization) in acted {
            let (table, column) = (
                kind.table(),
                if kind == Kind::Organization {
                    "id"
                } else {
                    "organization_id"
                },
            );
            let sql = format!("select id from {table} where {column} = '{organization}' order by id limit 1");
            let found = self.fixture.app.rows(&sql).await;
            let Some(id) = found.first().map(|row| row["id"].clone()) else {
                continue;
            };
            let request = (
                Method::PUT,
                kind.path().to_owned(),
                json!({"id": id, (kind.text()): "Repeated"}),
            );
            let status = self.send(editor, &request).await.status;
            let tenant = self.callers[editor].rights.tenant;
            assert!(
                [200, 422].contains(&status),
                "{status}: {request:?} by caller {editor} of {tenant}, one of whose rules has this effect"
            );
            count(&self.tally.repeated, 1);
        }
    }

    async fn send(&self, caller: usize, (method, path, body): &Request) -> TestResponse {
        let request = self.fixture.app.request(method.clone(), path);
        let request = request.bearer(&self.callers[caller].token);
        let request = match body {
            Value::Null => request,
            body => request.json(body),
        };
        request.responded_by_interceptor().send().await
    }

    /// Returns the request of a step; `None` if there is nothing to undo, execute or save.
    async fn request(&self, act: Act, caller: usize) -> Option<Request> {
        let text = format!("s{}|", self.step);
        let update = |record: Record| {
            let body = json!({"id": record.id, (record.kind.text()): text});
            (Method::PUT, record.kind.path().to_owned(), body)
        };
        Some(match act {
            Act::Create(Kind::Organization, place) => update(Record {
                id: self.at(place),
                kind: Kind::Organization,
            }),
            Act::Create(kind, place) => {
                let body = json!({"title": text, "organizationId": self.at(place)});
                (Method::POST, kind.path().to_owned(), body)
            }
            Act::Update(record) => update(self.record(record)),
            Act::Delete(record) => match self.record(record) {
                record if record.kind == Kind::Organization => update(record),
                Record { id, kind } => (Method::DELETE, format!("{}?id={id}", kind.path()), Value::Null),
            },
            Act::Undo(back) => {
                let tenant = self.callers[caller].rights.tenant;
                let admin = self.callers.iter().find(|admin| admin.rights.tenant == tenant)?;
                let (_, page) = self.fixture.app.get(&admin.token, &format!("{ACTIONS}?limit=20")).await;
                // Changes of records only: what callers undo otherwise is no matter of rules.
                let is_of_record = |entry: &&Value| Kind::ALL.iter().any(|kind| entry["resourceKind"] == kind.name());
                let mut entries = page["items"].as_array()?.iter().filter(is_of_record);
                let token = entries.nth(back)?.get("undoToken")?.as_str()?.to_owned();
                (Method::POST, format!("{ACTIONS}/undo"), json!({"undoToken": token}))
            }
            Act::Execute { record, rule } => {
                let chosen = rule.and_then(|rule| self.rules.get(rule % self.rules.len().max(1)));
                let Record { id, kind } = match chosen {
                    None => self.record(record),
                    Some(rule) => {
                        let of_kind = self.records.iter().filter(|record| record.kind == rule.kind);
                        let of_kind: Vec<&Record> = of_kind.collect();
                        **of_kind.get(record % of_kind.len())?
                    }
                };
                let data = json!({"title": text, "name": text, "organizationId": self.at(super::plan::Place::B)});
                let body = json!({"entityType": kind.name(), "entityId": id, "data": data});
                let path = chosen.map_or(EXECUTE.to_owned(), |rule| format!("{EXECUTE}/{}", rule.id));
                (Method::POST, path, body)
            }
            Act::Save(rule) => {
                let rule = self.rules.get(rule % self.rules.len().max(1))?;
                (Method::PUT, RULES.to_owned(), json!({"id": rule.id, "ruleName": text}))
            }
        })
    }

    fn record(&self, choice: usize) -> Record {
        self.records[choice % self.records.len()]
    }

    /// Notes what an accepted request has created.
    fn note(&mut self, act: Act, caller: usize, response: &TestResponse) {
        match act {
            Act::Create(kind, _) if kind != Kind::Organization => {
                let id = id_of(&response.json());
                self.records.push(Record { id, kind });
            }
            Act::Save(rule) => {
                let number = rule % self.rules.len();
                self.rules[number].editor = caller;
                self.check_editor(&self.rules[number]);
            }
            _ => {}
        }
    }
}

/// Returns what a stored rule may do.
fn saved(id: Uuid, editor: usize, tenant: Uuid, kind: Kind, body: &Value) -> SavedRule {
    let branch = |name: &str| body[name].as_array().cloned().unwrap_or_default();
    let branches = [branch("successActions"), branch("failureActions")];
    let of_type = |actions: &[Value], word: &str| -> Vec<Value> {
        let of_type = actions.iter().filter(|action| action["type"] == word);
        of_type.map(|action| action["config"].clone()).collect()
    };
    let uuid = |value: &Value| value.as_str().and_then(|text| text.parse().ok());
    let calls = branches.iter().flat_map(|branch| of_type(branch, "CALL_PLATFORM"));
    let calls = calls.filter_map(|call| {
        let endpoint = call["endpoint"].as_str()?.split('?').next()?.to_owned();
        Some((endpoint, uuid(&call["apiKeyId"])?))
    });
    let effects = branches.iter().map(|branch| {
        let sets = !of_type(branch, "SET_FIELD").is_empty();
        usize::from(sets) + of_type(branch, "CALL_PLATFORM").len()
    });
    SavedRule {
        id,
        key: body["ruleId"].as_str().unwrap_or_default().to_owned(),
        editor,
        tenant,
        organization: uuid(&body["organizationId"]),
        kind,
        validates: ["GUARD", "VALIDATION"].iter().any(|word| body["ruleType"] == *word),
        sets: branches.iter().any(|branch| !of_type(branch, "SET_FIELD").is_empty()),
        calls: calls.collect(),
        effects: effects.max().unwrap_or(0),
    }
}
