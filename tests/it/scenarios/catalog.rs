//! The commands of the catalog.

use serde_json::json;

use super::{Scenario, scenario};
use crate::call::Call;
use crate::catalog::top;
use crate::world::House;

const PRODUCTS: &str = "/catalog/products";
const VARIANTS: &str = "/catalog/variants";
const PRICES: &str = "/catalog/prices";
const CATEGORIES: &str = "/catalog/categories";

/// Something new belongs to a tenant, and who works in none has to select one first.
fn made(command: &'static str, state: &'static str, call: fn(&House) -> Call) -> Scenario {
    Scenario {
        by_anybody: false,
        ..scenario(command, state, call)
    }
}

pub(super) fn scenarios() -> Vec<Scenario> {
    let mut all = products();
    all.extend(variants());
    all.extend(prices());
    all.extend(categories());
    all
}

fn products() -> Vec<Scenario> {
    vec![
        made("catalog.product.create", "with all that it can have", |house| {
            let variants =
                json!([{"name": "S", "sku": "made-s", "options": {"size": "S"}}, {"name": "M", "position": 7}]);
            let prices = json!([
                {"kind": "regular", "currencyCode": "EUR", "amount": 0.0001, "taxRate": 23},
                {"kind": "sale", "currencyCode": "EUR", "amount": 549755813887.9999_f64, "variantIndex": 1,
                    "startsAt": "2026-12-01T00:00:00Z", "endsAt": "2027-01-01T00:00:00+01:00"},
            ]);
            let body = json!({"organizationId": house.child, "title": "Made", "sku": "made", "handle": "Made",
                "tags": ["b", "a"], "metadata": {"x": 1}, "categoryIds": [house.child, top(house)],
                "variants": variants, "prices": prices});
            Call::post(PRODUCTS, body)
        }),
        made("catalog.product.create", "bare", |_| {
            Call::post(PRODUCTS, json!({"title": "Bare"}))
        }),
        scenario("catalog.product.update", "all members", |house| {
            let body = json!({"id": house.other, "title": "Renamed", "subtitle": null, "description": "New",
                "sku": "renamed", "handle": null, "productType": "virtual", "isActive": false,
                "primaryCurrencyCode": "PLN", "tags": [], "metadata": null, "categoryIds": [house.child, house.parent]});
            Call::put(PRODUCTS, body)
        }),
        scenario("catalog.product.update", "another category alone", |house| {
            Call::put(
                PRODUCTS,
                json!({"id": house.child, "categoryIds": [house.child, house.other]}),
            )
        }),
        scenario(
            "catalog.product.delete",
            "with variants, prices and categories",
            |house| Call::delete(PRODUCTS, house.other),
        ),
    ]
}

fn variants() -> Vec<Scenario> {
    vec![
        made("catalog.variant.create", "at the end", |house| {
            let body = json!({"productId": house.child, "name": "Large", "sku": "large", "barcode": "1",
                "options": {"size": "L"}, "isActive": false});
            Call::post(VARIANTS, body)
        }),
        scenario("catalog.variant.update", "all members", |house| {
            let body = json!({"id": house.other, "name": "Other", "sku": null, "barcode": null, "options": null,
                "position": 0, "isActive": false});
            Call::put(VARIANTS, body)
        }),
        scenario("catalog.variant.delete", "with a price", |house| {
            Call::delete(VARIANTS, house.other)
        }),
    ]
}

fn prices() -> Vec<Scenario> {
    vec![
        made("catalog.price.create", "of a variant", |house| {
            let body = json!({"productId": house.child, "variantId": house.child, "kind": "regular",
                "currencyCode": "usd", "amount": 12.5, "minQuantity": 5, "taxRate": 0});
            Call::post(PRICES, body)
        }),
        scenario("catalog.price.update", "all members", |house| {
            let body = json!({"id": house.other, "variantId": null, "kind": "regular", "currencyCode": "PLN",
                "amount": 0, "minQuantity": 1, "taxRate": null, "startsAt": null, "endsAt": "2030-01-01T00:00:00Z"});
            Call::put(PRICES, body)
        }),
        scenario("catalog.price.delete", "of a variant", |house| {
            Call::delete(PRICES, house.other)
        }),
    ]
}

fn categories() -> Vec<Scenario> {
    vec![
        made("catalog.category.create", "below another", |house| {
            let body = json!({"organizationId": house.other, "name": "Made", "slug": "Made", "parentId": top(house)});
            Call::post(CATEGORIES, body)
        }),
        scenario("catalog.category.update", "moved", |house| {
            let body = json!({"id": house.child, "name": "Renamed", "slug": "renamed", "parentId": house.other});
            Call::put(CATEGORIES, body)
        }),
        scenario("catalog.category.update", "to the top", |house| {
            Call::put(CATEGORIES, json!({"id": house.child, "parentId": null}))
        }),
        scenario("catalog.category.delete", "with products", |house| {
            Call::delete(CATEGORIES, house.other)
        }),
    ]
}
