//! Filters and order of the lists.

use actix_web::http::Method;
use backoffice_core::document::MOST_RESPONSE_BYTES;
use serde_json::{Value, json};

use crate::fixture::{CATEGORIES, Fixture, PRICES, PRODUCTS, VARIANTS, details};

/// Creates five products, one minute after the other.
async fn stocked() -> Fixture {
    let fixture = Fixture::new().await;
    let clothes = fixture.category("clothes", None).await;
    let shoes = fixture.category("shoes", Some(clothes)).await;
    let boots = fixture.category("boots", Some(shoes)).await;
    for body in [
        json!({"title": "Anorak", "sku": "Z-1", "tags": ["new"], "categoryIds": [clothes]}),
        json!({"title": "Boot", "handle": "winter-100%", "tags": ["new", "sale"], "categoryIds": [boots]}),
        json!({"title": "Book", "subtitle": "On boots", "productType": "virtual", "isActive": false}),
        json!({"title": "Sandal", "variants": [{"name": "S", "sku": "BOOTLESS"}], "categoryIds": [shoes], "tags": ["sale"]}),
        json!({"title": "Elsewhere", "organizationId": fixture.child}),
    ] {
        let mut body = body;
        if body["handle"] == "winter-100%" {
            body["handle"] = json!("winter_100");
        }
        fixture.create(PRODUCTS, body).await;
        fixture.app.advance(backoffice_test_support::Duration::minutes(1));
    }
    fixture
}

async fn titles(fixture: &Fixture, query: &str) -> Vec<Value> {
    fixture
        .listed(&format!("{PRODUCTS}?sortField=title&{query}"), "title")
        .await
}

async fn category(fixture: &Fixture, slug: &str) -> String {
    let page = fixture.get(&format!("{CATEGORIES}?search={slug}")).await;
    page["items"][0]["id"].as_str().expect("an id").to_owned()
}

#[actix_web::test]
async fn filters_are_combined() {
    let fixture = stocked().await;
    let (clothes, shoes, boots) = (
        category(&fixture, "clothes").await,
        category(&fixture, "shoes").await,
        category(&fixture, "boots").await,
    );

    for (query, expected) in [
        (String::new(), &["Anorak", "Book", "Boot", "Elsewhere", "Sandal"][..]),
        ("search=BOOT".to_owned(), &["Book", "Boot", "Sandal"]),
        ("search=z-1".to_owned(), &["Anorak"]),
        ("search=winter_".to_owned(), &["Boot"]),
        ("search=%25".to_owned(), &[]),
        ("isActive=false".to_owned(), &["Book"]),
        ("productType=virtual,configurable".to_owned(), &["Book"]),
        ("productType=".to_owned(), &[]),
        ("tags=new,%20sale".to_owned(), &["Anorak", "Boot", "Sandal"]),
        ("tags=".to_owned(), &[]),
        (format!("categoryIds={clothes}"), &["Anorak", "Boot", "Sandal"]),
        (format!("categoryIds={shoes}"), &["Boot", "Sandal"]),
        (format!("categoryIds={boots},{boots}"), &["Boot"]),
        ("categoryIds=".to_owned(), &[]),
        (
            format!("categoryIds={clothes}&tags=sale&search=boot"),
            &["Boot", "Sandal"],
        ),
        ("ids=".to_owned(), &[]),
    ] {
        assert_eq!(titles(&fixture, &query).await, expected, "{query}");
    }
}

#[actix_web::test]
async fn both_ends_of_a_time_range_belong_to_it() {
    let fixture = stocked().await;
    let page = fixture.get(&format!("{PRODUCTS}?sortField=title")).await;
    let created = |title: &str| {
        let items = page["items"].as_array().expect("a list");
        let found = items.iter().find(|item| item["title"] == title).expect("it is there");
        found["createdAt"].as_str().expect("text").to_owned()
    };

    let both = format!("createdFrom={}&createdTo={}", created("Boot"), created("Sandal"));
    assert_eq!(titles(&fixture, &both).await, ["Book", "Boot", "Sandal"]);
    assert_eq!(
        titles(&fixture, "createdFrom=2026-11-20&createdTo=2026-11-20")
            .await
            .len(),
        5
    );
    assert_eq!(titles(&fixture, "createdTo=2026-11-19").await.len(), 0);
}

#[actix_web::test]
async fn a_list_has_the_order_that_is_asked_for() {
    let fixture = stocked().await;
    let by_default = fixture.listed(PRODUCTS, "title").await;
    assert_eq!(by_default, ["Elsewhere", "Sandal", "Book", "Boot", "Anorak"]);
    for (query, first) in [
        ("sortField=title&sortDir=desc", "Sandal"),
        ("sortField=createdAt&sortDir=asc", "Anorak"),
        ("sortField=sku", "Anorak"),
        ("sortField=sku&sortDir=desc", "Anorak"),
        ("sortField=updatedAt", "Elsewhere"),
    ] {
        assert_eq!(
            fixture.listed(&format!("{PRODUCTS}?{query}"), "title").await[0],
            first,
            "{query}"
        );
    }

    let mut seen = Vec::new();
    for page in 1..=3 {
        seen.extend(
            fixture
                .listed(&format!("{PRODUCTS}?pageSize=2&page={page}"), "title")
                .await,
        );
    }
    assert_eq!(seen, by_default);
    let past = fixture.get(&format!("{PRODUCTS}?pageSize=2&page=9")).await;
    assert_eq!(
        (&past["items"], &past["total"], &past["totalPages"]),
        (&json!([]), &json!(5), &json!(3))
    );
}

#[actix_web::test]
async fn unknown_list_parameters_are_rejected() {
    let fixture = Fixture::new().await;

    for query in [
        "sortField=metadata",
        "sortDir=up",
        "productType=gift",
        "categoryIds=x",
        "ids=x",
        "isActive=perhaps",
        "createdFrom=yesterday",
        "createdTo=2026-02-30",
        "pageSize=101",
    ] {
        let (status, body) = fixture.app.get(&fixture.admin, &format!("{PRODUCTS}?{query}")).await;
        assert_eq!(status, 400, "{query}: {body}");
    }
    let many: Vec<String> = (0..201)
        .map(|number| uuid::Uuid::from_u128(number).to_string())
        .collect();
    let (status, _) = fixture
        .app
        .get(&fixture.admin, &format!("{PRODUCTS}?ids={}", many.join(",")))
        .await;
    assert_eq!(status, 400);

    let rules = "productType=gift&createdFrom=yesterday&sortDir=up&page=0";
    let of_rules = ["createdFrom", "page", "productType", "sortDir"];
    for (fault, path) in [("isActive=perhaps", "isActive"), ("tenantId=zz", "tenantId")] {
        let query = format!("{PRODUCTS}?{fault}&{rules}");
        let (status, body) = fixture.app.get(&fixture.admin, &query).await;

        let mut paths: Vec<&str> = details(&body).into_iter().map(|(path, _)| path).collect();
        paths.sort_unstable();
        let mut expected = [&of_rules[..], &[path]].concat();
        expected.sort_unstable();
        assert_eq!((status, paths), (400, expected), "{query}");
    }
}

#[actix_web::test]
async fn variants_prices_and_categories_are_filtered_too() {
    let fixture = Fixture::new().await;
    let price = |kind: &str| json!({"kind": kind, "currencyCode": "EUR", "amount": 1, "variantIndex": 0});
    let body = json!({"title": "Shoe", "variants": [{"name": "Small", "barcode": "590"}, {"name": "Large"}],
        "prices": [price("sale"), {"kind": "regular", "currencyCode": "PLN", "amount": 2}]});
    let product = fixture.create(PRODUCTS, body).await.resource;
    fixture
        .create(PRODUCTS, json!({"title": "Other", "variants": [{"name": "Single"}]}))
        .await;
    let small = fixture.one(PRODUCTS, product).await["variants"][0]["id"].clone();
    let small = small.as_str().expect("an id");
    let above = fixture.category("above", None).await;
    fixture.category("below", Some(above)).await;

    for (target, field, expected) in [
        (
            format!("{VARIANTS}?productId={product}&sortDir=desc"),
            "name",
            &["Large", "Small"][..],
        ),
        (format!("{VARIANTS}?search=59"), "name", &["Small"]),
        (format!("{VARIANTS}?ids={small}"), "name", &["Small"]),
        (
            format!("{PRICES}?productId={product}&sortDir=asc"),
            "currencyCode",
            &["EUR", "PLN"],
        ),
        (format!("{PRICES}?variantId={small}"), "currencyCode", &["EUR"]),
        (format!("{PRICES}?search=pl"), "currencyCode", &["PLN"]),
        (CATEGORIES.to_owned(), "name", &["above", "below"]),
        (format!("{CATEGORIES}?parentId={above}"), "name", &["below"]),
        (format!("{CATEGORIES}?search=abo"), "name", &["above"]),
    ] {
        assert_eq!(fixture.listed(&target, field).await, expected, "{target}");
    }
}

#[actix_web::test]
async fn a_page_of_the_longest_products_is_not_longer_than_a_response_may_be() {
    let fixture = Fixture::new().await;
    let categories = format!(
        "insert into catalog_categories (tenant_id, id, organization_id, name, slug, created_at, updated_at) \
         select '{}', gen_random_uuid(), '{}', 'c' || n, 'c' || n, now(), now() from generate_series(1, 200) n",
        fixture.tenant, fixture.root
    );
    assert_eq!(fixture.app.sql(&categories).await, 200);
    let line = "😀".repeat(255);
    let tags: Vec<String> = (0..100).map(|n| format!("{n:02}{}", "😀".repeat(58))).collect();
    // In JSON a control character has six bytes.
    let description = "\u{1}".repeat(4000);
    let metadata = json!({"a": "x".repeat(65_000)});
    let body = json!({"title": line, "subtitle": line, "description": description, "tags": tags, "metadata": metadata});
    let longest = fixture.create(PRODUCTS, body).await.resource;
    let others = format!(
        "insert into catalog_products (tenant_id, id, organization_id, title, subtitle, description, product_type, is_active, tags, \
         metadata, created_at, updated_at) \
         select tenant_id, gen_random_uuid(), organization_id, title, subtitle, description, product_type, is_active, tags, \
         metadata, created_at, updated_at from catalog_products, generate_series(1, 99) where id = '{longest}'"
    );
    assert_eq!(fixture.app.sql(&others).await, 99);
    let links = "insert into catalog_product_categories (tenant_id, id, product_id, category_id, created_at, updated_at) \
        select p.tenant_id, gen_random_uuid(), p.id, c.id, now(), now() from catalog_products p, catalog_categories c";
    assert_eq!(fixture.app.sql(links).await, 20_000);

    let path = format!("{PRODUCTS}?pageSize=100");
    let response = fixture.app.send(&fixture.admin, Method::GET, &path, &Value::Null).await;

    let length = response.body.len();
    assert!(length <= MOST_RESPONSE_BYTES, "{length} bytes");
    let page = response.json();
    let items = page["items"].as_array().expect("a list");
    let are_whole =
        |item: &&Value| item["description"] == description && item["categoryIds"].as_array().map(Vec::len) == Some(200);
    assert_eq!(items.iter().filter(are_whole).count(), 100);
    assert!(items.iter().any(|item| item["metadata"] == metadata));
}
