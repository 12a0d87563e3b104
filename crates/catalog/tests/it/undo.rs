//! What undo and redo give back.

use serde_json::{Value, json};

use crate::world::{CATEGORIES, PRICES, PRODUCTS, VARIANTS, World};

/// A product with everything, and what it costs.
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
    let world = World::new().await;
    let (shoes, sale) = (world.category("shoes", None).await, world.category("sale", None).await);
    let product = world.make(PRODUCTS, whole(&[shoes, sale])).await.id;
    world.product("Another").await;
    let (before, shown) = (world.image().await, world.one(PRODUCTS, product).await);
    world.app.advance(backoffice_test_support::Duration::hours(1));

    let done = world.remove(PRODUCTS, product).await;
    let gone = world.image().await;
    assert_eq!(gone["catalog_products"].len(), 1);
    for table in ["catalog_variants", "catalog_prices", "catalog_product_categories"] {
        assert!(gone[table].is_empty(), "{table}");
    }

    let (status, body) = world.undo(&done).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(world.image().await, before);
    let back = world.one(PRODUCTS, product).await;
    for member in ["createdAt", "tags", "categoryIds", "metadata", "variantCount"] {
        assert_eq!(back[member], shown[member], "{member}");
    }

    let (status, body) = world.redo(&done).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(world.image().await, gone);
}

#[actix_web::test]
async fn cat_6_a_sku_that_was_taken_meanwhile_keeps_a_product_from_coming_back() {
    let world = World::new().await;
    let old = world.make(PRODUCTS, json!({"title": "Old", "sku": "X-1"})).await.id;
    let done = world.remove(PRODUCTS, old).await;
    world.make(PRODUCTS, json!({"title": "New", "sku": "X-1"})).await;
    let before = world.image().await;

    let (status, body) = world.undo(&done).await;

    assert_eq!((status, &body["code"]), (400, &json!("undo_conflict")), "{body}");
    assert_eq!(world.image().await, before);
}

#[actix_web::test]
async fn cat_7_a_product_made_with_variants_and_prices_is_one_action() {
    let world = World::new().await;
    let done = world.make(PRODUCTS, whole(&[])).await;
    let made = world.image().await;
    let count = |table: &str| made[table].len();
    assert_eq!(
        (
            count("catalog_products"),
            count("catalog_variants"),
            count("catalog_prices")
        ),
        (1, 3, 5)
    );
    let entries = world.entries("limit=1000").await;
    let of_catalog = entries.iter().filter(|entry| {
        entry["commandId"]
            .as_str()
            .is_some_and(|command| command.starts_with("catalog."))
    });
    assert_eq!(of_catalog.count(), 1, "one entry");

    assert_eq!(world.undo(&done).await.0, 200);
    assert!(
        world.image().await.values().all(Vec::is_empty),
        "all nine rows are gone"
    );

    assert_eq!(world.redo(&done).await.0, 200);
    assert_eq!(world.image().await, made);
}

#[actix_web::test]
async fn aud_13_a_product_comes_back_without_a_category_that_is_gone() {
    let world = World::new().await;
    let (shoes, sale) = (world.category("shoes", None).await, world.category("sale", None).await);
    let product = world.make(PRODUCTS, whole(&[shoes, sale])).await.id;
    let before = world.image().await;
    let done = world.remove(PRODUCTS, product).await;
    world.remove(CATEGORIES, sale).await;

    let (status, body) = world.undo(&done).await;

    assert_eq!(status, 200, "{body}");
    let after = world.image().await;
    for table in ["catalog_products", "catalog_variants", "catalog_prices"] {
        assert_eq!(after[table], before[table], "{table}");
    }
    assert_eq!(world.one(PRODUCTS, product).await["categoryIds"], json!([shoes]));
    assert_eq!(world.dropped().await, [json!([format!("catalog.category:{sale}")])]);
}

#[actix_web::test]
async fn aud_14_a_creation_with_later_parts_stays() {
    let world = World::new().await;
    let product = world.make(PRODUCTS, json!({"title": "Shoe"})).await;
    let variant = world
        .make(VARIANTS, json!({"productId": product.id, "name": "S"}))
        .await;
    let category = world.make(CATEGORIES, json!({"name": "Shoes", "slug": "shoes"})).await;
    let price =
        json!({"productId": product.id, "variantId": variant.id, "kind": "sale", "currencyCode": "EUR", "amount": 1});
    world.make(PRICES, price).await;
    world
        .change(PRODUCTS, json!({"id": product.id, "categoryIds": [category.id]}))
        .await;
    let parent = world.make(CATEGORIES, json!({"name": "Above", "slug": "above"})).await;
    world.category("below", Some(parent.id)).await;
    let before = world.image().await;

    for (done, kind) in [
        (&variant, "catalog.price"),
        (&category, "catalog.product_category"),
        (&parent, "catalog.category"),
    ] {
        let (status, body) = world.undo(done).await;

        let told = (status, &body["code"], &body["fields"]);
        assert_eq!(told, (400, &json!("undo_conflict"), &json!([kind])));
    }
    // The change of its categories is the latest action on the product.
    assert_eq!(world.undo(&product).await.0, 400);
    assert_eq!(world.image().await, before);
}

#[actix_web::test]
async fn a_category_comes_back_into_its_products() {
    let world = World::new().await;
    let shoes = world.category("shoes", None).await;
    let (kept, lost) = (
        world
            .make(PRODUCTS, json!({"title": "Kept", "categoryIds": [shoes]}))
            .await
            .id,
        world
            .make(PRODUCTS, json!({"title": "Lost", "categoryIds": [shoes]}))
            .await
            .id,
    );
    let before = world.image().await;
    let done = world.remove(CATEGORIES, shoes).await;
    assert_eq!(world.one(PRODUCTS, kept).await["categoryIds"], json!([]));

    assert_eq!(world.undo(&done).await.0, 200);
    assert_eq!(world.image().await, before);

    let done = world.remove(CATEGORIES, shoes).await;
    world.remove(PRODUCTS, lost).await;
    assert_eq!(world.undo(&done).await.0, 200);
    assert_eq!(world.one(PRODUCTS, kept).await["categoryIds"], json!([shoes]));
    assert_eq!(world.dropped().await, [json!([format!("catalog.product:{lost}")])]);
}

#[actix_web::test]
async fn aud_25_the_log_of_a_product_shows_its_variants_and_prices() {
    let world = World::new().await;
    let product = world.product("Shoe").await;
    let variant = world
        .make(VARIANTS, json!({"productId": product, "name": "S"}))
        .await
        .id;
    for of_variant in [None, Some(variant)] {
        let body =
            json!({"productId": product, "variantId": of_variant, "kind": "sale", "currencyCode": "EUR", "amount": 2});
        world.make(PRICES, body).await;
    }
    let query = |related: bool| format!("resourceKind=catalog.product&resourceId={product}&includeRelated={related}");

    let kinds = |entries: Vec<Value>| {
        let mut kinds: Vec<Value> = entries.iter().map(|entry| entry["resourceKind"].clone()).collect();
        kinds.sort_by_key(Value::to_string);
        kinds
    };
    assert_eq!(kinds(world.entries(&query(false)).await), ["catalog.product"]);
    assert_eq!(
        kinds(world.entries(&query(true)).await),
        ["catalog.price", "catalog.price", "catalog.product", "catalog.variant"]
    );
    let parents = world.entries("resourceKind=catalog.price").await;
    let mut parents: Vec<_> = parents.iter().map(|entry| entry["parentResourceId"].clone()).collect();
    parents.sort_by_key(Value::to_string);
    let mut expected = [json!(product), json!(variant)];
    expected.sort_by_key(Value::to_string);
    assert_eq!(parents, expected);
}
