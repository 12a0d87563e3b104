//! The worker is killed in the middle of a bulk job, again and again. Every item is done exactly once, with one entry; the counts are
//! exact at every moment and never fall. `BACKOFFICE_KILLED_WORKERS` and `BACKOFFICE_BULK_ITEMS` set how often and how much.

use std::time::Duration;

use backoffice_core::ids::Ids;
use backoffice_test_support::TestDatabase;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::office::{NO_LIMITS, NO_WORKERS, Office, office, sign_in};
use crate::server::Server;

const KILLS: usize = 3;
const ITEMS: usize = 3000;
/// So that the next worker need not wait for a minute.
const SHORT_LEASE: (&str, &str) = ("BACKOFFICE__JOBS__LEASE_SECONDS", "5");
const REQUESTER: &str = "requester@example.com";

fn setting(name: &str, default: usize) -> usize {
    let given = std::env::var(name).ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(default)
}

struct Killing {
    database: TestDatabase,
    office: Office,
    server: Server,
    token: String,
    tenant: String,
    items: usize,
}

impl Killing {
    /// A server that only answers; workers come and go beside it.
    async fn new() -> Self {
        let (office, database) = office().await;
        office.make_user(REQUESTER, "admin");
        let server = office.serve(&[NO_WORKERS, NO_LIMITS]).await;
        let token = sign_in(&server, REQUESTER);
        let tenant = database
            .rows(&format!(
                "select tenant_id from auth_users where email_norm = '{REQUESTER}'"
            ))
            .await;
        Self {
            tenant: tenant[0]["tenant_id"].as_str().expect("an id").to_owned(),
            items: setting("BACKOFFICE_BULK_ITEMS", ITEMS),
            database,
            office,
            server,
            token,
        }
    }

    /// So many rows, written behind the log; returns their ids.
    async fn fill(&self, table: &str, columns: &str, values: &str) -> Vec<Value> {
        let made = format!(
            "insert into {table} (tenant_id, id, organization_id, title, created_at, updated_at, {columns}) \
             select '{0}', gen_random_uuid(), (select id from directory_organizations where tenant_id = '{0}' limit 1), 'Item ' || n, \
                now(), now(), {values} from generate_series(1, {1}) n",
            self.tenant, self.items
        );
        assert_eq!(self.database.sql(&made).await, self.items as u64);
        let rows = self.database.rows(&format!("select id from {table}")).await;
        rows.into_iter().map(|row| row["id"].clone()).collect()
    }

    /// Starts the job, then lets workers run and kills all but the last one; the job as its requester sees it in the end.
    async fn run(&self, path: &str, body: &Value) -> Value {
        let answer = self.server.post(path, &self.token, body);
        assert_eq!(answer.status, 201, "{}", answer.text);
        let job = format!(
            "/api/progress/jobs/{}",
            answer.body["progressJobId"].as_str().expect("an id")
        );
        let kills = setting("BACKOFFICE_KILLED_WORKERS", KILLS);
        let mut processed = 0;
        for _ in 0..kills {
            let mut worker = self.office.work(&[SHORT_LEASE]).await;
            // Somewhere in what is left, at a moment that the worker does not know.
            let share = self.items / (kills + 2);
            processed = self
                .wait_for(&job, processed, processed + share, Duration::from_secs(60))
                .await;
            let [moment] = Ids::default().random::<1>();
            sleep(Duration::from_millis(u64::from(moment) / 4)).await;
            worker.kill();
            let told = self.processed(&job).0;
            assert!(told >= processed);
            processed = told;
        }
        let mut worker = self.office.work(&[SHORT_LEASE]).await;
        self.wait_for(&job, processed, self.items, Duration::from_secs(120))
            .await;
        worker.check_health();
        assert!(worker.end().success());
        self.server.get(&job, &self.token).body
    }

    fn processed(&self, job: &str) -> (usize, Value) {
        let body = self.server.get(job, &self.token).body;
        let count = |name: &str| usize::try_from(body[name].as_u64().expect("a count")).expect("a count");
        let parts = count("succeededCount") + count("skippedCount") + count("failedCount");
        assert_eq!(count("processedCount"), parts, "{body}");
        (parts, body["finishedAt"].clone())
    }

    /// Until so many are processed or the job has ended; the count never falls.
    async fn wait_for(&self, job: &str, mut seen: usize, wanted: usize, patience: Duration) -> usize {
        let started = Instant::now();
        loop {
            let (now, finished) = self.processed(job);
            assert!(now >= seen, "{now} after {seen}");
            seen = now;
            if seen >= wanted && (wanted < self.items || !finished.is_null()) {
                return seen;
            }
            assert!(started.elapsed() < patience, "{seen} of {wanted} in {patience:?}");
            sleep(Duration::from_millis(10)).await;
        }
    }

    /// One entry for each item, and no more.
    async fn check_entries(&self, command: &str) {
        let entries = format!(
            "select count(*) as entries, count(distinct resource_id) as items, count(*) filter (where source = 'job') as by_job \
             from audit_action_logs where command_id = '{command}' and execution_state = 'done'"
        );
        let expected = json!({"entries": self.items, "items": self.items, "by_job": self.items});
        assert_eq!(self.database.rows(&entries).await, [expected]);
        let items = "select state, count(*) as n, count(log_id) as logged from progress_job_items group by state";
        let expected = json!({"state": "succeeded", "n": self.items, "logged": self.items});
        assert_eq!(self.database.rows(items).await, [expected]);
    }
}

fn check_job(job: &Value, items: usize) {
    let told: Vec<&Value> = [
        "status",
        "totalCount",
        "processedCount",
        "succeededCount",
        "failedCount",
        "progressPercent",
    ]
    .iter()
    .map(|name| &job[name])
    .collect();
    assert_eq!(json!(told), json!(["completed", items, items, items, 0, 100]), "{job}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn job_7_a_job_whose_workers_are_killed_moves_every_deal_once() {
    let killing = Killing::new().await;
    let deals = killing.fill("customers_deals", "status", "'open'").await;
    let organization = "select organization_id from customers_deals limit 1";
    let organization = killing.database.rows(organization).await.remove(0);
    let pipeline = json!({"name": "Sales", "organizationId": organization["organization_id"]});
    let pipeline = killing
        .server
        .post("/api/customers/pipelines", &killing.token, &pipeline);
    assert_eq!(pipeline.status, 201, "{}", pipeline.text);
    let stage = json!({"pipelineId": pipeline.body["id"], "label": "Won"});
    let stage = killing
        .server
        .post("/api/customers/pipeline-stages", &killing.token, &stage);
    assert_eq!(stage.status, 201, "{}", stage.text);

    let body = json!({"ids": deals, "pipelineStageId": stage.body["id"]});
    let job = killing.run("/api/customers/deals/bulk-update-stage", &body).await;

    check_job(&job, killing.items);
    killing.check_entries("customers.deal.change_stage").await;
    let moved = format!(
        "select count(*) as n from customers_deals where pipeline_stage_id = '{}'",
        stage.body["id"].as_str().expect("an id")
    );
    assert_eq!(killing.database.rows(&moved).await, [json!({"n": killing.items})]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cat_8_a_deletion_whose_workers_are_killed_leaves_no_half_product() {
    let killing = Killing::new().await;
    let products = killing
        .fill(
            "catalog_products",
            "product_type, is_active, tags",
            "'simple', true, '{}'",
        )
        .await;
    let variants = "insert into catalog_variants (tenant_id, id, organization_id, product_id, name, position, is_active, options, \
        created_at, updated_at) select tenant_id, gen_random_uuid(), organization_id, id, 'Only', 1, true, '{}', now(), now() \
        from catalog_products";
    assert_eq!(killing.database.sql(variants).await, killing.items as u64);
    let prices = "insert into catalog_prices (tenant_id, id, organization_id, product_id, kind, currency_code, min_quantity, amount, \
        created_at, updated_at) select tenant_id, gen_random_uuid(), organization_id, id, 'regular', 'EUR', 1, 1, now(), now() \
        from catalog_products";
    assert_eq!(killing.database.sql(prices).await, killing.items as u64);
    let category = "insert into catalog_categories (tenant_id, id, organization_id, name, slug, created_at, updated_at) \
        select tenant_id, gen_random_uuid(), organization_id, 'Sale', 'sale', now(), now() from catalog_products limit 1";
    assert_eq!(killing.database.sql(category).await, 1);
    let links = "insert into catalog_product_categories (tenant_id, id, product_id, category_id, created_at, updated_at) \
        select p.tenant_id, gen_random_uuid(), p.id, c.id, now(), now() from catalog_products p, catalog_categories c";
    assert_eq!(killing.database.sql(links).await, killing.items as u64);

    let body = json!({"confirm": true, "scope": "selected", "ids": products});
    let job = killing.run("/api/catalog/bulk-delete", &body).await;

    check_job(&job, killing.items);
    killing.check_entries("catalog.product.delete").await;
    let left = "select (select count(*) from catalog_products) as products, (select count(*) from catalog_variants) as variants, \
        (select count(*) from catalog_prices) as prices, (select count(*) from catalog_product_categories) as links, \
        (select count(*) from catalog_categories) as categories";
    let expected = json!({"products": 0, "variants": 0, "prices": 0, "links": 0, "categories": 1});
    assert_eq!(killing.database.rows(left).await, [expected]);
}
