//! What must hold after each step, read from the rows before and after it.

use std::collections::{BTreeMap, BTreeSet};

use backoffice_core::http::Access;
use backoffice_test_support::{DatabaseSnapshot, TestResponse};
use serde_json::{Value, json};
use uuid::Uuid;

use super::case::{Case, Key, SavedRule};
use super::plan::{FEATURES, Kind};
use super::rights::{Rights, Tree, includes};
use super::tally::count;

/// Tables with users, roles, access control lists and keys. Sessions belong to sign-ins.
const RIGHTS: [&str; 2] = ["auth_", "api_keys_"];
const SESSIONS: [&str; 2] = ["auth_sessions", "auth_revocations"];
/// Tables in which a rejected request leaves nothing.
const UNCHANGED: [&str; 7] = [
    "customers_",
    "catalog_",
    "directory_",
    "business_rules_rules",
    "business_rules_sets",
    "business_rules_runs",
    "audit_action_logs",
];
const ENTRIES: &str = "audit_action_logs";
const CALL: &str = "business_rules.platform.call";

/// A step with what it has caused.
pub(super) struct Change<'a> {
    /// The tenant of the caller.
    pub(super) tenant: Uuid,
    pub(super) caller: Uuid,
    pub(super) is_execution: bool,
    /// Rounds of events and jobs in which rules have acted.
    pub(super) rounds: u64,
    pub(super) before: &'a DatabaseSnapshot,
    pub(super) after: &'a DatabaseSnapshot,
    pub(super) what: &'a str,
}

impl Change<'_> {
    /// Returns the rows of a table that are new or have changed.
    fn changed(&self, table: &str) -> Vec<&Value> {
        let before: BTreeSet<String> = self.before[table].iter().map(Value::to_string).collect();
        let rows = self.after[table].iter();
        rows.filter(|row| !before.contains(&row.to_string())).collect()
    }

    /// Returns the rows of a table that are new.
    fn new_rows(&self, table: &str) -> Vec<&Value> {
        let before: BTreeSet<&str> = self.before[table].iter().filter_map(|row| row["id"].as_str()).collect();
        let rows = self.after[table].iter();
        rows.filter(|row| row["id"].as_str().is_some_and(|id| !before.contains(id)))
            .collect()
    }
}

impl Case<'_> {
    /// Checks that the editor may save the rule.
    pub(super) fn check_editor(&self, rule: &SavedRule) {
        let editor = &self.callers[rule.editor].rights;
        let mut needed = vec!["business_rules.manage"];
        needed.extend((!rule.calls.is_empty()).then_some("api_keys.create"));
        needed.extend(rule.sets.then_some(rule.kind.manage()));
        for feature in needed {
            let is_held = editor.holds(&self.tree, feature, rule.organization);
            assert!(is_held, "{editor:?} saved {rule:?} without {feature}");
        }
        for (_, key) in &rule.calls {
            let key = &self.key_of(*key).rights;
            assert_eq!(key.tenant, rule.tenant, "{rule:?} calls with a key of another tenant");
            // The editor could create such a key.
            for feature in FEATURES {
                for organization in self.tree.keys().map(|one| Some(*one)).chain([None]) {
                    let is_held = key.holds(&self.tree, feature, organization);
                    assert!(
                        !is_held || editor.holds(&self.tree, feature, organization),
                        "{editor:?} saved {rule:?}, whose key has {feature} in {organization:?}"
                    );
                }
            }
        }
    }

    /// Checks that a rejected request has left nothing but what its rules leave.
    pub(super) async fn check_rejected(
        &self,
        response: &TestResponse,
        tenant: Uuid,
        before: &DatabaseSnapshot,
        what: &str,
    ) {
        let after = self.snapshot().await;
        for (table, rows) in &after {
            let is_unchanged = UNCHANGED.iter().any(|prefix| table.starts_with(prefix));
            assert!(
                !is_unchanged || *rows == before[table],
                "{what}: a rejected request changed {table}"
            );
        }
        let calls = |rows: &DatabaseSnapshot| rows["core_jobs"].iter().filter(|job| job["kind"] == CALL).count();
        assert_eq!(
            calls(before),
            calls(&after),
            "{what}: a rejected request calls the platform"
        );
        count(&self.tally.rejected_changes, 1);
        if response.status == 422 {
            let body = response.json();
            for rule in body["rules"].as_array().into_iter().flatten() {
                let mut own = self.rules.iter().filter(|own| own.tenant == tenant);
                let blocking = own.find(|own| rule["ruleId"] == own.key.as_str());
                assert!(blocking.is_some_and(|own| own.validates), "{what}: {body}");
                count(&self.tally.blocked, 1);
            }
        }
    }

    /// Checks everything that a step has caused.
    pub(super) fn check(&mut self, change: &Change<'_>) {
        self.tree = tree(change.after);
        self.check_other_tenant(change);
        for (table, rows) in change.after {
            let has_rights = RIGHTS.iter().any(|prefix| table.starts_with(prefix));
            let is_unchanged = !has_rights || SESSIONS.contains(&table.as_str()) || *rows == change.before[table];
            assert!(is_unchanged, "{}: {table} has changed", change.what);
        }
        self.check_entries(change);
        self.check_logs(change);
        self.check_messages(change);
        let changed_rules = change.changed("business_rules_rules").len();
        assert!(
            changed_rules <= 1,
            "{}: {changed_rules} rules have changed",
            change.what
        );
    }

    /// Checks that no row of the other tenant has changed.
    fn check_other_tenant(&self, change: &Change<'_>) {
        let alpha = self.fixture.a.id;
        let other = if change.tenant == alpha {
            self.fixture.b.id
        } else {
            alpha
        };
        let other = json!(other);
        for (table, rows) in change.after {
            let column = if table == "directory_tenants" {
                "id"
            } else {
                "tenant_id"
            };
            let own =
                |rows: &[Value]| -> Vec<Value> { rows.iter().filter(|row| row[column] == other).cloned().collect() };
            let (before, after) = (own(&change.before[table]), own(rows));
            assert_eq!(
                before, after,
                "{}: {table} of the other tenant has changed",
                change.what
            );
        }
    }

    /// Checks the log entries: each effect of a rule is one that its editor could have without it, in the organization of the rule.
    fn check_entries(&mut self, change: &Change<'_>) {
        let entries = change.new_rows(ENTRIES);
        let by_rules: Vec<&Value> = (entries.iter().copied())
            .filter(|entry| entry["context"]["ruleId"].is_string())
            .collect();
        // The job of a bulk request belongs to no organization; each of its changes has an entry of its own.
        let (jobs, effects): (Vec<&Value>, Vec<&Value>) = by_rules
            .iter()
            .partition(|entry| entry["resource_kind"] == "progress.job");
        for job in jobs {
            let rule = self.rule(uuid(&job["context"]["ruleId"]).expect("a rule"));
            let is_asked = rule.calls.iter().any(|(endpoint, _)| endpoint.contains("/bulk-"));
            assert!(
                is_asked && job["tenant_id"] == json!(rule.tenant),
                "{}: {rule:?}: {job}",
                change.what
            );
        }
        for entry in &effects {
            self.check_effect(change, entry);
        }
        self.check_loop(change, &effects, entries.len() - by_rules.len());
        // No record changes without an entry.
        let mut logged: BTreeSet<String> = BTreeSet::new();
        for entry in &entries {
            logged.extend(entry["resource_id"].as_str().map(str::to_owned));
            logged.extend(touched(&entry["touched"]));
        }
        for kind in Kind::ALL {
            for row in change.changed(kind.table()) {
                let id = row["id"].as_str().unwrap_or_default();
                assert!(logged.contains(id), "{}: no entry of the change of {row}", change.what);
            }
        }
    }

    fn check_effect(&mut self, change: &Change<'_>, entry: &Value) {
        let what = change.what;
        let rule = self.rule(uuid(&entry["context"]["ruleId"]).expect("a rule"));
        assert_eq!(entry["tenant_id"], json!(rule.tenant), "{what}: {entry}");
        let kind = Kind::ALL.into_iter().find(|kind| entry["resource_kind"] == kind.name());
        let editor = &self.callers[rule.editor];
        let actor = uuid(&entry["actor_id"]).map(|id| {
            let actor = self.callers.iter().find(|caller| caller.id == id);
            actor.unwrap_or_else(|| panic!("{what}: {entry} has an unknown actor"))
        });
        // The caller of an execution is the actor of its effects, and limits them; what these start is done by rules.
        let is_of_caller = change.is_execution && entry["context"]["depth"] == 1;
        let expected = is_of_caller.then_some(change.caller);
        assert_eq!(actor.map(|actor| actor.id), expected, "{what}: the actor of {entry}");
        let mut organizations: Vec<Uuid> = organizations(entry, kind);
        organizations.dedup();
        assert!(!organizations.is_empty(), "{what}: {entry} has no organization");
        let mut acted = BTreeSet::new();
        for organization in organizations {
            let place = Some(organization);
            assert!(
                includes(&self.tree, rule.organization, place),
                "{what}: outside of the organization of {rule:?}: {entry}"
            );
            let is_allowed = |rights: &Rights, features: &[&str]| {
                features.iter().all(|feature| rights.holds(&self.tree, feature, place))
            };
            let sets =
                kind.is_some_and(|kind| rule.sets && kind == rule.kind && is_allowed(&editor.rights, &[kind.manage()]));
            let needed: Vec<(Vec<&str>, &Key)> = (rule.calls.iter())
                .map(|(endpoint, key)| {
                    let features = kind.map_or_else(|| self.features_of(endpoint), |kind| vec![kind.manage()]);
                    (features, self.key_of(*key))
                })
                .collect();
            let calls = needed.iter().any(|(features, key)| {
                is_allowed(&editor.rights, features)
                    && is_allowed(&key.rights, features)
                    && actor.is_none_or(|actor| is_allowed(&actor.rights, features))
            });
            let actor_sets = kind
                .zip(actor)
                .is_none_or(|(kind, actor)| is_allowed(&actor.rights, &[kind.manage()]));
            assert!(
                (sets && actor_sets) || calls,
                "{what}: beyond the rights of {:?}, of the key or of {:?}: {rule:?} has {entry}",
                editor.rights,
                actor.map(|actor| &actor.rights)
            );
            acted.extend(kind.map(|kind| (rule.editor, kind, organization)));
        }
        self.acted.extend(acted);
        let is_call = entry["request_id"]
            .as_str()
            .is_some_and(|id| id.starts_with("internal-"));
        count(&self.tally.called, usize::from(is_call));
        let is_deepest = entry["context"]["depth"] == json!(self.max_depth);
        count(&self.tally.deepest, usize::from(is_deepest));
    }

    /// Checks the length of the chains: as the entries say, as the texts say, and by the number of effects and of rounds.
    fn check_loop(&self, change: &Change<'_>, effects: &[&Value], starts: usize) {
        let what = change.what;
        let mark = format!("s{}|", self.step);
        for entry in effects {
            let depth = entry["context"]["depth"].as_u64().unwrap_or_default();
            assert!((1..=self.max_depth).contains(&depth), "{what}: {entry} is too deep");
            for name in ["title", "name"] {
                let text = entry["snapshot_after"][name].as_str().unwrap_or_default();
                let links = text.strip_prefix(&mark).map_or(0, str::len);
                let most = usize::try_from(self.max_depth).expect("a small number");
                assert!(links <= most, "{what}: a chain of {links} links in {entry}");
            }
        }
        // An execution has its effects before the first round, except for jobs of bulk requests.
        let mut calls = self.rules.iter().flat_map(|rule| &rule.calls);
        let is_done = change.is_execution && !calls.any(|(endpoint, _)| endpoint.contains("/bulk-"));
        let by_events = self.max_depth - u64::from(is_done);
        assert!(
            change.rounds <= by_events,
            "{what}: rules have acted in {} rounds",
            change.rounds
        );
        // Each change starts every rule at most, and each of them has its effects.
        let own = self.rules.iter().filter(|rule| rule.tenant == change.tenant);
        let of_one: usize = own.map(|rule| rule.effects).sum();
        let chains = (1..=self.max_depth).scan(1, |power, _| {
            *power *= of_one;
            Some(*power)
        });
        let most = starts.max(1) * chains.sum::<usize>();
        assert!(
            effects.len() <= most,
            "{what}: {} effects, at most {most}",
            effects.len()
        );
    }

    /// Checks the log of rules: each has run for records of its kind and organization, and nothing has failed inside.
    fn check_logs(&self, change: &Change<'_>) {
        for log in change.new_rows("business_rules_execution_logs") {
            let rule = self.rule(uuid(&log["rule_id"]).expect("a rule"));
            let what = change.what;
            assert_eq!(log["tenant_id"], json!(rule.tenant), "{what}: {log}");
            let is_by_request = ["api", "set"].iter().any(|trigger| log["trigger"] == *trigger);
            assert!(
                is_by_request || log["entity_type"] == rule.kind.name(),
                "{what}: {rule:?} has run for {log}"
            );
            let of_record = match rule.kind {
                Kind::Organization => uuid(&log["entity_id"]),
                _ => uuid(&log["input_context"]["data"]["organizationId"]),
            };
            assert!(
                is_by_request || includes(&self.tree, rule.organization, of_record),
                "{what}: {rule:?} has run outside of its organization: {log}"
            );
            let results = &log["output_context"]["actionsExecuted"]["results"];
            for result in results.as_array().into_iter().flatten() {
                let error = result["error"].as_str().unwrap_or_default();
                let is_inside = error == "internal_error" || error.starts_with("status 5");
                assert!(!is_inside, "{what}: {log}");
                let forbidden = ["status 403", "status 404", "entity_not_found", "api_key_not_available"];
                count(&self.tally.forbidden, usize::from(forbidden.contains(&error)));
                let is_set = result["type"] == "SET_FIELD" && result["success"] == true;
                count(&self.tally.set, usize::from(is_set));
            }
        }
    }

    /// Checks notifications, events and webhooks: they concern the organization of their rule.
    fn check_messages(&self, change: &Change<'_>) {
        let what = change.what;
        for row in change.changed("notifications_notifications") {
            let id = uuid(&row["source_entity_id"]).or_else(|| uuid(&row["group_key"]));
            let rule = self.rule(id.expect("a rule"));
            let recipient = self
                .callers
                .iter()
                .find(|caller| json!(caller.id) == row["recipient_user_id"]);
            let is_reached = recipient.is_some_and(|caller| {
                let is_seen = match row["type"] == "business_rules.notified" {
                    true => caller.rights.sees(&self.tree, rule.organization),
                    false => (caller.rights).holds(&self.tree, "business_rules.manage", rule.organization),
                };
                caller.rights.tenant == rule.tenant && is_seen
            });
            assert!(
                is_reached && row["tenant_id"] == json!(rule.tenant),
                "{what}: {rule:?} must not notify {recipient:?}: {row}"
            );
            count(
                &self.tally.notified,
                usize::from(row["type"] == "business_rules.notified"),
            );
        }
        for event in change.new_rows("core_outbox_events") {
            let name = event["name"].as_str().unwrap_or_default();
            let is_stopped = event["payload"]["reason"] == "rules start each other too many times";
            count(&self.tally.stopped, usize::from(is_stopped));
            let Some(rule) = uuid(&event["payload"]["ruleId"]).filter(|_| !name.starts_with("business_rules.")) else {
                continue;
            };
            let rule = self.rule(rule);
            let organization = uuid(&event["organization_id"]);
            let is_own = event["tenant_id"] == json!(rule.tenant)
                && (change.is_execution
                    || organization.is_none()
                    || includes(&self.tree, rule.organization, organization));
            assert!(name.starts_with("own.") && is_own, "{what}: {rule:?} emitted {event}");
            count(&self.tally.emitted, 1);
        }
        for delivery in change.new_rows("business_rules_webhook_deliveries") {
            let rule = self.rule(uuid(&delivery["rule_id"]).expect("a rule"));
            let is_own = delivery["tenant_id"] == json!(rule.tenant)
                && delivery["organization_id"] == json!(rule.organization)
                && delivery["url"] == self.receiver.url("/hook").as_str();
            assert!(is_own, "{what}: {rule:?} sends {delivery}");
            count(&self.tally.delivered, 1);
        }
    }

    fn key_of(&self, id: Uuid) -> &Key {
        self.keys.iter().find(|key| key.id == id).expect("a key of the case")
    }

    /// Returns the features that an endpoint needs.
    fn features_of(&self, endpoint: &str) -> Vec<&'static str> {
        let endpoints = self.fixture.app.platform().endpoints();
        let found = endpoints
            .into_iter()
            .find(|info| format!("{} {}", info.method, info.path) == endpoint);
        match found.map(|info| info.access) {
            Some(Access::Features(features)) => features.iter().map(|feature| feature.id).collect(),
            _ => Vec::new(),
        }
    }
}

fn uuid(value: &Value) -> Option<Uuid> {
    value.as_str()?.parse().ok()
}

/// Returns the organizations of a record before and after a change. An organization is its own one.
fn organizations(entry: &Value, kind: Option<Kind>) -> Vec<Uuid> {
    if kind == Some(Kind::Organization) {
        return uuid(&entry["resource_id"]).into_iter().collect();
    }
    let snapshots = ["snapshot_before", "snapshot_after"].map(|name| uuid(&entry[name]["organizationId"]));
    snapshots
        .into_iter()
        .flatten()
        .chain(uuid(&entry["organization_id"]))
        .collect()
}

/// Returns all ids in the list of the affected resources of an entry.
fn touched(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().flat_map(touched).collect(),
        Value::Object(fields) => fields.values().flat_map(touched).collect(),
        Value::String(text) => vec![text.clone()],
        _ => Vec::new(),
    }
}

/// Returns the organizations with those below them.
fn tree(rows: &DatabaseSnapshot) -> Tree {
    let organizations = &rows["directory_organizations"];
    let parents: BTreeMap<Uuid, Option<Uuid>> = (organizations.iter())
        .filter_map(|row| Some((uuid(&row["id"])?, uuid(&row["parent_id"]))))
        .collect();
    let mut tree: Tree = parents.keys().map(|id| (*id, Vec::new())).collect();
    for id in parents.keys() {
        let mut next = Some(*id);
        while let Some(above) = next {
            tree.entry(above).or_default().push(*id);
            next = parents.get(&above).copied().flatten();
        }
    }
    tree
}
