//! Deletion of old jobs.

use std::time::Duration;

use backoffice_core::Scope;
use backoffice_test_support::Duration as Span;
use diesel::sql_query;
use diesel_async::RunQueryDsl;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use uuid::Uuid;

use crate::fixture::{Fixture, builder};

const SOON: Duration = Duration::from_secs(3);

async fn left(fixture: &Fixture) -> Vec<Value> {
    let sql = "select j.id, (select count(*) from progress_job_items i where i.job_id = j.id) as items from progress_jobs j order by 1";
    fixture.app.rows(sql).await
}

async fn until(fixture: &Fixture, requested: &[Value]) {
    while left(fixture).await != requested {
        sleep(Duration::from_millis(20)).await;
    }
}

#[actix_web::test]
async fn finished_jobs_go_after_thirty_days_with_their_items_and_open_ones_stay() {
    let fixture = Fixture::of(builder().pool_size(8)).await;
    let ids = fixture.things(250, &[]).await;
    let (held, old) = (fixture.start(&ids, 7).await, fixture.start(&ids, 8).await);
    fixture.app.run_jobs().await;
    let open = fixture.start(&ids[..3], 9).await;
    let in_use = format!("select id from progress_jobs where id = '{held}' for update");
    let database = &fixture.app.runtime().database;
    let mut other = database
        .transaction(&Scope::tenant(fixture.a.0))
        .await
        .expect("a transaction");
    sql_query(in_use)
        .execute(&mut **other.connection())
        .await
        .expect("locked");
    fixture.app.advance(Span::days(31));

    fixture.app.start_background();

    let row = |id: Uuid, items: i64| json!({"id": id, "items": items});
    let gone = timeout(SOON, until(&fixture, &[row(held, 0), row(open, 3)])).await;
    assert!(
        gone.is_ok(),
        "{old} is gone, and nobody waits for {held}: {:?}",
        left(&fixture).await
    );
}

/// Records the transaction of each deleted row and of each changed version.
const OBSERVE: &str = "
    create table observed (what text, tx text);
    create function observe() returns trigger language plpgsql security definer as $$
    begin
        insert into public.observed values (tg_table_name, pg_current_xact_id()::text);
        return null;
    end $$;
    create trigger observe after delete on progress_jobs for each row execute function observe();
    create trigger observe after delete on progress_job_items for each row execute function observe();
    create trigger observe after insert or update on core_collections for each row execute function observe();";

#[actix_web::test]
async fn rows_are_deleted_in_the_transaction_that_changes_the_version_of_their_lists() {
    let fixture = Fixture::of(builder().pool_size(8)).await;
    let ids = fixture.things(3, &[]).await;
    fixture.start(&ids, 7).await;
    fixture.app.run_jobs().await;
    fixture.app.sql(OBSERVE).await;
    fixture.app.advance(Span::days(31));

    fixture.app.start_background();

    let gone = timeout(SOON, until(&fixture, &[])).await;
    assert!(gone.is_ok(), "{:?}", left(&fixture).await);
    let deleted = "
        select d.what, count(*) as rows, bool_and(exists (
            select from observed v where v.what = 'core_collections' and v.tx = d.tx)) as versioned
        from observed d where d.what <> 'core_collections' group by d.what order by d.what";
    let deleted = fixture.app.rows(deleted).await;
    let row = |table: &str, rows: i64| json!({"what": table, "rows": rows, "versioned": true});
    assert_eq!(deleted, [row("progress_job_items", 3), row("progress_jobs", 1)]);
}
