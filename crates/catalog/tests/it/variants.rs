//! Variants of products.

use actix_web::http::Method;
use serde_json::json;
use uuid::Uuid;

use crate::fixture::{Fixture, PRICES, PRODUCTS, VARIANTS, details};

#[actix_web::test]
async fn a_new_variant_is_the_last_one_of_its_product_and_stands_where_the_product_does() {
    let fixture = Fixture::new().await;
    let product = json!({"title": "Shoe", "organizationId": fixture.child, "variants": [{"name": "S", "position": 4}]});
    let product = fixture.create(PRODUCTS, product).await.resource;

    let id = fixture
        .create(VARIANTS, json!({"productId": product, "name": "M"}))
        .await
        .resource;

    let shown = fixture.one(VARIANTS, id).await;
    assert_eq!(
        (&shown["position"], &shown["organizationId"]),
        (&json!(5), &json!(fixture.child))
    );
    let listed = fixture.listed(&format!("{VARIANTS}?productId={product}"), "name").await;
    assert_eq!(listed, ["S", "M"]);
}

#[actix_web::test]
async fn a_variant_keeps_its_product_and_its_organization() {
    let fixture = Fixture::new().await;
    let (one, two) = (fixture.product("One").await, fixture.product("Two").await);
    let id = fixture
        .create(VARIANTS, json!({"productId": one, "name": "S", "sku": "S"}))
        .await
        .resource;

    for (body, expected) in [
        (json!({"id": id, "productId": two}), ("productId", "immutable")),
        (
            json!({"id": id, "organizationId": fixture.child}),
            ("organizationId", "immutable"),
        ),
    ] {
        let response = fixture.app.send(&fixture.admin, Method::PUT, VARIANTS, &body).await;
        assert_eq!((response.status, details(&response.json())), (400, vec![expected]));
    }
    for (body, expected) in [
        (
            json!({"productId": two, "name": "S", "sku": "S"}),
            ("sku", "not_unique"),
        ),
        (
            json!({"productId": Uuid::nil(), "name": "S"}),
            ("productId", "unknown_reference"),
        ),
        (
            json!({"productId": two, "name": "S", "organizationId": fixture.child}),
            ("organizationId", "invalid_value"),
        ),
    ] {
        let response = fixture.app.send(&fixture.admin, Method::POST, VARIANTS, &body).await;
        assert_eq!((response.status, details(&response.json())), (400, vec![expected]));
    }
}

#[actix_web::test]
async fn a_deleted_variant_takes_its_prices_and_brings_them_back() {
    let fixture = Fixture::new().await;
    let price = |index: Option<u32>| json!({"kind": "sale", "currencyCode": "EUR", "amount": 1, "variantIndex": index});
    let body = json!({"title": "Shoe", "variants": [{"name": "S"}, {"name": "M"}],
        "prices": [price(None), price(Some(0)), price(Some(1))]});
    let product = fixture.create(PRODUCTS, body).await.resource;
    let shown = fixture.one(PRODUCTS, product).await;
    let variant = crate::fixture::id_of(&shown["variants"][0]);
    let before = fixture.snapshot().await;

    let done = fixture.remove(VARIANTS, variant).await;

    let left = fixture.get(&format!("{PRICES}?productId={product}")).await;
    assert_eq!(left["total"], 2);
    assert_eq!(fixture.app.undo(&fixture.admin, &done).await.0, 200);
    assert_eq!(fixture.snapshot().await, before);
}
