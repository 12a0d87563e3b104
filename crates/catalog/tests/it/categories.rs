//! The tree of categories.

use actix_web::http::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{CATEGORIES, Fixture, PRODUCTS, details};

#[actix_web::test]
async fn a_category_with_others_below_it_stays() {
    let fixture = Fixture::new().await;
    let above = fixture.category("above", None).await;
    let below = fixture.category("below", Some(above)).await;
    let target = format!("{CATEGORIES}?id={above}");

    let response = fixture
        .app
        .send(&fixture.admin, Method::DELETE, &target, &Value::Null)
        .await;

    let reported = (response.status, response.json());
    assert_eq!(reported, (409, json!({"error": "In use", "code": "in_use"})));
    fixture.remove(CATEGORIES, below).await;
    fixture.remove(CATEGORIES, above).await;
}

#[actix_web::test]
async fn no_category_comes_to_lie_below_itself() {
    let fixture = Fixture::new().await;
    let top = fixture.category("top", None).await;
    let middle = fixture.category("middle", Some(top)).await;
    let bottom = fixture.category("bottom", Some(middle)).await;
    let before = fixture.snapshot().await;

    for parent in [top, middle, bottom] {
        let body = json!({"id": top, "parentId": parent});
        let response = fixture.app.send(&fixture.admin, Method::PUT, CATEGORIES, &body).await;

        assert_eq!(
            (response.status, details(&response.json())),
            (400, vec![("parentId", "invalid_value")])
        );
    }
    assert_eq!(fixture.snapshot().await, before);
    fixture.change(CATEGORIES, json!({"id": bottom, "parentId": top})).await;
}

#[actix_web::test]
async fn an_undone_move_closes_no_circle() {
    let fixture = Fixture::new().await;
    let (one, two) = (fixture.category("one", None).await, fixture.category("two", None).await);
    fixture.change(CATEGORIES, json!({"id": one, "parentId": two})).await;
    let away = fixture.change(CATEGORIES, json!({"id": one, "parentId": null})).await;
    fixture.change(CATEGORIES, json!({"id": two, "parentId": one})).await;

    let (status, body) = fixture.app.undo(&fixture.admin, &away).await;

    let reported = (status, &body["code"], &body["fields"]);
    assert_eq!(reported, (400, &json!("undo_conflict"), &json!(["parentId"])));
}

#[actix_web::test]
async fn a_slug_that_is_not_given_is_derived_from_the_name() {
    let fixture = Fixture::new().await;
    let long = format!("{} b", "a".repeat(149));

    for (name, slug) in [
        ("Łódź & Söhne", "lodz-sohne"),
        ("Lodz Sohne", "lodz-sohne-2"),
        ("lodz sohne", "lodz-sohne-3"),
        ("日本", "category"),
        ("---", "category-2"),
    ] {
        let id = fixture.create(CATEGORIES, json!({"name": name})).await.resource;
        assert_eq!(fixture.one(CATEGORIES, id).await["slug"], slug, "{name}");
    }
    for slug in ["a".repeat(149), format!("{}-2", "a".repeat(148))] {
        let id = fixture.create(CATEGORIES, json!({"name": &long[..149]})).await.resource;
        assert_eq!(fixture.one(CATEGORIES, id).await["slug"], slug);
    }
}

#[actix_web::test]
async fn categories_of_one_name_that_are_created_at_once_get_different_slugs() {
    let fixture = Fixture::new().await;
    let body = json!({"name": "Shoes"});
    let named = json!({"name": "Others", "slug": "shoes-3"});

    let derived = (0..8).map(|_| fixture.app.send(&fixture.admin, Method::POST, CATEGORIES, &body));
    let (derived, named) = futures_util::future::join(
        futures_util::future::join_all(derived),
        fixture.app.send(&fixture.admin, Method::POST, CATEGORIES, &named),
    )
    .await;

    assert!(derived.iter().all(|response| response.status == 201));
    assert!([201, 400].contains(&named.status), "{}", named.text());
    let (_, page) = fixture.app.get(&fixture.admin, CATEGORIES).await;
    let slugs: std::collections::BTreeSet<String> = page["items"]
        .as_array()
        .expect("a page")
        .iter()
        .map(|item| item["slug"].to_string())
        .collect();
    assert!(slugs.len() >= 8, "{slugs:?}");
}

#[actix_web::test]
async fn a_slug_is_there_once_in_an_organization() {
    let fixture = Fixture::new().await;
    fixture.category("shoes", None).await;

    let again = json!({"name": "Again", "slug": "SHOES"});
    let response = fixture.app.send(&fixture.admin, Method::POST, CATEGORIES, &again).await;

    assert_eq!(
        (response.status, details(&response.json())),
        (400, vec![("slug", "not_unique")])
    );
    let elsewhere = json!({"name": "Elsewhere", "slug": "shoes", "organizationId": fixture.child});
    fixture.create(CATEGORIES, elsewhere).await;
}

#[actix_web::test]
async fn a_parent_that_is_not_known_is_rejected() {
    let fixture = Fixture::new().await;
    let id = fixture.category("shoes", None).await;

    for (method, body) in [
        (Method::POST, json!({"name": "X", "slug": "x", "parentId": Uuid::nil()})),
        (Method::PUT, json!({"id": id, "parentId": Uuid::nil()})),
    ] {
        let response = fixture.app.send(&fixture.admin, method, CATEGORIES, &body).await;
        assert_eq!(
            (response.status, details(&response.json())),
            (400, vec![("parentId", "unknown_reference")])
        );
    }
}

#[actix_web::test]
async fn a_product_whose_category_is_deleted_or_restored_is_another_state() {
    let fixture = Fixture::new().await;
    let (kept, deleted) = (
        fixture.category("kept", None).await,
        fixture.category("deleted", None).await,
    );
    let product = fixture.product("Lamp").await;
    let body = json!({"id": product, "categoryIds": [kept, deleted]});
    fixture.change(PRODUCTS, body).await;
    let other = fixture.product("Table").await;
    let (with, untouched) = (fixture.one(PRODUCTS, product).await, fixture.one(PRODUCTS, other).await);

    let removed = fixture.remove(CATEGORIES, deleted).await;

    let without = fixture.one(PRODUCTS, product).await;
    assert_eq!(without["categoryIds"], json!([kept]));
    assert_ne!(without["updatedAt"], with["updatedAt"]);
    let stale = json!({"id": product, "title": "Stale"});
    let tag = format!("\"{}\"", with["updatedAt"].as_str().expect("a time"));
    let call = fixture
        .app
        .request(Method::PUT, PRODUCTS)
        .bearer(&fixture.admin)
        .json(&stale);
    let response = call.header("if-match", &tag).send().await;
    assert_eq!(response.status, 409, "{}", response.text());
    assert_eq!(fixture.app.undo(&fixture.admin, &removed).await.0, 200);
    let again = fixture.one(PRODUCTS, product).await;
    let mut categories = again["categoryIds"].as_array().expect("a list").clone();
    categories.sort_by_key(Value::to_string);
    let mut both = vec![json!(kept), json!(deleted)];
    both.sort_by_key(Value::to_string);
    assert_eq!(categories, both);
    assert!(again["updatedAt"].as_str() > without["updatedAt"].as_str());
    assert_eq!(fixture.one(PRODUCTS, other).await, untouched);
}
