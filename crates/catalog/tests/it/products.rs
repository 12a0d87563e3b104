//! Products: making, changing, deleting.

use actix_web::http::Method;
use serde_json::{Value, json};

use crate::world::{PRODUCTS, World, details};

#[actix_web::test]
async fn a_product_has_its_columns_and_what_belongs_to_it() {
    let world = World::new().await;
    let shoes = world.category("shoes", None).await;
    let body = json!({"title": " Shoe ", "handle": "Red_Shoe", "primaryCurrencyCode": "eur", "tags": ["b", "a", "b"],
        "categoryIds": [shoes, shoes], "variants": [{"name": "S", "options": {"size": "S"}}, {"name": "M"}],
        "prices": [{"kind": "sale", "currencyCode": "EUR", "amount": 9.5, "taxRate": 23, "variantIndex": 1}]});

    let id = world.make(PRODUCTS, body).await.id;

    let shown = world.one(PRODUCTS, id).await;
    for (member, expected) in [
        ("title", json!("Shoe")),
        ("subtitle", Value::Null),
        ("sku", Value::Null),
        ("handle", json!("red_shoe")),
        ("productType", json!("simple")),
        ("isActive", json!(true)),
        ("primaryCurrencyCode", json!("EUR")),
        ("tags", json!(["a", "b"])),
        ("metadata", Value::Null),
        ("organizationId", json!(world.root)),
        ("tenantId", json!(world.tenant)),
        ("categoryIds", json!([shoes])),
        ("categories", json!([{"id": shoes, "name": "shoes", "slug": "shoes"}])),
        ("variantCount", json!(2)),
    ] {
        assert_eq!(shown[member], expected, "{member}");
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
    let page = world.get(PRODUCTS).await;
    assert_eq!(
        (&page["items"][0]["variantCount"], &page["items"][0]["categoryIds"]),
        (&json!(2), &json!([shoes]))
    );
    assert!(page["items"][0].get("variants").is_none());
}

#[actix_web::test]
async fn a_change_leaves_what_it_does_not_name_and_clears_by_null() {
    let world = World::new().await;
    let body = json!({"title": "Shoe", "subtitle": "S", "sku": "A", "tags": ["a"], "metadata": {"a": 1}});
    let id = world.make(PRODUCTS, body).await.id;
    world.app.advance(backoffice_test_support::Duration::minutes(1));

    let request = json!({"id": id, "subtitle": null, "isActive": false});
    let response = world.send(Method::PUT, PRODUCTS, &request).await;

    let shown = world.one(PRODUCTS, id).await;
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
    world
        .change(PRODUCTS, json!({"id": id, "tags": null, "metadata": null}))
        .await;
    let shown = world.one(PRODUCTS, id).await;
    assert_eq!((&shown["tags"], &shown["metadata"]), (&json!([]), &Value::Null));
}

#[actix_web::test]
async fn aud_22_a_change_without_a_difference_leaves_no_trace() {
    let world = World::new().await;
    let id = world.make(PRODUCTS, json!({"title": "Shoe", "tags": ["a"]})).await.id;
    let before = (world.one(PRODUCTS, id).await, world.entries("limit=1000").await.len());
    world.app.advance(backoffice_test_support::Duration::minutes(1));

    let request = json!({"id": id, "title": "Shoe", "tags": ["a", "a"], "categoryIds": []});
    let response = world.send(Method::PUT, PRODUCTS, &request).await;

    assert_eq!((response.status, response.operation()), (200, None));
    assert_eq!(response.json()["updatedAt"], before.0["updatedAt"]);
    assert_eq!(
        (world.one(PRODUCTS, id).await, world.entries("limit=1000").await.len()),
        before
    );
}

#[actix_web::test]
async fn a_taken_sku_or_handle_is_a_400_that_names_it() {
    let world = World::new().await;
    let one = world
        .make(PRODUCTS, json!({"title": "One", "sku": "A", "handle": "a"}))
        .await
        .id;
    let two = world.product("Two").await;
    let before = world.image().await;

    for (method, body, path) in [
        (Method::POST, json!({"title": "X", "sku": "A"}), "sku"),
        (Method::POST, json!({"title": "X", "handle": "A"}), "handle"),
        (Method::PUT, json!({"id": two, "sku": "A"}), "sku"),
        (Method::PUT, json!({"id": two, "handle": "a"}), "handle"),
    ] {
        let response = world.send(method, PRODUCTS, &body).await;

        assert_eq!(response.status, 400, "{body}: {}", response.text());
        assert_eq!(details(&response.json()), [(path, "not_unique")]);
    }
    assert_eq!(world.image().await, before);
    world.change(PRODUCTS, json!({"id": one, "sku": "a"})).await;
    let elsewhere = json!({"title": "Elsewhere", "handle": "a", "organizationId": world.child});
    world.make(PRODUCTS, elsewhere).await;
}

#[actix_web::test]
async fn parts_that_break_a_rule_are_named_and_nothing_is_made() {
    let world = World::new().await;
    let price = |more: Value| {
        let mut price = json!({"kind": "sale", "currencyCode": "EUR", "amount": 1});
        price
            .as_object_mut()
            .expect("an object")
            .extend(more.as_object().expect("an object").clone());
        price
    };
    world
        .make(
            PRODUCTS,
            json!({"title": "There", "variants": [{"name": "V", "sku": "V"}]}),
        )
        .await;
    let before = world.image().await;

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
            json!({"variants": [{"name": "S", "sku": "V"}]}),
            ("variants", "not_unique"),
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
            json!({"prices": [price(json!({})), price(json!({}))]}),
            ("prices", "not_unique"),
        ),
        (json!({"prices": vec![price(json!({})); 501]}), ("prices", "too_long")),
    ] {
        let mut body = parts;
        body["title"] = json!("Shoe");

        let response = world.send(Method::POST, PRODUCTS, &body).await;

        assert_eq!(response.status, 400, "{}", response.text());
        assert_eq!(details(&response.json()), [expected]);
    }
    assert_eq!(world.image().await, before);
}

#[actix_web::test]
async fn a_category_that_is_not_known_is_refused_in_the_same_words() {
    let world = World::new().await;
    let id = world.product("Shoe").await;
    let (_, foreign) = world
        .app
        .post(
            &world.stranger,
            "/catalog/categories",
            json!({"name": "Theirs", "slug": "theirs"}),
        )
        .await;
    let before = world.image().await;
    let mut answers = Vec::new();

    for category in [foreign["id"].clone(), json!(uuid::Uuid::nil())] {
        for (method, body) in [
            (Method::POST, json!({"title": "X", "categoryIds": [category]})),
            (Method::PUT, json!({"id": id, "categoryIds": [category]})),
        ] {
            let response = world.send(method, PRODUCTS, &body).await;
            assert_eq!(response.status, 400);
            answers.push(response.text());
        }
    }

    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    let told = serde_json::from_str(&answers[0]).expect("JSON");
    assert_eq!(details(&told), [("categoryIds", "unknown_reference")]);
    assert_eq!(world.image().await, before);
}

#[actix_web::test]
async fn a_product_keeps_its_organization() {
    let world = World::new().await;
    let id = world
        .make(PRODUCTS, json!({"title": "Shoe", "organizationId": world.child}))
        .await
        .id;

    let body = json!({"id": id, "organizationId": world.parent});
    let response = world.send(Method::PUT, PRODUCTS, &body).await;

    assert_eq!(response.status, 400);
    assert_eq!(details(&response.json()), [("organizationId", "immutable")]);
    world
        .change(
            PRODUCTS,
            json!({"id": id, "organizationId": world.child, "title": "Boot"}),
        )
        .await;
}

#[actix_web::test]
async fn a_stale_change_is_a_conflict() {
    let world = World::new().await;
    let id = world.product("Shoe").await;
    let request = world.app.request(Method::PUT, PRODUCTS).bearer(&world.admin);
    let request = request.header("X-Expected-Updated-At", "2020-01-01T00:00:00Z");

    let response = request.json(&json!({"id": id, "title": "Boot"})).send().await;

    assert_eq!(
        (response.status, &response.json()["code"]),
        (409, &json!("optimistic_lock_conflict"))
    );
}

#[actix_web::test]
async fn an_organization_with_products_or_categories_stays() {
    let world = World::new().await;
    let organizations = "/directory/organizations";
    let branch = world.make(organizations, json!({"name": "Branch"})).await.id;
    let product = world
        .make(PRODUCTS, json!({"title": "Shoe", "organizationId": branch}))
        .await;
    let category = json!({"name": "C", "slug": "c", "organizationId": branch});
    let category = world.make("/catalog/categories", category).await;
    let target = format!("{organizations}?id={branch}");

    for (path, id) in [(PRODUCTS, product.id), ("/catalog/categories", category.id)] {
        let response = world.send(Method::DELETE, &target, &Value::Null).await;
        let told = (response.status, response.json());
        assert_eq!(
            told,
            (
                409,
                json!({"error": "Organization is in use", "code": "organization_in_use"})
            )
        );
        world.remove(path, id).await;
    }

    assert_eq!(world.send(Method::DELETE, &target, &Value::Null).await.status, 200);
}

#[actix_web::test]
async fn events_tell_what_happened() {
    let world = World::new().await;
    let id = world.product("Shoe").await;
    world.change(PRODUCTS, json!({"id": id, "title": "Boot"})).await;
    let done = world.remove(PRODUCTS, id).await;
    assert_eq!(world.undo(&done).await.0, 200);

    let events = "select name, browser, payload ->> 'undo' as undo from core_outbox_events \
                  where name like 'catalog.%' order by seq";
    let told: Vec<Value> = world.app.rows(events).await;

    let expected = ["created", "updated", "deleted", "created"].map(|verb| json!(format!("catalog.product.{verb}")));
    assert_eq!(
        told.iter().map(|event| event["name"].clone()).collect::<Vec<_>>(),
        expected
    );
    assert!(told.iter().all(|event| event["browser"] == true));
    assert_eq!(told[3]["undo"], "true");
}
