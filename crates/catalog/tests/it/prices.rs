//! Prices of products and variants.

use actix_web::http::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::world::{PRICES, PRODUCTS, World, details, id_of};

/// Two products with a variant each.
async fn shelf(world: &World) -> [(Uuid, Uuid); 2] {
    let mut made = Vec::new();
    for title in ["One", "Two"] {
        let body = json!({"title": title, "variants": [{"name": "S"}]});
        let product = world.make(PRODUCTS, body).await.id;
        made.push((product, id_of(&world.one(PRODUCTS, product).await["variants"][0])));
    }
    [made[0], made[1]]
}

fn price(product: Uuid, more: &Value) -> Value {
    let mut body = json!({"productId": product, "kind": "regular", "currencyCode": "EUR", "amount": 1});
    let members = more.as_object().expect("an object").clone();
    body.as_object_mut().expect("an object").extend(members);
    body
}

#[actix_web::test]
async fn an_amount_is_kept_to_its_last_digit() {
    let world = World::new().await;
    let [(product, _), _] = shelf(&world).await;

    for (quantity, amount) in (1..).zip([
        "0",
        "0.0001",
        "19.99",
        "123456789012.3456",
        "549755813887.9999",
        "999999999999",
    ]) {
        let amount: Value = serde_json::from_str(amount).expect("a number");
        let body = price(
            product,
            &json!({"amount": amount, "minQuantity": quantity, "taxRate": 7.25}),
        );
        let id = world.make(PRICES, body).await.id;

        assert_eq!(world.one(PRICES, id).await["amount"], amount);
        let stored = world
            .app
            .rows(&format!(
                "select amount::text as amount from catalog_prices where id = '{id}'"
            ))
            .await;
        let stored = stored[0]["amount"]
            .as_str()
            .expect("text")
            .trim_end_matches('0')
            .trim_end_matches('.')
            .to_owned();
        assert_eq!(
            if stored.is_empty() { "0".to_owned() } else { stored },
            amount.to_string()
        );
        let done = world.remove(PRICES, id).await;
        assert_eq!(world.undo(&done).await.0, 200, "{amount}");
        assert_eq!(world.one(PRICES, id).await["amount"], amount);
    }
}

#[actix_web::test]
async fn what_no_price_can_be_is_refused() {
    let world = World::new().await;
    let [(product, variant), (other, foreign)] = shelf(&world).await;
    let before = world.image().await;

    for (body, expected) in [
        (price(product, &json!({"amount": -0.01})), ("amount", "out_of_range")),
        (
            price(product, &json!({"amount": 1_000_000_000_000_i64})),
            ("amount", "out_of_range"),
        ),
        (price(product, &json!({"amount": 1.00001})), ("amount", "invalid_value")),
        (
            price(product, &json!({"amount": 999_999_999_999.999_7_f64})),
            ("amount", "invalid_value"),
        ),
        (price(product, &json!({"amount": "1"})), ("amount", "invalid_type")),
        (price(product, &json!({"amount": null})), ("amount", "required")),
        (
            price(product, &json!({"taxRate": 100.0001})),
            ("taxRate", "out_of_range"),
        ),
        (price(product, &json!({"taxRate": -1})), ("taxRate", "out_of_range")),
        (price(product, &json!({"kind": "gift"})), ("kind", "invalid_value")),
        (
            price(product, &json!({"currencyCode": "EURO"})),
            ("currencyCode", "invalid_value"),
        ),
        (
            price(product, &json!({"minQuantity": 0})),
            ("minQuantity", "out_of_range"),
        ),
        (
            price(
                product,
                &json!({"startsAt": "2026-01-01T00:00:00Z", "endsAt": "2026-01-01T00:00:00Z"}),
            ),
            ("endsAt", "out_of_range"),
        ),
        (
            price(product, &json!({"variantId": foreign})),
            ("variantId", "unknown_reference"),
        ),
        (price(Uuid::nil(), &json!({})), ("productId", "unknown_reference")),
    ] {
        let response = world.send(Method::POST, PRICES, &body).await;
        assert_eq!(
            (response.status, details(&response.json())),
            (400, vec![expected]),
            "{body}"
        );
    }
    assert_eq!(world.image().await, before);

    let id = world
        .make(PRICES, price(product, &json!({"variantId": variant})))
        .await
        .id;
    for (body, expected) in [
        (
            json!({"id": id, "variantId": foreign}),
            ("variantId", "unknown_reference"),
        ),
        (json!({"id": id, "productId": other}), ("productId", "immutable")),
    ] {
        let response = world.send(Method::PUT, PRICES, &body).await;
        assert_eq!(
            (response.status, details(&response.json())),
            (400, vec![expected]),
            "{body}"
        );
    }
    world.change(PRICES, json!({"id": id, "variantId": null})).await;
}

#[actix_web::test]
async fn the_same_terms_have_one_price() {
    let world = World::new().await;
    let [(product, variant), _] = shelf(&world).await;
    world.make(PRICES, price(product, &json!({}))).await;

    let again = world
        .send(Method::POST, PRICES, &price(product, &json!({"amount": 2})))
        .await;

    assert_eq!(
        (again.status, details(&again.json())),
        (400, vec![("kind", "not_unique")])
    );
    for other in [
        json!({"variantId": variant}),
        json!({"minQuantity": 2}),
        json!({"currencyCode": "PLN"}),
        json!({"startsAt": "2026-01-01T00:00:00Z"}),
        json!({"kind": "sale"}),
    ] {
        world.make(PRICES, price(product, &other)).await;
    }
}

#[actix_web::test]
async fn an_end_before_the_stored_start_is_refused() {
    let world = World::new().await;
    let [(product, _), _] = shelf(&world).await;
    let body = price(product, &json!({"startsAt": "2026-06-01T00:00:00Z"}));
    let id = world.make(PRICES, body).await.id;

    let body = json!({"id": id, "endsAt": "2026-05-01T00:00:00Z"});
    let response = world.send(Method::PUT, PRICES, &body).await;

    assert_eq!(
        (response.status, details(&response.json())),
        (400, vec![("endsAt", "out_of_range")])
    );
}
