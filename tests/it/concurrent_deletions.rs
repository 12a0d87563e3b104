//! Deletions that begin while a part or link of the deleted resource is changed: the undo restores what was there at the time of the deletion.

use std::time::Duration;

use actix_web::http::Method;
use backoffice_test_support::TestApp;
use futures_util::future::join3;
use serde_json::{Value, json};
use tokio::time::sleep;
use uuid::Uuid;

use crate::call::Call;
use crate::fixture::{Fixture, builder};

const SETS: &str = "/business_rules/sets";
const RULES: &str = "/business_rules/rules";
const COMPANIES: &str = "/customers/companies";
const PEOPLE: &str = "/customers/people";
const DEALS: &str = "/customers/deals";
const PIPELINES: &str = "/customers/pipelines";
const STAGES: &str = "/customers/pipeline-stages";
const CATEGORIES: &str = "/catalog/categories";
const PRODUCTS: &str = "/catalog/products";
const ROLES: &str = "/auth/roles";
const PREFERENCES: &str = "/auth/sidebar/preferences";

/// A change of a part or link, and the deletion of a resource to which it belongs.
struct Race {
    /// Table and condition of the row that is held until both wait.
    held: String,
    change: Call,
    deletion: Call,
    /// The path that shows the part.
    shown: String,
    /// The place of the part in the response.
    place: &'static str,
    /// What the change makes of it.
    expected: Value,
}

/// The connections that wait for this one, also behind others.
const WAITING: &str = "\
with recursive waiting as (
    select pid from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))
    union
    select l.pid from pg_locks l join waiting w on w.pid = any(pg_blocking_pids(l.pid)) where not l.granted
)
select distinct pid from waiting";

/// Waits until this many connections wait for the open transaction, for two seconds at most.
async fn until_waiting(app: &TestApp, count: usize) {
    for _ in 0..200 {
        if app.rows(WAITING).await.len() >= count {
            break;
        }
        sleep(Duration::from_millis(10)).await;
    }
}

/// Creates a resource and returns its id.
async fn create(fixture: &Fixture, path: &str, body: Value) -> Uuid {
    let call = Call::post(path, body);
    let response = call.send(&fixture.app, &fixture.a.tenant_admin.token).await;
    assert!(response.status < 400, "{call}: {} {}", response.status, response.text());
    response.undoable_write().resource
}

impl Race {
    /// Lets the change be the first and the deletion the second to wait for the row, undoes the deletion and checks the part.
    async fn run(self, fixture: &Fixture) {
        let (app, token) = (&fixture.app, &fixture.a.tenant_admin.token);
        app.sql(&format!("begin; select 1 from {} for update", self.held)).await;
        let deletion = async {
            until_waiting(app, 1).await;
            self.deletion.send(app, token).await
        };
        let release = async {
            until_waiting(app, 2).await;
            app.sql("rollback").await;
        };
        let (changed, deleted, ()) = join3(self.change.send(app, token), deletion, release).await;
        let context = format!("{} during {}", self.deletion, self.change);
        assert_eq!(changed.status, 200, "{context}: {}", changed.text());
        assert_eq!(deleted.status, 200, "{context}: {}", deleted.text());
        let order = format!(
            "select id from audit_action_logs where id in ('{}', '{}') order by seq",
            changed.undoable_write().log_id,
            deleted.undoable_write().log_id
        );
        let first = &app.rows(&order).await[0]["id"];
        assert_eq!(first, &json!(changed.undoable_write().log_id), "{context}: the order");

        let (status, undone) = app.undo(token, &deleted).await;

        assert_eq!(status, 200, "{context}: {undone}");
        let (_, shown) = app.get(token, &self.shown).await;
        let part = shown.pointer(self.place).cloned().unwrap_or_default();
        assert_eq!(part, self.expected, "{context}: {shown}");
    }
}

#[actix_web::test]
async fn the_undo_of_a_deleted_set_or_rule_restores_the_latest_members() {
    let fixture = Fixture::of(builder().pool_size(8)).await;
    for of_set in [true, false] {
        for is_removed in [true, false] {
            let key = format!("k{}{}", u8::from(of_set), u8::from(is_removed));
            let set = create(&fixture, SETS, json!({"setId": key, "setName": "A set"})).await;
            let rule = json!({"ruleId": key, "ruleName": "A rule", "ruleType": "ACTION", "entityType": "none.none"});
            let rule = create(&fixture, RULES, rule).await;
            let members = format!("{SETS}/{set}/members");
            let member = create(&fixture, &members, json!({"ruleId": rule, "sequence": 1})).await;
            let (change, place, expected) = if is_removed {
                let removal = Call::new(Method::DELETE, &members);
                let removal = removal.with_query("memberId", &member.to_string());
                (removal, "/members", json!([]))
            } else {
                let body = json!({"memberId": member, "sequence": 77});
                (Call::put(&members, body), "/members/0/sequence", json!(77))
            };
            let race = Race {
                held: format!("business_rules_set_members where id = '{member}'"),
                change,
                deletion: if of_set {
                    Call::delete(SETS, set)
                } else {
                    Call::delete(RULES, rule)
                },
                shown: format!("{SETS}/{set}"),
                place,
                expected,
            };
            race.run(&fixture).await;
        }
    }
}

#[actix_web::test]
async fn the_undo_of_a_deleted_company_or_person_restores_the_latest_references() {
    let fixture = Fixture::of(builder().pool_size(8)).await;
    let company = create(&fixture, COMPANIES, json!({"displayName": "Acme"})).await;
    let person = json!({"firstName": "Ann", "lastName": "Doe", "companyId": company});
    let person = create(&fixture, PEOPLE, person).await;
    let deal = json!({"title": "A deal", "companyIds": [company], "personIds": [person]});
    let deal = create(&fixture, DEALS, deal).await;
    let of_deal = |field: &str, place, deletion| Race {
        held: format!("customers_deals where id = '{deal}'"),
        change: Call::put(DEALS, json!({"id": deal})).with_field(field, json!([])),
        deletion,
        shown: format!("{DEALS}/{deal}"),
        place,
        expected: json!([]),
    };
    let leaving = Race {
        held: format!("customers_people where id = '{person}'"),
        change: Call::put(PEOPLE, json!({"id": person, "companyId": null})),
        deletion: Call::delete(COMPANIES, company),
        shown: format!("{PEOPLE}/{person}"),
        place: "/companyId",
        expected: Value::Null,
    };

    leaving.run(&fixture).await;
    let companies = of_deal("companyIds", "/companyIds", Call::delete(COMPANIES, company));
    companies.run(&fixture).await;
    let people = of_deal("personIds", "/personIds", Call::delete(PEOPLE, person));
    people.run(&fixture).await;
}

#[actix_web::test]
async fn the_undo_of_a_deleted_pipeline_restores_the_latest_stages() {
    let fixture = Fixture::of(builder().pool_size(8)).await;
    let pipeline = create(&fixture, PIPELINES, json!({"name": "Sales"})).await;
    let stage = json!({"pipelineId": pipeline, "label": "Old"});
    let stage = create(&fixture, STAGES, stage).await;
    let race = Race {
        held: format!("customers_pipeline_stages where id = '{stage}'"),
        change: Call::put(STAGES, json!({"id": stage, "label": "New"})),
        deletion: Call::delete(PIPELINES, pipeline),
        shown: format!("{STAGES}/{stage}"),
        place: "/label",
        expected: json!("New"),
    };
    race.run(&fixture).await;
}

#[actix_web::test]
async fn the_undo_of_a_deleted_category_restores_the_latest_products() {
    let fixture = Fixture::of(builder().pool_size(8)).await;
    let category = create(&fixture, CATEGORIES, json!({"name": "Tools"})).await;
    let product = json!({"title": "A hammer", "categoryIds": [category]});
    let product = create(&fixture, PRODUCTS, product).await;
    let race = Race {
        held: format!("catalog_products where id = '{product}'"),
        change: Call::put(PRODUCTS, json!({"id": product, "categoryIds": []})),
        deletion: Call::delete(CATEGORIES, category),
        shown: format!("{PRODUCTS}/{product}"),
        place: "/categoryIds",
        expected: json!([]),
    };
    race.run(&fixture).await;
}

#[actix_web::test]
async fn the_undo_of_a_deleted_role_restores_its_latest_sidebar() {
    let fixture = Fixture::of(builder().pool_size(8)).await;
    for is_removed in [true, false] {
        let role = create(&fixture, ROLES, json!({"name": format!("Role {is_removed}")})).await;
        let settings = |hidden: &str| {
            let scope = json!({"type": "role", "roleId": role});
            Call::put(
                PREFERENCES,
                json!({"scope": scope, "settings": {"hiddenItems": [hidden]}}),
            )
        };
        let stored = settings("old");
        let stored = stored.send(&fixture.app, &fixture.a.tenant_admin.token).await;
        assert_eq!(stored.status, 200, "{}", stored.text());
        let shown = format!("{PREFERENCES}?roleId={role}");
        let (change, expected) = if is_removed {
            let removal = Call::new(Method::DELETE, PREFERENCES);
            (removal.with_query("roleId", &role.to_string()), json!([]))
        } else {
            (settings("new"), json!(["new"]))
        };
        let race = Race {
            held: format!("auth_role_sidebar_preferences where role_id = '{role}'"),
            change,
            deletion: Call::delete(ROLES, role),
            shown,
            place: "/settings/hiddenItems",
            expected,
        };
        race.run(&fixture).await;
    }
}
