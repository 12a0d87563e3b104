//! The worker is killed in the middle of a bulk job, again and again. Every item is processed exactly once, with one log entry; the counts are exact
//! at every moment and never decrease. `BACKOFFICE_KILLED_WORKERS` and `BACKOFFICE_BULK_ITEMS` set the number of kills and of items.

use std::time::Duration;

use backoffice_core::ids::Ids;
use backoffice_test_support::TestDatabase;
use serde_json::json;
use tokio::time::sleep;

use crate::bulk::{Job, Rows, SHORT_LEASE, Sql, create_requester};
use crate::office::{NO_LIMITS, NO_WORKERS, Office, office};
use crate::server::Server;

const KILLS: usize = 3;
const ITEMS: usize = 3000;

fn setting(name: &str, default: usize) -> usize {
    let given = std::env::var(name).ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn items() -> usize {
    setting("BACKOFFICE_BULK_ITEMS", ITEMS)
}

/// Starts a server that runs no jobs; workers start and stop beside it.
async fn responding_server() -> (Office, TestDatabase, Server) {
    let (office, database) = office().await;
    create_requester(&office);
    let server = office.serve(&[NO_WORKERS, NO_LIMITS]).await;
    (office, database, server)
}

/// Runs workers and kills all but the last one.
async fn kill_workers(office: &Office, job: &Job<'_>) {
    let (kills, items) = (setting("BACKOFFICE_KILLED_WORKERS", KILLS), items());
    let mut processed = 0;
    for _ in 0..kills {
        let mut worker = office.work(&[SHORT_LEASE]).await;
        // At a random moment within the remaining items.
        let share = items / (kills + 2);
        processed = job
            .wait_for(processed, processed + share, Duration::from_secs(60))
            .await;
        let [moment] = Ids::default().random::<1>();
        sleep(Duration::from_millis(u64::from(moment) / 4)).await;
        worker.kill();
        let reported = job.processed().0;
        assert!(reported >= processed);
        processed = reported;
    }
    let mut worker = office.work(&[SHORT_LEASE]).await;
    job.wait_for(processed, items, Duration::from_secs(120)).await;
    worker.check_health();
    assert!(worker.end().success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn job_7_a_job_whose_workers_are_killed_moves_every_deal_once() {
    let (office, database, server) = responding_server().await;
    let deals = Rows::deals(&database, items()).await;
    let (job, stage) = Job::move_deals(&server, &deals);

    kill_workers(&office, &job).await;

    job.check_end(0);
    deals.check_entries(&database, "customers.deal.change_stage").await;
    let moved = format!("select from customers_deals where pipeline_stage_id = '{stage}'");
    assert_eq!(database.rows_of(&moved).await, items());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cat_8_a_deletion_whose_workers_are_killed_leaves_no_half_product() {
    let (office, database, server) = responding_server().await;
    let columns = "product_type, is_active, tags";
    let products = Rows::fill(&database, items(), "catalog_products", columns, "'simple', true, '{}'").await;
    let variants = "insert into catalog_variants (tenant_id, id, organization_id, product_id, name, position, is_active, options, \
        created_at, updated_at) select tenant_id, gen_random_uuid(), organization_id, id, 'Only', 1, true, '{}', now(), now() \
        from catalog_products";
    let prices = "insert into catalog_prices (tenant_id, id, organization_id, product_id, kind, currency_code, min_quantity, amount, \
        created_at, updated_at) select tenant_id, gen_random_uuid(), organization_id, id, 'regular', 'EUR', 1, 1, now(), now() \
        from catalog_products";
    let category = "insert into catalog_categories (tenant_id, id, organization_id, name, slug, created_at, updated_at) \
        select tenant_id, gen_random_uuid(), organization_id, 'Sale', 'sale', now(), now() from catalog_products limit 1";
    let links = "insert into catalog_product_categories (tenant_id, id, product_id, category_id, created_at, updated_at) \
        select p.tenant_id, gen_random_uuid(), p.id, c.id, now(), now() from catalog_products p, catalog_categories c";
    for (insert, created) in [(variants, items()), (prices, items()), (category, 1), (links, items())] {
        assert_eq!(database.rows_of(insert).await, created, "{insert}");
    }
    let body = json!({"confirm": true, "scope": "selected", "ids": products.ids()});
    let job = Job::start(&server, "/api/catalog/bulk-delete", &body, &products);

    kill_workers(&office, &job).await;

    job.check_end(0);
    products.check_entries(&database, "catalog.product.delete").await;
    let parts = ["products", "variants", "prices", "product_categories"].map(|part| (part, 0));
    for (part, left) in parts.into_iter().chain([("categories", 1)]) {
        let select = format!("select from catalog_{part}");
        assert_eq!(database.rows_of(&select).await, left, "{part}");
    }
}
