//! Validation of request fields.

use actix_web::http::Method;
use backoffice_core::Scope;
use serde_json::{Value, json};

use crate::fixture::{CATEGORIES, Fixture, PRICES, PRODUCTS, VARIANTS, details};

#[actix_web::test]
async fn fields_out_of_their_rules_are_rejected() {
    let fixture = Fixture::new().await;
    let id = fixture.product("Shoe").await;
    let before = fixture.snapshot().await;
    let long = |length: usize| "x".repeat(length);
    let many: Vec<_> = (0..201).map(uuid::Uuid::from_u128).collect();

    for (path, field, value, code) in [
        (PRODUCTS, "title", json!(null), "required"),
        (PRODUCTS, "title", json!(" "), "required"),
        (PRODUCTS, "title", json!(long(256)), "too_long"),
        (PRODUCTS, "title", json!("a\nb"), "invalid_value"),
        (PRODUCTS, "subtitle", json!(long(256)), "too_long"),
        (PRODUCTS, "description", json!(long(4001)), "too_long"),
        (PRODUCTS, "sku", json!("a b"), "invalid_value"),
        (PRODUCTS, "sku", json!(long(192)), "too_long"),
        (PRODUCTS, "handle", json!("a.b"), "invalid_value"),
        (PRODUCTS, "handle", json!(long(151)), "too_long"),
        (PRODUCTS, "productType", json!("gift"), "invalid_value"),
        (PRODUCTS, "isActive", json!(null), "required"),
        (PRODUCTS, "primaryCurrencyCode", json!("EU"), "invalid_value"),
        (PRODUCTS, "metadata", json!([1]), "invalid_type"),
        (PRODUCTS, "categoryIds", json!(many), "too_long"),
        (VARIANTS, "name", json!(long(256)), "too_long"),
        (VARIANTS, "sku", json!(long(192)), "too_long"),
        (VARIANTS, "barcode", json!(long(192)), "too_long"),
        (VARIANTS, "position", json!(-1), "out_of_range"),
        (CATEGORIES, "name", json!(long(151)), "too_long"),
        (CATEGORIES, "slug", json!("a b"), "invalid_value"),
        (CATEGORIES, "slug", json!(null), "required"),
    ] {
        for method in [Method::POST, Method::PUT] {
            let mut body = json!({"id": id, "productId": id, "title": "T", "name": "N", "slug": "s"});
            body[field] = value.clone();
            let response = fixture.app.send(&fixture.admin, method.clone(), path, &body).await;

            let reported = (response.status, response.json());
            assert_eq!(
                (reported.0, details(&reported.1)),
                (400, vec![(field, code)]),
                "{method} {path} {field}"
            );
        }
    }
    assert_eq!(fixture.snapshot().await, before);
}

#[actix_web::test]
async fn a_tag_that_is_too_long_is_named_by_its_place() {
    let fixture = Fixture::new().await;

    let body = json!({"title": "T", "tags": ["a", "x".repeat(61)]});
    let response = fixture.app.send(&fixture.admin, Method::POST, PRODUCTS, &body).await;

    assert_eq!(
        (response.status, details(&response.json())),
        (400, vec![("tags[1]", "too_long")])
    );
}

#[actix_web::test]
async fn what_is_needed_is_asked_for() {
    let fixture = Fixture::new().await;

    for (method, path, expected) in [
        (Method::POST, PRODUCTS, vec!["title"]),
        (Method::POST, VARIANTS, vec!["productId", "name"]),
        (
            Method::POST,
            PRICES,
            vec!["productId", "kind", "currencyCode", "amount"],
        ),
        (Method::POST, CATEGORIES, vec!["name"]),
        (Method::PUT, PRODUCTS, vec!["id"]),
        (Method::PUT, CATEGORIES, vec!["id"]),
    ] {
        let response = fixture.app.send(&fixture.admin, method.clone(), path, &json!({})).await;

        let reported = (response.status, response.json());
        let expected: Vec<(&str, &str)> = expected.into_iter().map(|field| (field, "required")).collect();
        assert_eq!((reported.0, details(&reported.1)), (400, expected), "{method} {path}");
    }
    for path in [PRODUCTS, VARIANTS, CATEGORIES, PRICES] {
        assert_eq!(
            fixture
                .app
                .send(&fixture.admin, Method::DELETE, path, &Value::Null)
                .await
                .status,
            400
        );
        assert_eq!(fixture.app.get(&fixture.admin, &format!("{path}/x")).await.0, 400);
    }
}

#[actix_web::test]
async fn an_update_cannot_clear_the_organization_or_the_product() {
    let fixture = Fixture::new().await;

    for (path, field) in [
        (PRODUCTS, "organizationId"),
        (VARIANTS, "organizationId"),
        (VARIANTS, "productId"),
        (PRICES, "organizationId"),
        (PRICES, "productId"),
        (CATEGORIES, "organizationId"),
    ] {
        let mut body = json!({"id": uuid::Uuid::nil()});
        body[field] = Value::Null;
        let response = fixture.app.send(&fixture.admin, Method::PUT, path, &body).await;

        let reported = (response.status, response.json());
        assert_eq!(
            (reported.0, details(&reported.1)),
            (400, vec![(field, "required")]),
            "{path} {field}"
        );
    }
}

#[actix_web::test]
async fn nulls_options_and_texts_are_kept_as_they_are_meant() {
    let fixture = Fixture::new().await;
    let product = fixture.product("Shoe").await;
    let body = json!({"productId": product, "name": "S", "sku": " ", "options": {"size": "S"}, "unknown": 1});
    let id = fixture.create(VARIANTS, body).await.resource;
    let shown = fixture.one(VARIANTS, id).await;
    assert_eq!(
        (&shown["sku"], &shown["options"]),
        (&Value::Null, &json!({"size": "S"}))
    );

    let wrong = json!({"id": id, "options": {"size": 1}});
    let response = fixture.app.send(&fixture.admin, Method::PUT, VARIANTS, &wrong).await;
    assert_eq!(response.status, 400);
    fixture.change(VARIANTS, json!({"id": id, "options": null})).await;
    assert_eq!(fixture.one(VARIANTS, id).await["options"], Value::Null);
}

#[actix_web::test]
async fn tables_reject_the_same_values_as_the_api() {
    let fixture = Fixture::new().await;
    fixture
        .create(PRODUCTS, json!({"title": "Shoe", "variants": [{"name": "S"}], "prices": [{"kind": "regular", "currencyCode": "EUR", "amount": 1}]}))
        .await;
    let parent = fixture.category("shoes", None).await;
    fixture.category("boots", Some(parent)).await;
    let scope = Scope::tenant(fixture.tenant);

    for (table, change, constraint) in [
        ("products", "title = ''", "title_check"),
        ("products", "title = repeat('x', 256)", "title_check"),
        ("products", "subtitle = repeat('x', 256)", "subtitle_check"),
        ("products", "description = repeat('x', 4001)", "description_check"),
        ("products", "sku = 'a b'", "sku_check"),
        ("products", "handle = 'Shoe'", "handle_check"),
        (
            "products",
            "primary_currency_code = 'eur'",
            "primary_currency_code_check",
        ),
        ("products", "tags = array_fill('x'::text, array[101])", "tags_check"),
        ("variants", "name = ''", "name_check"),
        ("variants", "sku = repeat('x', 192)", "sku_check"),
        ("variants", "barcode = repeat('x', 192)", "barcode_check"),
        ("variants", "options = '[]'", "options_check"),
        ("prices", "currency_code = 'EURO'", "currency_code_check"),
        ("categories", "name = repeat('x', 151)", "name_check"),
        ("categories", "slug = 'S'", "slug_check"),
    ] {
        let mut connection = fixture
            .app
            .runtime()
            .database
            .unlogged(&scope)
            .await
            .expect("a connection");
        let sql = format!("update catalog_{table} set {change}");
        let rejected = diesel_async::RunQueryDsl::execute(diesel::sql_query(sql), &mut *connection).await;
        let error = backoffice_core::Error::from(rejected.expect_err("a rejected statement"));
        let expected = format!("catalog_{table}_{constraint}");
        assert_eq!(error.violated_constraint(), Some(expected.as_str()), "{change}");
    }
    let rule = "select confdeltype::text as rule from pg_constraint where conname = 'catalog_categories_tenant_id_parent_id_fkey'";
    assert_eq!(fixture.app.rows(rule).await, [json!({"rule": "r"})]);
}
