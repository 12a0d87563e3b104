//! Deals: their fields, the rules between them, and the access to them.

use actix_web::http::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{DEALS, Fixture, TenantFixture, detail};

#[actix_web::test]
async fn a_deal_shows_all_its_fields() {
    let fixture = Fixture::new().await;
    let (admin, child) = (&fixture.a.admin, fixture.a.child);
    let (pipeline, stages) = fixture.pipeline(admin, child, &["New", "Offered"]).await;
    let (person, company) = (
        fixture.person(&fixture.a, child, "Ada").await,
        fixture.company(&fixture.a, child, "Acme").await,
    );
    let body = json!({"title": "  Roof ", "description": "Tiles", "status": "lost", "lostReason": "Price",
        "pipelineStageId": stages[1], "valueAmount": 19999.99, "valueCurrency": "eur", "probability": 40,
        "expectedCloseOn": "2027-02-28", "ownerUserId": fixture.a.local.id, "source": "Web", "personIds": [person],
        "companyIds": [company], "somethingElse": 1});

    let deal = fixture.deal(admin, child, body).await;

    let mut item = fixture.item(admin, DEALS, deal).await;
    let members = item.as_object_mut().expect("an object");
    assert!(members.remove("createdAt").is_some_and(|at| at.is_string()));
    assert!(members.remove("updatedAt").is_some_and(|at| at.is_string()));
    let closed = members.remove("closedAt").expect("a field");
    assert!(closed.is_string(), "a lost deal is closed: {closed}");
    let (people, companies) = (members.remove("people"), members.remove("companies"));
    assert_eq!(people, Some(json!([{"id": person, "displayName": "Ada Doe"}])));
    assert_eq!(companies, Some(json!([{"id": company, "displayName": "Acme"}])));
    let expected = json!({"id": deal, "tenantId": fixture.a.id, "organizationId": child, "title": "  Roof ".trim(),
        "description": "Tiles", "status": "lost", "lostReason": "Price", "pipelineId": pipeline, "pipelineStageId": stages[1],
        "pipelineStageLabel": "Offered", "valueAmount": 19999.99, "valueCurrency": "EUR", "probability": 40,
        "expectedCloseOn": "2027-02-28", "ownerUserId": fixture.a.local.id, "ownerName": fixture.a.local.email, "source": "Web",
        "personIds": [person], "companyIds": [company]});
    let name = members.remove("pipelineName").expect("a field");
    assert!(name.as_str().is_some_and(|name| name.starts_with("Pipeline ")));
    assert_eq!(item, expected);
    let (_, list) = fixture.get(admin, DEALS).await;
    let listed = list["items"][0].as_object().expect("an object");
    assert_eq!(
        listed.len(),
        23,
        "the list has all but people and companies: {listed:?}"
    );
    assert_eq!(
        (&listed["personIds"], &listed["pipelineStageLabel"]),
        (&json!([person]), &json!("Offered"))
    );
}

#[actix_web::test]
async fn a_bare_deal_is_open_and_belongs_to_its_makers_organization() {
    let fixture = Fixture::new().await;

    let deal = fixture
        .create(&fixture.a.local, DEALS, json!({"title": "Bare", "lostReason": " "}))
        .await;

    let item = fixture.item(&fixture.a.local, DEALS, deal).await;
    assert_eq!(
        (&item["organizationId"], &item["status"]),
        (&json!(fixture.a.child), &json!("open"))
    );
    for name in [
        "description",
        "pipelineId",
        "pipelineStageId",
        "valueAmount",
        "closedAt",
        "ownerUserId",
        "ownerName",
        "lostReason",
    ] {
        assert_eq!(item[name], Value::Null, "{name}");
        assert!(item.get(name).is_some(), "{name}");
    }
    assert_eq!((&item["personIds"], &item["companies"]), (&json!([]), &json!([])));
}

#[actix_web::test]
async fn fields_that_break_a_rule_are_rejected() {
    let fixture = Fixture::new().await;
    let admin = &fixture.a.admin;
    let deal = fixture.deal(admin, fixture.a.child, json!({})).await;
    let many: Vec<Uuid> = (0..201).map(Uuid::from_u128).collect();

    for (members, path, code) in [
        (json!({"title": null}), "title", "required"),
        (json!({"title": "  "}), "title", "required"),
        (json!({"title": "x".repeat(201)}), "title", "too_long"),
        (json!({"title": 7}), "title", "invalid_type"),
        (json!({"description": "x".repeat(4001)}), "description", "too_long"),
        (json!({"status": "gone"}), "status", "invalid_value"),
        (json!({"status": null}), "status", "required"),
        (
            json!({"valueAmount": -1, "valueCurrency": "EUR"}),
            "valueAmount",
            "invalid_value",
        ),
        (
            json!({"valueAmount": 0.001, "valueCurrency": "EUR"}),
            "valueAmount",
            "invalid_value",
        ),
        (
            json!({"valueAmount": 1e12, "valueCurrency": "EUR"}),
            "valueAmount",
            "invalid_value",
        ),
        (
            json!({"valueAmount": "5", "valueCurrency": "EUR"}),
            "valueAmount",
            "invalid_type",
        ),
        (json!({"valueAmount": 5}), "valueCurrency", "invalid_value"),
        (json!({"valueCurrency": "EURO"}), "valueCurrency", "invalid_value"),
        (json!({"valueCurrency": "E1R"}), "valueCurrency", "invalid_value"),
        (json!({"probability": 101}), "probability", "out_of_range"),
        (json!({"probability": -1}), "probability", "out_of_range"),
        (json!({"probability": 0.5}), "probability", "invalid_type"),
        (
            json!({"expectedCloseOn": "2027-02-29"}),
            "expectedCloseOn",
            "invalid_value",
        ),
        (json!({"lostReason": "Price"}), "lostReason", "invalid_value"),
        (
            json!({"status": "won", "lostReason": "Price"}),
            "lostReason",
            "invalid_value",
        ),
        (json!({"source": "x".repeat(151)}), "source", "too_long"),
        (json!({"ownerUserId": "x"}), "ownerUserId", "invalid_value"),
        (json!({"personIds": many}), "personIds", "too_long"),
        (json!({"companyIds": many}), "companyIds", "too_long"),
        (
            json!({"organizationId": fixture.a.other}),
            "organizationId",
            "invalid_value",
        ),
    ] {
        let mut body = members.clone();
        body["id"] = json!(deal);
        let (status, response) = fixture.put(admin, DEALS, body).await;
        assert_eq!((status, detail(&response)), (400, (path, code)), "PUT {members}");
        if path == "organizationId" {
            continue;
        }
        let mut body = json!({"title": "A deal", "organizationId": fixture.a.child});
        body.as_object_mut()
            .expect("an object")
            .extend(members.as_object().expect("an object").clone());
        let (status, response) = fixture.app.post(&admin.token, DEALS, body).await;
        assert_eq!((status, detail(&response)), (400, (path, code)), "POST {members}");
    }
    let (status, response) = fixture.app.post(&admin.token, DEALS, json!({})).await;
    assert_eq!((status, detail(&response)), (400, ("title", "required")));
}

#[actix_web::test]
async fn the_server_knows_when_a_deal_was_closed() {
    let fixture = Fixture::new().await;
    let admin = &fixture.a.admin;
    let deal = fixture.deal(admin, fixture.a.child, json!({})).await;
    let moved = async |members: Value| {
        fixture.app.advance(time::Duration::seconds(60));
        let mut body = members;
        body["id"] = json!(deal);
        assert_eq!(fixture.put(admin, DEALS, body).await.0, 200);
        let item = fixture.item(admin, DEALS, deal).await;
        (
            item["closedAt"].clone(),
            item["updatedAt"].clone(),
            item["lostReason"].clone(),
        )
    };

    let (won, written, _) = moved(json!({"status": "won"})).await;
    let (lost, _, reason) = moved(json!({"status": "lost", "lostReason": "Price"})).await;
    let (renamed, _, kept) = moved(json!({"title": "Renamed", "closedAt": "2020-01-01T00:00:00Z"})).await;
    let (open, _, cleared) = moved(json!({"status": "open"})).await;

    assert_eq!(won, written);
    assert_eq!((&lost, &renamed), (&won, &won), "it is closed since it left `open`");
    assert_eq!((reason, kept), (json!("Price"), json!("Price")));
    assert_eq!((open, cleared), (Value::Null, Value::Null));
}

#[actix_web::test]
async fn absent_fields_stay_and_null_clears() {
    let fixture = Fixture::new().await;
    let admin = &fixture.a.admin;
    let company = fixture.company(&fixture.a, fixture.a.child, "Acme").await;
    let members = json!({"description": "D", "valueAmount": 5, "valueCurrency": "EUR", "probability": 5, "source": "Web",
        "expectedCloseOn": "2027-01-01", "ownerUserId": fixture.a.local.id, "companyIds": [company, company]});
    let deal = fixture.deal(admin, fixture.a.child, members).await;

    let (_, reported) = fixture.put(admin, DEALS, json!({"id": deal, "title": "Renamed"})).await;
    let kept = fixture.item(admin, DEALS, deal).await;
    let cleared = json!({"id": deal, "description": null, "valueAmount": null, "valueCurrency": null, "probability": null,
        "source": "", "expectedCloseOn": null, "ownerUserId": null, "companyIds": null});
    let (status, _) = fixture.put(admin, DEALS, cleared.clone()).await;
    let after = fixture.item(admin, DEALS, deal).await;

    assert_eq!(
        (&reported["ok"], &reported["updatedAt"]),
        (&json!(true), &kept["updatedAt"])
    );
    assert_eq!(
        (&kept["description"], &kept["valueAmount"], &kept["companyIds"]),
        (&json!("D"), &json!(5), &json!([company]))
    );
    assert_eq!(status, 200);
    for name in cleared
        .as_object()
        .expect("an object")
        .keys()
        .filter(|name| *name != "id")
    {
        let nothing = if name == "companyIds" { json!([]) } else { Value::Null };
        assert_eq!(after[name], nothing, "{name}");
    }
    let (status, response) = fixture.put(admin, DEALS, json!({"id": deal, "valueAmount": 1})).await;
    assert_eq!((status, detail(&response).0), (400, "valueCurrency"));
}

#[actix_web::test]
async fn a_change_without_a_difference_writes_nothing() {
    let fixture = Fixture::new().await;
    let admin = &fixture.a.admin;
    let person = fixture.person(&fixture.a, fixture.a.child, "Ada").await;
    let (pipeline, stages) = fixture.pipeline(admin, fixture.a.child, &["New", "Offered"]).await;
    let deal = fixture
        .deal(
            admin,
            fixture.a.child,
            json!({"personIds": [person], "pipelineStageId": stages[1], "ownerUserId": fixture.a.local.id}),
        )
        .await;
    let before = fixture.item(admin, DEALS, deal).await;
    let snapshot = fixture.app.snapshot_without(&["audit_access_logs"], &[]).await;

    let body = json!({"id": deal, "title": "A deal", "personIds": [person], "pipelineId": pipeline, "status": "open",
        "ownerUserId": fixture.a.local.id, "organizationId": fixture.a.child});
    let response = fixture.app.send(&admin.token, Method::PUT, DEALS, body).await;

    assert_eq!((response.status, response.operation()), (200, None));
    assert_eq!(response.json()["updatedAt"], before["updatedAt"]);
    assert_eq!(
        fixture.app.snapshot_without(&["audit_access_logs"], &[]).await,
        snapshot
    );
}

#[actix_web::test]
async fn a_deal_that_was_changed_meanwhile_is_not_overwritten() {
    let fixture = Fixture::new().await;
    let admin = &fixture.a.admin;
    let deal = fixture.deal(admin, fixture.a.child, json!({})).await;
    let request = |method: Method, path: &str| {
        let request = fixture.app.request(method, path).bearer(&admin.token);
        request.header("If-Match", "\"2020-01-01T00:00:00.000Z\"")
    };

    let changed = request(Method::PUT, DEALS)
        .json(&json!({"id": deal, "title": "Mine"}))
        .send()
        .await;
    let deleted = request(Method::DELETE, &format!("{DEALS}?id={deal}")).send().await;

    for response in [changed, deleted] {
        assert_eq!(
            (response.status, &response.json()["code"]),
            (409, &json!("optimistic_lock_conflict"))
        );
    }
    assert_eq!(fixture.item(admin, DEALS, deal).await["title"], "A deal");
}

#[actix_web::test]
async fn a_deal_of_another_tenant_or_organization_does_not_exist() {
    let fixture = Fixture::new().await;
    let deal = fixture.deal(&fixture.a.admin, fixture.a.child, json!({})).await;
    let unknown = Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0042);
    let before = fixture.app.snapshot_without(&["audit_access_logs"], &[]).await;

    for who in [&fixture.b.admin, &fixture.a.stranger] {
        for (method, path, body) in [
            (Method::GET, format!("{DEALS}/<id>"), None),
            (
                Method::PUT,
                DEALS.to_owned(),
                Some(json!({"id": "<id>", "title": "Mine"})),
            ),
            (Method::DELETE, format!("{DEALS}?id=<id>"), None),
        ] {
            let ask = async |id: Uuid| {
                let path = path.replace("<id>", &id.to_string());
                let body: Option<Value> = body.clone().map(|mut body: Value| {
                    body["id"] = json!(id);
                    body
                });
                let response = fixture
                    .app
                    .send(&who.token, method.clone(), &path, body.unwrap_or_default())
                    .await;
                (response.status, response.text())
            };
            assert_eq!(ask(deal).await, ask(unknown).await, "{method}");
            assert_eq!(ask(deal).await, (404, r#"{"error":"Deal not found"}"#.to_owned()));
        }
        assert_eq!(fixture.list(who, DEALS).await, Vec::<Uuid>::new());
        assert_eq!(
            fixture.list(who, &format!("{DEALS}?ids={deal}")).await,
            Vec::<Uuid>::new()
        );
    }
    assert_eq!(fixture.app.snapshot_without(&["audit_access_logs"], &[]).await, before);
}

#[actix_web::test]
async fn a_deal_is_created_only_where_its_maker_may() {
    let fixture = Fixture::new().await;
    let create = async |tenant_fixture: &TenantFixture, organization: Uuid| {
        let body = json!({"title": "A deal", "organizationId": organization});
        fixture.app.post(&tenant_fixture.local.token, DEALS, body).await
    };

    for organization in [fixture.a.other, fixture.a.parent, fixture.b.child, Uuid::from_u128(1)] {
        let response = create(&fixture.a, organization).await;
        assert_eq!(
            response,
            (403, json!({"error": "Organization out of scope"})),
            "{organization}"
        );
    }
    assert_eq!(create(&fixture.a, fixture.a.child).await.0, 201);
}

#[actix_web::test]
async fn managing_does_not_include_seeing() {
    let fixture = Fixture::new().await;
    let (tenant_fixture, child) = (&fixture.a, fixture.a.child);
    let admin = fixture
        .account(
            tenant_fixture,
            child,
            "keeper@alpha.test",
            &["customers.deals.manage"],
            None,
        )
        .await;
    let reader = fixture
        .account(
            tenant_fixture,
            child,
            "reader@alpha.test",
            &["customers.deals.view"],
            None,
        )
        .await;
    let deal = fixture.deal(&admin, child, json!({})).await;
    let forbidden = |feature: &str| json!({"error": "Forbidden", "requiredFeatures": [feature]});

    let read = fixture.get(&admin, &format!("{DEALS}/{deal}")).await;
    let written = fixture.put(&reader, DEALS, json!({"id": deal, "title": "Mine"})).await;
    let plain = fixture.get(&fixture.a.plain, DEALS).await;

    assert_eq!(read, (403, forbidden("customers.deals.view")));
    assert_eq!(written, (403, forbidden("customers.deals.manage")));
    assert_eq!(plain, (403, forbidden("customers.deals.view")));
    assert_eq!(fixture.list(&reader, DEALS).await, [deal]);
}

#[actix_web::test]
async fn reading_a_deal_is_recorded() {
    let fixture = Fixture::new().await;
    let deal = fixture.deal(&fixture.a.admin, fixture.a.child, json!({})).await;

    fixture.item(&fixture.a.local, DEALS, deal).await;
    fixture.list(&fixture.a.local, DEALS).await;

    let query = format!(
        "select access_type, actor_id, organization_id, fields from audit_access_logs \
         where resource_kind = 'customers.deal' and resource_id = '{deal}' order by access_type"
    );
    let rows = fixture.app.rows(&query).await;
    let reported: Vec<_> = rows
        .iter()
        .map(|row| (&row["access_type"], &row["actor_id"], &row["organization_id"]))
        .collect();
    let (who, place) = (json!(fixture.a.local.id), json!(fixture.a.child));
    assert_eq!(
        reported,
        [(&json!("read:item"), &who, &place), (&json!("read:list"), &who, &place)]
    );
    assert!(rows[0]["fields"].as_array().expect("names").contains(&json!("people")));
}
