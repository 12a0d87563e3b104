//! The tree of categories.

use actix_web::http::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::world::{CATEGORIES, World, details};

#[actix_web::test]
async fn a_category_with_others_below_it_stays() {
    let world = World::new().await;
    let above = world.category("above", None).await;
    let below = world.category("below", Some(above)).await;
    let target = format!("{CATEGORIES}?id={above}");

    let response = world.send(Method::DELETE, &target, &Value::Null).await;

    let told = (response.status, response.json());
    assert_eq!(told, (409, json!({"error": "In use", "code": "in_use"})));
    world.remove(CATEGORIES, below).await;
    world.remove(CATEGORIES, above).await;
}

#[actix_web::test]
async fn no_category_comes_to_lie_below_itself() {
    let world = World::new().await;
    let top = world.category("top", None).await;
    let middle = world.category("middle", Some(top)).await;
    let bottom = world.category("bottom", Some(middle)).await;
    let before = world.image().await;

    for parent in [top, middle, bottom] {
        let body = json!({"id": top, "parentId": parent});
        let response = world.send(Method::PUT, CATEGORIES, &body).await;

        assert_eq!(
            (response.status, details(&response.json())),
            (400, vec![("parentId", "invalid_value")])
        );
    }
    assert_eq!(world.image().await, before);
    world.change(CATEGORIES, json!({"id": bottom, "parentId": top})).await;
}

#[actix_web::test]
async fn an_undone_move_closes_no_circle() {
    let world = World::new().await;
    let (one, two) = (world.category("one", None).await, world.category("two", None).await);
    world.change(CATEGORIES, json!({"id": one, "parentId": two})).await;
    let away = world.change(CATEGORIES, json!({"id": one, "parentId": null})).await;
    world.change(CATEGORIES, json!({"id": two, "parentId": one})).await;

    let (status, body) = world.undo(&away).await;

    let told = (status, &body["code"], &body["fields"]);
    assert_eq!(told, (400, &json!("undo_conflict"), &json!(["parentId"])));
}

#[actix_web::test]
async fn a_slug_that_is_not_given_is_derived_from_the_name() {
    let world = World::new().await;
    let long = format!("{} b", "a".repeat(149));

    for (name, slug) in [
        ("Łódź & Söhne", "lodz-sohne"),
        ("Lodz Sohne", "lodz-sohne-2"),
        ("lodz sohne", "lodz-sohne-3"),
        ("日本", "category"),
        ("---", "category-2"),
    ] {
        let id = world.make(CATEGORIES, json!({"name": name})).await.id;
        assert_eq!(world.one(CATEGORIES, id).await["slug"], slug, "{name}");
    }
    for slug in ["a".repeat(149), format!("{}-2", "a".repeat(148))] {
        let id = world.make(CATEGORIES, json!({"name": &long[..149]})).await.id;
        assert_eq!(world.one(CATEGORIES, id).await["slug"], slug);
    }
}

#[actix_web::test]
async fn categories_of_one_name_that_are_created_at_once_get_different_slugs() {
    let world = World::new().await;
    let body = json!({"name": "Shoes"});
    let named = json!({"name": "Others", "slug": "shoes-3"});

    let derived = (0..8).map(|_| world.send(Method::POST, CATEGORIES, &body));
    let (derived, named) = futures_util::future::join(
        futures_util::future::join_all(derived),
        world.send(Method::POST, CATEGORIES, &named),
    )
    .await;

    assert!(derived.iter().all(|response| response.status == 201));
    assert!([201, 400].contains(&named.status), "{}", named.text());
    let (_, page) = world.app.get(&world.admin, CATEGORIES).await;
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
    let world = World::new().await;
    world.category("shoes", None).await;

    let again = json!({"name": "Again", "slug": "SHOES"});
    let response = world.send(Method::POST, CATEGORIES, &again).await;

    assert_eq!(
        (response.status, details(&response.json())),
        (400, vec![("slug", "not_unique")])
    );
    let elsewhere = json!({"name": "Elsewhere", "slug": "shoes", "organizationId": world.child});
    world.make(CATEGORIES, elsewhere).await;
}

#[actix_web::test]
async fn a_parent_that_is_not_known_is_refused() {
    let world = World::new().await;
    let id = world.category("shoes", None).await;

    for (method, body) in [
        (Method::POST, json!({"name": "X", "slug": "x", "parentId": Uuid::nil()})),
        (Method::PUT, json!({"id": id, "parentId": Uuid::nil()})),
    ] {
        let response = world.send(method, CATEGORIES, &body).await;
        assert_eq!(
            (response.status, details(&response.json())),
            (400, vec![("parentId", "unknown_reference")])
        );
    }
}
