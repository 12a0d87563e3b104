//! Log entries and events of deals, and what undo restores.

use actix_web::http::Method;
use backoffice_core::http::Json;
use backoffice_customers::commands::deals::{AssignOwner, ChangeStage};
use backoffice_test_support::UndoableWrite;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{ACTIONS, DEALS, Fixture, STAGES};

fn names(events: &[(String, Value)]) -> Vec<&str> {
    events.iter().map(|(name, _)| name.as_str()).collect()
}

#[actix_web::test]
async fn owner_and_stage_changes_are_announced_for_every_command() {
    let fixture = Fixture::new().await;
    let (admin, child) = (&fixture.a.admin, fixture.a.child);
    let (pipeline, stages) = fixture.pipeline(admin, child, &["New", "Offered"]).await;
    let deal = fixture.deal(admin, child, json!({"ownerUserId": admin.id})).await;
    let body = json!({"id": deal, "pipelineStageId": stages[1], "ownerUserId": null});
    let moved = fixture.write(admin, Method::PUT, DEALS, body).await;
    assert_eq!(
        fixture.put(admin, DEALS, json!({"id": deal, "source": "Web"})).await.0,
        200
    );

    let events = fixture.events(deal).await;
    let [assigned, changed] = ["customers.deal.owner_assigned", "customers.deal.stage_changed"];
    let (created, updated) = ("customers.deal.created", "customers.deal.updated");
    assert_eq!(names(&events), [created, assigned, updated, assigned, changed, updated]);
    assert_eq!(
        (&events[1].1["fromUserId"], &events[1].1["toUserId"]),
        (&Value::Null, &json!(admin.id))
    );
    assert_eq!(
        (&events[3].1["fromUserId"], &events[3].1["toUserId"]),
        (&json!(admin.id), &Value::Null)
    );
    let reported = ["pipelineId", "fromStageId", "toStageId"].map(|name| events[4].1[name].clone());
    assert_eq!(reported, [json!(pipeline), Value::Null, json!(stages[1])]);
    assert_eq!(events[4].1["organizationId"], json!(child));

    assert_eq!(
        fixture.app.undo(&admin.token, &moved).await.0,
        400,
        "it is not the latest"
    );
    let last = UndoableWrite::from_entry(&fixture.last_entry(admin).await);
    assert_eq!(fixture.app.undo(&admin.token, &last).await.0, 200);
    assert_eq!(fixture.app.undo(&admin.token, &moved).await.0, 200);
    let events = fixture.events(deal).await;
    assert_eq!(names(&events[6..]), [updated, updated, assigned, changed]);
    for (at, (name, payload)) in events.iter().enumerate() {
        let is_undo = if at < 6 { Value::Null } else { json!(true) };
        assert_eq!(payload["undo"], is_undo, "{at}: {name}");
    }
    assert_eq!(events[8].1["toUserId"], json!(admin.id), "undo gives it back");
    assert_eq!(
        (&events[9].1["fromStageId"], &events[9].1["toStageId"]),
        (&json!(stages[1]), &Value::Null)
    );
}

#[actix_web::test]
async fn events_are_shown_to_browsers_of_those_who_see_deals() {
    let fixture = Fixture::new().await;
    let deal = fixture
        .deal(
            &fixture.a.admin,
            fixture.a.child,
            json!({"ownerUserId": fixture.a.admin.id}),
        )
        .await;

    let query = format!("select browser, feature from core_outbox_events where payload->>'id' = '{deal}'");
    let rows = fixture.app.rows(&query).await;

    assert_eq!(
        rows,
        vec![json!({"browser": true, "feature": "customers.deals.view"}); 2]
    );
}

#[actix_web::test]
async fn entries_of_a_deal_are_found_by_its_people_and_companies() {
    let fixture = Fixture::new().await;
    let (admin, child) = (&fixture.a.admin, fixture.a.child);
    let (ada, acme) = (
        fixture.person(&fixture.a, child, "Ada").await,
        fixture.company(&fixture.a, child, "Acme").await,
    );
    let deal = fixture
        .deal(admin, child, json!({"personIds": [ada], "companyIds": [acme]}))
        .await;

    for (kind, id) in [("customers.person", ada), ("customers.company", acme)] {
        let query = format!("{ACTIONS}?resourceKind={kind}&resourceId={id}&includeRelated=true");
        let (_, body) = fixture.get(admin, &query).await;
        assert_eq!(
            (&body["total"], &body["items"][0]["resourceId"]),
            (&json!(1), &json!(deal)),
            "{kind}"
        );
    }
    let entry = fixture.last_entry(admin).await;
    assert_eq!(
        (&entry["actionType"], &entry["snapshotAfter"]["personIds"]),
        (&json!("create"), &json!([ada]))
    );
}

#[actix_web::test]
async fn deleted_references_stay_out_of_a_restored_deal() {
    let fixture = Fixture::new().await;
    let (admin, child) = (&fixture.a.admin, fixture.a.child);
    let (pipeline, stages) = fixture.pipeline(admin, child, &["New", "Offered"]).await;
    let owner = fixture
        .account(&fixture.a, child, "owner@alpha.test", &["customers.*"], None)
        .await;
    let (ada, acme) = (
        fixture.person(&fixture.a, child, "Ada").await,
        fixture.company(&fixture.a, child, "Acme").await,
    );
    let members =
        json!({"pipelineStageId": stages[1], "ownerUserId": owner.id, "personIds": [ada], "companyIds": [acme]});
    let deal = fixture.deal(admin, child, members).await;
    let deleted = fixture.remove(admin, DEALS, deal).await;
    fixture.remove(admin, STAGES, stages[1]).await;
    let closed = json!({"id": owner.id, "isActive": false});
    assert_eq!(fixture.app.put(&admin.token, "/auth/users", closed).await.0, 200);
    assert_eq!(
        fixture
            .app
            .sql(&format!("delete from customers_people where id = '{ada}'"))
            .await,
        1
    );

    fixture.app.advance(time::Duration::seconds(1));

    let (status, body) = fixture.app.undo(&admin.token, &deleted).await;

    assert_eq!(status, 200, "{body}");
    let item = fixture.item(admin, DEALS, deal).await;
    assert_eq!(
        (&item["pipelineId"], &item["pipelineStageId"]),
        (&json!(pipeline), &Value::Null)
    );
    assert_eq!((&item["ownerUserId"], &item["personIds"]), (&Value::Null, &json!([])));
    assert_eq!(item["companyIds"], json!([acme]));
    let dropped = &fixture.last_entry(admin).await["context"]["dropped"];
    let expected = [
        format!("auth.user:{}", owner.id),
        format!("customers.pipeline_stage:{}", stages[1]),
        format!("customers.person:{ada}"),
    ];
    assert_eq!(*dropped, json!(expected));
}

#[actix_web::test]
async fn an_undo_leaves_an_owner_alone_whom_it_does_not_bring() {
    let fixture = Fixture::new().await;
    let admin = &fixture.a.admin;
    let owner = fixture
        .account(&fixture.a, fixture.a.child, "owner@alpha.test", &["customers.*"], None)
        .await;
    let deal = fixture
        .deal(admin, fixture.a.child, json!({"ownerUserId": owner.id}))
        .await;
    let renamed = fixture
        .write(admin, Method::PUT, DEALS, json!({"id": deal, "title": "Renamed"}))
        .await;
    let closed = json!({"id": owner.id, "isActive": false});
    assert_eq!(fixture.app.put(&admin.token, "/auth/users", closed).await.0, 200);

    assert_eq!(fixture.app.undo(&admin.token, &renamed).await.0, 200);

    let item = fixture.item(admin, DEALS, deal).await;
    assert_eq!(
        (&item["title"], &item["ownerUserId"]),
        (&json!("A deal"), &json!(owner.id))
    );
}

#[actix_web::test]
async fn an_undo_restores_no_reference_that_its_caller_could_not_create() {
    let fixture = Fixture::new().await;
    let (tenant_fixture, admin) = (&fixture.a, &fixture.a.admin);
    let owner = fixture
        .account(
            tenant_fixture,
            tenant_fixture.child,
            "owner@alpha.test",
            &["customers.*"],
            Some(&[tenant_fixture.child]),
        )
        .await;
    let eve = fixture.person(tenant_fixture, tenant_fixture.child, "Eve").await;
    for (members, cleared, barrier, field) in [
        (
            json!({"ownerUserId": owner.id}),
            json!({"ownerUserId": null}),
            format!(
                "update auth_user_acls set organizations = '{{{}}}' where user_id = '{}'",
                tenant_fixture.other, owner.id
            ),
            "ownerUserId",
        ),
        (
            json!({"personIds": [eve]}),
            json!({"personIds": []}),
            format!(
                "update customers_people set organization_id = '{}' where id = '{eve}'",
                tenant_fixture.other
            ),
            "personIds",
        ),
    ] {
        let deal = fixture.deal(admin, tenant_fixture.child, members).await;
        let mut body = cleared;
        body["id"] = json!(deal);
        let written = fixture.write(&tenant_fixture.local, Method::PUT, DEALS, body).await;
        assert_eq!(fixture.app.sql(&barrier).await, 1);
        let before = fixture.item(admin, DEALS, deal).await;

        let (status, body) = fixture.app.undo(&tenant_fixture.local.token, &written).await;

        assert_eq!(
            (status, &body["code"], &body["fields"]),
            (400, &json!("undo_conflict"), &json!([field]))
        );
        assert_eq!(fixture.item(admin, DEALS, deal).await, before);
    }
}

#[actix_web::test]
async fn an_undo_restores_an_owner_whom_its_caller_does_not_see() {
    let fixture = Fixture::new().await;
    let (admin, local, child) = (&fixture.a.admin, &fixture.a.local, fixture.a.child);
    let deal = fixture.deal(admin, child, json!({"ownerUserId": admin.id})).await;
    let assign = json!({"id": deal, "ownerUserId": local.id});
    let assigned = fixture.write(local, Method::PUT, DEALS, assign).await;

    let (status, body) = fixture.app.undo(&local.token, &assigned).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(fixture.item(local, DEALS, deal).await["ownerUserId"], json!(admin.id));

    let deleted = fixture.remove(local, DEALS, deal).await;
    let (status, body) = fixture.app.undo(&local.token, &deleted).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(fixture.item(local, DEALS, deal).await["ownerUserId"], json!(admin.id));
}

#[actix_web::test]
async fn a_stage_that_holds_deals_is_not_undone() {
    let fixture = Fixture::new().await;
    let (admin, child) = (&fixture.a.admin, fixture.a.child);
    let (pipeline, _) = fixture.pipeline(admin, child, &[]).await;
    let body = json!({"pipelineId": pipeline, "label": "New"});
    let created = fixture.write(admin, Method::POST, STAGES, body).await;
    fixture
        .deal(admin, child, json!({"pipelineStageId": created.resource}))
        .await;

    let (status, body) = fixture.app.undo(&admin.token, &created).await;

    assert_eq!(
        (status, &body["code"], &body["fields"]),
        (400, &json!("undo_conflict"), &json!(["customers.deal"]))
    );
}

#[actix_web::test]
async fn the_commands_of_jobs_hold_the_same_rules() {
    let fixture = Fixture::new().await;
    let (tenant_fixture, admin) = (&fixture.a, &fixture.a.admin);
    let (pipeline, stages) = fixture.pipeline(admin, tenant_fixture.child, &["New", "Offered"]).await;
    let (_, elsewhere) = fixture.pipeline(admin, tenant_fixture.other, &["New"]).await;
    let placed = fixture
        .deal(admin, tenant_fixture.child, json!({"pipelineId": pipeline}))
        .await;
    let bare = fixture.deal(admin, tenant_fixture.child, json!({})).await;
    let ctx = fixture.app.system_context();
    let assign = async |deal: Uuid, owner: Uuid| {
        let command = AssignOwner {
            deal,
            owner: Some(owner),
        };
        let done = ctx.execute(&command, |()| Json(Value::Null)).await;
        done.map(drop)
            .map_err(|error| error.to_rejection().code.map(String::from))
    };
    let change = async |deal: Uuid, stage: Uuid| {
        let done = ctx.execute(&ChangeStage { deal, stage }, |()| Json(Value::Null)).await;
        done.map(drop)
            .map_err(|error| error.to_rejection().code.map(String::from))
    };
    let code = |code: &str| Err(Some(code.to_owned()));

    assert_eq!(
        assign(placed, tenant_fixture.stranger.id).await,
        code("owner_out_of_scope")
    );
    assert_eq!(assign(placed, fixture.b.admin.id).await, code("unknown_reference"));
    assert_eq!(assign(placed, tenant_fixture.local.id).await, Ok(()));
    assert_eq!(change(placed, elsewhere[0]).await, code("stage_in_other_pipeline"));
    assert_eq!(change(bare, elsewhere[0]).await, code("unknown_reference"));
    assert_eq!(change(placed, Uuid::from_u128(7)).await, code("unknown_reference"));
    assert_eq!(change(placed, stages[1]).await, Ok(()));
    assert_eq!(change(bare, stages[1]).await, Ok(()));
    let item = fixture.item(admin, DEALS, bare).await;
    assert_eq!(
        (&item["pipelineId"], &item["pipelineStageId"]),
        (&json!(pipeline), &json!(stages[1]))
    );
    let entry = fixture.last_entry(admin).await;
    assert_eq!(
        (&entry["commandId"], &entry["actionType"]),
        (&json!("customers.deal.change_stage"), &json!("edit"))
    );
    let snapshot = fixture.app.snapshot_without(&["audit_access_logs"], &[]).await;
    assert_eq!(change(bare, stages[1]).await, Ok(()));
    assert_eq!(
        fixture.app.snapshot_without(&["audit_access_logs"], &[]).await,
        snapshot,
        "nothing to change"
    );
}
