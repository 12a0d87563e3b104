//! Visibility of jobs.

use std::collections::BTreeSet;

use actix_web::http::Method;
use backoffice_core::acl::Rights;
use backoffice_core::identity::{ActorKind, Identity};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{Fixture, JOBS, NUMBERS};
use crate::people::person;

async fn seen(fixture: &Fixture, token: &str, query: &str) -> BTreeSet<Uuid> {
    let (status, page) = fixture.app.get(token, &format!("{JOBS}{query}")).await;
    assert_eq!(status, 200, "{page}");
    let ids = page["items"].as_array().expect("items").iter();
    ids.map(|item| crate::fixture::id_of(&item["id"])).collect()
}

#[actix_web::test]
async fn job_11_others_see_a_job_with_the_right_to_and_another_tenant_never() {
    let fixture = Fixture::new().await;
    let ids = fixture.things(2, &[]).await;
    fixture
        .people()
        .set("employee", fixture.a.0, &["sample.thing.manage"], None);
    let job = fixture.start_as("employee", &ids, 7).await;
    let get = async |token: &'static str, path: String| {
        let request = fixture.app.request(Method::GET, &path).bearer(token);
        let response = request.send().await;
        (response.status, response.body)
    };

    let missing = get("adam", format!("{JOBS}/{}", Uuid::from_u128(5))).await;
    assert_eq!(missing.0, 404);
    for path in [format!("{JOBS}/{job}"), format!("{JOBS}/{job}/items")] {
        assert_eq!(get("adam", path.clone()).await, missing);
        assert_eq!(get("bert", path.clone()).await, missing);
        assert_eq!(get("boss", path.clone()).await.0, 200);
        assert_eq!(get("employee", path.clone()).await.0, 200);
        assert_eq!(get("", path).await.0, 401);
    }
    fixture.people().set("employee", fixture.a.0, &[], None);
    assert_eq!(
        get("employee", format!("{JOBS}/{job}")).await.0,
        200,
        "without any feature"
    );
}

#[actix_web::test]
async fn job_11_another_tenants_job_cannot_be_changed() {
    let fixture = Fixture::new().await;
    let ids = fixture.things(2, &[]).await;
    let job = fixture.start(&ids, 7).await;
    let before = fixture.app.snapshot().await;

    let missing = (404, json!({"error": "Not found"}));
    assert_eq!(fixture.cancel("bert", job).await, missing);
    assert_eq!(fixture.retry("bert", job).await, missing);

    assert!(fixture.app.snapshot().await == before);
}

#[actix_web::test]
async fn organizations_limit_what_is_seen_of_others_and_never_ones_own() {
    let fixture = Fixture::new().await;
    let (here, there) = (fixture.organization(1).await, fixture.organization(2).await);
    let in_organization = async |token: &str, organization: Uuid| {
        let place = (fixture.a.0, organization);
        let things = fixture.things_of(place, 1, &[]).await;
        let header = ("X-Organization-Id", organization.to_string());
        let body = json!({"ids": things, "number": 7});
        let response = fixture
            .post_with(token, crate::sample::BULK, (header.0, &header.1), &body)
            .await;
        crate::fixture::id_of(&response.json()["progressJobId"])
    };
    let of_adam = in_organization("adam", there).await;
    let own_elsewhere = in_organization("anna", there).await;
    let of_adam_here = in_organization("adam", here).await;
    let whole = fixture.start_as("adam", &fixture.things(1, &[]).await, 7).await;
    let mut grants = NUMBERS.to_vec();
    grants.push("progress.view_tenant");
    fixture.people().set("anna", fixture.a.0, &grants, Some(&[here]));

    assert_eq!(seen(&fixture, "anna", "").await, [own_elsewhere, of_adam_here].into());
    assert_eq!(seen(&fixture, "anna", "?mine=true").await, [own_elsewhere].into());
    assert_eq!(
        seen(&fixture, "boss", "").await,
        [of_adam, own_elsewhere, of_adam_here, whole].into()
    );
    assert_eq!(seen(&fixture, "boss", "?mine=true").await, BTreeSet::new());
    assert_eq!(seen(&fixture, "bert", "").await, BTreeSet::new());
    assert_eq!(fixture.app.get("anna", &format!("{JOBS}/{of_adam}")).await.0, 404);
}

#[actix_web::test]
async fn a_key_sees_its_own_jobs_and_shows_no_user() {
    let fixture = Fixture::new().await;
    let key = |id: Uuid| Identity {
        kind: ActorKind::ApiKey,
        id: Some(id),
        name: Some("Import".to_owned()),
        tenant: fixture.a.0,
        organization: None,
        rights: Rights::granting(NUMBERS.iter().copied(), None),
        roles: Vec::new(),
        session: None,
    };
    // A key with the id of a user is a different principal.
    fixture.people().put("key", key(person("adam")));
    let ids = fixture.things(2, &[]).await;
    let job = fixture.start_as("key", &ids, 7).await;
    fixture.app.run_jobs().await;

    let shown = fixture.job("key", job).await;
    assert_eq!(
        (&shown["actorUserId"], &shown["actorUserName"]),
        (&Value::Null, &json!("Import"))
    );
    assert_eq!(shown["status"], "completed");
    assert_eq!(fixture.entries().await[0]["actor_kind"], "api_key");
    assert_eq!(seen(&fixture, "adam", "").await, BTreeSet::new());
}

#[actix_web::test]
async fn a_super_administrator_retries_in_the_tenant_of_the_job() {
    let fixture = Fixture::new().await;
    let ids = fixture.things(1, &[(0, "third")]).await;
    let root = Identity {
        kind: ActorKind::User,
        id: Some(person("root")),
        rights: Rights::super_admin(),
        ..Identity::system()
    };
    fixture.people().put("root", root);
    let body = json!({"ids": ids, "number": 7});
    let header = ("X-Tenant-Id", fixture.a.0.to_string());
    let response = fixture
        .post_with("root", crate::sample::BULK, (header.0, &header.1), &body)
        .await;
    let job = crate::fixture::id_of(&response.json()["progressJobId"]);
    fixture.app.run_jobs().await;
    assert_eq!(fixture.items(job).await[0]["code"], "every_third");
    fixture.app.sql("update sample_things set name = 'thing'").await;

    let elsewhere = fixture.retry("root", job).await.0;
    let path = format!("{JOBS}/{job}/retry");
    let response = fixture
        .post_with("root", &path, (header.0, &header.1), &json!(null))
        .await;
    fixture.app.run_jobs().await;

    assert_eq!((elsewhere, response.status), (404, 201), "{}", response.text());
    let tenants = fixture.app.rows("select distinct tenant_id from progress_jobs").await;
    assert_eq!(tenants, [json!({"tenant_id": fixture.a.0})]);
    assert_eq!(fixture.numbers(&ids).await, [7]);
}
