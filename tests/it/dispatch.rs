//! The records of `dispatch`: in each organization a job site, a piece of equipment, and an assignment of one to the other, all with the id of the
//! organization. The assignments are completed, so that sites and resources can be deleted. In `child` there is a worker too.

use actix_web::http::Method;
use backoffice_test_support::UNDO;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{Fixture, TenantFixture};

/// Returns the id of the worker.
pub(crate) fn worker(tenant: &TenantFixture) -> Uuid {
    Uuid::from_u128(tenant.child.as_u128() ^ (0xd1 << 8))
}

/// Inserts the records.
pub(crate) async fn seed(fixture: &Fixture, tenant: &TenantFixture) {
    let at = "'2026-11-20T07:00:00Z', '2026-11-20T07:00:00Z'";
    for id in [tenant.child, tenant.other, tenant.parent, tenant.root] {
        let own = format!("'{}', '{id}', '{id}'", tenant.tenant);
        for sql in [
            format!(
                "insert into dispatch_job_sites (tenant_id, id, organization_id, name, code, status, created_at, updated_at) \
                 values ({own}, 'Site {id}', 'S-{id}', 'active', {at})"
            ),
            format!(
                "insert into dispatch_resources (tenant_id, id, organization_id, type, name, is_active, created_at, updated_at) \
                 values ({own}, 'equipment', 'Excavator {id}', true, {at})"
            ),
            format!(
                "insert into dispatch_assignments (tenant_id, id, organization_id, job_site_id, subject_type, subject_id, \
                    start_at, end_at, status, note, created_at, updated_at) \
                 values ({own}, '{id}', 'equipment', '{id}', '2026-11-23T08:00:00Z', '2026-11-23T16:00:00Z', 'completed', \
                    'A note', {at})"
            ),
        ] {
            assert_eq!(fixture.app.sql(&sql).await, 1);
        }
    }
    let worker = format!(
        "insert into dispatch_resources (tenant_id, id, organization_id, type, name, is_active, created_at, updated_at) \
         values ('{}', '{}', '{}', 'worker', 'Worker', true, {at})",
        tenant.tenant,
        worker(tenant),
        tenant.child
    );
    assert_eq!(fixture.app.sql(&worker).await, 1);
}

#[actix_web::test]
async fn dsp_39_a_conflict_is_reported_before_a_rule_and_neither_leaves_an_alert() {
    let fixture = Fixture::new().await;
    let token = &fixture.a.tenant_admin.token;
    let create = async |path: &str, body: Value| fixture.app.post(token, path, body).await;
    let (status, site) = create("/dispatch/job-sites", json!({"name": "Guarded"})).await;
    assert_eq!(status, 201, "{site}");
    let (status, worker) = create("/dispatch/resources", json!({"type": "worker", "name": "Guarded"})).await;
    assert_eq!(status, 201, "{worker}");
    let assignment = json!({"jobSiteId": site["id"], "subjectType": "worker", "subjectId": worker["id"],
        "startAt": "2031-01-07T08:00:00Z", "endAt": "2031-01-07T12:00:00Z"});
    let (status, body) = create("/dispatch/assignments", assignment.clone()).await;
    assert_eq!(status, 201, "{body}");
    let guard = json!({"ruleId": "no_more", "ruleName": "No more", "ruleType": "GUARD", "entityType": "dispatch.assignment",
        "conditionExpression": {"field": "note", "operator": "=", "value": "allowed"}});
    let (status, rule) = create("/business_rules/rules", guard).await;
    assert_eq!(status, 201, "{rule}");

    let blocked = create("/dispatch/assignments", assignment.clone()).await;
    let conflict = create("/dispatch/assignments?rejectConflicts=true", assignment).await;

    assert_eq!((blocked.0, &blocked.1["code"]), (422, &json!("business_rule_blocked")));
    assert_eq!((conflict.0, &conflict.1["code"]), (409, &json!("assignment_conflict")));
    let about = format!("/alerts/alerts?subjectIds={}", worker["id"].as_str().expect("an id"));
    let (status, alerts) = fixture.app.get(token, &about).await;
    assert_eq!((status, &alerts["total"]), (200, &json!(0)), "{alerts}");
}

#[actix_web::test]
async fn rules_validate_every_assignment_of_a_bulk_creation_and_act_on_each() {
    let fixture = Fixture::new().await;
    let token = &fixture.a.tenant_admin.token;
    let create = async |path: &str, body: Value| {
        let (status, body) = fixture.app.post(token, path, body).await;
        assert_eq!(status, 201, "{path}: {body}");
        body["id"].clone()
    };
    let site = create("/dispatch/job-sites", json!({"name": "Bulk"})).await;
    let machine = create("/dispatch/resources", json!({"type": "equipment", "name": "Bulk"})).await;
    let guard = |event_type: &str, note: &str| {
        json!({"ruleId": event_type, "ruleName": event_type, "ruleType": "GUARD", "entityType": "dispatch.assignment",
            "eventType": event_type, "conditionExpression": {"field": "note", "operator": "!=", "value": note}})
    };
    create("/business_rules/rules", guard("created", "blocked")).await;
    create("/business_rules/rules", guard("undone", "second")).await;
    let number = |note: &str| json!({"type": "SET_FIELD", "config": {"field": "note", "value": note}});
    let act = json!({"ruleId": "act", "ruleName": "Act", "ruleType": "ACTION", "entityType": "dispatch.assignment",
        "eventType": "created", "conditionExpression": {"field": "note", "operator": "!=", "value": "second"},
        "successActions": [number("{{note}} of {{id}}")]});
    create("/business_rules/rules", act).await;
    let bulk = async |notes: &[&str]| {
        let items = notes.iter().zip(1..).map(|(note, day)| {
            json!({"jobSiteId": site, "subjectType": "equipment", "subjectId": machine, "note": note,
                "startAt": format!("2031-01-{day:02}T08:00:00Z"), "endAt": format!("2031-01-{day:02}T12:00:00Z")})
        });
        let body = json!({"items": items.collect::<Vec<Value>>()});
        let request = fixture.app.request(Method::POST, "/dispatch/assignments/bulk");
        request
            .bearer(token)
            .json(&body)
            .responded_by_interceptor()
            .send()
            .await
    };

    let blocked = bulk(&["first", "second", "blocked"]).await;
    let created = bulk(&["first", "second", "third"]).await;

    assert_eq!(
        (blocked.status, &blocked.json()["code"]),
        (422, &json!("business_rule_blocked"))
    );
    assert_eq!(created.status, 201, "{}", created.text());
    let undo = fixture.app.request(Method::POST, UNDO).bearer(token);
    let undo = undo.json(&json!({"undoToken": created.undoable_write().token}));
    let undone = undo.responded_by_interceptor().send().await;
    assert_eq!(
        (undone.status, &undone.json()["code"]),
        (422, &json!("business_rule_blocked"))
    );
    while fixture.app.deliver_events().await + fixture.app.run_jobs().await > 0 {}
    let notes: Vec<Value> = fixture
        .app
        .rows("select note from dispatch_assignments where start_at > '2031-01-01' order by start_at")
        .await;
    let ids = created.json()["ids"].clone();
    let text = |index: usize| ids[index].as_str().expect("an id").to_owned();
    assert_eq!(
        notes,
        [
            json!({"note": format!("first of {}", text(0))}),
            json!({"note": "second"}),
            json!({"note": format!("third of {}", text(2))}),
        ]
    );
}
