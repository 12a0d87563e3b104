//! The log entries of executions that ended in a server error, and of the jobs in which they ran.

use backoffice_core::command::Hook;
use serde_json::{Value, json};
use uuid::Uuid;

use super::interceptors::{Plan, failed_entries, gated, plan, rejection};
use crate::call::Call;
use crate::fixture::{Fixture, id};
use crate::history::entries;

const OWNERS: &str = "/customers/deals/bulk-update-owner";

/// Inserts three deals of the admin and returns their ids by title.
async fn deals(fixture: &Fixture) -> Vec<Uuid> {
    let a = &fixture.a;
    let sql = format!(
        "insert into customers_deals (tenant_id, id, organization_id, title, status, owner_user_id, created_at, updated_at)
         select '{}', gen_random_uuid(), '{}', 'Deal ' || n, 'open', '{}', '2026-11-20', '2026-11-20'
         from generate_series(1, 3) as n",
        a.tenant, a.child, a.tenant_admin.id
    );
    fixture.app.sql(&sql).await;
    let rows = fixture.app.rows("select id from customers_deals order by title").await;
    rows.iter().map(|row| id(&row["id"])).collect()
}

/// Removes the owner of the deals with a bulk job under this plan of the interceptor. Returns the finished job.
async fn run(fixture: &Fixture, deals: &[Uuid], then: Plan) -> Value {
    let tenant_admin = &fixture.a.tenant_admin;
    plan(None);
    let body = json!({"ids": deals, "ownerUserId": null});
    let (status, response) = fixture.app.post(&tenant_admin.token, OWNERS, body).await;
    assert_eq!(status, 201, "{response}");
    plan(Some(then));
    fixture.app.run_jobs().await;
    let path = format!("/progress/jobs/{}", id(&response["progressJobId"]));
    let (status, job) = fixture.app.get(&tenant_admin.token, &path).await;
    assert_eq!(status, 200, "{job}");
    job
}

#[actix_web::test]
async fn aud_18_a_rejected_item_leaves_the_others_alone() {
    for (verdict, status, code) in [
        (rejection(None, None), 422, "blocked"),
        (rejection(Some(409), None), 409, "blocked"),
        (rejection(Some(200), None), 422, "blocked"),
        (rejection(Some(700), None), 422, "blocked"),
    ] {
        let fixture = gated().await;
        let deals = deals(&fixture).await;

        let job = run(&fixture, &deals, Plan::RejectDeal("Deal 2", verdict)).await;

        assert_eq!(
            (&job["succeededCount"], &job["failedCount"]),
            (&json!(2), &json!(1)),
            "{job}"
        );
        let failed = &job["resultSummary"]["failedItems"][0];
        let reported = (&failed["id"], &failed["status"], &failed["code"], &failed["message"]);
        assert_eq!(
            reported,
            (&json!(deals[1]), &json!(status), &json!(code), &json!("Not today"))
        );
        let owned = "select id from customers_deals where owner_user_id is not null";
        assert_eq!(fixture.app.rows(owned).await, [json!({"id": deals[1]})]);
        assert!(failed_entries(&fixture).await.is_empty(), "no failure is logged");
    }
}

#[actix_web::test]
async fn aud_19_a_failed_item_is_logged_with_its_job() {
    let fixture = gated().await;
    let deals = deals(&fixture).await;

    let job = run(&fixture, &deals, Plan::Panic(Hook::AfterExecute)).await;

    assert_eq!(job["failedCount"], 3, "{job}");
    let failed = failed_entries(&fixture).await;
    assert_eq!(failed.len(), 3);
    for entry in &failed {
        assert_eq!(entry["organizationId"], json!(fixture.a.child));
        assert_eq!(entry["source"], "job");
        assert_eq!(entry["context"]["progressJobId"], job["id"]);
        assert_eq!(entry["context"]["errorCode"], "internal_error");
        assert_eq!(entry["changes"], Value::Null);
    }
    let column = "select distinct progress_job_id from audit_action_logs where execution_state = 'failed'";
    assert_eq!(fixture.app.rows(column).await, [json!({"progress_job_id": job["id"]})]);
}

#[actix_web::test]
async fn the_entries_of_a_job_carry_it() {
    let fixture = gated().await;
    let deals = deals(&fixture).await;

    // One rejection after the change makes the items run one by one.
    let job = run(&fixture, &deals[..1], Plan::RejectDeal("none", rejection(None, None))).await;
    let rejected = run(
        &fixture,
        &deals[1..],
        Plan::Reject(Hook::AfterExecute, rejection(None, None)),
    )
    .await;

    assert_eq!(
        (&job["succeededCount"], &rejected["failedCount"]),
        (&json!(1), &json!(2))
    );
    let sql = "select progress_job_id from audit_action_logs where source = 'job' and execution_state = 'done'";
    assert_eq!(fixture.app.rows(sql).await, [json!({"progress_job_id": job["id"]})]);
}

#[actix_web::test]
async fn aud_19_a_failure_is_logged_in_the_organization_of_its_resource() {
    let fixture = gated().await;
    let (app, tenant_admin, colleague) = (&fixture.app, &fixture.a.tenant_admin, &fixture.a.colleague);
    let edit = |name: &str| Call::put("/auth/users", json!({"id": colleague.id, "name": name}));
    let done = edit("Renamed").send(app, &tenant_admin.token).await.undoable_write();

    plan(Some(Plan::Panic(Hook::BeforeExecute)));
    assert_eq!(edit("Again").send(app, &tenant_admin.token).await.status, 500);
    plan(Some(Plan::Panic(Hook::BeforeUndo)));
    assert_eq!(app.undo(&tenant_admin.token, &done).await.0, 500);

    let failed = failed_entries(&fixture).await;
    let reported: Vec<_> = failed
        .iter()
        .map(|entry| (entry["actionLabel"].clone(), entry["organizationId"].clone()))
        .collect();
    let child = json!(fixture.a.child);
    assert_eq!(
        reported,
        [
            (json!("Undo: Update user"), child.clone()),
            (json!("Update user"), child)
        ]
    );
    let context = &failed[0]["context"];
    assert_eq!(
        (
            &context["historyAction"],
            &context["sourceLogId"],
            &context["sourceCommandId"]
        ),
        (&json!("undo"), &json!(done.log_id), &json!("auth.user.update"))
    );
}

#[actix_web::test]
async fn a_lock_timeout_is_logged_as_a_failure() {
    let fixture = gated().await;
    let (app, role) = (&fixture.app, fixture.a.role);
    let call = Call::put("/auth/roles", json!({"id": role, "name": "Renamed"}));

    app.sql(&format!(
        "begin; select 1 from auth_roles where id = '{role}' for update"
    ))
    .await;
    let response = call.send(app, &fixture.a.tenant_admin.token).await;
    app.sql("rollback").await;

    assert_eq!(response.status, 503, "{}", response.text());
    let failed = failed_entries(&fixture).await;
    assert_eq!(failed.len(), 1);
    assert_eq!(failed[0]["context"]["errorCode"], "unavailable");
}

#[actix_web::test]
async fn aud_25_a_job_is_found_with_the_entries_of_its_items() {
    let fixture = gated().await;
    let deals = deals(&fixture).await;
    let job = run(&fixture, &deals, Plan::RejectDeal("none", rejection(None, None))).await;
    let found = async |related: bool| {
        let id = job["id"].as_str().expect("an id");
        let query = format!("resourceKind=progress.job&resourceId={id}&includeRelated={related}&limit=1000");
        let found = entries(&fixture.app, &fixture.a.tenant_admin, &query).await;
        let mut commands: Vec<Value> = found.iter().map(|entry| entry["commandId"].clone()).collect();
        commands.sort_by_key(Value::to_string);
        commands
    };

    let own = json!("customers.deal.bulk_update_owner");
    let item = json!("customers.deal.assign_owner");
    assert_eq!(found(false).await, std::slice::from_ref(&own));
    assert_eq!(found(true).await, [item.clone(), item.clone(), item, own]);
}
