//! Scenarios of the commands of `catalog`.

use serde_json::json;

use super::{Scenario, scenario};
use crate::call::Call;
use crate::catalog::top;
use crate::fixture::TenantFixture;

const PRODUCTS: &str = "/catalog/products";
const VARIANTS: &str = "/catalog/variants";
const PRICES: &str = "/catalog/prices";
const CATEGORIES: &str = "/catalog/categories";

/// A new record belongs to a tenant; a caller without a tenant must select one first.
fn created(command: &'static str, state: &'static str, call: fn(&TenantFixture) -> Call) -> Scenario {
    Scenario {
        by_anybody: false,
        ..scenario(command, state, call)
    }
}

pub(crate) fn scenarios() -> Vec<Scenario> {
    let mut all = products();
    all.extend(variants());
    all.extend(prices());
    all.extend(categories());
    all
}

fn products() -> Vec<Scenario> {
    vec![
        created(
            "catalog.product.create",
            "with all that it can have",
            |tenant_fixture| {
                let variants =
                    json!([{"name": "S", "sku": "made-s", "options": {"size": "S"}}, {"name": "M", "position": 7}]);
                let prices = json!([
                    {"kind": "regular", "currencyCode": "EUR", "amount": 0.0001, "taxRate": 23},
                    {"kind": "sale", "currencyCode": "EUR", "amount": 549755813887.9999_f64, "variantIndex": 1,
                        "startsAt": "2026-12-01T00:00:00Z", "endsAt": "2027-01-01T00:00:00+01:00"},
                ]);
                let body = json!({"organizationId": tenant_fixture.child, "title": "Made", "sku": "made", "handle": "Made",
                "tags": ["b", "a"], "metadata": {"x": 1}, "categoryIds": [tenant_fixture.child, top(tenant_fixture)],
                "variants": variants, "prices": prices});
                Call::post(PRODUCTS, body)
            },
        ),
        created("catalog.product.create", "bare", |_| {
            Call::post(PRODUCTS, json!({"title": "Bare"}))
        }),
        scenario("catalog.product.update", "all members", |tenant_fixture| {
            let body = json!({"id": tenant_fixture.other, "title": "Renamed", "subtitle": null, "description": "New",
                "sku": "renamed", "handle": null, "productType": "virtual", "isActive": false,
                "primaryCurrencyCode": "PLN", "tags": [], "metadata": null, "categoryIds": [tenant_fixture.child, tenant_fixture.parent]});
            Call::put(PRODUCTS, body)
        }),
        scenario("catalog.product.update", "another category alone", |tenant_fixture| {
            Call::put(
                PRODUCTS,
                json!({"id": tenant_fixture.child, "categoryIds": [tenant_fixture.child, tenant_fixture.other]}),
            )
        }),
        scenario(
            "catalog.product.delete",
            "with variants, prices and categories",
            |tenant_fixture| Call::delete(PRODUCTS, tenant_fixture.other),
        ),
    ]
}

fn variants() -> Vec<Scenario> {
    vec![
        created("catalog.variant.create", "at the end", |tenant_fixture| {
            let body = json!({"productId": tenant_fixture.child, "name": "Large", "sku": "large", "barcode": "1",
                "options": {"size": "L"}, "isActive": false});
            Call::post(VARIANTS, body)
        }),
        scenario("catalog.variant.update", "all members", |tenant_fixture| {
            let body = json!({"id": tenant_fixture.other, "name": "Other", "sku": null, "barcode": null, "options": null,
                "position": 0, "isActive": false});
            Call::put(VARIANTS, body)
        }),
        scenario("catalog.variant.delete", "with a price", |tenant_fixture| {
            Call::delete(VARIANTS, tenant_fixture.other)
        }),
    ]
}

fn prices() -> Vec<Scenario> {
    vec![
        created("catalog.price.create", "of a variant", |tenant_fixture| {
            let body = json!({"productId": tenant_fixture.child, "variantId": tenant_fixture.child, "kind": "regular",
                "currencyCode": "usd", "amount": 12.5, "minQuantity": 5, "taxRate": 0});
            Call::post(PRICES, body)
        }),
        scenario("catalog.price.update", "all members", |tenant_fixture| {
            let body = json!({"id": tenant_fixture.other, "variantId": null, "kind": "regular", "currencyCode": "PLN",
                "amount": 0, "minQuantity": 1, "taxRate": null, "startsAt": null, "endsAt": "2030-01-01T00:00:00Z"});
            Call::put(PRICES, body)
        }),
        scenario("catalog.price.delete", "of a variant", |tenant_fixture| {
            Call::delete(PRICES, tenant_fixture.other)
        }),
    ]
}

fn categories() -> Vec<Scenario> {
    vec![
        created("catalog.category.create", "below another", |tenant_fixture| {
            let body = json!({"organizationId": tenant_fixture.other, "name": "Made", "slug": "Made", "parentId": top(tenant_fixture)});
            Call::post(CATEGORIES, body)
        }),
        scenario("catalog.category.update", "moved", |tenant_fixture| {
            let body = json!({"id": tenant_fixture.child, "name": "Renamed", "slug": "renamed", "parentId": tenant_fixture.other});
            Call::put(CATEGORIES, body)
        }),
        scenario("catalog.category.update", "to the top", |tenant_fixture| {
            Call::put(CATEGORIES, json!({"id": tenant_fixture.child, "parentId": null}))
        }),
        scenario("catalog.category.delete", "with products", |tenant_fixture| {
            Call::delete(CATEGORIES, tenant_fixture.other)
        }),
    ]
}
