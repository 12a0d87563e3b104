//! What the log tells of executions that ended in a server error, and of the jobs in which they did.

use backoffice_core::command::Hook;
use serde_json::{Value, json};
use uuid::Uuid;

use super::interceptors::{Plan, failed_entries, gated, plan, refusal};
use crate::call::Call;
use crate::history::{entries, operation, undo};
use crate::world::{World, id};

const OWNERS: &str = "/customers/deals/bulk-update-owner";

/// Three deals of the keeper, by title.
async fn deals(world: &World) -> Vec<Uuid> {
    let a = &world.a;
    let sql = format!(
        "insert into customers_deals (tenant_id, id, organization_id, title, status, owner_user_id, created_at, updated_at)
         select '{}', gen_random_uuid(), '{}', 'Deal ' || n, 'open', '{}', '2026-11-20', '2026-11-20'
         from generate_series(1, 3) as n",
        a.tenant, a.child, a.keeper.id
    );
    world.app.sql(&sql).await;
    let rows = world.app.rows("select id from customers_deals order by title").await;
    rows.iter().map(|row| id(&row["id"])).collect()
}

/// Gives the deals to nobody, by this plan of the interceptor; the job as it is shown in the end.
async fn run(world: &World, deals: &[Uuid], then: Plan) -> Value {
    let keeper = &world.a.keeper;
    plan(None);
    let body = json!({"ids": deals, "ownerUserId": null});
    let (status, answer) = world.app.post(&keeper.token, OWNERS, body).await;
    assert_eq!(status, 201, "{answer}");
    plan(Some(then));
    world.app.run_jobs().await;
    let path = format!("/progress/jobs/{}", id(&answer["progressJobId"]));
    let (status, job) = world.app.get(&keeper.token, &path).await;
    assert_eq!(status, 200, "{job}");
    job
}

#[actix_web::test]
async fn aud_18_a_refused_item_leaves_the_others_alone() {
    for (verdict, status, code) in [
        (refusal(None, None), 422, "blocked"),
        (refusal(Some(409), None), 409, "blocked"),
        (refusal(Some(200), None), 422, "blocked"),
        (refusal(Some(700), None), 422, "blocked"),
    ] {
        let world = gated().await;
        let deals = deals(&world).await;

        let job = run(&world, &deals, Plan::RefuseDeal("Deal 2", verdict)).await;

        assert_eq!(
            (&job["succeededCount"], &job["failedCount"]),
            (&json!(2), &json!(1)),
            "{job}"
        );
        let failed = &job["resultSummary"]["failedItems"][0];
        let told = (&failed["id"], &failed["status"], &failed["code"], &failed["message"]);
        assert_eq!(
            told,
            (&json!(deals[1]), &json!(status), &json!(code), &json!("Not today"))
        );
        let owned = "select id from customers_deals where owner_user_id is not null";
        assert_eq!(world.app.rows(owned).await, [json!({"id": deals[1]})]);
        assert!(failed_entries(&world).await.is_empty(), "a refusal is no failure");
    }
}

#[actix_web::test]
async fn aud_19_an_item_that_fails_is_told_with_its_job() {
    let world = gated().await;
    let deals = deals(&world).await;

    let job = run(&world, &deals, Plan::Panic(Hook::AfterExecute)).await;

    assert_eq!(job["failedCount"], 3, "{job}");
    let failed = failed_entries(&world).await;
    assert_eq!(failed.len(), 3);
    for entry in &failed {
        assert_eq!(entry["organizationId"], json!(world.a.child));
        assert_eq!(entry["source"], "job");
        assert_eq!(entry["context"]["progressJobId"], job["id"]);
        assert_eq!(entry["context"]["errorCode"], "internal_error");
        assert_eq!(entry["changes"], Value::Null);
    }
    let column = "select distinct progress_job_id from audit_action_logs where execution_state = 'failed'";
    assert_eq!(world.app.rows(column).await, [json!({"progress_job_id": job["id"]})]);
}

#[actix_web::test]
async fn the_entries_of_a_job_carry_it() {
    let world = gated().await;
    let deals = deals(&world).await;

    // One refusal after the change makes the items run one by one.
    let job = run(&world, &deals[..1], Plan::RefuseDeal("none", refusal(None, None))).await;
    let refused = run(
        &world,
        &deals[1..],
        Plan::Refuse(Hook::AfterExecute, refusal(None, None)),
    )
    .await;

    assert_eq!(
        (&job["succeededCount"], &refused["failedCount"]),
        (&json!(1), &json!(2))
    );
    let sql = "select progress_job_id from audit_action_logs where source = 'job' and execution_state = 'done'";
    assert_eq!(world.app.rows(sql).await, [json!({"progress_job_id": job["id"]})]);
}

#[actix_web::test]
async fn aud_19_a_failure_is_told_where_its_resource_is() {
    let world = gated().await;
    let (app, keeper, colleague) = (&world.app, &world.a.keeper, &world.a.colleague);
    let edit = |name: &str| Call::put("/auth/users", json!({"id": colleague.id, "name": name}));
    let done = operation(&edit("Renamed").send(app, &keeper.token).await);

    plan(Some(Plan::Panic(Hook::BeforeExecute)));
    assert_eq!(edit("Again").send(app, &keeper.token).await.status, 500);
    plan(Some(Plan::Panic(Hook::BeforeUndo)));
    assert_eq!(undo(app, keeper, &done.token).await.0, 500);

    let failed = failed_entries(&world).await;
    let told: Vec<_> = failed
        .iter()
        .map(|entry| (entry["actionLabel"].clone(), entry["organizationId"].clone()))
        .collect();
    let child = json!(world.a.child);
    assert_eq!(
        told,
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
async fn a_wait_that_is_too_long_is_a_failure_that_the_log_tells() {
    let world = gated().await;
    let (app, role) = (&world.app, world.a.role);
    let call = Call::put("/auth/roles", json!({"id": role, "name": "Renamed"}));

    app.sql(&format!(
        "begin; select 1 from auth_roles where id = '{role}' for update"
    ))
    .await;
    let response = call.send(app, &world.a.keeper.token).await;
    app.sql("rollback").await;

    assert_eq!(response.status, 503, "{}", response.text());
    let failed = failed_entries(&world).await;
    assert_eq!(failed.len(), 1);
    assert_eq!(failed[0]["context"]["errorCode"], "unavailable");
}

#[actix_web::test]
async fn aud_25_a_job_is_found_with_the_entries_of_its_items() {
    let world = gated().await;
    let deals = deals(&world).await;
    let job = run(&world, &deals, Plan::RefuseDeal("none", refusal(None, None))).await;
    let found = async |related: bool| {
        let id = job["id"].as_str().expect("an id");
        let query = format!("resourceKind=progress.job&resourceId={id}&includeRelated={related}&limit=1000");
        let found = entries(&world.app, &world.a.keeper, &query).await;
        let mut commands: Vec<Value> = found.iter().map(|entry| entry["commandId"].clone()).collect();
        commands.sort_by_key(Value::to_string);
        commands
    };

    let own = json!("customers.deal.bulk_update_owner");
    let item = json!("customers.deal.assign_owner");
    assert_eq!(found(false).await, std::slice::from_ref(&own));
    assert_eq!(found(true).await, [item.clone(), item.clone(), item, own]);
}
