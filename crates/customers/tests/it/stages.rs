//! Stages of pipelines.

use actix_web::http::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{ACTIONS, Fixture, PIPELINES, STAGES, detail};

const REORDER: &str = "/customers/pipeline-stages/reorder";

/// Returns ids and positions of the stages of a pipeline, in its order.
async fn positions(fixture: &Fixture, pipeline: Uuid) -> Vec<(Uuid, i64)> {
    let path = format!("{STAGES}?pipelineId={pipeline}");
    let (_, body) = fixture.get(&fixture.a.admin, &path).await;
    let items = body["items"].as_array().expect("a list").iter();
    items
        .map(|item| {
            (
                crate::fixture::id_of(item),
                item["position"].as_i64().expect("a number"),
            )
        })
        .collect()
}

#[actix_web::test]
async fn a_new_stage_stands_behind_the_others() {
    let fixture = Fixture::new().await;
    let admin = &fixture.a.admin;
    let (pipeline, stages) = fixture.pipeline(admin, fixture.a.child, &["New", "Offered"]).await;

    let body = json!({"pipelineId": pipeline, "label": " Agreed ", "color": "#22C55E", "position": 1});
    let stage = fixture.create(admin, STAGES, body).await;

    let item = fixture.item(admin, STAGES, stage).await;
    assert_eq!(
        (&item["label"], &item["position"], &item["color"]),
        (&json!("Agreed"), &json!(3), &json!("#22c55e"))
    );
    assert_eq!(
        (&item["pipelineId"], &item["organizationId"]),
        (&json!(pipeline), &json!(fixture.a.child))
    );
    let (other, of_other) = fixture.pipeline(admin, fixture.a.child, &["First"]).await;
    assert_eq!(positions(&fixture, other).await, [(of_other[0], 1)]);
    assert_eq!(fixture.list(admin, &format!("{STAGES}?search=OFF")).await, [stages[1]]);
    assert_eq!(
        fixture.list(admin, &format!("{STAGES}?ids={}", stages[0])).await,
        [stages[0]]
    );
    assert_eq!(
        fixture.list(admin, &format!("{STAGES}?pipelineId=")).await,
        Vec::<Uuid>::new()
    );
    let path = format!("{STAGES}?pipelineId={pipeline}&sortField=position&sortDir=desc");
    assert_eq!(fixture.list(admin, &path).await, [stage, stages[1], stages[0]]);
}

#[actix_web::test]
async fn a_stage_is_changed_but_not_moved() {
    let fixture = Fixture::new().await;
    let admin = &fixture.a.admin;
    let (pipeline, stages) = fixture.pipeline(admin, fixture.a.child, &["New", "Offered"]).await;
    let (other, _) = fixture.pipeline(admin, fixture.a.child, &[]).await;
    let put = async |members: Value| {
        let mut body = members;
        body["id"] = json!(stages[0]);
        fixture.put(admin, STAGES, body).await
    };

    assert_eq!(
        put(json!({"label": "Fresh", "color": "#000000", "pipelineId": pipeline}))
            .await
            .0,
        200
    );
    assert_eq!(put(json!({"color": null, "position": 9})).await.0, 200);

    let item = fixture.item(admin, STAGES, stages[0]).await;
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
            json!({"organizationId": fixture.a.other}),
            "organizationId",
            "invalid_value",
        ),
    ] {
        let (status, response) = put(members.clone()).await;
        assert_eq!((status, detail(&response)), (400, (path, code)), "{members}");
    }
}

#[actix_web::test]
async fn a_stage_needs_a_pipeline_and_a_label() {
    let fixture = Fixture::new().await;
    let admin = &fixture.a.admin;
    let (pipeline, _) = fixture.pipeline(admin, fixture.a.child, &["New"]).await;
    let (theirs, _) = fixture.pipeline(&fixture.b.admin, fixture.b.child, &[]).await;
    let create = async |body: Value| fixture.app.post(&admin.token, STAGES, body).await;

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
            json!({"pipelineId": pipeline, "label": "A", "organizationId": fixture.a.other}),
            "organizationId",
            "invalid_value",
        ),
    ] {
        let (status, response) = create(body.clone()).await;
        assert_eq!((status, detail(&response)), (400, (path, code)), "{body}");
    }
    let (status, response) = create(json!({"pipelineId": pipeline, "label": "NEW"})).await;
    assert_eq!((status, &response["code"]), (409, &json!("duplicate_name")));
}

#[actix_web::test]
async fn a_stage_in_an_organization_out_of_scope_is_rejected() {
    let fixture = Fixture::new().await;
    let (pipeline, _) = fixture.pipeline(&fixture.a.admin, fixture.a.child, &[]).await;
    let create = async |organization: Uuid| {
        let body = json!({"pipelineId": pipeline, "label": "New", "organizationId": organization});
        fixture.app.post(&fixture.a.local.token, STAGES, body).await
    };

    for organization in [fixture.a.parent, fixture.a.other, fixture.b.child] {
        let rejected = (403, json!({"error": "Organization out of scope"}));
        assert_eq!(create(organization).await, rejected, "{organization}");
    }
    assert_eq!(create(fixture.a.child).await.0, 201);
}

#[actix_web::test]
async fn a_stage_of_another_tenant_or_organization_does_not_exist() {
    let fixture = Fixture::new().await;
    let (_, stages) = fixture.pipeline(&fixture.a.admin, fixture.a.child, &["New"]).await;
    let unknown = (404, json!({"error": "Pipeline stage not found"}));

    for who in [&fixture.b.admin, &fixture.a.stranger] {
        assert_eq!(fixture.get(who, &format!("{STAGES}/{}", stages[0])).await, unknown);
        assert_eq!(
            fixture
                .put(who, STAGES, json!({"id": stages[0], "label": "Mine"}))
                .await,
            unknown
        );
        assert_eq!(
            fixture.delete(who, &format!("{STAGES}?id={}", stages[0])).await,
            unknown
        );
        assert_eq!(fixture.list(who, STAGES).await, Vec::<Uuid>::new());
    }
    let reader = fixture
        .account(
            &fixture.a,
            fixture.a.child,
            "r@alpha.test",
            &["customers.pipelines.view"],
            None,
        )
        .await;
    let (status, response) = fixture
        .put(&reader, STAGES, json!({"id": stages[0], "label": "Mine"}))
        .await;
    assert_eq!(
        (status, &response["requiredFeatures"]),
        (403, &json!(["customers.pipelines.manage"]))
    );
}

#[actix_web::test]
async fn crm_14_an_order_is_undone_and_redone_exactly() {
    let fixture = Fixture::new().await;
    let admin = &fixture.a.admin;
    let (pipeline, stages) = fixture.pipeline(admin, fixture.a.child, &["A", "B", "C"]).await;
    fixture.remove(admin, STAGES, stages[1]).await;
    let last = fixture
        .create(admin, STAGES, json!({"pipelineId": pipeline, "label": "D"}))
        .await;
    let before = positions(&fixture, pipeline).await;
    assert_eq!(before, [(stages[0], 1), (stages[2], 3), (last, 4)]);

    let ids = [last, stages[0], stages[2]];
    let written = fixture
        .write(
            admin,
            Method::POST,
            REORDER,
            json!({"pipelineId": pipeline, "ids": ids}),
        )
        .await;

    let after = positions(&fixture, pipeline).await;
    assert_eq!(after, [(last, 1), (stages[0], 3), (stages[2], 4)]);
    assert_eq!(fixture.app.undo(&admin.token, &written).await.0, 200);
    assert_eq!(positions(&fixture, pipeline).await, before);
    assert_eq!(fixture.app.redo(&admin.token, &written).await.0, 200);
    assert_eq!(positions(&fixture, pipeline).await, after);
}

#[actix_web::test]
async fn crm_14_a_stage_renamed_in_between_stands_in_the_way() {
    let fixture = Fixture::new().await;
    let admin = &fixture.a.admin;
    let (pipeline, stages) = fixture.pipeline(admin, fixture.a.child, &["A", "B"]).await;
    let body = json!({"pipelineId": pipeline, "ids": [stages[1], stages[0]]});
    let written = fixture.write(admin, Method::POST, REORDER, body).await;
    let after = positions(&fixture, pipeline).await;
    assert_eq!(
        fixture
            .put(admin, STAGES, json!({"id": stages[0], "label": "Renamed"}))
            .await
            .0,
        200
    );

    let (status, body) = fixture.app.undo(&admin.token, &written).await;

    assert_eq!((status, &body["error"]), (400, &json!("Undo token not available")));
    assert_eq!(positions(&fixture, pipeline).await, after);
}

#[actix_web::test]
async fn crm_14_a_stage_appended_in_between_stays_last() {
    let fixture = Fixture::new().await;
    let admin = &fixture.a.admin;
    let (pipeline, stages) = fixture.pipeline(admin, fixture.a.child, &["A", "B"]).await;
    let body = json!({"pipelineId": pipeline, "ids": [stages[1], stages[0]]});
    let written = fixture.write(admin, Method::POST, REORDER, body).await;
    let third = fixture
        .create(admin, STAGES, json!({"pipelineId": pipeline, "label": "C"}))
        .await;

    let (status, body) = fixture.app.undo(&admin.token, &written).await;

    assert_eq!(status, 200, "{body}");
    assert_eq!(
        positions(&fixture, pipeline).await,
        [(stages[0], 1), (stages[1], 2), (third, 3)]
    );
}

#[actix_web::test]
async fn crm_14_a_stage_appended_after_a_gap_stays_last() {
    let fixture = Fixture::new().await;
    let admin = &fixture.a.admin;
    let (pipeline, stages) = fixture.pipeline(admin, fixture.a.child, &["A", "B", "C"]).await;
    fixture.remove(admin, STAGES, stages[1]).await;
    let body = json!({"pipelineId": pipeline, "ids": [stages[2], stages[0]]});
    let written = fixture.write(admin, Method::POST, REORDER, body).await;
    let last = fixture
        .create(admin, STAGES, json!({"pipelineId": pipeline, "label": "D"}))
        .await;

    let (status, body) = fixture.app.undo(&admin.token, &written).await;

    assert_eq!(status, 200, "{body}");
    assert_eq!(
        positions(&fixture, pipeline).await,
        [(stages[0], 1), (stages[2], 3), (last, 4)]
    );
    let (status, body) = fixture.app.redo(&admin.token, &written).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(
        positions(&fixture, pipeline).await,
        [(stages[2], 1), (stages[0], 3), (last, 4)]
    );
}

#[actix_web::test]
async fn a_stage_that_comes_back_stands_before_those_that_were_appended_since() {
    let fixture = Fixture::new().await;
    let admin = &fixture.a.admin;
    let (pipeline, stages) = fixture.pipeline(admin, fixture.a.child, &["New"]).await;
    let body = |label: &str| json!({"pipelineId": pipeline, "label": label});
    let offered = fixture.write(admin, Method::POST, STAGES, body("Offered")).await;
    assert_eq!(fixture.app.undo(&admin.token, &offered).await.0, 200);
    let agreed = fixture.create(admin, STAGES, body("Agreed")).await;
    let deleted = fixture.remove(admin, STAGES, agreed).await;
    let won = fixture.create(admin, STAGES, body("Won")).await;
    assert_eq!(positions(&fixture, pipeline).await, [(stages[0], 1), (won, 4)]);

    let (status, response) = fixture.app.redo(&admin.token, &offered).await;
    assert_eq!(status, 200, "{response}");
    let (status, response) = fixture.app.undo(&admin.token, &deleted).await;
    assert_eq!(status, 200, "{response}");

    let all = [(stages[0], 1), (offered.resource, 2), (agreed, 3), (won, 4)];
    assert_eq!(positions(&fixture, pipeline).await, all);
    assert_eq!(fixture.app.redo(&admin.token, &deleted).await.0, 200);
    assert_eq!(
        positions(&fixture, pipeline).await,
        [(stages[0], 1), (offered.resource, 2), (won, 4)]
    );
}

#[actix_web::test]
async fn a_position_stays_free_for_a_deleted_stage_whatever_happens_to_its_pipeline() {
    let fixture = Fixture::new().await;
    let admin = &fixture.a.admin;
    let (pipeline, stages) = fixture.pipeline(admin, fixture.a.child, &["New", "Offered"]).await;
    let deleted = fixture.remove(admin, STAGES, stages[1]).await;
    let with_pipeline = fixture.remove(admin, PIPELINES, pipeline).await;
    assert_eq!(fixture.app.undo(&admin.token, &with_pipeline).await.0, 200);

    let body = json!({"pipelineId": pipeline, "label": "Won"});
    let last = fixture.create(admin, STAGES, body).await;
    let body = json!({"pipelineId": pipeline, "ids": [last, stages[0]]});
    fixture.write(admin, Method::POST, REORDER, body).await;
    assert_eq!(positions(&fixture, pipeline).await, [(last, 1), (stages[0], 3)]);

    let (status, response) = fixture.app.undo(&admin.token, &deleted).await;

    assert_eq!(status, 200, "{response}");
    assert_eq!(
        positions(&fixture, pipeline).await,
        [(last, 1), (stages[1], 2), (stages[0], 3)]
    );
}

#[actix_web::test]
async fn a_deleted_stage_whose_label_was_taken_does_not_come_back() {
    let fixture = Fixture::new().await;
    let admin = &fixture.a.admin;
    let (pipeline, stages) = fixture.pipeline(admin, fixture.a.child, &["New", "Offered"]).await;
    let deleted = fixture.remove(admin, STAGES, stages[1]).await;
    let body = json!({"pipelineId": pipeline, "label": "OFFERED"});
    let next = fixture.create(admin, STAGES, body).await;
    let before = fixture.app.snapshot().await;

    let (status, body) = fixture.app.undo(&admin.token, &deleted).await;

    assert_eq!(
        (status, &body["code"], &body["fields"]),
        (400, &json!("undo_conflict"), &json!(["label"]))
    );
    assert_eq!(fixture.app.snapshot().await, before);
    fixture.remove(admin, STAGES, next).await;
    assert_eq!(fixture.app.undo(&admin.token, &deleted).await.0, 200);
    assert_eq!(positions(&fixture, pipeline).await, [(stages[0], 1), (stages[1], 2)]);
}

#[actix_web::test]
async fn an_order_names_exactly_the_stages_of_the_pipeline() {
    let fixture = Fixture::new().await;
    let admin = &fixture.a.admin;
    let (pipeline, stages) = fixture.pipeline(admin, fixture.a.child, &["A", "B"]).await;
    let (_, others) = fixture.pipeline(admin, fixture.a.child, &["C"]).await;
    let order = async |pipeline: Uuid, ids: &[Uuid]| {
        let body = json!({"pipelineId": pipeline, "ids": ids});
        fixture.app.post(&admin.token, REORDER, body).await
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
    let same = fixture.app.send(&admin.token, Method::POST, REORDER, body).await;
    assert_eq!(
        (same.status, same.json(), same.operation()),
        (200, json!({"ok": true}), None)
    );
    let reader = fixture
        .account(
            &fixture.a,
            fixture.a.child,
            "r@alpha.test",
            &["customers.pipelines.view"],
            None,
        )
        .await;
    let body = json!({"pipelineId": pipeline, "ids": stages});
    assert_eq!(fixture.app.post(&reader.token, REORDER, body).await.0, 403);
}

#[actix_web::test]
async fn entries_of_stages_are_found_by_their_pipeline() {
    let fixture = Fixture::new().await;
    let admin = &fixture.a.admin;
    let (pipeline, stages) = fixture.pipeline(admin, fixture.a.child, &["A", "B"]).await;
    let body = json!({"pipelineId": pipeline, "ids": [stages[1], stages[0]]});
    fixture.write(admin, Method::POST, REORDER, body).await;

    let query = format!("{ACTIONS}?resourceKind=customers.pipeline&resourceId={pipeline}&includeRelated=true");
    let (_, body) = fixture.get(admin, &query).await;

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
    let names: Vec<String> = fixture
        .events(stages[0])
        .await
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(
        names,
        ["customers.pipeline_stage.created", "customers.pipeline_stage.updated"]
    );
    let (status, _) = fixture.get(admin, &format!("{PIPELINES}/{pipeline}")).await;
    assert_eq!(status, 200);
}
