//! Products: creation, update, deletion.

use actix_web::http::Method;
use backoffice_test_accounts::ORGANIZATIONS;
use serde_json::{Value, json};

use crate::fixture::{Fixture, PRODUCTS, details};

#[actix_web::test]
async fn a_product_has_its_columns_and_what_belongs_to_it() {
    let fixture = Fixture::new().await;
    let shoes = fixture.category("shoes", None).await;
    let body = json!({"title": " Shoe ", "handle": "Red_Shoe", "primaryCurrencyCode": "eur", "tags": ["b", "a", "b"],
        "categoryIds": [shoes, shoes], "variants": [{"name": "S", "options": {"size": "S"}}, {"name": "M"}],
        "prices": [{"kind": "sale", "currencyCode": "EUR", "amount": 9.5, "taxRate": 23, "variantIndex": 1}]});

    let id = fixture.create(PRODUCTS, body).await.resource;

    let shown = fixture.one(PRODUCTS, id).await;
    for (field, expected) in [
        ("title", json!("Shoe")),
        ("subtitle", Value::Null),
        ("sku", Value::Null),
        ("handle", json!("red_shoe")),
        ("productType", json!("simple")),
        ("isActive", json!(true)),
        ("primaryCurrencyCode", json!("EUR")),
        ("tags", json!(["a", "b"])),
        ("metadata", Value::Null),
        ("organizationId", json!(fixture.root)),
        ("tenantId", json!(fixture.tenant)),
        ("categoryIds", json!([shoes])),
        ("categories", json!([{"id": shoes, "name": "shoes", "slug": "shoes"}])),
        ("variantCount", json!(2)),
    ] {
        assert_eq!(shown[field], expected, "{field}");
    }
    let (variants, price) = (&shown["variants"], &shown["prices"][0]);
    assert_eq!(
        (&variants[0]["position"], &variants[1]["position"]),
        (&json!(0), &json!(1))
    );
    assert_eq!(variants[0]["options"], json!({"size": "S"}));
    assert_eq!((&price["amount"], &price["taxRate"]), (&json!(9.5), &json!(23)));
    assert_eq!(
        (&price["variantId"], &price["minQuantity"]),
        (&variants[1]["id"], &json!(1))
    );
    let page = fixture.get(PRODUCTS).await;
    assert_eq!(
        (&page["items"][0]["variantCount"], &page["items"][0]["categoryIds"]),
        (&json!(2), &json!([shoes]))
    );
    assert!(page["items"][0].get("variants").is_none());
}

#[actix_web::test]
async fn a_change_leaves_what_it_does_not_name_and_clears_by_null() {
    let fixture = Fixture::new().await;
    let body = json!({"title": "Shoe", "subtitle": "S", "sku": "A", "tags": ["a"], "metadata": {"a": 1}});
    let id = fixture.create(PRODUCTS, body).await.resource;
    fixture.app.advance(backoffice_test_support::Duration::minutes(1));

    let request = json!({"id": id, "subtitle": null, "isActive": false});
    let response = fixture.app.send(&fixture.admin, Method::PUT, PRODUCTS, &request).await;

    let shown = fixture.one(PRODUCTS, id).await;
    assert_eq!(response.json(), json!({"ok": true, "updatedAt": shown["updatedAt"]}));
    assert_eq!(
        (
            &shown["title"],
            &shown["subtitle"],
            &shown["sku"],
            &shown["isActive"],
            &shown["tags"]
        ),
        (&json!("Shoe"), &Value::Null, &json!("A"), &json!(false), &json!(["a"]))
    );
    assert_ne!(shown["updatedAt"], shown["createdAt"]);
    fixture
        .change(PRODUCTS, json!({"id": id, "tags": null, "metadata": null}))
        .await;
    let shown = fixture.one(PRODUCTS, id).await;
    assert_eq!((&shown["tags"], &shown["metadata"]), (&json!([]), &Value::Null));
}

#[actix_web::test]
async fn aud_22_a_change_without_a_difference_leaves_no_trace() {
    let fixture = Fixture::new().await;
    let id = fixture
        .create(PRODUCTS, json!({"title": "Shoe", "tags": ["a"]}))
        .await
        .resource;
    let before = (
        fixture.one(PRODUCTS, id).await,
        fixture.entries("limit=1000").await.len(),
    );
    fixture.app.advance(backoffice_test_support::Duration::minutes(1));

    let request = json!({"id": id, "title": "Shoe", "tags": ["a", "a"], "categoryIds": []});
    let response = fixture.app.send(&fixture.admin, Method::PUT, PRODUCTS, &request).await;

    assert_eq!((response.status, response.operation()), (200, None));
    assert_eq!(response.json()["updatedAt"], before.0["updatedAt"]);
    assert_eq!(
        (
            fixture.one(PRODUCTS, id).await,
            fixture.entries("limit=1000").await.len()
        ),
        before
    );
}

#[actix_web::test]
async fn a_taken_sku_or_handle_is_a_400_that_names_it() {
    let fixture = Fixture::new().await;
    let one = fixture
        .create(PRODUCTS, json!({"title": "One", "sku": "A", "handle": "a"}))
        .await
        .resource;
    let two = fixture.product("Two").await;
    let before = fixture.snapshot().await;

    for (method, body, path) in [
        (Method::POST, json!({"title": "X", "sku": "A"}), "sku"),
        (Method::POST, json!({"title": "X", "handle": "A"}), "handle"),
        (Method::PUT, json!({"id": two, "sku": "A"}), "sku"),
        (Method::PUT, json!({"id": two, "handle": "a"}), "handle"),
    ] {
        let response = fixture.app.send(&fixture.admin, method, PRODUCTS, &body).await;

        assert_eq!(response.status, 400, "{body}: {}", response.text());
        assert_eq!(details(&response.json()), [(path, "not_unique")]);
    }
    assert_eq!(fixture.snapshot().await, before);
    fixture.change(PRODUCTS, json!({"id": one, "sku": "a"})).await;
    let elsewhere = json!({"title": "Elsewhere", "handle": "a", "organizationId": fixture.child});
    fixture.create(PRODUCTS, elsewhere).await;
}

#[actix_web::test]
async fn all_taken_codes_are_reported_together() {
    let fixture = Fixture::new().await;
    let variants = json!([{"name": "S", "sku": "S"}, {"name": "M", "sku": "M"}]);
    let taken = json!({"title": "One", "sku": "A", "handle": "a", "variants": variants});
    let one = fixture.create(PRODUCTS, taken.clone()).await.resource;
    let two = fixture.product("Two").await;
    let before = fixture.snapshot().await;
    let reported = async |method: Method, body: Value| {
        let response = fixture.app.send(&fixture.admin, method, PRODUCTS, &body).await;
        assert_eq!(response.status, 400, "{}", response.text());
        let body = response.json();
        assert_eq!(body["error"], "Invalid input");
        let details = details(&body).into_iter();
        assert!(details.clone().all(|(_, code)| code == "not_unique"), "{body}");
        details.map(|(path, _)| path.to_owned()).collect::<Vec<_>>()
    };

    let of_all = reported(Method::POST, taken).await;
    let variants = json!([{"name": "L", "sku": "L"}, {"name": "X"}, {"name": "S", "sku": " S "}]);
    let of_variant = reported(Method::POST, json!({"title": "New", "sku": "B", "variants": variants})).await;
    let of_both = reported(Method::PUT, json!({"id": two, "sku": "A", "handle": "A"})).await;
    let of_handle = reported(Method::PUT, json!({"id": two, "sku": "C", "handle": "a"})).await;

    assert_eq!(of_all, ["sku", "handle", "variants[0].sku", "variants[1].sku"]);
    assert_eq!(of_variant, ["variants[2].sku"]);
    assert_eq!(of_both, ["sku", "handle"]);
    assert_eq!(of_handle, ["handle"]);
    assert_eq!(fixture.snapshot().await, before);
    fixture
        .change(PRODUCTS, json!({"id": one, "sku": "A", "handle": "a2"}))
        .await;
}

#[actix_web::test]
async fn parts_that_break_a_rule_are_named_and_nothing_is_created() {
    let fixture = Fixture::new().await;
    let price = |more: Value| {
        let mut price = json!({"kind": "sale", "currencyCode": "EUR", "amount": 1});
        price
            .as_object_mut()
            .expect("an object")
            .extend(more.as_object().expect("an object").clone());
        price
    };
    fixture
        .create(
            PRODUCTS,
            json!({"title": "There", "variants": [{"name": "V", "sku": "V"}]}),
        )
        .await;
    let before = fixture.snapshot().await;

    for (parts, expected) in [
        (
            json!({"variants": [{"name": "S"}, {}]}),
            ("variants[1].name", "required"),
        ),
        (
            json!({"variants": [{"name": "S", "sku": "X"}, {"name": "M", "sku": "X"}]}),
            ("variants[1].sku", "not_unique"),
        ),
        (
            json!({"variants": [{"name": "S"}, {"name": "M", "sku": "V"}]}),
            ("variants[1].sku", "not_unique"),
        ),
        (
            json!({"variants": vec![json!({"name": "S"}); 101]}),
            ("variants", "too_long"),
        ),
        (
            json!({"prices": [price(json!({"amount": -1}))]}),
            ("prices[0].amount", "out_of_range"),
        ),
        (
            json!({"prices": [price(json!({"variantIndex": 0}))]}),
            ("prices[0].variantIndex", "unknown_reference"),
        ),
        (
            json!({"prices": [price(json!({})), price(json!({"currencyCode": "eur", "minQuantity": 1}))]}),
            ("prices[1].kind", "not_unique"),
        ),
        (json!({"prices": vec![price(json!({})); 501]}), ("prices", "too_long")),
    ] {
        let mut body = parts;
        body["title"] = json!("Shoe");

        let response = fixture.app.send(&fixture.admin, Method::POST, PRODUCTS, &body).await;

        assert_eq!(response.status, 400, "{}", response.text());
        assert_eq!(details(&response.json()), [expected]);
    }
    assert_eq!(fixture.snapshot().await, before);
}

#[actix_web::test]
async fn a_category_that_is_not_known_is_rejected_in_the_same_words() {
    let fixture = Fixture::new().await;
    let id = fixture.product("Shoe").await;
    let (_, foreign) = fixture
        .app
        .post(
            &fixture.stranger,
            "/catalog/categories",
            json!({"name": "Theirs", "slug": "theirs"}),
        )
        .await;
    let before = fixture.snapshot().await;
    let mut responses = Vec::new();

    for category in [foreign["id"].clone(), json!(uuid::Uuid::nil())] {
        for (method, body) in [
            (Method::POST, json!({"title": "X", "categoryIds": [category]})),
            (Method::PUT, json!({"id": id, "categoryIds": [category]})),
        ] {
            let response = fixture.app.send(&fixture.admin, method, PRODUCTS, &body).await;
            assert_eq!(response.status, 400);
            responses.push(response.text());
        }
    }

    assert!(
        responses.iter().all(|response| *response == responses[0]),
        "{responses:?}"
    );
    let reported = serde_json::from_str(&responses[0]).expect("JSON");
    assert_eq!(details(&reported), [("categoryIds", "unknown_reference")]);
    assert_eq!(fixture.snapshot().await, before);
}

#[actix_web::test]
async fn a_product_keeps_its_organization() {
    let fixture = Fixture::new().await;
    let id = fixture
        .create(PRODUCTS, json!({"title": "Shoe", "organizationId": fixture.child}))
        .await
        .resource;

    let body = json!({"id": id, "organizationId": fixture.parent});
    let response = fixture.app.send(&fixture.admin, Method::PUT, PRODUCTS, &body).await;

    assert_eq!(response.status, 400);
    assert_eq!(details(&response.json()), [("organizationId", "immutable")]);
    fixture
        .change(
            PRODUCTS,
            json!({"id": id, "organizationId": fixture.child, "title": "Boot"}),
        )
        .await;
}

#[actix_web::test]
async fn a_stale_change_is_a_conflict() {
    let fixture = Fixture::new().await;
    let id = fixture.product("Shoe").await;
    let request = fixture.app.request(Method::PUT, PRODUCTS).bearer(&fixture.admin);
    let request = request.header("X-Expected-Updated-At", "2020-01-01T00:00:00Z");

    let response = request.json(&json!({"id": id, "title": "Boot"})).send().await;

    assert_eq!(
        (response.status, &response.json()["code"]),
        (409, &json!("optimistic_lock_conflict"))
    );
}

#[actix_web::test]
async fn an_organization_with_products_or_categories_stays() {
    let fixture = Fixture::new().await;
    let branch = fixture.create(ORGANIZATIONS, json!({"name": "Branch"})).await.resource;
    let product = fixture
        .create(PRODUCTS, json!({"title": "Shoe", "organizationId": branch}))
        .await;
    let category = json!({"name": "C", "slug": "c", "organizationId": branch});
    let category = fixture.create("/catalog/categories", category).await;
    let target = format!("{ORGANIZATIONS}?id={branch}");

    for (path, id) in [(PRODUCTS, product.resource), ("/catalog/categories", category.resource)] {
        let response = fixture
            .app
            .send(&fixture.admin, Method::DELETE, &target, &Value::Null)
            .await;
        let reported = (response.status, response.json());
        assert_eq!(
            reported,
            (
                409,
                json!({"error": "Organization is in use", "code": "organization_in_use"})
            )
        );
        fixture.remove(path, id).await;
    }

    assert_eq!(
        fixture
            .app
            .send(&fixture.admin, Method::DELETE, &target, &Value::Null)
            .await
            .status,
        200
    );
}

#[actix_web::test]
async fn events_report_what_happened() {
    let fixture = Fixture::new().await;
    let id = fixture.product("Shoe").await;
    fixture.change(PRODUCTS, json!({"id": id, "title": "Boot"})).await;
    let done = fixture.remove(PRODUCTS, id).await;
    assert_eq!(fixture.app.undo(&fixture.admin, &done).await.0, 200);

    let events = "select name, browser, payload ->> 'undo' as undo from core_outbox_events \
                  where name like 'catalog.%' order by seq";
    let reported: Vec<Value> = fixture.app.rows(events).await;

    let expected = ["created", "updated", "deleted", "created"].map(|verb| json!(format!("catalog.product.{verb}")));
    assert_eq!(
        reported.iter().map(|event| event["name"].clone()).collect::<Vec<_>>(),
        expected
    );
    assert!(reported.iter().all(|event| event["browser"] == true));
    assert_eq!(reported[3]["undo"], "true");
}
