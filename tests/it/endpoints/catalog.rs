//! The entries of `catalog`. Every record has the id of its organization, so that the id of another organization is also the id of a product,
//! a variant, a price and a category there.

use actix_web::http::Method;
use serde_json::json;

use super::table::{at, entry};
use super::{Entry, Kind, MakeCall, Target};
use crate::call::{Call, Place};

const PRODUCTS: &str = "/catalog/products";
const VARIANTS: &str = "/catalog/variants";
const PRICES: &str = "/catalog/prices";
const CATEGORIES: &str = "/catalog/categories";

const fn inside(place: Place) -> Target {
    at(place, Kind::Organization)
}

/// The id in the path. It is exempt from the check of malformed ids, because a path with an empty id is a different path.
const ONE: Target = Target {
    strict: false,
    ..inside(Place::Path)
};
const ID: Target = inside(Place::Body("id"));
const IDS: Target = inside(Place::QueryList("ids"));
const ORGANIZATION: Target = inside(Place::Body("organizationId"));
const PRODUCT: Target = inside(Place::Body("productId"));
const OF_PRODUCT: Target = inside(Place::Query("productId"));

pub(crate) fn table() -> Vec<Entry> {
    let mut table = products();
    table.extend(variants());
    table.extend(prices());
    table.extend(categories());
    table
}

fn removal(path: &'static str, call: MakeCall) -> Entry {
    entry(Method::DELETE, path, [inside(Place::Query("id"))], call)
}

fn products() -> Vec<Entry> {
    vec![
        entry(
            Method::GET,
            PRODUCTS,
            [IDS, inside(Place::QueryList("categoryIds"))],
            |_, _| {
                Call::get(PRODUCTS)
                    .with_query("sortField", "title")
                    .with_query("createdTo", "2030-01-01")
            },
        ),
        entry(Method::GET, "/catalog/products/{id}", [ONE], |tenant_fixture, _| {
            Call::get(&format!("{PRODUCTS}/{}", tenant_fixture.child))
        }),
        entry(
            Method::POST,
            PRODUCTS,
            [ORGANIZATION, inside(Place::BodyList("categoryIds"))],
            |tenant_fixture, _| {
                let price = json!({"kind": "sale", "currencyCode": "EUR", "amount": 1.5, "variantIndex": 0});
                Call::post(
                    PRODUCTS,
                    json!({"organizationId": tenant_fixture.child, "title": "Made", "subtitle": "S", "description": "D",
                        "sku": "made", "handle": "made", "productType": "simple", "isActive": true,
                        "primaryCurrencyCode": "EUR", "tags": ["a"], "metadata": {"a": 1}, "categoryIds": [tenant_fixture.child],
                        "variants": [{"name": "V"}], "prices": [price]}),
                )
            },
        ),
        entry(
            Method::PUT,
            PRODUCTS,
            [ID, ORGANIZATION, inside(Place::BodyList("categoryIds"))],
            |tenant_fixture, _| {
                Call::put(
                    PRODUCTS,
                    json!({"id": tenant_fixture.child, "organizationId": tenant_fixture.child, "title": "Renamed", "subtitle": "T",
                        "description": "E", "sku": "renamed", "handle": "renamed", "productType": "virtual",
                        "isActive": false, "primaryCurrencyCode": "PLN", "tags": ["b"], "metadata": {"b": 1},
                        "categoryIds": [tenant_fixture.parent]}),
                )
            },
        ),
        // Those of `child` must remain, to be deleted one by one.
        removal(PRODUCTS, |tenant_fixture, _| {
            Call::delete(PRODUCTS, tenant_fixture.parent)
        }),
    ]
}

fn variants() -> Vec<Entry> {
    vec![
        entry(Method::GET, VARIANTS, [IDS, OF_PRODUCT], |_, _| {
            Call::get(VARIANTS).with_query("sortDir", "desc")
        }),
        entry(Method::GET, "/catalog/variants/{id}", [ONE], |tenant_fixture, _| {
            Call::get(&format!("{VARIANTS}/{}", tenant_fixture.child))
        }),
        entry(Method::POST, VARIANTS, [ORGANIZATION, PRODUCT], |tenant_fixture, _| {
            Call::post(
                VARIANTS,
                json!({"organizationId": tenant_fixture.child, "productId": tenant_fixture.child, "name": "Made", "sku": "made",
                    "barcode": "1", "options": {"size": "L"}, "position": 1, "isActive": true}),
            )
        }),
        entry(
            Method::PUT,
            VARIANTS,
            [ID, ORGANIZATION, PRODUCT],
            |tenant_fixture, _| {
                Call::put(
                    VARIANTS,
                    json!({"id": tenant_fixture.child, "organizationId": tenant_fixture.child, "productId": tenant_fixture.child, "name": "Renamed",
                    "sku": "renamed", "barcode": "2", "options": {"size": "M"}, "position": 2, "isActive": false}),
                )
            },
        ),
        removal(VARIANTS, |tenant_fixture, _| {
            Call::delete(VARIANTS, tenant_fixture.child)
        }),
    ]
}

fn prices() -> Vec<Entry> {
    let variant = inside(Place::Body("variantId"));
    vec![
        entry(
            Method::GET,
            PRICES,
            [IDS, OF_PRODUCT, inside(Place::Query("variantId"))],
            |_, _| Call::get(PRICES).with_query("search", "eu"),
        ),
        entry(Method::GET, "/catalog/prices/{id}", [ONE], |tenant_fixture, _| {
            Call::get(&format!("{PRICES}/{}", tenant_fixture.child))
        }),
        entry(
            Method::POST,
            PRICES,
            [ORGANIZATION, PRODUCT, variant],
            |tenant_fixture, _| {
                Call::post(
                    PRICES,
                    json!({"organizationId": tenant_fixture.child, "productId": tenant_fixture.child, "variantId": tenant_fixture.child,
                    "kind": "regular", "currencyCode": "EUR", "minQuantity": 2, "amount": 1.5, "taxRate": 23,
                    "startsAt": "2026-11-01T00:00:00Z", "endsAt": "2026-12-01T00:00:00Z"}),
                )
            },
        ),
        entry(
            Method::PUT,
            PRICES,
            [ID, ORGANIZATION, PRODUCT, variant],
            |tenant_fixture, _| {
                Call::put(
                    PRICES,
                    json!({"id": tenant_fixture.child, "organizationId": tenant_fixture.child, "productId": tenant_fixture.child,
                        "variantId": tenant_fixture.child, "kind": "regular", "currencyCode": "PLN", "minQuantity": 3,
                        "amount": 2, "taxRate": 8, "startsAt": "2026-11-02T00:00:00Z", "endsAt": "2026-12-02T00:00:00Z"}),
                )
            },
        ),
        // That of `child` is deleted with its variant.
        removal(PRICES, |tenant_fixture, _| Call::delete(PRICES, tenant_fixture.other)),
    ]
}

fn categories() -> Vec<Entry> {
    let parent = inside(Place::Body("parentId"));
    vec![
        entry(
            Method::GET,
            CATEGORIES,
            [IDS, at(Place::Query("parentId"), Kind::TopCategory)],
            |_, _| Call::get(CATEGORIES).with_query("sortField", "createdAt"),
        ),
        entry(Method::GET, "/catalog/categories/{id}", [ONE], |tenant_fixture, _| {
            Call::get(&format!("{CATEGORIES}/{}", tenant_fixture.child))
        }),
        entry(Method::POST, CATEGORIES, [ORGANIZATION, parent], |tenant_fixture, _| {
            Call::post(
                CATEGORIES,
                json!({"organizationId": tenant_fixture.child, "name": "Made", "slug": "made", "parentId": tenant_fixture.child}),
            )
        }),
        entry(
            Method::PUT,
            CATEGORIES,
            [ID, ORGANIZATION, parent],
            |tenant_fixture, _| {
                Call::put(
                    CATEGORIES,
                    json!({"id": tenant_fixture.child, "organizationId": tenant_fixture.child, "name": "Renamed", "slug": "renamed",
                    "parentId": tenant_fixture.parent}),
                )
            },
        ),
        // An earlier request created a category below that of `child`.
        removal(CATEGORIES, |tenant_fixture, _| {
            Call::delete(CATEGORIES, tenant_fixture.other)
        }),
    ]
}
