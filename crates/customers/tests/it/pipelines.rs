//! Pipelines.

use actix_web::http::Method;
use backoffice_test_accounts::ORGANIZATIONS;
use futures_util::future::join;
use serde_json::{Value, json};

use crate::fixture::{DEALS, Fixture, PIPELINES, STAGES, detail, id_of};

#[actix_web::test]
async fn a_pipeline_is_created_renamed_listed_and_deleted() {
    let fixture = Fixture::new().await;
    let admin = &fixture.a.admin;
    let pipeline = fixture.create(admin, PIPELINES, json!({"name": " Sales "})).await;
    let body = json!({"name": "Aftercare", "organizationId": fixture.a.child});
    let other = fixture.create(admin, PIPELINES, body).await;

    let renamed = fixture
        .app
        .send(
            &admin.token,
            Method::PUT,
            PIPELINES,
            json!({"id": pipeline, "name": "sales"}),
        )
        .await;

    let item = fixture.item(admin, PIPELINES, pipeline).await;
    assert_eq!(
        (renamed.status, renamed.json()),
        (200, json!({"ok": true, "updatedAt": item["updatedAt"]}))
    );
    assert_eq!(
        (&item["name"], &item["organizationId"], &item["tenantId"]),
        (&json!("sales"), &json!(fixture.a.root), &json!(fixture.a.id))
    );
    assert_eq!(fixture.list(admin, PIPELINES).await, [other, pipeline]);
    assert_eq!(
        fixture
            .list(admin, &format!("{PIPELINES}?sortField=name&sortDir=desc"))
            .await,
        [pipeline, other]
    );
    assert_eq!(
        fixture.list(admin, &format!("{PIPELINES}?search=SAL")).await,
        [pipeline]
    );
    assert_eq!(fixture.list(admin, &format!("{PIPELINES}?ids={other}")).await, [other]);
    fixture.remove(admin, PIPELINES, pipeline).await;
    let gone = fixture.get(admin, &format!("{PIPELINES}/{pipeline}")).await;
    assert_eq!(gone, (404, json!({"error": "Pipeline not found"})));
}

#[actix_web::test]
async fn a_name_is_taken_once_in_an_organization() {
    let fixture = Fixture::new().await;
    let admin = &fixture.a.admin;
    let create = async |name: &str, organization| {
        let body = json!({"name": name, "organizationId": organization});
        fixture.app.post(&admin.token, PIPELINES, body).await
    };
    let taken = (409, json!({"error": "Name already in use", "code": "duplicate_name"}));
    let first = create("Sales", fixture.a.child).await;
    assert_eq!(first.0, 201);

    assert_eq!(create("SALES", fixture.a.child).await, taken);
    assert_eq!(create("Sales", fixture.a.other).await.0, 201);
    let second = create("Support", fixture.a.child).await;
    assert_eq!(
        fixture
            .put(admin, PIPELINES, json!({"id": second.1["id"], "name": "sales"}))
            .await,
        taken
    );
}

#[actix_web::test]
async fn fields_that_break_a_rule_are_rejected() {
    let fixture = Fixture::new().await;
    let admin = &fixture.a.admin;
    let pipeline = fixture.create(admin, PIPELINES, json!({"name": "Sales"})).await;

    for (members, path, code) in [
        (json!({"name": " "}), "name", "required"),
        (json!({"name": null}), "name", "required"),
        (json!({"name": "x".repeat(201)}), "name", "too_long"),
        (json!({"organizationId": null}), "organizationId", "required"),
        (
            json!({"organizationId": fixture.a.other}),
            "organizationId",
            "invalid_value",
        ),
    ] {
        let mut body = members.clone();
        body["id"] = json!(pipeline);
        let (status, response) = fixture.put(admin, PIPELINES, body).await;
        assert_eq!((status, detail(&response)), (400, (path, code)), "{members}");
    }
    let (status, response) = fixture.app.post(&admin.token, PIPELINES, json!({})).await;
    assert_eq!((status, detail(&response)), (400, ("name", "required")));
}

#[actix_web::test]
async fn a_caller_who_sees_a_pipeline_from_a_child_organization_cannot_change_it() {
    let fixture = Fixture::new().await;
    let tenant_fixture = &fixture.a;
    let (above, stages) = fixture
        .pipeline(&tenant_fixture.admin, tenant_fixture.parent, &["New"])
        .await;
    let (beside, _) = fixture
        .pipeline(&tenant_fixture.admin, tenant_fixture.other, &["New"])
        .await;

    assert_eq!(
        fixture
            .get(&tenant_fixture.local, &format!("{PIPELINES}/{above}"))
            .await
            .0,
        200
    );
    assert_eq!(fixture.list(&tenant_fixture.local, STAGES).await, stages);
    for pipeline in [above, beside] {
        let body = json!({"id": pipeline, "name": "Mine"});
        assert_eq!(fixture.put(&tenant_fixture.local, PIPELINES, body).await.0, 404);
        let path = format!("{PIPELINES}?id={pipeline}");
        assert_eq!(fixture.delete(&tenant_fixture.local, &path).await.0, 404);
        let body = json!({"pipelineId": pipeline, "label": "Mine"});
        let (status, response) = fixture.app.post(&tenant_fixture.local.token, STAGES, body).await;
        assert_eq!((status, detail(&response)), (400, ("pipelineId", "unknown_reference")));
    }
    for who in [&tenant_fixture.local, &fixture.b.admin] {
        assert_eq!(fixture.get(who, &format!("{PIPELINES}/{beside}")).await.0, 404);
    }
    let (status, response) = fixture.get(&tenant_fixture.plain, PIPELINES).await;
    assert_eq!(
        (status, &response["requiredFeatures"]),
        (403, &json!(["customers.pipelines.view"]))
    );
}

#[actix_web::test]
async fn a_move_of_the_callers_organization_changes_the_pipelines_that_they_see() {
    let fixture = Fixture::new().await;
    let (tenant_fixture, admin, local) = (&fixture.a, &fixture.a.admin, &fixture.a.local);
    let (mut pipelines, mut stages) = (Vec::new(), Vec::new());
    for (name, organization) in [
        ("A", tenant_fixture.parent),
        ("B", tenant_fixture.parent),
        ("C", tenant_fixture.parent),
        ("D", tenant_fixture.other),
        ("E", tenant_fixture.other),
    ] {
        let body = json!({"name": name, "organizationId": organization});
        let pipeline = fixture.create(admin, PIPELINES, body).await;
        let body = json!({"pipelineId": pipeline, "label": name});
        stages.push(fixture.create(admin, STAGES, body).await);
        pipelines.push(pipeline);
    }
    let read = async |path: &str, tag: &str| {
        let request = fixture.app.request(Method::GET, path).bearer(&local.token);
        let response = request.header("If-None-Match", tag).send().await;
        let tag = response.header("etag").unwrap_or_default();
        (response.status, response.json(), tag)
    };
    let pages = [(PIPELINES, &pipelines), (STAGES, &stages)];
    let mut known = Vec::new();
    for (path, ids) in pages {
        for page in 1..=2 {
            let page = format!("{path}?pageSize=1&page={page}");
            let (status, body, tag) = read(&page, "none").await;
            assert_eq!((status, &body["total"]), (200, &json!(3)), "{page}");
            assert_eq!(read(&page, &tag).await.0, 304, "{page}");
            known.push((page, tag));
        }
        let one = format!("{path}/{}", ids[0]);
        known.push((one.clone(), read(&one, "none").await.2));
        assert_eq!(fixture.get(local, &format!("{path}/{}", ids[3])).await.0, 404);
    }

    let moved = json!({"id": tenant_fixture.child, "parentId": tenant_fixture.other});
    assert_eq!(fixture.put(admin, ORGANIZATIONS, moved).await.0, 200);

    for (path, tag) in known {
        let (status, body, _) = read(&path, &tag).await;
        match path.contains('?') {
            true => assert_eq!((status, &body["total"]), (200, &json!(2)), "{path}"),
            false => assert_eq!(status, 404, "{path}"),
        }
    }
    for (path, ids) in pages {
        let (mut shown, mut expected) = (Vec::new(), ids[3..].to_vec());
        for page in 1..=2 {
            let page = format!("{path}?pageSize=1&page={page}");
            let body = fixture.app.read(&local.token, &page).await;
            shown.extend(body["items"].as_array().expect("a list").iter().map(id_of));
        }
        shown.sort_unstable();
        expected.sort_unstable();
        assert_eq!(shown, expected, "{path}");
        assert_eq!(fixture.get(local, &format!("{path}/{}", ids[3])).await.0, 200);
    }
}

#[actix_web::test]
async fn crm_13_a_stage_with_deals_stays() {
    let fixture = Fixture::new().await;
    let (admin, child) = (&fixture.a.admin, fixture.a.child);
    let (pipeline, stages) = fixture.pipeline(admin, child, &["New", "Offered"]).await;
    let (without_stage, _) = fixture.pipeline(admin, child, &[]).await;
    fixture.deal(admin, child, json!({"pipelineStageId": stages[0]})).await;
    fixture.deal(admin, child, json!({"pipelineId": without_stage})).await;
    let before = fixture.app.snapshot().await;

    for (path, id) in [(STAGES, stages[0]), (PIPELINES, pipeline), (PIPELINES, without_stage)] {
        let response = fixture.delete(admin, &format!("{path}?id={id}")).await;
        assert_eq!(response, (409, json!({"error": "In use", "code": "in_use"})), "{path}");
    }
    assert_eq!(fixture.app.snapshot().await, before);
    fixture.remove(admin, STAGES, stages[1]).await;
}

#[actix_web::test]
async fn crm_13_a_deal_that_comes_in_at_the_same_time_has_its_stage() {
    let fixture = Fixture::new().await;
    let (admin, child) = (&fixture.a.admin, fixture.a.child);
    let (pipeline, _) = fixture.pipeline(admin, child, &["Stays"]).await;
    let (mut stayed, mut went) = (0, 0);

    for round in 0..30 {
        let body = json!({"pipelineId": pipeline, "label": format!("Stage {round}")});
        let stage = fixture.create(admin, STAGES, body).await;
        let deal = fixture.deal(admin, child, json!({"pipelineId": pipeline})).await;
        let path = format!("{STAGES}?id={stage}");
        let delete = fixture.delete(admin, &path);
        let enter = fixture.put(admin, DEALS, json!({"id": deal, "pipelineStageId": stage}));
        // Either request may be first.
        let (deleted, entered) = if round % 2 == 0 {
            join(delete, enter).await
        } else {
            let (entered, deleted) = join(enter, delete).await;
            (deleted, entered)
        };

        let item = fixture.item(admin, DEALS, deal).await;
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
    let fixture = Fixture::new().await;
    let admin = &fixture.a.admin;
    let (pipeline, stages) = fixture
        .pipeline(admin, fixture.a.child, &["New", "Offered", "Agreed"])
        .await;
    let ids = [stages[2], stages[0], stages[1]];
    let order = json!({"pipelineId": pipeline, "ids": ids});
    fixture
        .write(admin, Method::POST, &format!("{STAGES}/reorder"), order)
        .await;
    let items = async || {
        let (_, body) = fixture.get(admin, &format!("{STAGES}?pipelineId={pipeline}")).await;
        let mut items = body["items"].as_array().expect("a list").clone();
        for item in &mut items {
            item.as_object_mut().expect("an object").remove("updatedAt");
        }
        items
    };
    let before = items().await;

    let deleted = fixture.remove(admin, PIPELINES, pipeline).await;
    assert_eq!(items().await, Vec::<Value>::new());
    let entry = fixture.last_entry(admin).await;
    assert_eq!(
        entry["snapshotBefore"]["_children"]["customers.pipeline_stage"]
            .as_array()
            .expect("stages")
            .len(),
        3
    );
    let (status, body) = fixture.app.undo(&admin.token, &deleted).await;

    assert_eq!(status, 200, "{body}");
    assert_eq!(items().await, before);
    assert_eq!(
        fixture.list(admin, &format!("{STAGES}?pipelineId={pipeline}")).await,
        ids
    );
    assert_eq!(fixture.app.redo(&admin.token, &deleted).await.0, 200);
    assert_eq!(items().await, Vec::<Value>::new());
}

#[actix_web::test]
async fn a_pipeline_whose_name_was_taken_does_not_come_back() {
    let fixture = Fixture::new().await;
    let admin = &fixture.a.admin;
    let pipeline = fixture.create(admin, PIPELINES, json!({"name": "Sales"})).await;
    let deleted = fixture.remove(admin, PIPELINES, pipeline).await;
    fixture.create(admin, PIPELINES, json!({"name": "SALES"})).await;

    let (status, body) = fixture.app.undo(&admin.token, &deleted).await;

    assert_eq!(
        (status, &body["code"], &body["fields"]),
        (400, &json!("undo_conflict"), &json!(["name"]))
    );
}

#[actix_web::test]
async fn an_organization_with_customers_stays() {
    let fixture = Fixture::new().await;
    let (tenant_fixture, admin) = (&fixture.a, &fixture.a.admin);
    let body = json!({"name": "New", "parentId": tenant_fixture.parent});
    let created = fixture.write(admin, Method::POST, ORGANIZATIONS, body).await;
    let deal = fixture.deal(admin, created.resource, json!({})).await;
    let path = format!("{ORGANIZATIONS}?id={}", created.resource);

    let deleted = fixture.delete(admin, &path).await;
    let undone = fixture.app.undo(&admin.token, &created).await;

    let in_use = json!({"error": "Organization is in use", "code": "organization_in_use"});
    assert_eq!(deleted, (409, in_use));
    assert_eq!((undone.0, &undone.1["fields"]), (400, &json!(["customers.deal"])));
    fixture.remove(admin, DEALS, deal).await;
    assert_eq!(fixture.delete(admin, &path).await.0, 200);
}

#[actix_web::test]
async fn a_pipeline_with_later_stages_is_not_undone() {
    let fixture = Fixture::new().await;
    let admin = &fixture.a.admin;
    let created = fixture
        .write(admin, Method::POST, PIPELINES, json!({"name": "Sales"}))
        .await;
    fixture
        .create(admin, STAGES, json!({"pipelineId": created.resource, "label": "New"}))
        .await;

    let (status, body) = fixture.app.undo(&admin.token, &created).await;

    assert_eq!(
        (status, &body["fields"]),
        (400, &json!(["customers.pipeline_stage"])),
        "{body}"
    );
}
