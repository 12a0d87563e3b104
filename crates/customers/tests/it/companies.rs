//! Companies: what their deletion removes, and what undo restores.

use actix_web::http::Method;
use backoffice_test_support::Duration;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{ACTIONS, COMPANIES, DEALS, Fixture, PEOPLE, TenantFixture};

/// A company with two people and two deals.
struct Acme {
    id: Uuid,
    people: [Uuid; 2],
    deals: [Uuid; 2],
}

async fn acme(fixture: &Fixture) -> Acme {
    let TenantFixture { admin, child, .. } = &fixture.a;
    let id = fixture.create(admin, COMPANIES, json!({"displayName": "Acme"})).await;
    fixture.app.advance(Duration::SECOND);
    let mut people = Vec::new();
    for name in ["Ada", "Bob"] {
        // Some people are not visible to a caller of one organization.
        let body = json!({"firstName": name, "lastName": "Doe", "companyId": id, "organizationId": child});
        people.push(fixture.create(admin, PEOPLE, body).await);
    }
    let mut deals = Vec::new();
    for _ in 0..2 {
        let deal = deal(fixture).await;
        link(fixture, "companies", deal, id).await;
        deals.push(deal);
    }
    Acme {
        id,
        people: people.try_into().expect("two"),
        deals: deals.try_into().expect("two"),
    }
}

/// Inserts a deal, bypassing the command log.
pub(crate) async fn deal(fixture: &Fixture) -> Uuid {
    let id = fixture.app.system_context().new_id();
    let sql = format!(
        "insert into customers_deals (tenant_id, id, organization_id, title, status, created_at, updated_at) \
         values ('{}', '{id}', '{}', 'Deal', 'open', now(), now())",
        fixture.a.id, fixture.a.root
    );
    assert_eq!(fixture.app.sql(&sql).await, 1);
    id
}

/// Inserts a link of a deal, bypassing the command log.
pub(crate) async fn link(fixture: &Fixture, table: &str, deal: Uuid, party: Uuid) {
    let column = if table == "people" { "person_id" } else { "company_id" };
    let sql = format!(
        "insert into customers_deal_{table} (tenant_id, id, deal_id, {column}, created_at, updated_at) \
         values ('{}', gen_random_uuid(), '{deal}', '{party}', '2026-11-20T07:00:00Z', now())",
        fixture.a.id
    );
    assert_eq!(fixture.app.sql(&sql).await, 1);
}

/// Returns the links of deals to companies and people, without the time of their last change.
pub(crate) async fn links(fixture: &Fixture) -> Vec<Value> {
    fixture
        .app
        .rows(
            "select l - 'updated_at' as link from \
             (select to_jsonb(c) as l from customers_deal_companies c union all select to_jsonb(p) from customers_deal_people p) x \
             order by 1",
        )
        .await
}

async fn company_of(fixture: &Fixture, person: Uuid) -> Value {
    fixture.item(&fixture.a.admin, PEOPLE, person).await["companyId"].clone()
}

#[actix_web::test]
async fn crm_15_a_deleted_company_comes_back_with_its_people_and_deals() {
    let fixture = Fixture::new().await;
    let who = &fixture.a.admin;
    let acme = acme(&fixture).await;
    let linked = links(&fixture).await;
    let seen = fixture.item(who, PEOPLE, acme.people[0]).await["updatedAt"].clone();
    let with = fixture.item(who, DEALS, acme.deals[0]).await;
    assert_eq!(with["companyIds"], json!([acme.id]));

    fixture.app.advance(Duration::SECOND);
    let removed = fixture.remove(who, COMPANIES, acme.id).await;
    fixture.app.advance(Duration::SECOND);

    let entry = fixture.last_entry(who).await;
    assert_eq!(
        entry["snapshotBefore"]["_links"].as_array().map(Vec::len),
        Some(2),
        "{entry}"
    );
    assert_eq!(links(&fixture).await, Vec::<Value>::new());
    for person in acme.people {
        let person = fixture.item(who, PEOPLE, person).await;
        assert_eq!(
            (&person["companyId"], &person["companyName"]),
            (&Value::Null, &Value::Null)
        );
        assert_ne!(person["updatedAt"], seen, "it is another state");
    }
    let without = fixture.item(who, DEALS, acme.deals[0]).await;
    assert_eq!(without["companyIds"], json!([]));
    assert_ne!(without["updatedAt"], with["updatedAt"]);
    assert_eq!(fixture.app.undo(&who.token, &removed).await.0, 200);
    assert_eq!(links(&fixture).await, linked);
    let again = fixture.item(who, DEALS, acme.deals[0]).await;
    assert_eq!(again["companyIds"], json!([acme.id]));
    assert!(
        ![&with, &without]
            .iter()
            .any(|deal| deal["updatedAt"] == again["updatedAt"])
    );
    for person in acme.people {
        assert_eq!(company_of(&fixture, person).await, acme.id.to_string());
    }
    assert_eq!(fixture.last_entry(who).await["context"].get("dropped"), None);
    assert_eq!(fixture.app.redo(&who.token, &removed).await.0, 200);
    assert_eq!(links(&fixture).await, Vec::<Value>::new());
    assert_eq!(company_of(&fixture, acme.people[1]).await, Value::Null);
}

#[actix_web::test]
async fn crm_15_who_got_another_company_meanwhile_stays_there_and_is_named() {
    let fixture = Fixture::new().await;
    let who = &fixture.a.admin;
    let acme = acme(&fixture).await;
    let other = fixture.create(who, COMPANIES, json!({"displayName": "Other"})).await;
    fixture.app.advance(Duration::SECOND);
    let removed = fixture.remove(who, COMPANIES, acme.id).await;
    fixture.app.advance(Duration::SECOND);
    let [moved, kept] = acme.people;
    let into = json!({"id": moved, "companyId": other});
    fixture.write(who, Method::PUT, PEOPLE, into).await;
    fixture.app.advance(Duration::SECOND);
    let gone = format!("delete from customers_deals where id = '{}'", acme.deals[0]);
    assert_eq!(fixture.app.sql(&gone).await, 1);

    let (status, body) = fixture.app.undo(&who.token, &removed).await;

    assert_eq!(status, 200, "{body}");
    assert_eq!(company_of(&fixture, moved).await, other.to_string());
    assert_eq!(company_of(&fixture, kept).await, acme.id.to_string());
    assert_eq!(links(&fixture).await.len(), 1);
    assert_eq!(
        fixture.last_entry(who).await["context"]["dropped"],
        json!([
            format!("customers.deal:{}", acme.deals[0]),
            format!("customers.person:{moved}")
        ])
    );
}

#[actix_web::test]
async fn crm_15_a_deleted_person_is_named_too() {
    let fixture = Fixture::new().await;
    let who = &fixture.a.admin;
    let acme = acme(&fixture).await;
    fixture.app.advance(Duration::SECOND);
    let removed = fixture.remove(who, COMPANIES, acme.id).await;
    fixture.app.advance(Duration::SECOND);
    fixture.remove(who, PEOPLE, acme.people[0]).await;
    fixture.app.advance(Duration::SECOND);

    assert_eq!(fixture.app.undo(&who.token, &removed).await.0, 200);

    assert_eq!(
        fixture.last_entry(who).await["context"]["dropped"],
        json!([format!("customers.person:{}", acme.people[0])])
    );
}

#[actix_web::test]
async fn a_new_company_that_others_refer_to_by_now_stays() {
    let fixture = Fixture::new().await;
    let who = &fixture.a.admin;
    let created = fixture
        .write(who, Method::POST, COMPANIES, json!({"displayName": "Acme"}))
        .await;
    let person = json!({"firstName": "Ada", "lastName": "Doe", "companyId": created.resource});
    let person = fixture.write(who, Method::POST, PEOPLE, person).await;
    let conflict = |kind: &str| {
        let message = "The record has changed since this action";
        (
            400,
            json!({"error": message, "code": "undo_conflict", "fields": [kind]}),
        )
    };

    assert_eq!(
        fixture.app.undo(&who.token, &created).await,
        conflict("customers.person")
    );
    assert_eq!(fixture.app.undo(&who.token, &person).await.0, 200);
    let deal = deal(&fixture).await;
    link(&fixture, "companies", deal, created.resource).await;
    assert_eq!(
        fixture.app.undo(&who.token, &created).await,
        conflict("customers.deal_company")
    );
    assert_eq!(fixture.app.sql("delete from customers_deal_companies").await, 1);
    assert_eq!(fixture.app.undo(&who.token, &created).await.0, 200);
    assert_eq!(
        fixture.get(who, &format!("{COMPANIES}/{}", created.resource)).await.0,
        404
    );
}

#[actix_web::test]
async fn a_deletion_is_not_redone_over_people_added_since() {
    let fixture = Fixture::new().await;
    let who = &fixture.a.admin;
    let acme = acme(&fixture).await;
    fixture.app.advance(Duration::SECOND);
    let removed = fixture.remove(who, COMPANIES, acme.id).await;
    fixture.app.advance(Duration::SECOND);
    assert_eq!(fixture.app.undo(&who.token, &removed).await.0, 200);
    let newcomer = json!({"firstName": "Eve", "lastName": "Doe", "companyId": acme.id});
    let newcomer = fixture.create(who, PEOPLE, newcomer).await;

    let (status, body) = fixture.app.redo(&who.token, &removed).await;

    assert_eq!((status, &body["error"]), (400, &json!("Redo target not available")));
    assert_eq!(company_of(&fixture, newcomer).await, acme.id.to_string());
}

#[actix_web::test]
async fn an_edit_is_undone_despite_people_added_since() {
    let fixture = Fixture::new().await;
    let who = &fixture.a.admin;
    let acme = acme(&fixture).await;
    let edit = json!({"id": acme.id, "displayName": "Renamed"});
    let edited = fixture.write(who, Method::PUT, COMPANIES, edit).await;
    let newcomer = json!({"firstName": "Eve", "lastName": "Doe", "companyId": acme.id});
    let newcomer = fixture.create(who, PEOPLE, newcomer).await;

    assert_eq!(fixture.app.undo(&who.token, &edited).await.0, 200);

    assert_eq!(fixture.item(who, COMPANIES, acme.id).await["displayName"], "Acme");
    assert_eq!(company_of(&fixture, newcomer).await, acme.id.to_string());
    assert_eq!(links(&fixture).await.len(), 2);
}

#[actix_web::test]
async fn absent_fields_stay_and_null_clears() {
    let fixture = Fixture::new().await;
    let who = &fixture.a.admin;
    let full = json!({"displayName": " Acme ", "legalName": "Acme Ltd", "description": "Line 1\nLine 2",
        "primaryEmail": "info@acme.test", "primaryPhone": "+48 1", "websiteUrl": "https://acme.test/x",
        "industry": "Trade", "ownerUserId": who.id, "isActive": false});
    let id = fixture.create(who, COMPANIES, full.clone()).await;
    let created = fixture.item(who, COMPANIES, id).await;
    assert_eq!(created["displayName"], "Acme", "trimmed");
    for field in [
        "legalName",
        "description",
        "primaryEmail",
        "websiteUrl",
        "industry",
        "ownerUserId",
        "isActive",
    ] {
        assert_eq!(created[field], full[field]);
    }

    fixture
        .write(
            who,
            Method::PUT,
            COMPANIES,
            json!({"id": id, "legalName": " ", "industry": null}),
        )
        .await;

    let mut expected = created.clone();
    expected["legalName"] = Value::Null;
    expected["industry"] = Value::Null;
    let mut present = fixture.item(who, COMPANIES, id).await;
    expected["updatedAt"] = present["updatedAt"].take();
    present["updatedAt"] = expected["updatedAt"].clone();
    assert_eq!(present, expected);
}

#[actix_web::test]
async fn the_log_of_a_company_has_the_entries_of_its_people() {
    let fixture = Fixture::new().await;
    let who = &fixture.a.admin;
    let acme = acme(&fixture).await;
    fixture.app.advance(Duration::SECOND);
    fixture.remove(who, COMPANIES, acme.id).await;
    let commands = async |kind: &str, id: Uuid| {
        let path = format!("{ACTIONS}?resourceKind={kind}&resourceId={id}&includeRelated=true");
        let (status, body) = fixture.get(who, &path).await;
        assert_eq!(status, 200, "{body}");
        let items = body["items"].as_array().expect("a list").iter();
        items
            .map(|entry| entry["commandId"].as_str().expect("an id").to_owned())
            .collect::<Vec<_>>()
    };

    assert_eq!(
        commands("customers.company", acme.id).await,
        [
            "customers.company.delete",
            "customers.person.create",
            "customers.person.create",
            "customers.company.create"
        ]
    );
    assert_eq!(
        commands("customers.person", acme.people[0]).await,
        ["customers.company.delete", "customers.person.create"],
        "the end of its company is a part of its past"
    );
}
