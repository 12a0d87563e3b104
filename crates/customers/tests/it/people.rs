//! People: their names, their company, and what a deletion removes.

use actix_web::http::Method;
use backoffice_test_support::{Duration, details};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::companies::{deal, link, links};
use crate::fixture::{COMPANIES, Fixture, PEOPLE, TenantFixture, detail};

fn ada() -> Value {
    json!({"firstName": " Ada ", "lastName": "Doe"})
}

#[actix_web::test]
async fn a_person_is_shown_by_both_names_by_default() {
    let fixture = Fixture::new().await;
    let who = &fixture.a.admin;
    let id = fixture.create(who, PEOPLE, ada()).await;
    let shown = async || fixture.item(who, PEOPLE, id).await["displayName"].clone();
    assert_eq!(shown().await, "Ada Doe");

    for (change, expected) in [
        (json!({"firstName": "Adele"}), "Ada Doe"),
        (json!({"displayName": null}), "Adele Doe"),
        (json!({"displayName": "A. D."}), "A. D."),
        (json!({"displayName": " ", "lastName": "Roe"}), "Adele Roe"),
    ] {
        let mut change = change;
        change["id"] = json!(id);
        fixture.write(who, Method::PUT, PEOPLE, change.clone()).await;

        assert_eq!(shown().await, expected, "{change}");
    }
}

#[actix_web::test]
async fn crm_12_a_company_that_the_caller_does_not_see_is_unknown() {
    let fixture = Fixture::new().await;
    let TenantFixture {
        admin,
        local,
        other,
        child,
        ..
    } = &fixture.a;
    let company = async |who, organization: &Uuid| {
        let body = json!({"displayName": "Acme", "organizationId": organization});
        fixture.create(who, COMPANIES, body).await
    };
    let own = company(admin, child).await;
    let elsewhere = company(admin, other).await;
    let foreign = company(&fixture.b.admin, &fixture.b.root).await;
    let gone = company(admin, child).await;
    fixture.remove(admin, COMPANIES, gone).await;
    let id = fixture.create(local, PEOPLE, ada()).await;
    let before = fixture.item(local, PEOPLE, id).await;

    let mut responses = Vec::new();
    for (who, company) in [
        (local, elsewhere),
        (local, foreign),
        (local, gone),
        (admin, foreign),
        (admin, Uuid::from_u128(1)),
    ] {
        for (method, mut body) in [(Method::PUT, json!({"id": id})), (Method::POST, ada())] {
            body["companyId"] = json!(company);
            let response = fixture.app.send(&who.token, method, PEOPLE, body).await;
            responses.push((response.status, response.json()));
        }
    }

    assert_eq!(
        (responses[0].0, detail(&responses[0].1)),
        (400, ("companyId", "unknown_reference"))
    );
    assert!(
        responses.iter().all(|response| *response == responses[0]),
        "{responses:?}"
    );
    assert_eq!(fixture.item(local, PEOPLE, id).await, before);
    fixture
        .write(local, Method::PUT, PEOPLE, json!({"id": id, "companyId": own}))
        .await;
    assert_eq!(fixture.item(local, PEOPLE, id).await["companyName"], "Acme");
}

#[actix_web::test]
async fn a_company_that_was_given_by_others_may_stay_and_is_not_named() {
    let fixture = Fixture::new().await;
    let TenantFixture {
        admin,
        local,
        other,
        child,
        ..
    } = &fixture.a;
    let body = json!({"displayName": "Secret", "organizationId": other});
    let company = fixture.create(admin, COMPANIES, body).await;
    let mut body = ada();
    body["companyId"] = json!(company);
    body["organizationId"] = json!(child);
    let id = fixture.create(admin, PEOPLE, body).await;

    fixture
        .write(
            local,
            Method::PUT,
            PEOPLE,
            json!({"id": id, "companyId": company, "jobTitle": "Buyer"}),
        )
        .await;

    let seen = fixture.item(local, PEOPLE, id).await;
    assert_eq!(
        (&seen["companyId"], &seen["companyName"]),
        (&json!(company), &Value::Null)
    );
    assert_eq!(fixture.item(admin, PEOPLE, id).await["companyName"], "Secret");
}

#[actix_web::test]
async fn people_are_found_by_their_companies() {
    let fixture = Fixture::new().await;
    let who = &fixture.a.admin;
    let mut created = Vec::new();
    for name in ["Acme", "Other"] {
        let company = fixture.create(who, COMPANIES, json!({"displayName": name})).await;
        let mut body = ada();
        body["companyId"] = json!(company);
        created.push((company, fixture.create(who, PEOPLE, body).await));
    }
    fixture.create(who, PEOPLE, ada()).await;
    let [(acme, ada), (other, bob)] = created[..] else {
        panic!("two")
    };

    for (companies, expected) in [
        (format!("{acme}"), vec![ada]),
        (format!("{other}, {acme}").replace(' ', "%20"), vec![ada, bob]),
        (String::new(), vec![]),
    ] {
        let path = format!("{PEOPLE}?companyIds={companies}&sortDir=asc");
        assert_eq!(fixture.list(who, &path).await, expected);
    }
    assert_eq!(
        fixture.get(who, &format!("{PEOPLE}?companyIds={acme},none")).await.0,
        400
    );
}

#[actix_web::test]
async fn crm_15_a_deleted_person_comes_back_with_company_and_deals() {
    let fixture = Fixture::new().await;
    let who = &fixture.a.admin;
    let company = fixture.create(who, COMPANIES, json!({"displayName": "Acme"})).await;
    let mut body = ada();
    body["companyId"] = json!(company);
    let id = fixture.create(who, PEOPLE, body).await;
    for _ in 0..2 {
        let deal = deal(&fixture).await;
        link(&fixture, "people", deal, id).await;
    }
    let (before, linked) = (fixture.item(who, PEOPLE, id).await, links(&fixture).await);

    let removed = fixture.remove(who, PEOPLE, id).await;

    assert_eq!(links(&fixture).await, Vec::<Value>::new());
    assert_eq!(fixture.app.undo(&who.token, &removed).await.0, 200);
    assert_eq!(links(&fixture).await, linked);
    let mut after = fixture.item(who, PEOPLE, id).await;
    after["updatedAt"] = before["updatedAt"].clone();
    assert_eq!(after, before);
}

#[actix_web::test]
async fn a_person_is_restored_without_a_deleted_company() {
    let fixture = Fixture::new().await;
    let who = &fixture.a.admin;
    let company = fixture.create(who, COMPANIES, json!({"displayName": "Acme"})).await;
    let mut body = ada();
    body["companyId"] = json!(company);
    let id = fixture.create(who, PEOPLE, body).await;
    let removed = fixture.remove(who, PEOPLE, id).await;
    fixture.remove(who, COMPANIES, company).await;
    fixture.app.advance(Duration::SECOND);

    assert_eq!(fixture.app.undo(&who.token, &removed).await.0, 200);

    assert_eq!(fixture.item(who, PEOPLE, id).await["companyId"], Value::Null);
    assert_eq!(
        fixture.last_entry(who).await["context"]["dropped"],
        json!([format!("customers.company:{company}")])
    );
}

#[actix_web::test]
async fn all_unknown_references_of_a_person_are_reported_together() {
    let fixture = Fixture::new().await;
    let TenantFixture { admin, other, .. } = &fixture.a;
    let id = fixture.create(admin, PEOPLE, ada()).await;
    let before = fixture.app.snapshot().await;
    let unknown = Uuid::from_u128(7);
    let mut new = ada();
    new["companyId"] = json!(unknown);
    new["ownerUserId"] = json!(unknown);
    let change = json!({"id": id, "organizationId": other, "companyId": unknown, "ownerUserId": unknown});

    let created = fixture.app.post(&admin.token, PEOPLE, new).await;
    let changed = fixture.put(admin, PEOPLE, change).await;

    let mut expected = vec![("companyId", "unknown_reference"), ("ownerUserId", "unknown_reference")];
    assert_eq!((created.0, details(&created.1)), (400, expected.clone()));
    expected.insert(0, ("organizationId", "invalid_value"));
    assert_eq!((changed.0, details(&changed.1)), (400, expected));
    assert_eq!(changed.1["code"], "unknown_reference");
    assert_eq!(fixture.app.snapshot().await, before);
}
