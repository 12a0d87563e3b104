//! Access of different callers.

use actix_web::http::Method;
use serde_json::{Value, json};

use crate::fixture::{CATEGORIES, Fixture, PRODUCTS, VARIANTS, id_of};

#[actix_web::test]
async fn employees_manage_products_and_see_categories() {
    let fixture = Fixture::new().await;
    let created = fixture
        .app
        .post(&fixture.employee, PRODUCTS, json!({"title": "Shoe"}))
        .await;
    assert_eq!(created.0, 201, "{}", created.1);
    assert_eq!(fixture.app.get(&fixture.employee, CATEGORIES).await.0, 200);

    let (status, body) = fixture
        .app
        .post(&fixture.employee, CATEGORIES, json!({"name": "C", "slug": "c"}))
        .await;

    let expected = json!({"error": "Forbidden", "requiredFeatures": ["catalog.categories.manage"]});
    assert_eq!((status, body), (403, expected));
}

#[actix_web::test]
async fn another_tenant_and_another_organization_see_nothing() {
    let fixture = Fixture::new().await;
    let product = json!({"title": "Shoe", "variants": [{"name": "S"}]});
    let id = fixture.create(PRODUCTS, product).await.resource;
    let before = fixture.snapshot().await;

    for token in [&fixture.stranger, &fixture.local] {
        let unknown = fixture
            .app
            .get(token, &format!("{PRODUCTS}/{}", uuid::Uuid::nil()))
            .await;
        assert_eq!(unknown, (404, json!({"error": "Product not found"})));
        assert_eq!(fixture.app.get(token, &format!("{PRODUCTS}/{id}")).await, unknown);
        let change = json!({"id": id, "title": "Mine"});
        assert_eq!(fixture.app.put(token, PRODUCTS, change).await, unknown);
        let removed = fixture
            .app
            .delete(token, &format!("{PRODUCTS}?id={id}"), Value::Null)
            .await;
        assert_eq!(removed, unknown);
        for path in [PRODUCTS, VARIANTS] {
            assert_eq!(fixture.app.get(token, path).await.1["total"], 0);
        }
    }
    assert_eq!(fixture.snapshot().await, before);
}

#[actix_web::test]
async fn a_caller_writes_in_its_own_organization_or_in_the_selected_one() {
    let fixture = Fixture::new().await;
    let (_, own) = fixture
        .app
        .post(&fixture.local, PRODUCTS, json!({"title": "Own"}))
        .await;
    assert_eq!(
        fixture.one(PRODUCTS, id_of(&own)).await["organizationId"],
        json!(fixture.child)
    );

    let request = fixture.app.request(Method::POST, PRODUCTS).bearer(&fixture.admin);
    let request = request.header("X-Organization-Id", &fixture.parent.to_string());
    let selected = request.json(&json!({"title": "Selected"})).send().await.json();
    assert_eq!(
        fixture.one(PRODUCTS, id_of(&selected)).await["organizationId"],
        json!(fixture.parent)
    );

    for (token, organization) in [
        (&fixture.local, fixture.parent),
        (&fixture.admin, uuid::Uuid::nil()),
        (&fixture.stranger, fixture.child),
    ] {
        let body = json!({"title": "Nowhere", "organizationId": organization});
        let reported = fixture.app.post(token, PRODUCTS, body).await;
        assert_eq!(reported, (403, json!({"error": "Organization out of scope"})));
    }
}

#[actix_web::test]
async fn a_product_shows_only_categories_that_its_reader_may_see() {
    let fixture = Fixture::new().await;
    let (hidden, shown) = (
        fixture.category("hidden", None).await,
        json!({"name": "shown", "slug": "shown", "organizationId": fixture.child}),
    );
    let shown = fixture.create(CATEGORIES, shown).await.resource;
    let body = json!({"title": "Shoe", "organizationId": fixture.child, "categoryIds": [hidden, shown]});
    let id = fixture.create(PRODUCTS, body).await.resource;

    let (_, detail) = fixture.app.get(&fixture.local, &format!("{PRODUCTS}/{id}")).await;

    let names: Vec<_> = detail["categories"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| &one["name"])
        .collect();
    assert_eq!(names, ["shown"]);
    let by_hidden = fixture
        .app
        .get(&fixture.local, &format!("{PRODUCTS}?categoryIds={hidden}"))
        .await
        .1;
    assert_eq!(by_hidden["total"], 0, "a category that is not seen finds nothing");
}
