//! What undo and redo restore.

use serde_json::{Value, json};

use crate::fixture::{CATEGORIES, Fixture, PRICES, PRODUCTS, VARIANTS};

/// Returns the body of a product with all fields, and with prices.
fn whole(categories: &[uuid::Uuid]) -> Value {
    let price = |amount: f64, variant: Option<u32>, quantity: u32| {
        json!({"kind": "regular", "currencyCode": "EUR", "amount": amount, "variantIndex": variant,
            "minQuantity": quantity})
    };
    json!({
        "title": "Shoe", "sku": "SHOE", "handle": "shoe", "tags": ["red", "blue"], "metadata": {"a": [1, 2.5]},
        "categoryIds": categories,
        "variants": [{"name": "S", "sku": "SHOE-S"}, {"name": "M"}, {"name": "L"}],
        "prices": [price(19.99, None, 1), price(18.5, None, 10), price(17.0, Some(0), 1), price(0.0001, Some(1), 1),
            price(123_456_789_012.345_6, Some(2), 1)],
    })
}

#[actix_web::test]
async fn cat_3_a_deleted_product_comes_back_whole_and_goes_again() {
    let fixture = Fixture::new().await;
    let (shoes, sale) = (
        fixture.category("shoes", None).await,
        fixture.category("sale", None).await,
    );
    let product = fixture.create(PRODUCTS, whole(&[shoes, sale])).await.resource;
    fixture.product("Another").await;
    let (before, shown) = (fixture.snapshot().await, fixture.one(PRODUCTS, product).await);
    fixture.app.advance(backoffice_test_support::Duration::hours(1));

    let done = fixture.remove(PRODUCTS, product).await;
    let gone = fixture.snapshot().await;
    assert_eq!(gone["catalog_products"].len(), 1);
    for table in ["catalog_variants", "catalog_prices", "catalog_product_categories"] {
        assert!(gone[table].is_empty(), "{table}");
    }

    let (status, body) = fixture.app.undo(&fixture.admin, &done).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(fixture.snapshot().await, before);
    let back = fixture.one(PRODUCTS, product).await;
    for field in ["createdAt", "tags", "categoryIds", "metadata", "variantCount"] {
        assert_eq!(back[field], shown[field], "{field}");
    }

    let (status, body) = fixture.app.redo(&fixture.admin, &done).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(fixture.snapshot().await, gone);
}

#[actix_web::test]
async fn a_product_with_more_prices_than_one_statement_can_insert_comes_back_whole() {
    let fixture = Fixture::new().await;
    let product = fixture.product("Shoe").await;
    let prices = format!(
        "insert into catalog_prices (tenant_id, id, organization_id, product_id, kind, currency_code, min_quantity, amount, created_at, updated_at) \
         select tenant_id, gen_random_uuid(), organization_id, id, 'regular', 'EUR', n, n, created_at, created_at \
         from catalog_products, generate_series(1, 6000) n where id = '{product}'"
    );
    assert_eq!(fixture.app.sql(&prices).await, 6000);
    let before = fixture.snapshot().await;

    let done = fixture.remove(PRODUCTS, product).await;
    assert!(fixture.snapshot().await["catalog_prices"].is_empty());

    let (status, body) = fixture.app.undo(&fixture.admin, &done).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(fixture.snapshot().await, before);
}

#[actix_web::test]
async fn a_product_with_more_variants_than_one_statement_can_insert_comes_back_whole() {
    let fixture = Fixture::new().await;
    let product = fixture.product("Shoe").await;
    let variants = format!(
        "insert into catalog_variants (tenant_id, id, organization_id, product_id, name, position, is_active, created_at, updated_at) \
         select tenant_id, gen_random_uuid(), organization_id, id, 'Size ' || n, n, true, created_at, created_at \
         from catalog_products, generate_series(1, 6000) n where id = '{product}'"
    );
    assert_eq!(fixture.app.sql(&variants).await, 6000);
    let before = fixture.snapshot().await;

    let done = fixture.remove(PRODUCTS, product).await;
    assert!(fixture.snapshot().await["catalog_variants"].is_empty());

    let (status, body) = fixture.app.undo(&fixture.admin, &done).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(fixture.snapshot().await, before);
}

#[actix_web::test]
async fn cat_6_a_sku_that_was_taken_meanwhile_keeps_a_product_from_coming_back() {
    let fixture = Fixture::new().await;
    let old = fixture
        .create(PRODUCTS, json!({"title": "Old", "sku": "X-1"}))
        .await
        .resource;
    let done = fixture.remove(PRODUCTS, old).await;
    fixture.create(PRODUCTS, json!({"title": "New", "sku": "X-1"})).await;
    let before = fixture.snapshot().await;

    let (status, body) = fixture.app.undo(&fixture.admin, &done).await;

    let reported = (status, &body["code"], &body["fields"]);
    assert_eq!(reported, (400, &json!("undo_conflict"), &json!(["sku"])));
    assert_eq!(fixture.snapshot().await, before);
}

#[actix_web::test]
async fn a_price_whose_terms_were_taken_does_not_come_back() {
    let fixture = Fixture::new().await;
    let product = fixture.product("Shoe").await;
    let terms = |quantity: u32| json!({"productId": product, "kind": "sale", "currencyCode": "EUR", "amount": 1, "minQuantity": quantity});
    let one = fixture.create(PRICES, terms(1)).await.resource;
    let two = fixture.create(PRICES, terms(2)).await.resource;
    let deleted = fixture.remove(PRICES, one).await;
    let changed = fixture
        .change(PRICES, json!({"id": two, "minQuantity": 3, "amount": 2}))
        .await;
    for quantity in [1, 2] {
        fixture.create(PRICES, terms(quantity)).await;
    }
    let before = fixture.snapshot().await;

    for (done, fields) in [
        (&deleted, json!(["currencyCode", "kind", "minQuantity"])),
        (&changed, json!(["minQuantity"])),
    ] {
        let (status, body) = fixture.app.undo(&fixture.admin, done).await;

        let reported = (status, &body["code"], &body["fields"]);
        assert_eq!(reported, (400, &json!("undo_conflict"), &fields));
    }
    assert_eq!(fixture.snapshot().await, before);
}

#[actix_web::test]
async fn actions_on_a_variant_that_was_deleted_with_its_product_are_not_undone() {
    let fixture = Fixture::new().await;
    let product = fixture.product("Shoe").await;
    let body = json!({"productId": product, "name": "S"});
    let created = fixture.create(VARIANTS, body).await;
    let body = json!({"productId": product, "name": "M"});
    let other = fixture.create(VARIANTS, body).await;
    let changed = fixture
        .change(VARIANTS, json!({"id": other.resource, "name": "L"}))
        .await;
    let deleted = fixture.remove(PRODUCTS, product).await;

    for done in [&created, &changed] {
        let (status, body) = fixture.app.undo(&fixture.admin, done).await;
        assert_eq!((status, &body["error"]), (400, &json!("Undo token not available")));
    }

    assert_eq!(fixture.app.undo(&fixture.admin, &deleted).await.0, 200);
    assert_eq!(fixture.app.undo(&fixture.admin, &changed).await.0, 200);
    assert_eq!(fixture.one(VARIANTS, other.resource).await["name"], "M");
    assert_eq!(fixture.app.undo(&fixture.admin, &created).await.0, 200);
}

#[actix_web::test]
async fn cat_7_a_product_created_with_variants_and_prices_is_one_action() {
    let fixture = Fixture::new().await;
    let done = fixture.create(PRODUCTS, whole(&[])).await;
    let created = fixture.snapshot().await;
    let count = |table: &str| created[table].len();
    assert_eq!(
        (
            count("catalog_products"),
            count("catalog_variants"),
            count("catalog_prices")
        ),
        (1, 3, 5)
    );
    let entries = fixture.entries("limit=1000").await;
    let of_catalog = entries.iter().filter(|entry| {
        entry["commandId"]
            .as_str()
            .is_some_and(|command| command.starts_with("catalog."))
    });
    assert_eq!(of_catalog.count(), 1, "one entry");

    assert_eq!(fixture.app.undo(&fixture.admin, &done).await.0, 200);
    assert!(
        fixture.snapshot().await.values().all(Vec::is_empty),
        "all nine rows are gone"
    );

    assert_eq!(fixture.app.redo(&fixture.admin, &done).await.0, 200);
    assert_eq!(fixture.snapshot().await, created);
}

#[actix_web::test]
async fn aud_13_a_product_is_restored_without_a_deleted_category() {
    let fixture = Fixture::new().await;
    let (shoes, sale) = (
        fixture.category("shoes", None).await,
        fixture.category("sale", None).await,
    );
    let product = fixture.create(PRODUCTS, whole(&[shoes, sale])).await.resource;
    let before = fixture.snapshot().await;
    let done = fixture.remove(PRODUCTS, product).await;
    fixture.remove(CATEGORIES, sale).await;

    let (status, body) = fixture.app.undo(&fixture.admin, &done).await;

    assert_eq!(status, 200, "{body}");
    let after = fixture.snapshot().await;
    for table in ["catalog_products", "catalog_variants", "catalog_prices"] {
        assert_eq!(after[table], before[table], "{table}");
    }
    assert_eq!(fixture.one(PRODUCTS, product).await["categoryIds"], json!([shoes]));
    assert_eq!(fixture.dropped().await, [json!([format!("catalog.category:{sale}")])]);
}

#[actix_web::test]
async fn aud_14_a_creation_with_later_parts_stays() {
    let fixture = Fixture::new().await;
    let product = fixture.create(PRODUCTS, json!({"title": "Shoe"})).await;
    let variant = fixture
        .create(VARIANTS, json!({"productId": product.resource, "name": "S"}))
        .await;
    let category = fixture
        .create(CATEGORIES, json!({"name": "Shoes", "slug": "shoes"}))
        .await;
    let price = json!({"productId": product.resource, "variantId": variant.resource, "kind": "sale", "currencyCode": "EUR", "amount": 1});
    fixture.create(PRICES, price).await;
    fixture
        .change(
            PRODUCTS,
            json!({"id": product.resource, "categoryIds": [category.resource]}),
        )
        .await;
    let parent = fixture
        .create(CATEGORIES, json!({"name": "Above", "slug": "above"}))
        .await;
    fixture.category("below", Some(parent.resource)).await;
    let before = fixture.snapshot().await;

    for (done, kind) in [
        (&variant, "catalog.price"),
        (&category, "catalog.product_category"),
        (&parent, "catalog.category"),
    ] {
        let (status, body) = fixture.app.undo(&fixture.admin, done).await;

        let reported = (status, &body["code"], &body["fields"]);
        assert_eq!(reported, (400, &json!("undo_conflict"), &json!([kind])));
    }
    // The latest action on the product is the change of its categories.
    assert_eq!(fixture.app.undo(&fixture.admin, &product).await.0, 400);
    assert_eq!(fixture.snapshot().await, before);
}

#[actix_web::test]
async fn a_category_comes_back_into_its_products() {
    let fixture = Fixture::new().await;
    let shoes = fixture.category("shoes", None).await;
    let (kept, lost) = (
        fixture
            .create(PRODUCTS, json!({"title": "Kept", "categoryIds": [shoes]}))
            .await
            .resource,
        fixture
            .create(PRODUCTS, json!({"title": "Lost", "categoryIds": [shoes]}))
            .await
            .resource,
    );
    let before = fixture.snapshot().await;
    let done = fixture.remove(CATEGORIES, shoes).await;
    assert_eq!(fixture.one(PRODUCTS, kept).await["categoryIds"], json!([]));

    assert_eq!(fixture.app.undo(&fixture.admin, &done).await.0, 200);
    assert_eq!(fixture.snapshot().await, before);

    let done = fixture.remove(CATEGORIES, shoes).await;
    fixture.remove(PRODUCTS, lost).await;
    assert_eq!(fixture.app.undo(&fixture.admin, &done).await.0, 200);
    assert_eq!(fixture.one(PRODUCTS, kept).await["categoryIds"], json!([shoes]));
    assert_eq!(fixture.dropped().await, [json!([format!("catalog.product:{lost}")])]);
}

#[actix_web::test]
async fn a_category_whose_parent_is_gone_comes_back_at_the_top() {
    let fixture = Fixture::new().await;
    let parent = fixture.category("above", None).await;
    let below = fixture.category("below", Some(parent)).await;
    let moved = fixture.category("moved", Some(parent)).await;
    let away = fixture.change(CATEGORIES, json!({"id": moved, "parentId": null})).await;
    let removed = fixture.remove(CATEGORIES, below).await;
    fixture.remove(CATEGORIES, parent).await;

    for (done, id) in [(&removed, below), (&away, moved)] {
        let (status, body) = fixture.app.undo(&fixture.admin, done).await;

        assert_eq!(status, 200, "{body}");
        assert_eq!(fixture.one(CATEGORIES, id).await["parentId"], Value::Null);
    }
    let missing = json!([format!("catalog.category:{parent}")]);
    assert_eq!(fixture.dropped().await, [missing.clone(), missing]);
}

#[actix_web::test]
async fn aud_25_the_log_of_a_product_shows_its_variants_and_prices() {
    let fixture = Fixture::new().await;
    let product = fixture.product("Shoe").await;
    let variant = fixture
        .create(VARIANTS, json!({"productId": product, "name": "S"}))
        .await
        .resource;
    for of_variant in [None, Some(variant)] {
        let body =
            json!({"productId": product, "variantId": of_variant, "kind": "sale", "currencyCode": "EUR", "amount": 2});
        fixture.create(PRICES, body).await;
    }
    let query = |related: bool| format!("resourceKind=catalog.product&resourceId={product}&includeRelated={related}");

    let kinds = |entries: Vec<Value>| {
        let mut kinds: Vec<Value> = entries.iter().map(|entry| entry["resourceKind"].clone()).collect();
        kinds.sort_by_key(Value::to_string);
        kinds
    };
    assert_eq!(kinds(fixture.entries(&query(false)).await), ["catalog.product"]);
    assert_eq!(
        kinds(fixture.entries(&query(true)).await),
        ["catalog.price", "catalog.price", "catalog.product", "catalog.variant"]
    );
    let parents = fixture.entries("resourceKind=catalog.price").await;
    let mut parents: Vec<_> = parents.iter().map(|entry| entry["parentResourceId"].clone()).collect();
    parents.sort_by_key(Value::to_string);
    let mut expected = [json!(product), json!(variant)];
    expected.sort_by_key(Value::to_string);
    assert_eq!(parents, expected);
}

#[actix_web::test]
async fn aud_26_what_went_with_a_product_is_not_undoable() {
    let fixture = Fixture::new().await;
    let category = fixture.category("shoes", None).await;
    let renamed = fixture
        .change(CATEGORIES, json!({"id": category, "name": "Renamed"}))
        .await;
    let product = fixture
        .create(PRODUCTS, json!({"title": "Shoe", "categoryIds": [category]}))
        .await
        .resource;
    let variant = fixture
        .create(VARIANTS, json!({"productId": product, "name": "S"}))
        .await;
    let body = json!({"productId": product, "variantId": variant.resource, "kind": "sale", "currencyCode": "EUR", "amount": 2});
    let price = fixture.create(PRICES, body).await;
    let undoable = async || {
        let entries = fixture.entries("undoableOnly=true&limit=100").await;
        [&renamed, &variant, &price].map(|write| entries.iter().any(|entry| entry["id"] == json!(write.log_id)))
    };
    assert_eq!(undoable().await, [true, true, true]);

    let deleted = fixture.remove(PRODUCTS, product).await;

    // The category stays, although the log relates the deletion to it.
    assert_eq!(undoable().await, [true, false, false]);
    let (status, body) = fixture.app.undo(&fixture.admin, &deleted).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(undoable().await, [true, true, true]);
    for write in [&price, &variant, &renamed] {
        let (status, body) = fixture.app.undo(&fixture.admin, write).await;
        assert_eq!(status, 200, "{body}");
    }
}
