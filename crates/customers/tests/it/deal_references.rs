//! What deals refer to: owners, pipelines, stages, people and companies.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::world::{DEALS, PIPELINES, World, detail};

/// Status, and member and code of the one detail.
fn refusal(answer: &(u16, Value)) -> (u16, (&str, &str)) {
    (answer.0, detail(&answer.1))
}

#[actix_web::test]
async fn crm_12_references_of_another_tenant_or_a_foreign_organization_are_unknown() {
    let world = World::new().await;
    let (local, child) = (&world.a.local, world.a.child);
    let deal = world.deal(local, child, json!({})).await;
    let (theirs, our_other) = (
        world.pipeline(&world.b.admin, world.b.child, &["New"]).await,
        world.pipeline(&world.a.admin, world.a.other, &["New"]).await,
    );
    let foreign = [
        ("personIds", json!([world.person(&world.b, world.b.child, "Eve").await])),
        ("personIds", json!([world.person(&world.a, world.a.other, "Eve").await])),
        (
            "companyIds",
            json!([world.company(&world.b, world.b.child, "Evil").await]),
        ),
        (
            "companyIds",
            json!([world.company(&world.a, world.a.other, "Evil").await]),
        ),
        ("ownerUserId", json!(world.b.local.id)),
        ("ownerUserId", json!(world.a.stranger.id)),
        ("pipelineId", json!(theirs.0)),
        ("pipelineId", json!(our_other.0)),
        ("pipelineStageId", json!(theirs.1[0])),
        ("pipelineStageId", json!(our_other.1[0])),
    ];
    let before = world.app.image().await;

    for (member, value) in foreign {
        let unknown = Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0042);
        let unknown = if value.is_array() {
            json!([unknown])
        } else {
            json!(unknown)
        };
        let named = world
            .put(local, DEALS, json!({"id": deal, "title": "Renamed", member: value}))
            .await;

        assert_eq!(refusal(&named), (400, (member, "unknown_reference")), "{value}");
        assert_eq!(
            named,
            world.put(local, DEALS, json!({"id": deal, member: unknown})).await,
            "{member}"
        );
        let made = world
            .app
            .post(&local.token, DEALS, json!({"title": "Made", member: value}))
            .await;
        assert_eq!(made, named, "{member}");
    }
    assert_eq!(world.app.image().await, before);
}

#[actix_web::test]
async fn an_owner_is_an_active_user_whose_organizations_hold_the_deals() {
    let world = World::new().await;
    let (house, admin) = (&world.a, &world.a.admin);
    let deal = world.deal(admin, house.child, json!({})).await;
    let above = world
        .account(
            house,
            house.parent,
            "above@alpha.test",
            &["customers.*"],
            Some(&[house.parent]),
        )
        .await;
    let gone = world
        .account(house, house.child, "gone@alpha.test", &["customers.*"], None)
        .await;
    let closed = world
        .account(house, house.child, "closed@alpha.test", &["customers.*"], None)
        .await;
    let (status, _) = world
        .app
        .put(&admin.token, "/auth/users", json!({"id": closed.id, "isActive": false}))
        .await;
    assert_eq!(status, 200);
    let path = format!("/auth/users?id={}", gone.id);
    assert_eq!(world.delete(admin, &path).await.0, 200);
    let assign = async |owner: Uuid| world.put(admin, DEALS, json!({"id": deal, "ownerUserId": owner})).await;

    for owner in [gone.id, closed.id, world.b.admin.id] {
        assert_eq!(
            refusal(&assign(owner).await),
            (400, ("ownerUserId", "unknown_reference"))
        );
    }
    for owner in [house.stranger.id, house.plain.id] {
        let answer = assign(owner).await;
        assert_eq!(refusal(&answer), (400, ("ownerUserId", "owner_out_of_scope")));
        assert_eq!(answer.1["code"], "owner_out_of_scope");
    }
    for owner in [above.id, house.local.id, admin.id] {
        assert_eq!(assign(owner).await.0, 200, "{owner}");
    }
    let closed_later = json!({"id": admin.id, "isActive": true});
    assert_eq!(world.app.put(&admin.token, "/auth/users", closed_later).await.0, 200);
}

#[actix_web::test]
async fn an_owner_who_left_stays_until_another_is_named() {
    let world = World::new().await;
    let admin = &world.a.admin;
    let owner = world
        .account(&world.a, world.a.child, "owner@alpha.test", &["customers.*"], None)
        .await;
    let deal = world.deal(admin, world.a.child, json!({"ownerUserId": owner.id})).await;
    let (status, _) = world
        .app
        .put(&admin.token, "/auth/users", json!({"id": owner.id, "isActive": false}))
        .await;
    assert_eq!(status, 200);

    let (status, _) = world
        .put(
            admin,
            DEALS,
            json!({"id": deal, "title": "Renamed", "ownerUserId": owner.id}),
        )
        .await;

    assert_eq!(status, 200);
    assert_eq!(world.item(admin, DEALS, deal).await["ownerUserId"], json!(owner.id));
}

#[actix_web::test]
async fn a_deal_goes_where_its_members_say() {
    let world = World::new().await;
    let (admin, child) = (&world.a.admin, world.a.child);
    let (one, of_one) = world.pipeline(admin, child, &["A", "B"]).await;
    let (two, of_two) = world.pipeline(admin, child, &["C", "D"]).await;
    let (bare, _) = world.pipeline(admin, child, &[]).await;
    let start = json!({"pipelineId": one, "pipelineStageId": of_one[1]});
    let nowhere = json!({});
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
        (
            &nowhere,
            json!({"pipelineId": two, "pipelineStageId": of_one[0]}),
            Err(other),
        ),
    ] {
        let deal = world.deal(admin, child, from.clone()).await;
        let before = world.item(admin, DEALS, deal).await;
        let mut body = members.clone();
        body["id"] = json!(deal);

        let answer = world.put(admin, DEALS, body).await;

        let item = world.item(admin, DEALS, deal).await;
        match expected {
            Ok((pipeline, stage)) => {
                assert_eq!(answer.0, 200, "{members}: {}", answer.1);
                assert_eq!(
                    (&item["pipelineId"], &item["pipelineStageId"]),
                    (&json!(pipeline), &json!(stage)),
                    "{members}"
                );
            }
            Err(told) => {
                assert_eq!(refusal(&answer), (400, told), "{members}");
                assert_eq!(item, before, "{members}");
            }
        }
    }
}

#[actix_web::test]
async fn a_pipeline_serves_its_organization_and_those_below() {
    let world = World::new().await;
    let (house, admin) = (&world.a, &world.a.admin);
    let (above, stages) = world.pipeline(admin, house.parent, &["New"]).await;
    let (beside, _) = world.pipeline(admin, house.other, &["New"]).await;
    let (below, _) = world.pipeline(admin, house.child, &["New"]).await;

    assert_eq!(world.list(&house.local, PIPELINES).await.len(), 2);
    let deal = world
        .deal(&house.local, house.child, json!({"pipelineId": above}))
        .await;
    assert_eq!(
        world.item(&house.local, DEALS, deal).await["pipelineStageId"],
        json!(stages[0])
    );
    // The administrator sees all of them, yet they do not serve each deal.
    for (organization, pipeline) in [(house.child, beside), (house.parent, below), (house.root, above)] {
        let body = json!({"title": "A deal", "organizationId": organization, "pipelineId": pipeline});
        let answer = world.app.post(&admin.token, DEALS, body).await;
        assert_eq!(refusal(&answer), (400, ("pipelineId", "unknown_reference")));
    }
}

#[actix_web::test]
async fn people_out_of_sight_stay_and_are_not_named() {
    let world = World::new().await;
    let (house, admin) = (&world.a, &world.a.admin);
    let seen = world.person(house, house.child, "Ada").await;
    let hidden = world.person(house, house.other, "Eve").await;
    let deal = world
        .deal(admin, house.child, json!({"personIds": [seen, hidden]}))
        .await;

    let before = world.item(&house.local, DEALS, deal).await;
    let body = json!({"id": deal, "title": "Renamed", "personIds": before["personIds"]});
    let (status, _) = world.put(&house.local, DEALS, body).await;

    assert_eq!(status, 200, "who was there before is no news");
    assert_eq!(before["people"], json!([{"id": seen, "displayName": "Ada Doe"}]));
    assert_eq!(
        world.item(admin, DEALS, deal).await["people"]
            .as_array()
            .expect("a list")
            .len(),
        2
    );
}
