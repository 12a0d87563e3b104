//! Who sees and changes what.

use actix_web::http::Method;
use serde_json::{Value, json};

use crate::world::{CATEGORIES, PRODUCTS, VARIANTS, World, id_of};

#[actix_web::test]
async fn employees_manage_products_and_see_categories() {
    let world = World::new().await;
    let made = world
        .app
        .post(&world.employee, PRODUCTS, json!({"title": "Shoe"}))
        .await;
    assert_eq!(made.0, 201, "{}", made.1);
    assert_eq!(world.app.get(&world.employee, CATEGORIES).await.0, 200);

    let (status, body) = world
        .app
        .post(&world.employee, CATEGORIES, json!({"name": "C", "slug": "c"}))
        .await;

    let expected = json!({"error": "Forbidden", "requiredFeatures": ["catalog.categories.manage"]});
    assert_eq!((status, body), (403, expected));
}

#[actix_web::test]
async fn another_tenant_and_another_organization_see_nothing() {
    let world = World::new().await;
    let product = json!({"title": "Shoe", "variants": [{"name": "S"}]});
    let id = world.make(PRODUCTS, product).await.id;
    let before = world.image().await;

    for token in [&world.stranger, &world.local] {
        let unknown = world.app.get(token, &format!("{PRODUCTS}/{}", uuid::Uuid::nil())).await;
        assert_eq!(unknown, (404, json!({"error": "Product not found"})));
        assert_eq!(world.app.get(token, &format!("{PRODUCTS}/{id}")).await, unknown);
        let change = json!({"id": id, "title": "Mine"});
        assert_eq!(world.app.put(token, PRODUCTS, change).await, unknown);
        let removed = world
            .app
            .delete(token, &format!("{PRODUCTS}?id={id}"), Value::Null)
            .await;
        assert_eq!(removed, unknown);
        for path in [PRODUCTS, VARIANTS] {
            assert_eq!(world.app.get(token, path).await.1["total"], 0);
        }
    }
    assert_eq!(world.image().await, before);
}

#[actix_web::test]
async fn a_caller_writes_in_its_own_organization_or_in_the_selected_one() {
    let world = World::new().await;
    let (_, own) = world.app.post(&world.local, PRODUCTS, json!({"title": "Own"})).await;
    assert_eq!(
        world.one(PRODUCTS, id_of(&own)).await["organizationId"],
        json!(world.child)
    );

    let request = world.app.request(Method::POST, PRODUCTS).bearer(&world.admin);
    let request = request.header("X-Organization-Id", &world.parent.to_string());
    let selected = request.json(&json!({"title": "Selected"})).send().await.json();
    assert_eq!(
        world.one(PRODUCTS, id_of(&selected)).await["organizationId"],
        json!(world.parent)
    );

    for (token, organization) in [
        (&world.local, world.parent),
        (&world.admin, uuid::Uuid::nil()),
        (&world.stranger, world.child),
    ] {
        let body = json!({"title": "Nowhere", "organizationId": organization});
        let told = world.app.post(token, PRODUCTS, body).await;
        assert_eq!(told, (403, json!({"error": "Organization out of scope"})));
    }
}

#[actix_web::test]
async fn a_product_shows_only_categories_that_its_reader_may_see() {
    let world = World::new().await;
    let (hidden, shown) = (
        world.category("hidden", None).await,
        json!({"name": "shown", "slug": "shown", "organizationId": world.child}),
    );
    let shown = world.make(CATEGORIES, shown).await.id;
    let body = json!({"title": "Shoe", "organizationId": world.child, "categoryIds": [hidden, shown]});
    let id = world.make(PRODUCTS, body).await.id;

    let (_, detail) = world.app.get(&world.local, &format!("{PRODUCTS}/{id}")).await;

    let names: Vec<_> = detail["categories"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| &one["name"])
        .collect();
    assert_eq!(names, ["shown"]);
    let by_hidden = world
        .app
        .get(&world.local, &format!("{PRODUCTS}?categoryIds={hidden}"))
        .await
        .1;
    assert_eq!(by_hidden["total"], 0, "a category that is not seen finds nothing");
}
