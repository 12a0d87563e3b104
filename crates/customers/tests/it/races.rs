//! Concurrent requests on related records.

use std::pin::pin;
use std::time::Duration;

use actix_web::http::Method;
use backoffice_core::Scope;
use backoffice_core::db::UnloggedTransaction;
use backoffice_core::jobs::{Worker, stop_signal};
use diesel::sql_query;
use diesel_async::RunQueryDsl;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use uuid::Uuid;

use crate::bulk::STAGE;
use crate::fixture::{COMPANIES, DEALS, Fixture, STAGES, detail, id_of};

const MOMENT: Duration = Duration::from_millis(400);

impl Fixture {
    /// Starts a transaction of tenant A that has run this statement.
    async fn other(&self, sql: &str) -> UnloggedTransaction {
        let database = &self.app.runtime().database;
        let scope = Scope::tenant(self.a.id);
        let mut other = database.transaction(&scope).await.expect("a transaction");
        run(&mut other, sql).await.expect("done");
        other
    }

    /// Waits until this many statements wait for a lock.
    async fn waiting(&self, count: usize) {
        let waiting =
            "select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
        while self.app.rows(waiting).await.len() < count {
            sleep(Duration::from_millis(5)).await;
        }
    }
}

async fn run(other: &mut UnloggedTransaction, sql: &str) -> Result<usize, diesel::result::Error> {
    sql_query(sql).execute(&mut **other.connection()).await
}

#[actix_web::test]
async fn a_person_that_goes_while_a_deal_is_created_is_unknown() {
    let fixture = Fixture::with_room().await;
    let (admin, child) = (&fixture.a.admin, fixture.a.child);
    let (stays, goes) = (
        fixture.person(&fixture.a, child, "Ann").await,
        fixture.person(&fixture.a, child, "Eve").await,
    );
    let mut other = fixture.other("lock table customers_deals in share mode").await;
    let body = json!({"title": "A deal", "organizationId": child, "personIds": [stays, goes]});

    let created = fixture.app.post(&admin.token, DEALS, body);
    let gone = async {
        fixture.waiting(1).await;
        let sql = format!("delete from customers_people where id = '{goes}'");
        run(&mut other, &sql).await.expect("deleted");
        other.commit().await.expect("committed");
    };
    let (response, ()) = tokio::join!(created, gone);

    assert_eq!(
        (response.0, detail(&response.1)),
        (400, ("personIds", "unknown_reference"))
    );
    assert!(fixture.app.rows("select id from customers_deals").await.is_empty());
}

#[actix_web::test]
async fn deals_of_a_company_that_goes_are_locked_in_their_order() {
    let fixture = Fixture::with_room().await;
    let (admin, child) = (&fixture.a.admin, fixture.a.child);
    let company = fixture.company(&fixture.a, child, "Acme").await;
    let mut deals = fixture.deals(&fixture.a, child, 60).await;
    deals.sort();
    let first = deals[0];
    // The first deal is stored behind the others.
    fixture
        .app
        .sql(&format!(
            "update customers_deals set title = 'Moved' where id = '{first}';
             insert into customers_deal_companies (tenant_id, id, deal_id, company_id, created_at, updated_at)
             select tenant_id, gen_random_uuid(), id, '{company}', now(), now() from customers_deals order by id desc"
        ))
        .await;
    let mut other = fixture
        .other(&format!(
            "select id from customers_deals where id = '{first}' for update"
        ))
        .await;

    let path = format!("{COMPANIES}?id={company}");
    let gone = fixture.app.send(&admin.token, Method::DELETE, &path, Value::Null);
    let locks = async {
        fixture.waiting(1).await;
        let sql = format!("select id from customers_deals where id <> '{first}' for update nowait");
        let locked = run(&mut other, &sql).await;
        drop(other);
        locked
    };
    let (gone, locked) = tokio::join!(gone, locks);

    assert_eq!(locked, Ok(59), "whoever has the first one gets the others");
    assert_eq!(gone.status, 200, "{}", gone.text());
}

/// Returns a stage, a deal, and the response of a job that is about to move the deal into the stage.
async fn moving(fixture: &Fixture) -> (Uuid, Uuid, Value) {
    let (admin, child) = (&fixture.a.admin, fixture.a.child);
    let (_, stages) = fixture.pipeline(admin, child, &["New", "Won"]).await;
    let deal = fixture.deal(admin, child, json!({"pipelineStageId": stages[0]})).await;
    let body = json!({"ids": [deal], "pipelineStageId": stages[1]});
    let (status, response) = fixture.app.post(&admin.token, STAGE, body).await;
    assert_eq!(status, 201, "{response}");
    let (sender, stop) = stop_signal();
    sender.send_replace(true);
    let worker = Worker::new(fixture.app.runtime().clone());
    assert!(worker.run_one(Some(&stop)).await.expect("the queue"), "it begins");
    (stages[1], deal, response)
}

#[actix_web::test]
async fn crm_13_a_stage_that_goes_before_a_bulk_item_has_moved_a_deal_takes_none() {
    let fixture = Fixture::with_room().await;
    let admin = &fixture.a.admin;
    let (stage, deal, response) = moving(&fixture).await;
    let other = fixture
        .other(&format!(
            "select id from customers_deals where id = '{deal}' for update"
        ))
        .await;
    let worker = Worker::new(fixture.app.runtime().clone());
    let mut chunk = pin!(worker.run_one(None));
    assert!(
        timeout(MOMENT, &mut chunk).await.is_err(),
        "the item waits for its deal"
    );

    fixture.remove(admin, STAGES, stage).await;
    drop(other);
    assert!(chunk.await.expect("the queue"));

    let job = fixture.job(admin, &response).await;
    let failed = fixture.failures(admin, &job).await;
    assert_eq!(failed, [(deal, 400, "unknown_reference".to_owned())]);
    assert_ne!(fixture.column("pipeline_stage_id", &[deal]).await, [json!(stage)]);
}

#[actix_web::test]
async fn crm_13_a_stage_stays_that_a_bulk_item_has_just_moved_a_deal_into() {
    let fixture = Fixture::with_room().await;
    let admin = &fixture.a.admin;
    let (stage, deal, response) = moving(&fixture).await;
    let other = fixture.other("select id from progress_jobs for update").await;
    let worker = Worker::new(fixture.app.runtime().clone());
    let mut chunk = pin!(worker.run_one(None));
    assert!(
        timeout(MOMENT, &mut chunk).await.is_err(),
        "the deal is moved, and nobody knows"
    );

    let path = format!("{STAGES}?id={stage}");
    let mut removal = pin!(fixture.delete(admin, &path));
    assert!(timeout(MOMENT, &mut removal).await.is_err(), "it waits for the job");
    drop(other);
    let (chunk, removal) = tokio::join!(chunk, removal);

    assert!(chunk.expect("the queue"));
    assert_eq!(removal, (409, json!({"error": "In use", "code": "in_use"})));
    assert_eq!(fixture.job(admin, &response).await["status"], "completed");
    assert_eq!(fixture.column("pipeline_stage_id", &[deal]).await, [json!(stage)]);
}

#[actix_web::test]
async fn an_organization_of_null_is_as_good_as_none() {
    let fixture = Fixture::new().await;
    let admin = &fixture.a.admin;
    let (pipeline, _) = fixture.pipeline(admin, fixture.a.root, &[]).await;

    for (path, body) in [
        (DEALS, json!({"title": "A deal"})),
        (crate::fixture::PIPELINES, json!({"name": "A pipeline"})),
        (STAGES, json!({"pipelineId": pipeline, "label": "A stage"})),
        (COMPANIES, json!({"displayName": "A company"})),
        (crate::fixture::PEOPLE, json!({"firstName": "Ann", "lastName": "Doe"})),
    ] {
        let mut body = body;
        body["organizationId"] = Value::Null;
        let (status, response) = fixture.app.post(&admin.token, path, body).await;
        assert_eq!(status, 201, "{path}: {response}");
        let created = fixture.item(admin, path, id_of(&response)).await;
        assert_eq!(created["organizationId"], json!(fixture.a.root), "{path}");
    }
}
