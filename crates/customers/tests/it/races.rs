//! Two at once on what belongs together.

use std::pin::pin;
use std::time::Duration;

use actix_web::http::Method;
use backoffice_core::Scope;
use backoffice_core::db::BookkeepingTransaction;
use backoffice_core::jobs::{Worker, stop_signal};
use diesel::sql_query;
use diesel_async::RunQueryDsl;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use uuid::Uuid;

use crate::bulk::STAGE;
use crate::world::{COMPANIES, DEALS, STAGES, World, detail, id_of};

const MOMENT: Duration = Duration::from_millis(400);

impl World {
    /// A transaction of tenant A that has done this.
    async fn other(&self, sql: &str) -> BookkeepingTransaction {
        let database = &self.app.runtime().database;
        let scope = Scope::tenant(self.a.id);
        let mut other = database.transaction(&scope).await.expect("a transaction");
        run(&mut other, sql).await.expect("done");
        other
    }

    /// Until so many statements wait for a lock.
    async fn waiting(&self, count: usize) {
        let waiting =
            "select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
        while self.app.rows(waiting).await.len() < count {
            sleep(Duration::from_millis(5)).await;
        }
    }
}

async fn run(other: &mut BookkeepingTransaction, sql: &str) -> Result<usize, diesel::result::Error> {
    sql_query(sql).execute(&mut **other.connection()).await
}

#[actix_web::test]
async fn a_person_that_goes_while_a_deal_is_made_is_unknown() {
    let world = World::with_room().await;
    let (admin, child) = (&world.a.admin, world.a.child);
    let (stays, goes) = (
        world.person(&world.a, child, "Ann").await,
        world.person(&world.a, child, "Eve").await,
    );
    let mut other = world.other("lock table customers_deals in share mode").await;
    let body = json!({"title": "A deal", "organizationId": child, "personIds": [stays, goes]});

    let made = world.app.post(&admin.token, DEALS, body);
    let gone = async {
        world.waiting(1).await;
        let sql = format!("delete from customers_people where id = '{goes}'");
        run(&mut other, &sql).await.expect("deleted");
        other.commit().await.expect("committed");
    };
    let (answer, ()) = tokio::join!(made, gone);

    assert_eq!((answer.0, detail(&answer.1)), (400, ("personIds", "unknown_reference")));
    assert!(world.app.rows("select id from customers_deals").await.is_empty());
}

#[actix_web::test]
async fn deals_of_a_company_that_goes_are_locked_in_their_order() {
    let world = World::with_room().await;
    let (admin, child) = (&world.a.admin, world.a.child);
    let company = world.company(&world.a, child, "Acme").await;
    let mut deals = world.deals(&world.a, child, 60).await;
    deals.sort();
    let first = deals[0];
    // The first one lies behind the others.
    world
        .app
        .sql(&format!(
            "update customers_deals set title = 'Moved' where id = '{first}';
             insert into customers_deal_companies (tenant_id, id, deal_id, company_id, created_at, updated_at)
             select tenant_id, gen_random_uuid(), id, '{company}', now(), now() from customers_deals order by id desc"
        ))
        .await;
    let mut other = world
        .other(&format!(
            "select id from customers_deals where id = '{first}' for update"
        ))
        .await;

    let path = format!("{COMPANIES}?id={company}");
    let gone = world.send(admin, Method::DELETE, &path, None);
    let locks = async {
        world.waiting(1).await;
        let sql = format!("select id from customers_deals where id <> '{first}' for update nowait");
        let locked = run(&mut other, &sql).await;
        drop(other);
        locked
    };
    let (gone, locked) = tokio::join!(gone, locks);

    assert_eq!(locked, Ok(59), "whoever has the first one gets the others");
    assert_eq!(gone.status, 200, "{}", gone.text());
}

/// A stage, and a deal that a job is about to move into it.
async fn moving(world: &World) -> (Uuid, Uuid, Value) {
    let (admin, child) = (&world.a.admin, world.a.child);
    let (_, stages) = world.pipeline(admin, child, &["New", "Won"]).await;
    let deal = world.deal(admin, child, json!({"pipelineStageId": stages[0]})).await;
    let body = json!({"ids": [deal], "pipelineStageId": stages[1]});
    let (status, answer) = world.app.post(&admin.token, STAGE, body).await;
    assert_eq!(status, 201, "{answer}");
    let (sender, stop) = stop_signal();
    sender.send_replace(true);
    let worker = Worker::new(world.app.runtime().clone());
    assert!(worker.run_one(Some(&stop)).await.expect("the queue"), "it begins");
    (stages[1], deal, answer)
}

#[actix_web::test]
async fn crm_13_a_stage_that_goes_before_a_bulk_item_has_moved_a_deal_takes_none() {
    let world = World::with_room().await;
    let admin = &world.a.admin;
    let (stage, deal, answer) = moving(&world).await;
    let other = world
        .other(&format!(
            "select id from customers_deals where id = '{deal}' for update"
        ))
        .await;
    let worker = Worker::new(world.app.runtime().clone());
    let mut chunk = pin!(worker.run_one(None));
    assert!(
        timeout(MOMENT, &mut chunk).await.is_err(),
        "the item waits for its deal"
    );

    world.remove(admin, STAGES, stage).await;
    drop(other);
    assert!(chunk.await.expect("the queue"));

    let job = world.job(admin, &answer).await;
    let failed = world.failures(admin, &job).await;
    assert_eq!(failed, [(deal, 400, "unknown_reference".to_owned())]);
    assert_ne!(world.column("pipeline_stage_id", &[deal]).await, [json!(stage)]);
}

#[actix_web::test]
async fn crm_13_a_stage_stays_that_a_bulk_item_has_just_moved_a_deal_into() {
    let world = World::with_room().await;
    let admin = &world.a.admin;
    let (stage, deal, answer) = moving(&world).await;
    let other = world.other("select id from progress_jobs for update").await;
    let worker = Worker::new(world.app.runtime().clone());
    let mut chunk = pin!(worker.run_one(None));
    assert!(
        timeout(MOMENT, &mut chunk).await.is_err(),
        "the deal is moved, and nobody knows"
    );

    let path = format!("{STAGES}?id={stage}");
    let mut removal = pin!(world.delete(admin, &path));
    assert!(timeout(MOMENT, &mut removal).await.is_err(), "it waits for the job");
    drop(other);
    let (chunk, removal) = tokio::join!(chunk, removal);

    assert!(chunk.expect("the queue"));
    assert_eq!(removal, (409, json!({"error": "In use", "code": "in_use"})));
    assert_eq!(world.job(admin, &answer).await["status"], "completed");
    assert_eq!(world.column("pipeline_stage_id", &[deal]).await, [json!(stage)]);
}

#[actix_web::test]
async fn an_organization_of_null_is_as_good_as_none() {
    let world = World::new().await;
    let admin = &world.a.admin;
    let (pipeline, _) = world.pipeline(admin, world.a.root, &[]).await;

    for (path, body) in [
        (DEALS, json!({"title": "A deal"})),
        (crate::world::PIPELINES, json!({"name": "A pipeline"})),
        (STAGES, json!({"pipelineId": pipeline, "label": "A stage"})),
        (COMPANIES, json!({"displayName": "A company"})),
        (crate::world::PEOPLE, json!({"firstName": "Ann", "lastName": "Doe"})),
    ] {
        let mut body = body;
        body["organizationId"] = Value::Null;
        let (status, answer) = world.app.post(&admin.token, path, body).await;
        assert_eq!(status, 201, "{path}: {answer}");
        let made = world.item(admin, path, id_of(&answer)).await;
        assert_eq!(made["organizationId"], json!(world.a.root), "{path}");
    }
}
