//! Prices of products and variants.

use actix_web::http::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{Fixture, PRICES, PRODUCTS, details, id_of};

/// Creates two products with a variant each.
async fn shelf(fixture: &Fixture) -> [(Uuid, Uuid); 2] {
    let mut created = Vec::new();
    for title in ["One", "Two"] {
        let body = json!({"title": title, "variants": [{"name": "S"}]});
        let product = fixture.create(PRODUCTS, body).await.resource;
        created.push((product, id_of(&fixture.one(PRODUCTS, product).await["variants"][0])));
    }
    [created[0], created[1]]
}

fn price(product: Uuid, more: &Value) -> Value {
    let mut body = json!({"productId": product, "kind": "regular", "currencyCode": "EUR", "amount": 1});
    let members = more.as_object().expect("an object").clone();
    body.as_object_mut().expect("an object").extend(members);
    body
}

#[actix_web::test]
async fn an_amount_is_kept_to_its_last_digit() {
    let fixture = Fixture::new().await;
    let [(product, _), _] = shelf(&fixture).await;

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
        let id = fixture.create(PRICES, body).await.resource;

        assert_eq!(fixture.one(PRICES, id).await["amount"], amount);
        let stored = fixture
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
        let done = fixture.remove(PRICES, id).await;
        assert_eq!(fixture.app.undo(&fixture.admin, &done).await.0, 200, "{amount}");
        assert_eq!(fixture.one(PRICES, id).await["amount"], amount);
    }
}

#[actix_web::test]
async fn invalid_prices_are_rejected() {
    let fixture = Fixture::new().await;
    let [(product, variant), (other, foreign)] = shelf(&fixture).await;
    let before = fixture.snapshot().await;

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
        let response = fixture.app.send(&fixture.admin, Method::POST, PRICES, &body).await;
        assert_eq!(
            (response.status, details(&response.json())),
            (400, vec![expected]),
            "{body}"
        );
    }
    assert_eq!(fixture.snapshot().await, before);

    let id = fixture
        .create(PRICES, price(product, &json!({"variantId": variant})))
        .await
        .resource;
    for (body, expected) in [
        (
            json!({"id": id, "variantId": foreign}),
            ("variantId", "unknown_reference"),
        ),
        (json!({"id": id, "productId": other}), ("productId", "immutable")),
    ] {
        let response = fixture.app.send(&fixture.admin, Method::PUT, PRICES, &body).await;
        assert_eq!(
            (response.status, details(&response.json())),
            (400, vec![expected]),
            "{body}"
        );
    }
    fixture.change(PRICES, json!({"id": id, "variantId": null})).await;
}

#[actix_web::test]
async fn the_same_terms_have_one_price() {
    let fixture = Fixture::new().await;
    let [(product, variant), _] = shelf(&fixture).await;
    fixture.create(PRICES, price(product, &json!({}))).await;

    let again = fixture
        .app
        .send(
            &fixture.admin,
            Method::POST,
            PRICES,
            &price(product, &json!({"amount": 2})),
        )
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
        fixture.create(PRICES, price(product, &other)).await;
    }
}

#[actix_web::test]
async fn an_end_before_the_stored_start_is_rejected() {
    let fixture = Fixture::new().await;
    let [(product, _), _] = shelf(&fixture).await;
    let body = price(product, &json!({"startsAt": "2026-06-01T00:00:00Z"}));
    let id = fixture.create(PRICES, body).await.resource;

    let body = json!({"id": id, "endsAt": "2026-05-01T00:00:00Z"});
    let response = fixture.app.send(&fixture.admin, Method::PUT, PRICES, &body).await;

    assert_eq!(
        (response.status, details(&response.json())),
        (400, vec![("endsAt", "out_of_range")])
    );
}
