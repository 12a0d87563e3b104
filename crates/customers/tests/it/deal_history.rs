//! What the log and the events tell of deals, and what undo brings back.

use actix_web::http::Method;
use backoffice_core::http::Json;
use backoffice_customers::commands::deals::{AssignOwner, ChangeStage};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::world::{ACTIONS, DEALS, STAGES, World};

fn names(events: &[(String, Value)]) -> Vec<&str> {
    events.iter().map(|(name, _)| name.as_str()).collect()
}

#[actix_web::test]
async fn who_gets_a_deal_and_where_it_goes_is_announced_whatever_does_it() {
    let world = World::new().await;
    let (admin, child) = (&world.a.admin, world.a.child);
    let (pipeline, stages) = world.pipeline(admin, child, &["New", "Offered"]).await;
    let deal = world.deal(admin, child, json!({"ownerUserId": admin.id})).await;
    let body = json!({"id": deal, "pipelineStageId": stages[1], "ownerUserId": null});
    let moved = world.write(admin, Method::PUT, DEALS, body).await;
    assert_eq!(
        world.put(admin, DEALS, json!({"id": deal, "source": "Web"})).await.0,
        200
    );

    let events = world.events(deal).await;
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
    let told = ["pipelineId", "fromStageId", "toStageId"].map(|name| events[4].1[name].clone());
    assert_eq!(told, [json!(pipeline), Value::Null, json!(stages[1])]);
    assert_eq!(events[4].1["organizationId"], json!(child));

    assert_eq!(world.undo(admin, &moved).await.0, 400, "it is not the latest");
    let last = world.last_entry(admin).await;
    let last = crate::world::Written {
        token: last["undoToken"].as_str().expect("a token").to_owned(),
        ..moved.clone()
    };
    assert_eq!(world.undo(admin, &last).await.0, 200);
    assert_eq!(world.undo(admin, &moved).await.0, 200);
    let events = world.events(deal).await;
    assert_eq!(names(&events[6..]), [updated, updated, assigned, changed]);
    assert_eq!(events[8].1["toUserId"], json!(admin.id), "undo gives it back");
    assert_eq!(
        (&events[9].1["fromStageId"], &events[9].1["toStageId"]),
        (&json!(stages[1]), &Value::Null)
    );
}

#[actix_web::test]
async fn events_are_shown_to_browsers_of_those_who_see_deals() {
    let world = World::new().await;
    let deal = world
        .deal(&world.a.admin, world.a.child, json!({"ownerUserId": world.a.admin.id}))
        .await;

    let query = format!("select browser, feature from core_outbox_events where payload->>'id' = '{deal}'");
    let rows = world.app.rows(&query).await;

    assert_eq!(
        rows,
        vec![json!({"browser": true, "feature": "customers.deals.view"}); 2]
    );
}

#[actix_web::test]
async fn entries_of_a_deal_are_found_by_its_people_and_companies() {
    let world = World::new().await;
    let (admin, child) = (&world.a.admin, world.a.child);
    let (ada, acme) = (
        world.person(&world.a, child, "Ada").await,
        world.company(&world.a, child, "Acme").await,
    );
    let deal = world
        .deal(admin, child, json!({"personIds": [ada], "companyIds": [acme]}))
        .await;

    for (kind, id) in [("customers.person", ada), ("customers.company", acme)] {
        let query = format!("{ACTIONS}?resourceKind={kind}&resourceId={id}&includeRelated=true");
        let (_, body) = world.get(admin, &query).await;
        assert_eq!(
            (&body["total"], &body["items"][0]["resourceId"]),
            (&json!(1), &json!(deal)),
            "{kind}"
        );
    }
    let entry = world.last_entry(admin).await;
    assert_eq!(
        (&entry["actionType"], &entry["snapshotAfter"]["personIds"]),
        (&json!("create"), &json!([ada]))
    );
}

#[actix_web::test]
async fn what_is_gone_stays_out_of_a_deal_that_comes_back() {
    let world = World::new().await;
    let (admin, child) = (&world.a.admin, world.a.child);
    let (pipeline, stages) = world.pipeline(admin, child, &["New", "Offered"]).await;
    let owner = world
        .account(&world.a, child, "owner@alpha.test", &["customers.*"], None)
        .await;
    let (ada, acme) = (
        world.person(&world.a, child, "Ada").await,
        world.company(&world.a, child, "Acme").await,
    );
    let members =
        json!({"pipelineStageId": stages[1], "ownerUserId": owner.id, "personIds": [ada], "companyIds": [acme]});
    let deal = world.deal(admin, child, members).await;
    let deleted = world.remove(admin, DEALS, deal).await;
    world.remove(admin, STAGES, stages[1]).await;
    let closed = json!({"id": owner.id, "isActive": false});
    assert_eq!(world.app.put(&admin.token, "/auth/users", closed).await.0, 200);
    assert_eq!(
        world
            .app
            .sql(&format!("delete from customers_people where id = '{ada}'"))
            .await,
        1
    );

    world.app.advance(time::Duration::seconds(1));

    let (status, body) = world.undo(admin, &deleted).await;

    assert_eq!(status, 200, "{body}");
    let item = world.item(admin, DEALS, deal).await;
    assert_eq!(
        (&item["pipelineId"], &item["pipelineStageId"]),
        (&json!(pipeline), &Value::Null)
    );
    assert_eq!((&item["ownerUserId"], &item["personIds"]), (&Value::Null, &json!([])));
    assert_eq!(item["companyIds"], json!([acme]));
    let dropped = &world.last_entry(admin).await["context"]["dropped"];
    let expected = [
        format!("auth.user:{}", owner.id),
        format!("customers.pipeline_stage:{}", stages[1]),
        format!("customers.person:{ada}"),
    ];
    assert_eq!(*dropped, json!(expected));
}

#[actix_web::test]
async fn an_undo_leaves_an_owner_alone_whom_it_does_not_bring() {
    let world = World::new().await;
    let admin = &world.a.admin;
    let owner = world
        .account(&world.a, world.a.child, "owner@alpha.test", &["customers.*"], None)
        .await;
    let deal = world.deal(admin, world.a.child, json!({"ownerUserId": owner.id})).await;
    let renamed = world
        .write(admin, Method::PUT, DEALS, json!({"id": deal, "title": "Renamed"}))
        .await;
    let closed = json!({"id": owner.id, "isActive": false});
    assert_eq!(world.app.put(&admin.token, "/auth/users", closed).await.0, 200);

    assert_eq!(world.undo(admin, &renamed).await.0, 200);

    let item = world.item(admin, DEALS, deal).await;
    assert_eq!(
        (&item["title"], &item["ownerUserId"]),
        (&json!("A deal"), &json!(owner.id))
    );
}

#[actix_web::test]
async fn an_undo_brings_no_reference_that_its_caller_could_not_make() {
    let world = World::new().await;
    let (house, admin) = (&world.a, &world.a.admin);
    let owner = world
        .account(
            house,
            house.child,
            "owner@alpha.test",
            &["customers.*"],
            Some(&[house.child]),
        )
        .await;
    let eve = world.person(house, house.child, "Eve").await;
    for (members, cleared, barrier, field) in [
        (
            json!({"ownerUserId": owner.id}),
            json!({"ownerUserId": null}),
            format!(
                "update auth_user_acls set organizations = '{{{}}}' where user_id = '{}'",
                house.other, owner.id
            ),
            "ownerUserId",
        ),
        (
            json!({"personIds": [eve]}),
            json!({"personIds": []}),
            format!(
                "update customers_people set organization_id = '{}' where id = '{eve}'",
                house.other
            ),
            "personIds",
        ),
    ] {
        let deal = world.deal(admin, house.child, members).await;
        let mut body = cleared;
        body["id"] = json!(deal);
        let written = world.write(&house.local, Method::PUT, DEALS, body).await;
        assert_eq!(world.app.sql(&barrier).await, 1);
        let before = world.item(admin, DEALS, deal).await;

        let (status, body) = world.undo(&house.local, &written).await;

        assert_eq!(
            (status, &body["code"], &body["fields"]),
            (400, &json!("undo_conflict"), &json!([field]))
        );
        assert_eq!(world.item(admin, DEALS, deal).await, before);
    }
}

#[actix_web::test]
async fn a_stage_that_holds_deals_is_not_undone() {
    let world = World::new().await;
    let (admin, child) = (&world.a.admin, world.a.child);
    let (pipeline, _) = world.pipeline(admin, child, &[]).await;
    let body = json!({"pipelineId": pipeline, "label": "New"});
    let made = world.write(admin, Method::POST, STAGES, body).await;
    world.deal(admin, child, json!({"pipelineStageId": made.id})).await;

    let (status, body) = world.undo(admin, &made).await;

    assert_eq!(
        (status, &body["code"], &body["fields"]),
        (400, &json!("undo_conflict"), &json!(["customers.deal"]))
    );
}

#[actix_web::test]
async fn the_commands_of_jobs_hold_the_same_rules() {
    let world = World::new().await;
    let (house, admin) = (&world.a, &world.a.admin);
    let (pipeline, stages) = world.pipeline(admin, house.child, &["New", "Offered"]).await;
    let (_, elsewhere) = world.pipeline(admin, house.other, &["New"]).await;
    let placed = world.deal(admin, house.child, json!({"pipelineId": pipeline})).await;
    let bare = world.deal(admin, house.child, json!({})).await;
    let ctx = world.app.system_context();
    let assign = async |deal: Uuid, owner: Uuid| {
        let command = AssignOwner {
            deal,
            owner: Some(owner),
        };
        let done = ctx.execute(&command, |()| Json(Value::Null)).await;
        done.map(drop)
            .map_err(|error| error.to_refusal().code.map(String::from))
    };
    let change = async |deal: Uuid, stage: Uuid| {
        let done = ctx.execute(&ChangeStage { deal, stage }, |()| Json(Value::Null)).await;
        done.map(drop)
            .map_err(|error| error.to_refusal().code.map(String::from))
    };
    let code = |code: &str| Err(Some(code.to_owned()));

    assert_eq!(assign(placed, house.stranger.id).await, code("owner_out_of_scope"));
    assert_eq!(assign(placed, world.b.admin.id).await, code("unknown_reference"));
    assert_eq!(assign(placed, house.local.id).await, Ok(()));
    assert_eq!(change(placed, elsewhere[0]).await, code("stage_in_other_pipeline"));
    assert_eq!(change(bare, elsewhere[0]).await, code("unknown_reference"));
    assert_eq!(change(placed, Uuid::from_u128(7)).await, code("unknown_reference"));
    assert_eq!(change(placed, stages[1]).await, Ok(()));
    assert_eq!(change(bare, stages[1]).await, Ok(()));
    let item = world.item(admin, DEALS, bare).await;
    assert_eq!(
        (&item["pipelineId"], &item["pipelineStageId"]),
        (&json!(pipeline), &json!(stages[1]))
    );
    let entry = world.last_entry(admin).await;
    assert_eq!(
        (&entry["commandId"], &entry["actionType"]),
        (&json!("customers.deal.change_stage"), &json!("edit"))
    );
    let image = world.app.image_without(&["audit_access_logs"], &[]).await;
    assert_eq!(change(bare, stages[1]).await, Ok(()));
    assert_eq!(
        world.app.image_without(&["audit_access_logs"], &[]).await,
        image,
        "nothing to change"
    );
}
