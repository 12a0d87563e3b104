//! People: their names, their company, and what a deletion takes along.

use actix_web::http::Method;
use backoffice_test_support::Duration;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::companies::{deal, link, links};
use crate::world::{COMPANIES, House, PEOPLE, World, detail};

fn ada() -> Value {
    json!({"firstName": " Ada ", "lastName": "Doe"})
}

#[actix_web::test]
async fn a_person_is_shown_by_both_names_unless_told_otherwise() {
    let world = World::new().await;
    let who = &world.a.admin;
    let id = world.make(who, PEOPLE, ada()).await;
    let shown = async || world.item(who, PEOPLE, id).await["displayName"].clone();
    assert_eq!(shown().await, "Ada Doe");

    for (change, expected) in [
        (json!({"firstName": "Adele"}), "Ada Doe"),
        (json!({"displayName": null}), "Adele Doe"),
        (json!({"displayName": "A. D."}), "A. D."),
        (json!({"displayName": " ", "lastName": "Roe"}), "Adele Roe"),
    ] {
        let mut change = change;
        change["id"] = json!(id);
        world.write(who, Method::PUT, PEOPLE, change.clone()).await;

        assert_eq!(shown().await, expected, "{change}");
    }
}

#[actix_web::test]
async fn crm_12_a_company_that_the_caller_does_not_see_is_unknown() {
    let world = World::new().await;
    let House {
        admin,
        local,
        other,
        child,
        ..
    } = &world.a;
    let company = async |who, organization: &Uuid| {
        let body = json!({"displayName": "Acme", "organizationId": organization});
        world.make(who, COMPANIES, body).await
    };
    let own = company(admin, child).await;
    let elsewhere = company(admin, other).await;
    let foreign = company(&world.b.admin, &world.b.root).await;
    let gone = company(admin, child).await;
    world.remove(admin, COMPANIES, gone).await;
    let id = world.make(local, PEOPLE, ada()).await;
    let before = world.item(local, PEOPLE, id).await;

    let mut answers = Vec::new();
    for (who, company) in [
        (local, elsewhere),
        (local, foreign),
        (local, gone),
        (admin, foreign),
        (admin, Uuid::from_u128(1)),
    ] {
        for (method, mut body) in [(Method::PUT, json!({"id": id})), (Method::POST, ada())] {
            body["companyId"] = json!(company);
            let response = world.send(who, method, PEOPLE, Some(body)).await;
            answers.push((response.status, response.json()));
        }
    }

    assert_eq!(
        (answers[0].0, detail(&answers[0].1)),
        (400, ("companyId", "unknown_reference"))
    );
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    assert_eq!(world.item(local, PEOPLE, id).await, before);
    world
        .write(local, Method::PUT, PEOPLE, json!({"id": id, "companyId": own}))
        .await;
    assert_eq!(world.item(local, PEOPLE, id).await["companyName"], "Acme");
}

#[actix_web::test]
async fn a_company_that_was_given_by_others_may_stay_and_is_not_named() {
    let world = World::new().await;
    let House {
        admin,
        local,
        other,
        child,
        ..
    } = &world.a;
    let body = json!({"displayName": "Secret", "organizationId": other});
    let company = world.make(admin, COMPANIES, body).await;
    let mut body = ada();
    body["companyId"] = json!(company);
    body["organizationId"] = json!(child);
    let id = world.make(admin, PEOPLE, body).await;

    world
        .write(
            local,
            Method::PUT,
            PEOPLE,
            json!({"id": id, "companyId": company, "jobTitle": "Buyer"}),
        )
        .await;

    let seen = world.item(local, PEOPLE, id).await;
    assert_eq!(
        (&seen["companyId"], &seen["companyName"]),
        (&json!(company), &Value::Null)
    );
    assert_eq!(world.item(admin, PEOPLE, id).await["companyName"], "Secret");
}

#[actix_web::test]
async fn people_are_found_by_their_companies() {
    let world = World::new().await;
    let who = &world.a.admin;
    let mut made = Vec::new();
    for name in ["Acme", "Other"] {
        let company = world.make(who, COMPANIES, json!({"displayName": name})).await;
        let mut body = ada();
        body["companyId"] = json!(company);
        made.push((company, world.make(who, PEOPLE, body).await));
    }
    world.make(who, PEOPLE, ada()).await;
    let [(acme, ada), (other, bob)] = made[..] else {
        panic!("two")
    };

    for (companies, expected) in [
        (format!("{acme}"), vec![ada]),
        (format!("{other}, {acme}").replace(' ', "%20"), vec![ada, bob]),
        (String::new(), vec![]),
    ] {
        let path = format!("{PEOPLE}?companyIds={companies}&sortDir=asc");
        assert_eq!(world.list(who, &path).await, expected);
    }
    assert_eq!(world.get(who, &format!("{PEOPLE}?companyIds={acme},none")).await.0, 400);
}

#[actix_web::test]
async fn crm_15_a_deleted_person_comes_back_with_company_and_deals() {
    let world = World::new().await;
    let who = &world.a.admin;
    let company = world.make(who, COMPANIES, json!({"displayName": "Acme"})).await;
    let mut body = ada();
    body["companyId"] = json!(company);
    let id = world.make(who, PEOPLE, body).await;
    for _ in 0..2 {
        let deal = deal(&world).await;
        link(&world, "people", deal, id).await;
    }
    let (before, linked) = (world.item(who, PEOPLE, id).await, links(&world).await);

    let removed = world.remove(who, PEOPLE, id).await;

    assert_eq!(links(&world).await, Vec::<Value>::new());
    assert_eq!(world.undo(who, &removed).await.0, 200);
    assert_eq!(links(&world).await, linked);
    let mut after = world.item(who, PEOPLE, id).await;
    after["updatedAt"] = before["updatedAt"].clone();
    assert_eq!(after, before);
}

#[actix_web::test]
async fn a_person_comes_back_without_a_company_that_is_gone() {
    let world = World::new().await;
    let who = &world.a.admin;
    let company = world.make(who, COMPANIES, json!({"displayName": "Acme"})).await;
    let mut body = ada();
    body["companyId"] = json!(company);
    let id = world.make(who, PEOPLE, body).await;
    let removed = world.remove(who, PEOPLE, id).await;
    world.remove(who, COMPANIES, company).await;
    world.app.advance(Duration::SECOND);

    assert_eq!(world.undo(who, &removed).await.0, 200);

    assert_eq!(world.item(who, PEOPLE, id).await["companyId"], Value::Null);
    assert_eq!(
        world.last_entry(who).await["context"]["dropped"],
        json!([format!("customers.company:{company}")])
    );
}
