//! Pipelines.

use actix_web::http::Method;
use futures_util::future::join;
use serde_json::{Value, json};

use crate::world::{DEALS, PIPELINES, STAGES, World, detail};

#[actix_web::test]
async fn a_pipeline_is_made_renamed_listed_and_deleted() {
    let world = World::new().await;
    let admin = &world.a.admin;
    let pipeline = world.make(admin, PIPELINES, json!({"name": " Sales "})).await;
    let body = json!({"name": "Aftercare", "organizationId": world.a.child});
    let other = world.make(admin, PIPELINES, body).await;

    let renamed = world
        .send(
            admin,
            Method::PUT,
            PIPELINES,
            Some(json!({"id": pipeline, "name": "sales"})),
        )
        .await;

    let item = world.item(admin, PIPELINES, pipeline).await;
    assert_eq!(
        (renamed.status, renamed.json()),
        (200, json!({"ok": true, "updatedAt": item["updatedAt"]}))
    );
    assert_eq!(
        (&item["name"], &item["organizationId"], &item["tenantId"]),
        (&json!("sales"), &json!(world.a.root), &json!(world.a.id))
    );
    assert_eq!(world.list(admin, PIPELINES).await, [other, pipeline]);
    assert_eq!(
        world
            .list(admin, &format!("{PIPELINES}?sortField=name&sortDir=desc"))
            .await,
        [pipeline, other]
    );
    assert_eq!(world.list(admin, &format!("{PIPELINES}?search=SAL")).await, [pipeline]);
    assert_eq!(world.list(admin, &format!("{PIPELINES}?ids={other}")).await, [other]);
    world.remove(admin, PIPELINES, pipeline).await;
    let gone = world.get(admin, &format!("{PIPELINES}/{pipeline}")).await;
    assert_eq!(gone, (404, json!({"error": "Pipeline not found"})));
}

#[actix_web::test]
async fn a_name_is_taken_once_in_an_organization() {
    let world = World::new().await;
    let admin = &world.a.admin;
    let make = async |name: &str, organization| {
        let body = json!({"name": name, "organizationId": organization});
        world.app.post(&admin.token, PIPELINES, body).await
    };
    let taken = (409, json!({"error": "Name already in use", "code": "duplicate_name"}));
    let first = make("Sales", world.a.child).await;
    assert_eq!(first.0, 201);

    assert_eq!(make("SALES", world.a.child).await, taken);
    assert_eq!(make("Sales", world.a.other).await.0, 201);
    let second = make("Support", world.a.child).await;
    assert_eq!(
        world
            .put(admin, PIPELINES, json!({"id": second.1["id"], "name": "sales"}))
            .await,
        taken
    );
}

#[actix_web::test]
async fn members_that_break_a_rule_are_refused() {
    let world = World::new().await;
    let admin = &world.a.admin;
    let pipeline = world.make(admin, PIPELINES, json!({"name": "Sales"})).await;

    for (members, path, code) in [
        (json!({"name": " "}), "name", "required"),
        (json!({"name": null}), "name", "required"),
        (json!({"name": "x".repeat(201)}), "name", "too_long"),
        (json!({"organizationId": null}), "organizationId", "required"),
        (
            json!({"organizationId": world.a.other}),
            "organizationId",
            "invalid_value",
        ),
    ] {
        let mut body = members.clone();
        body["id"] = json!(pipeline);
        let (status, answer) = world.put(admin, PIPELINES, body).await;
        assert_eq!((status, detail(&answer)), (400, (path, code)), "{members}");
    }
    let (status, answer) = world.app.post(&admin.token, PIPELINES, json!({})).await;
    assert_eq!((status, detail(&answer)), (400, ("name", "required")));
}

#[actix_web::test]
async fn who_sees_a_pipeline_from_below_can_not_change_it() {
    let world = World::new().await;
    let house = &world.a;
    let (above, stages) = world.pipeline(&house.admin, house.parent, &["New"]).await;
    let (beside, _) = world.pipeline(&house.admin, house.other, &["New"]).await;

    assert_eq!(world.get(&house.local, &format!("{PIPELINES}/{above}")).await.0, 200);
    assert_eq!(world.list(&house.local, STAGES).await, stages);
    for pipeline in [above, beside] {
        let body = json!({"id": pipeline, "name": "Mine"});
        assert_eq!(world.put(&house.local, PIPELINES, body).await.0, 404);
        let path = format!("{PIPELINES}?id={pipeline}");
        assert_eq!(world.delete(&house.local, &path).await.0, 404);
        let body = json!({"pipelineId": pipeline, "label": "Mine"});
        let (status, answer) = world.app.post(&house.local.token, STAGES, body).await;
        assert_eq!((status, detail(&answer)), (400, ("pipelineId", "unknown_reference")));
    }
    for who in [&house.local, &world.b.admin] {
        assert_eq!(world.get(who, &format!("{PIPELINES}/{beside}")).await.0, 404);
    }
    let (status, answer) = world.get(&house.plain, PIPELINES).await;
    assert_eq!(
        (status, &answer["requiredFeatures"]),
        (403, &json!(["customers.pipelines.view"]))
    );
}

#[actix_web::test]
async fn crm_13_a_stage_with_deals_stays() {
    let world = World::new().await;
    let (admin, child) = (&world.a.admin, world.a.child);
    let (pipeline, stages) = world.pipeline(admin, child, &["New", "Offered"]).await;
    let (without_stage, _) = world.pipeline(admin, child, &[]).await;
    world.deal(admin, child, json!({"pipelineStageId": stages[0]})).await;
    world.deal(admin, child, json!({"pipelineId": without_stage})).await;
    let before = world.app.image().await;

    for (path, id) in [(STAGES, stages[0]), (PIPELINES, pipeline), (PIPELINES, without_stage)] {
        let answer = world.delete(admin, &format!("{path}?id={id}")).await;
        assert_eq!(answer, (409, json!({"error": "In use", "code": "in_use"})), "{path}");
    }
    assert_eq!(world.app.image().await, before);
    world.remove(admin, STAGES, stages[1]).await;
}

#[actix_web::test]
async fn crm_13_a_deal_that_comes_in_at_the_same_time_has_its_stage() {
    let world = World::new().await;
    let (admin, child) = (&world.a.admin, world.a.child);
    let (pipeline, _) = world.pipeline(admin, child, &["Stays"]).await;
    let (mut stayed, mut went) = (0, 0);

    for round in 0..30 {
        let body = json!({"pipelineId": pipeline, "label": format!("Stage {round}")});
        let stage = world.make(admin, STAGES, body).await;
        let deal = world.deal(admin, child, json!({"pipelineId": pipeline})).await;
        let path = format!("{STAGES}?id={stage}");
        let delete = world.delete(admin, &path);
        let enter = world.put(admin, DEALS, json!({"id": deal, "pipelineStageId": stage}));
        // Either may come first.
        let (deleted, entered) = if round % 2 == 0 {
            join(delete, enter).await
        } else {
            let (entered, deleted) = join(enter, delete).await;
            (deleted, entered)
        };

        let item = world.item(admin, DEALS, deal).await;
        match (deleted.0, entered.0) {
            (409, 200) => {
                stayed += 1;
                assert_eq!(item["pipelineStageLabel"], json!(format!("Stage {round}")));
            }
            (200, 400) => {
                went += 1;
                assert_eq!(detail(&entered.1), ("pipelineStageId", "unknown_reference"));
                assert_eq!(item["pipelineStageLabel"], "Stays");
            }
            other => panic!("{other:?}: {} {}", deleted.1, entered.1),
        }
    }
    assert_eq!(stayed + went, 30);
}

#[actix_web::test]
async fn crm_13_a_free_pipeline_comes_back_with_its_stages() {
    let world = World::new().await;
    let admin = &world.a.admin;
    let (pipeline, stages) = world
        .pipeline(admin, world.a.child, &["New", "Offered", "Agreed"])
        .await;
    let ids = [stages[2], stages[0], stages[1]];
    let order = json!({"pipelineId": pipeline, "ids": ids});
    world
        .write(admin, Method::POST, &format!("{STAGES}/reorder"), order)
        .await;
    let items = async || {
        let (_, body) = world.get(admin, &format!("{STAGES}?pipelineId={pipeline}")).await;
        let mut items = body["items"].as_array().expect("a list").clone();
        for item in &mut items {
            item.as_object_mut().expect("an object").remove("updatedAt");
        }
        items
    };
    let before = items().await;

    let deleted = world.remove(admin, PIPELINES, pipeline).await;
    assert_eq!(items().await, Vec::<Value>::new());
    let entry = world.last_entry(admin).await;
    assert_eq!(
        entry["snapshotBefore"]["_children"]["customers.pipeline_stage"]
            .as_array()
            .expect("stages")
            .len(),
        3
    );
    let (status, body) = world.undo(admin, &deleted).await;

    assert_eq!(status, 200, "{body}");
    assert_eq!(items().await, before);
    assert_eq!(world.list(admin, &format!("{STAGES}?pipelineId={pipeline}")).await, ids);
    assert_eq!(world.redo(admin, &deleted).await.0, 200);
    assert_eq!(items().await, Vec::<Value>::new());
}

#[actix_web::test]
async fn a_pipeline_whose_name_was_taken_does_not_come_back() {
    let world = World::new().await;
    let admin = &world.a.admin;
    let pipeline = world.make(admin, PIPELINES, json!({"name": "Sales"})).await;
    let deleted = world.remove(admin, PIPELINES, pipeline).await;
    world.make(admin, PIPELINES, json!({"name": "SALES"})).await;

    let (status, body) = world.undo(admin, &deleted).await;

    assert_eq!((status, &body["code"]), (400, &json!("undo_conflict")), "{body}");
}

#[actix_web::test]
async fn a_pipeline_with_later_stages_is_not_undone() {
    let world = World::new().await;
    let admin = &world.a.admin;
    let made = world
        .write(admin, Method::POST, PIPELINES, json!({"name": "Sales"}))
        .await;
    world
        .make(admin, STAGES, json!({"pipelineId": made.id, "label": "New"}))
        .await;

    let (status, body) = world.undo(admin, &made).await;

    assert_eq!(
        (status, &body["fields"]),
        (400, &json!(["customers.pipeline_stage"])),
        "{body}"
    );
}
