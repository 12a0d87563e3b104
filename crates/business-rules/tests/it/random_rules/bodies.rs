//! The bodies of planned rules.

use serde_json::{Value, json};
use uuid::Uuid;

use super::case::{Case, Key, role_of};
use super::plan::{ActionPlan, Kind, Place, RulePlan};
use crate::fixture::{action, condition, message, rule, with};

/// Addresses that are not public, and names that belong to modules.
const PRIVATE: [&str; 3] = [
    "http://10.0.0.1/hook",
    "https://192.168.0.7/",
    "http://169.254.169.254/latest",
];
const EVENTS: [&str; 4] = ["own.seen", "own.thing.done", "customers.deal.updated", "system.stopped"];

impl Case<'_> {
    /// Returns the body of a rule with the key of this number.
    pub(super) fn body(&self, number: usize, plan: &RulePlan) -> Value {
        let actions =
            |planned: &[ActionPlan]| -> Value { planned.iter().map(|action| self.action(plan, action)).collect() };
        let fields = json!({
            "organizationId": self.place_of(plan).map(|place| self.at(place)),
            "eventType": plan.event,
            "conditionExpression": conditions(plan.kind, plan.condition),
            "successActions": actions(&plan.success),
            "failureActions": actions(&plan.failure),
            "priority": 100 + number,
        });
        with(rule(&format!("r{number}"), plan.rule_type, plan.kind.name()), fields)
    }

    fn action(&self, rule: &RulePlan, plan: &ActionPlan) -> Value {
        let kind = rule.kind;
        match plan {
            ActionPlan::SetText => set(kind.text(), &marked(kind)),
            ActionPlan::SetOther(choice) => self.set_other(kind, *choice),
            ActionPlan::Call {
                endpoint,
                key,
                target,
                place,
            } => self.call(kind, *endpoint, self.key(rule.editor, *key), *target, *place),
            ActionPlan::Notify(recipients) => {
                let named = recipients.iter().map(|choice| self.recipient(*choice));
                let named: Vec<String> = named.collect();
                action("NOTIFY", json!({"message": "Look", "recipients": named}))
            }
            ActionPlan::Emit(choice) => {
                let name = EVENTS[usize::from(*choice) % EVENTS.len()];
                let (tenant, organization) = (self.fixture.b.id, self.at(Place::Foreign));
                let payload = json!({"tenantId": tenant, "organizationId": organization, "text": "{{entityId}}"});
                action("EMIT_EVENT", json!({"eventName": name, "payload": payload}))
            }
            ActionPlan::Webhook(choice) => {
                let choice = usize::from(*choice) % (2 * PRIVATE.len());
                let own = self.receiver.url("/hook");
                action(
                    "CALL_WEBHOOK",
                    json!({"url": PRIVATE.get(choice).copied().unwrap_or(&own)}),
                )
            }
            ActionPlan::Other(word) => message(word, "Look"),
        }
    }

    /// Sets another field, some of which rules must not set.
    fn set_other(&self, kind: Kind, choice: u8) -> Value {
        let foreign = self.at(Place::Foreign).to_string();
        let (field, value) = match (kind, choice % 6) {
            (_, 0) => ("organizationId", foreign),
            (_, 1) => ("tenantId", self.fixture.b.id.to_string()),
            (Kind::Deal, 2) => ("ownerUserId", self.fixture.b.admin.to_string()),
            (Kind::Deal, 3) => ("ownerUserId", "{{user.id}}".to_owned()),
            (Kind::Organization, 2) => ("parentId", foreign),
            (Kind::Organization, _) => ("logoUrl", "https://logos.example/{{eventType}}".to_owned()),
            (_, _) => ("description", "By {{user.id}} at {{now}}".to_owned()),
        };
        set(field, &value)
    }

    /// Returns the planned organization of a rule, or one in which its editor manages rules.
    pub(super) fn place_of(&self, plan: &RulePlan) -> Option<Place> {
        let own = self.places.get(plan.editor).filter(|_| plan.is_own);
        match own {
            Some(Some(place)) => Some(*place),
            _ => plan.place,
        }
    }

    /// Returns any key, or, by most choices, the one with the roles of the editor.
    fn key(&self, editor: usize, choice: usize) -> &Key {
        let any = &self.keys[choice % self.keys.len()];
        let own = self.keys.iter().find(|key| key.roles_of == editor);
        own.filter(|_| choice % 7 > 1).unwrap_or(any)
    }

    fn recipient(&self, choice: usize) -> String {
        let callers = self.callers.len();
        match choice % (2 * callers + 4) {
            number if number < callers => self.callers[number].id.to_string(),
            number if number < 2 * callers => self.callers[number - callers].email.to_uppercase(),
            number => match number - 2 * callers {
                0 => "role:admin".to_owned(),
                1 => format!("role:{}", role_of(1, 0)),
                2 => "{{user.id}}".to_owned(),
                _ => Uuid::from_u128(7).to_string(),
            },
        }
    }

    /// Calls an endpoint that the platform offers to rules, or one that it does not offer.
    fn call(&self, kind: Kind, endpoint: usize, key: &Key, target: usize, place: Place) -> Value {
        let text = marked(kind);
        let organization = self.at(place);
        let of_kind = |kind: Kind| {
            let mut known = self.records.iter().filter(|record| record.kind == kind);
            known.clone().nth(target % known.by_ref().count()).expect("a record").id
        };
        let create = json!({"title": text, "organizationId": organization});
        let change = |kind: Kind| json!({"id": of_kind(kind), (kind.text()): text});
        let (endpoint, body) = match endpoint % 20 {
            0 | 1 => ("POST /catalog/products".to_owned(), create),
            2 => ("POST /customers/deals".to_owned(), create),
            3 => ("POST /catalog/products".to_owned(), json!({"title": text})),
            4 | 5 => ("PUT /customers/deals".to_owned(), change(Kind::Deal)),
            6 | 7 => ("PUT /catalog/products".to_owned(), change(Kind::Product)),
            8 | 9 => ("PUT /directory/organizations".to_owned(), change(Kind::Organization)),
            10 | 11 => (
                format!("PUT {}", kind.path()),
                json!({"id": "{{entityId}}", (kind.text()): text}),
            ),
            12 => (
                format!("DELETE /catalog/products?id={}", of_kind(Kind::Product)),
                Value::Null,
            ),
            13 => ("DELETE /customers/deals?id={{entityId}}".to_owned(), Value::Null),
            14 => {
                let owner = json!({"ids": [of_kind(Kind::Deal)], "ownerUserId": self.callers[0].id});
                ("POST /customers/deals/bulk-update-owner".to_owned(), owner)
            }
            15 => self.forbidden(target),
            _ => {
                let offered = &self.offered[target % self.offered.len()];
                (
                    offered.clone(),
                    json!({"id": of_kind(kind), "name": text, "title": text}),
                )
            }
        };
        action(
            "CALL_PLATFORM",
            json!({"endpoint": endpoint, "apiKeyId": key.id, "body": body}),
        )
    }

    /// Returns an endpoint that rules must not call.
    fn forbidden(&self, choice: usize) -> (String, Value) {
        let user = self.callers[1].id;
        match choice % 5 {
            0 => (
                "PUT /auth/users/acl".to_owned(),
                json!({"userId": user, "features": ["*"], "organizations": null}),
            ),
            1 => ("PUT /auth/users".to_owned(), json!({"id": user, "roles": ["admin"]})),
            2 => (
                "POST /api_keys/keys".to_owned(),
                json!({"name": "More", "roles": ["admin"], "organizationId": null}),
            ),
            3 => ("DELETE /business_rules/rules?id={{entityId}}".to_owned(), Value::Null),
            _ => ("GET /customers/deals/{id}".to_owned(), Value::Null),
        }
    }
}

fn set(field: &str, value: &str) -> Value {
    action("SET_FIELD", json!({"field": field, "value": value}))
}

/// The text of the data with one mark more: its marks are the links of a chain.
fn marked(kind: Kind) -> String {
    format!("{{{{{}}}}}+", kind.text())
}

fn conditions(kind: Kind, choice: u8) -> Value {
    match choice {
        1 => condition(kind.text(), "STARTS_WITH", json!("s")),
        2 => condition("_changed", "CONTAINS", json!(kind.text())),
        3 => json!({"operator": "NOT", "rules": [condition("nothing", "=", json!(1))]}),
        4 => condition("organizationId", "=", json!("{{organizationId}}")),
        5 => condition("nothing", ">", json!(1)),
        6 => condition("nothing", "NEAR", json!(1)),
        _ => Value::Null,
    }
}
