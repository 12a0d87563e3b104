//! References of deals: owners, pipelines, stages, people and companies.

use actix_web::http::Method;
use backoffice_test_support::details;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{DEALS, Fixture, PIPELINES, detail};

/// Returns the status, and field and code of the only detail.
fn rejection(response: &(u16, Value)) -> (u16, (&str, &str)) {
    (response.0, detail(&response.1))
}

#[actix_web::test]
async fn crm_12_references_of_another_tenant_or_a_foreign_organization_are_unknown() {
    let fixture = Fixture::new().await;
    let (local, child) = (&fixture.a.local, fixture.a.child);
    let deal = fixture.deal(local, child, json!({})).await;
    let (theirs, our_other) = (
        fixture.pipeline(&fixture.b.admin, fixture.b.child, &["New"]).await,
        fixture.pipeline(&fixture.a.admin, fixture.a.other, &["New"]).await,
    );
    let foreign = [
        (
            "personIds",
            json!([fixture.person(&fixture.b, fixture.b.child, "Eve").await]),
        ),
        (
            "personIds",
            json!([fixture.person(&fixture.a, fixture.a.other, "Eve").await]),
        ),
        (
            "companyIds",
            json!([fixture.company(&fixture.b, fixture.b.child, "Evil").await]),
        ),
        (
            "companyIds",
            json!([fixture.company(&fixture.a, fixture.a.other, "Evil").await]),
        ),
        ("ownerUserId", json!(fixture.b.local.id)),
        ("ownerUserId", json!(fixture.a.stranger.id)),
        ("pipelineId", json!(theirs.0)),
        ("pipelineId", json!(our_other.0)),
        ("pipelineStageId", json!(theirs.1[0])),
        ("pipelineStageId", json!(our_other.1[0])),
    ];
    let before = fixture.app.snapshot().await;

    for (field, value) in foreign {
        let unknown = Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0042);
        let unknown = if value.is_array() {
            json!([unknown])
        } else {
            json!(unknown)
        };
        let named = fixture
            .put(local, DEALS, json!({"id": deal, "title": "Renamed", field: value}))
            .await;

        assert_eq!(rejection(&named), (400, (field, "unknown_reference")), "{value}");
        assert_eq!(
            named,
            fixture.put(local, DEALS, json!({"id": deal, field: unknown})).await,
            "{field}"
        );
        let created = fixture
            .app
            .post(&local.token, DEALS, json!({"title": "Made", field: value}))
            .await;
        assert_eq!(created, named, "{field}");
    }
    assert_eq!(fixture.app.snapshot().await, before);
}

#[actix_web::test]
async fn an_owner_is_an_active_user_whose_organizations_hold_the_deals() {
    let fixture = Fixture::new().await;
    let (tenant_fixture, admin) = (&fixture.a, &fixture.a.admin);
    let deal = fixture.deal(admin, tenant_fixture.child, json!({})).await;
    let above = fixture
        .account(
            tenant_fixture,
            tenant_fixture.parent,
            "above@alpha.test",
            &["customers.*"],
            Some(&[tenant_fixture.parent]),
        )
        .await;
    let gone = fixture
        .account(
            tenant_fixture,
            tenant_fixture.child,
            "gone@alpha.test",
            &["customers.*"],
            None,
        )
        .await;
    let closed = fixture
        .account(
            tenant_fixture,
            tenant_fixture.child,
            "closed@alpha.test",
            &["customers.*"],
            None,
        )
        .await;
    let (status, _) = fixture
        .app
        .put(&admin.token, "/auth/users", json!({"id": closed.id, "isActive": false}))
        .await;
    assert_eq!(status, 200);
    let path = format!("/auth/users?id={}", gone.id);
    assert_eq!(fixture.delete(admin, &path).await.0, 200);
    let assign = async |owner: Uuid| {
        fixture
            .put(admin, DEALS, json!({"id": deal, "ownerUserId": owner}))
            .await
    };

    for owner in [gone.id, closed.id, fixture.b.admin.id] {
        assert_eq!(
            rejection(&assign(owner).await),
            (400, ("ownerUserId", "unknown_reference"))
        );
    }
    for owner in [tenant_fixture.stranger.id, tenant_fixture.plain.id] {
        let response = assign(owner).await;
        assert_eq!(rejection(&response), (400, ("ownerUserId", "owner_out_of_scope")));
        assert_eq!(response.1["code"], "owner_out_of_scope");
    }
    for owner in [above.id, tenant_fixture.local.id, admin.id] {
        assert_eq!(assign(owner).await.0, 200, "{owner}");
    }
    let closed_later = json!({"id": admin.id, "isActive": true});
    assert_eq!(fixture.app.put(&admin.token, "/auth/users", closed_later).await.0, 200);
}

#[actix_web::test]
async fn an_owner_who_left_stays_until_another_is_named() {
    let fixture = Fixture::new().await;
    let admin = &fixture.a.admin;
    let owner = fixture
        .account(&fixture.a, fixture.a.child, "owner@alpha.test", &["customers.*"], None)
        .await;
    let deal = fixture
        .deal(admin, fixture.a.child, json!({"ownerUserId": owner.id}))
        .await;
    let (status, _) = fixture
        .app
        .put(&admin.token, "/auth/users", json!({"id": owner.id, "isActive": false}))
        .await;
    assert_eq!(status, 200);

    let (status, _) = fixture
        .put(
            admin,
            DEALS,
            json!({"id": deal, "title": "Renamed", "ownerUserId": owner.id}),
        )
        .await;

    assert_eq!(status, 200);
    assert_eq!(fixture.item(admin, DEALS, deal).await["ownerUserId"], json!(owner.id));
}

#[actix_web::test]
async fn a_deal_moves_to_the_requested_pipeline_and_stage() {
    let fixture = Fixture::new().await;
    let (admin, child) = (&fixture.a.admin, fixture.a.child);
    let (one, of_one) = fixture.pipeline(admin, child, &["A", "B"]).await;
    let (two, of_two) = fixture.pipeline(admin, child, &["C", "D"]).await;
    let (bare, _) = fixture.pipeline(admin, child, &[]).await;
    let start = json!({"pipelineId": one, "pipelineStageId": of_one[1]});
    let nowhere = json!({});
    let unstaged = json!({"pipelineId": one, "pipelineStageId": null});
    let other = ("pipelineStageId", "stage_in_other_pipeline");

    for (from, members, expected) in [
        (&start, json!({"title": "Renamed"}), Ok((Some(one), Some(of_one[1])))),
        (
            &start,
            json!({"pipelineStageId": of_one[0]}),
            Ok((Some(one), Some(of_one[0]))),
        ),
        (&start, json!({"pipelineId": two}), Ok((Some(two), Some(of_two[0])))),
        (&start, json!({"pipelineId": one}), Ok((Some(one), Some(of_one[1])))),
        (&start, json!({"pipelineId": bare}), Ok((Some(bare), None))),
        (
            &start,
            json!({"pipelineId": two, "pipelineStageId": of_two[1]}),
            Ok((Some(two), Some(of_two[1]))),
        ),
        (
            &start,
            json!({"pipelineId": two, "pipelineStageId": null}),
            Ok((Some(two), None)),
        ),
        (&start, json!({"pipelineStageId": null}), Ok((Some(one), None))),
        (&start, json!({"pipelineId": null}), Ok((None, None))),
        (
            &start,
            json!({"pipelineId": null, "pipelineStageId": null}),
            Ok((None, None)),
        ),
        (&start, json!({"pipelineStageId": of_two[0]}), Err(other)),
        (
            &start,
            json!({"pipelineId": two, "pipelineStageId": of_one[1]}),
            Err(other),
        ),
        (
            &start,
            json!({"pipelineId": one, "pipelineStageId": of_two[0]}),
            Err(other),
        ),
        (
            &start,
            json!({"pipelineId": null, "pipelineStageId": of_one[1]}),
            Err(other),
        ),
        (
            &nowhere,
            json!({"pipelineStageId": of_two[1]}),
            Ok((Some(two), Some(of_two[1]))),
        ),
        (&nowhere, json!({"pipelineId": two}), Ok((Some(two), Some(of_two[0])))),
        (&unstaged, json!({"pipelineId": one}), Ok((Some(one), Some(of_one[0])))),
        (
            &unstaged,
            json!({"pipelineId": one, "pipelineStageId": of_one[1]}),
            Ok((Some(one), Some(of_one[1]))),
        ),
        (
            &unstaged,
            json!({"pipelineId": one, "pipelineStageId": null}),
            Ok((Some(one), None)),
        ),
        (&unstaged, json!({"title": "Renamed"}), Ok((Some(one), None))),
        (
            &nowhere,
            json!({"pipelineId": two, "pipelineStageId": of_one[0]}),
            Err(other),
        ),
    ] {
        let deal = fixture.deal(admin, child, from.clone()).await;
        let before = fixture.item(admin, DEALS, deal).await;
        let mut body = members.clone();
        body["id"] = json!(deal);

        let response = fixture.put(admin, DEALS, body).await;

        let item = fixture.item(admin, DEALS, deal).await;
        match expected {
            Ok((pipeline, stage)) => {
                assert_eq!(response.0, 200, "{members}: {}", response.1);
                assert_eq!(
                    (&item["pipelineId"], &item["pipelineStageId"]),
                    (&json!(pipeline), &json!(stage)),
                    "{members}"
                );
            }
            Err(reported) => {
                assert_eq!(rejection(&response), (400, reported), "{members}");
                assert_eq!(item, before, "{members}");
            }
        }
    }
}

#[actix_web::test]
async fn a_pipeline_serves_its_organization_and_those_below() {
    let fixture = Fixture::new().await;
    let (tenant_fixture, admin) = (&fixture.a, &fixture.a.admin);
    let (above, stages) = fixture.pipeline(admin, tenant_fixture.parent, &["New"]).await;
    let (beside, _) = fixture.pipeline(admin, tenant_fixture.other, &["New"]).await;
    let (below, _) = fixture.pipeline(admin, tenant_fixture.child, &["New"]).await;

    assert_eq!(fixture.list(&tenant_fixture.local, PIPELINES).await.len(), 2);
    let deal = fixture
        .deal(
            &tenant_fixture.local,
            tenant_fixture.child,
            json!({"pipelineId": above}),
        )
        .await;
    assert_eq!(
        fixture.item(&tenant_fixture.local, DEALS, deal).await["pipelineStageId"],
        json!(stages[0])
    );
    // The administrator sees all of them, but they do not serve every deal.
    for (organization, pipeline) in [
        (tenant_fixture.child, beside),
        (tenant_fixture.parent, below),
        (tenant_fixture.root, above),
    ] {
        let body = json!({"title": "A deal", "organizationId": organization, "pipelineId": pipeline});
        let response = fixture.app.post(&admin.token, DEALS, body).await;
        assert_eq!(rejection(&response), (400, ("pipelineId", "unknown_reference")));
    }
}

#[actix_web::test]
async fn people_out_of_sight_stay_and_are_not_named() {
    let fixture = Fixture::new().await;
    let (tenant_fixture, admin) = (&fixture.a, &fixture.a.admin);
    let seen = fixture.person(tenant_fixture, tenant_fixture.child, "Ada").await;
    let hidden = fixture.person(tenant_fixture, tenant_fixture.other, "Eve").await;
    let deal = fixture
        .deal(admin, tenant_fixture.child, json!({"personIds": [seen, hidden]}))
        .await;

    let before = fixture.item(&tenant_fixture.local, DEALS, deal).await;
    let body = json!({"id": deal, "title": "Renamed", "personIds": before["personIds"]});
    let (status, _) = fixture.put(&tenant_fixture.local, DEALS, body).await;

    assert_eq!(status, 200, "a user who was already assigned is not notified");
    assert_eq!(before["people"], json!([{"id": seen, "displayName": "Ada Doe"}]));
    assert_eq!(
        fixture.item(admin, DEALS, deal).await["people"]
            .as_array()
            .expect("a list")
            .len(),
        2
    );
}

#[actix_web::test]
async fn people_out_of_sight_whom_a_request_omits_are_removed() {
    let fixture = Fixture::new().await;
    let (tenant_fixture, admin, local) = (&fixture.a, &fixture.a.admin, &fixture.a.local);
    let seen = fixture.person(tenant_fixture, tenant_fixture.child, "Ada").await;
    let hidden = fixture.person(tenant_fixture, tenant_fixture.parent, "Eve").await;
    let deal = fixture
        .deal(admin, tenant_fixture.child, json!({"personIds": [seen, hidden]}))
        .await;
    let before = fixture.item(admin, DEALS, deal).await;

    let body = json!({"id": deal, "personIds": [seen]});
    let removed = fixture.write(local, Method::PUT, DEALS, body).await;

    assert_eq!(fixture.item(admin, DEALS, deal).await["personIds"], json!([seen]));
    let (status, body) = fixture.app.undo(&local.token, &removed).await;
    assert_eq!((status, &body["fields"]), (400, &json!(["personIds"])));
    let (status, body) = fixture.app.undo(&admin.token, &removed).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(fixture.item(admin, DEALS, deal).await["people"], before["people"]);
}

#[actix_web::test]
async fn all_unknown_references_are_reported_together() {
    let fixture = Fixture::new().await;
    let (admin, child) = (&fixture.a.admin, fixture.a.child);
    let (pipeline, _) = fixture.pipeline(admin, child, &["New"]).await;
    let (_, elsewhere) = fixture.pipeline(admin, child, &["New"]).await;
    let deal = fixture.deal(admin, child, json!({})).await;
    let unknown = Uuid::from_u128(7);
    let before = fixture.app.snapshot().await;
    let missing = |path| (path, "unknown_reference");
    let references = json!({
        "pipelineId": unknown, "pipelineStageId": unknown, "ownerUserId": unknown, "personIds": [unknown], "companyIds": [unknown],
    });

    for (members, code, expected) in [
        (
            references,
            json!("unknown_reference"),
            vec![
                missing("pipelineId"),
                missing("pipelineStageId"),
                missing("ownerUserId"),
                missing("personIds"),
                missing("companyIds"),
            ],
        ),
        (
            json!({"pipelineId": pipeline, "pipelineStageId": elsewhere[0], "ownerUserId": fixture.a.stranger.id}),
            json!("stage_in_other_pipeline"),
            vec![
                ("pipelineStageId", "stage_in_other_pipeline"),
                ("ownerUserId", "owner_out_of_scope"),
            ],
        ),
        (
            json!({"pipelineId": unknown, "pipelineStageId": elsewhere[0]}),
            json!("unknown_reference"),
            vec![missing("pipelineId")],
        ),
        (
            json!({"valueAmount": 1, "lostReason": "x", "personIds": [unknown]}),
            json!("unknown_reference"),
            vec![
                ("valueCurrency", "invalid_value"),
                ("lostReason", "invalid_value"),
                missing("personIds"),
            ],
        ),
        (
            json!({"valueAmount": 1, "lostReason": "x"}),
            Value::Null,
            vec![("valueCurrency", "invalid_value"), ("lostReason", "invalid_value")],
        ),
    ] {
        let mut change = members.clone();
        change["id"] = json!(deal);
        let mut new = members.clone();
        new["title"] = json!("New");
        new["organizationId"] = json!(child);

        for (status, response) in [
            fixture.put(admin, DEALS, change).await,
            fixture.app.post(&admin.token, DEALS, new).await,
        ] {
            assert_eq!((status, details(&response)), (400, expected.clone()), "{members}");
            assert_eq!(response["code"], code, "{members}");
        }
    }
    let moved = json!({"id": deal, "organizationId": fixture.a.other, "ownerUserId": unknown});
    let (status, response) = fixture.put(admin, DEALS, moved).await;
    assert_eq!(
        (status, details(&response)),
        (400, vec![("organizationId", "invalid_value"), missing("ownerUserId")])
    );
    assert_eq!(fixture.app.snapshot().await, before);
}
