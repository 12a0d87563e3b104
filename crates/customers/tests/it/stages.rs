//! Stages of pipelines.

use actix_web::http::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::world::{ACTIONS, PIPELINES, STAGES, World, detail};

const REORDER: &str = "/customers/pipeline-stages/reorder";

/// Ids and positions of the stages of a pipeline, in its order.
async fn positions(world: &World, pipeline: Uuid) -> Vec<(Uuid, i64)> {
    let path = format!("{STAGES}?pipelineId={pipeline}");
    let (_, body) = world.get(&world.a.admin, &path).await;
    let items = body["items"].as_array().expect("a list").iter();
    items
        .map(|item| (crate::world::id_of(item), item["position"].as_i64().expect("a number")))
        .collect()
}

#[actix_web::test]
async fn a_new_stage_stands_behind_the_others() {
    let world = World::new().await;
    let admin = &world.a.admin;
    let (pipeline, stages) = world.pipeline(admin, world.a.child, &["New", "Offered"]).await;

    let body = json!({"pipelineId": pipeline, "label": " Agreed ", "color": "#22C55E", "position": 1});
    let stage = world.make(admin, STAGES, body).await;

    let item = world.item(admin, STAGES, stage).await;
    assert_eq!(
        (&item["label"], &item["position"], &item["color"]),
        (&json!("Agreed"), &json!(3), &json!("#22c55e"))
    );
    assert_eq!(
        (&item["pipelineId"], &item["organizationId"]),
        (&json!(pipeline), &json!(world.a.child))
    );
    let (other, of_other) = world.pipeline(admin, world.a.child, &["First"]).await;
    assert_eq!(positions(&world, other).await, [(of_other[0], 1)]);
    assert_eq!(world.list(admin, &format!("{STAGES}?search=OFF")).await, [stages[1]]);
    assert_eq!(
        world.list(admin, &format!("{STAGES}?ids={}", stages[0])).await,
        [stages[0]]
    );
    assert_eq!(
        world.list(admin, &format!("{STAGES}?pipelineId=")).await,
        Vec::<Uuid>::new()
    );
    let path = format!("{STAGES}?pipelineId={pipeline}&sortField=position&sortDir=desc");
    assert_eq!(world.list(admin, &path).await, [stage, stages[1], stages[0]]);
}

#[actix_web::test]
async fn a_stage_is_changed_but_not_moved() {
    let world = World::new().await;
    let admin = &world.a.admin;
    let (pipeline, stages) = world.pipeline(admin, world.a.child, &["New", "Offered"]).await;
    let (other, _) = world.pipeline(admin, world.a.child, &[]).await;
    let put = async |members: Value| {
        let mut body = members;
        body["id"] = json!(stages[0]);
        world.put(admin, STAGES, body).await
    };

    assert_eq!(
        put(json!({"label": "Fresh", "color": "#000000", "pipelineId": pipeline}))
            .await
            .0,
        200
    );
    assert_eq!(put(json!({"color": null, "position": 9})).await.0, 200);

    let item = world.item(admin, STAGES, stages[0]).await;
    assert_eq!(
        (&item["label"], &item["color"], &item["position"]),
        (&json!("Fresh"), &Value::Null, &json!(1))
    );
    assert_eq!(put(json!({"label": "OFFERED"})).await.1["code"], "duplicate_name");
    for (members, path, code) in [
        (json!({"label": " "}), "label", "required"),
        (json!({"label": "x".repeat(201)}), "label", "too_long"),
        (json!({"color": "green"}), "color", "invalid_value"),
        (json!({"pipelineId": other}), "pipelineId", "invalid_value"),
        (json!({"pipelineId": null}), "pipelineId", "required"),
        (
            json!({"organizationId": world.a.other}),
            "organizationId",
            "invalid_value",
        ),
    ] {
        let (status, answer) = put(members.clone()).await;
        assert_eq!((status, detail(&answer)), (400, (path, code)), "{members}");
    }
}

#[actix_web::test]
async fn a_stage_needs_a_pipeline_and_a_label() {
    let world = World::new().await;
    let admin = &world.a.admin;
    let (pipeline, _) = world.pipeline(admin, world.a.child, &["New"]).await;
    let (theirs, _) = world.pipeline(&world.b.admin, world.b.child, &[]).await;
    let make = async |body: Value| world.app.post(&admin.token, STAGES, body).await;

    for (body, path, code) in [
        (json!({"label": "A"}), "pipelineId", "required"),
        (json!({"pipelineId": pipeline}), "label", "required"),
        (
            json!({"pipelineId": theirs, "label": "A"}),
            "pipelineId",
            "unknown_reference",
        ),
        (
            json!({"pipelineId": Uuid::from_u128(7), "label": "A"}),
            "pipelineId",
            "unknown_reference",
        ),
        (
            json!({"pipelineId": pipeline, "label": "A", "organizationId": world.a.other}),
            "organizationId",
            "invalid_value",
        ),
    ] {
        let (status, answer) = make(body.clone()).await;
        assert_eq!((status, detail(&answer)), (400, (path, code)), "{body}");
    }
    let (status, answer) = make(json!({"pipelineId": pipeline, "label": "NEW"})).await;
    assert_eq!((status, &answer["code"]), (409, &json!("duplicate_name")));
}

#[actix_web::test]
async fn a_stage_of_another_tenant_or_organization_does_not_exist() {
    let world = World::new().await;
    let (_, stages) = world.pipeline(&world.a.admin, world.a.child, &["New"]).await;
    let unknown = (404, json!({"error": "Pipeline stage not found"}));

    for who in [&world.b.admin, &world.a.stranger] {
        assert_eq!(world.get(who, &format!("{STAGES}/{}", stages[0])).await, unknown);
        assert_eq!(
            world.put(who, STAGES, json!({"id": stages[0], "label": "Mine"})).await,
            unknown
        );
        assert_eq!(world.delete(who, &format!("{STAGES}?id={}", stages[0])).await, unknown);
        assert_eq!(world.list(who, STAGES).await, Vec::<Uuid>::new());
    }
    let reader = world
        .account(
            &world.a,
            world.a.child,
            "r@alpha.test",
            &["customers.pipelines.view"],
            None,
        )
        .await;
    let (status, answer) = world
        .put(&reader, STAGES, json!({"id": stages[0], "label": "Mine"}))
        .await;
    assert_eq!(
        (status, &answer["requiredFeatures"]),
        (403, &json!(["customers.pipelines.manage"]))
    );
}

#[actix_web::test]
async fn crm_14_an_order_is_undone_and_redone_exactly() {
    let world = World::new().await;
    let admin = &world.a.admin;
    let (pipeline, stages) = world.pipeline(admin, world.a.child, &["A", "B", "C"]).await;
    world.remove(admin, STAGES, stages[1]).await;
    let last = world
        .make(admin, STAGES, json!({"pipelineId": pipeline, "label": "D"}))
        .await;
    let before = positions(&world, pipeline).await;
    assert_eq!(before, [(stages[0], 1), (stages[2], 3), (last, 4)]);

    let ids = [last, stages[0], stages[2]];
    let written = world
        .write(
            admin,
            Method::POST,
            REORDER,
            json!({"pipelineId": pipeline, "ids": ids}),
        )
        .await;

    let after = positions(&world, pipeline).await;
    assert_eq!(after, [(last, 1), (stages[0], 2), (stages[2], 3)]);
    assert_eq!(world.undo(admin, &written).await.0, 200);
    assert_eq!(positions(&world, pipeline).await, before);
    assert_eq!(world.redo(admin, &written).await.0, 200);
    assert_eq!(positions(&world, pipeline).await, after);
}

#[actix_web::test]
async fn crm_14_a_stage_renamed_in_between_stands_in_the_way() {
    let world = World::new().await;
    let admin = &world.a.admin;
    let (pipeline, stages) = world.pipeline(admin, world.a.child, &["A", "B"]).await;
    let body = json!({"pipelineId": pipeline, "ids": [stages[1], stages[0]]});
    let written = world.write(admin, Method::POST, REORDER, body).await;
    let after = positions(&world, pipeline).await;
    assert_eq!(
        world
            .put(admin, STAGES, json!({"id": stages[0], "label": "Renamed"}))
            .await
            .0,
        200
    );

    let (status, body) = world.undo(admin, &written).await;

    assert_eq!((status, &body["error"]), (400, &json!("Undo token not available")));
    assert_eq!(positions(&world, pipeline).await, after);
}

#[actix_web::test]
async fn crm_14_a_stage_appended_in_between_stays_last() {
    let world = World::new().await;
    let admin = &world.a.admin;
    let (pipeline, stages) = world.pipeline(admin, world.a.child, &["A", "B"]).await;
    let body = json!({"pipelineId": pipeline, "ids": [stages[1], stages[0]]});
    let written = world.write(admin, Method::POST, REORDER, body).await;
    let third = world
        .make(admin, STAGES, json!({"pipelineId": pipeline, "label": "C"}))
        .await;

    let (status, body) = world.undo(admin, &written).await;

    assert_eq!(status, 200, "{body}");
    assert_eq!(
        positions(&world, pipeline).await,
        [(stages[0], 1), (stages[1], 2), (third, 3)]
    );
}

#[actix_web::test]
async fn an_order_names_exactly_the_stages_of_the_pipeline() {
    let world = World::new().await;
    let admin = &world.a.admin;
    let (pipeline, stages) = world.pipeline(admin, world.a.child, &["A", "B"]).await;
    let (_, others) = world.pipeline(admin, world.a.child, &["C"]).await;
    let order = async |pipeline: Uuid, ids: &[Uuid]| {
        let body = json!({"pipelineId": pipeline, "ids": ids});
        world.app.post(&admin.token, REORDER, body).await
    };

    for ids in [
        vec![],
        vec![stages[0]],
        vec![stages[0], stages[1], others[0]],
        vec![stages[0], stages[1], stages[1]],
    ] {
        let (status, body) = order(pipeline, &ids).await;
        assert_eq!((status, detail(&body).0), (400, "ids"), "{ids:?}");
    }
    assert_eq!(
        order(Uuid::from_u128(7), &stages).await,
        (404, json!({"error": "Pipeline not found"}))
    );
    let body = json!({"pipelineId": pipeline, "ids": stages});
    let same = world.send(admin, Method::POST, REORDER, Some(body)).await;
    assert_eq!(
        (same.status, same.json(), same.operation()),
        (200, json!({"ok": true}), None)
    );
    let reader = world
        .account(
            &world.a,
            world.a.child,
            "r@alpha.test",
            &["customers.pipelines.view"],
            None,
        )
        .await;
    let body = json!({"pipelineId": pipeline, "ids": stages});
    assert_eq!(world.app.post(&reader.token, REORDER, body).await.0, 403);
}

#[actix_web::test]
async fn entries_of_stages_are_found_by_their_pipeline() {
    let world = World::new().await;
    let admin = &world.a.admin;
    let (pipeline, stages) = world.pipeline(admin, world.a.child, &["A", "B"]).await;
    let body = json!({"pipelineId": pipeline, "ids": [stages[1], stages[0]]});
    world.write(admin, Method::POST, REORDER, body).await;

    let query = format!("{ACTIONS}?resourceKind=customers.pipeline&resourceId={pipeline}&includeRelated=true");
    let (_, body) = world.get(admin, &query).await;

    let commands = body["items"].as_array().expect("entries").iter();
    let commands: Vec<&str> = commands
        .map(|entry| entry["commandId"].as_str().expect("text"))
        .collect();
    assert_eq!(
        commands,
        [
            "customers.pipeline_stage.reorder",
            "customers.pipeline_stage.create",
            "customers.pipeline_stage.create",
            "customers.pipeline.create"
        ]
    );
    let names: Vec<String> = world
        .events(stages[0])
        .await
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(
        names,
        ["customers.pipeline_stage.created", "customers.pipeline_stage.updated"]
    );
    let (status, _) = world.get(admin, &format!("{PIPELINES}/{pipeline}")).await;
    assert_eq!(status, 200);
}
