//! The months of the log of executions.

use backoffice_core::{Call, Scope, retention};
use backoffice_test_accounts::{CONFIG, NO_LIMITS, TwoTenants, login};
use backoffice_test_support::{Duration, TestApp};
use diesel_async::SimpleAsyncConnection;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{EXECUTE, LOGS, MODULES, RULES, fixture, rule};

const UP: &str = include_str!("../../migrations/2026-11-25-131000-1000_partition_execution_logs/up.sql");
const DOWN: &str = include_str!("../../migrations/2026-11-25-131000-1000_partition_execution_logs/down.sql");

const TABLE: &str = "business_rules_execution_logs";

/// The months in which the clocks of the fixtures start, counted from the present one of the database. In an older one the executions lie in
/// `_earlier`, as those of a constant date do from its next month on.
const STARTS: [i32; 2] = [0, -2];

/// As `fixture_with`, with a clock that starts in this month.
async fn started_in(month: i32, config: &str) -> TwoTenants {
    let app = TestApp::builder(&MODULES).config(CONFIG);
    let app = app.config(&format!("{NO_LIMITS}{config}")).starting_in_month(month);
    TwoTenants::inside(app.build().await).await
}

/// Returns the SQL of an instant in a month, counted from the current one of the database, whose clock the months follow.
fn day_of(month: i32) -> String {
    format!("(date_trunc('month', now(), 'utc') + interval '{month} months 10 days')")
}

/// Inserts an execution in each of these months.
async fn insert(fixture: &TwoTenants, tenant: Uuid, months: &[i32]) {
    for month in months {
        let at = day_of(*month);
        fixture
            .app
            .sql(&format!(
                "insert into {TABLE} (tenant_id, id, run_id, rule_id, rule_key, rule_name, rule_type, entity_type, entity_id, execution_result,
                    execution_time_ms, executed_at, trigger, created_at, updated_at)
                 values ('{tenant}', audit_lowest_id({at}), '{tenant}', '{tenant}', 'r1', 'Rule', 'ACTION', 'x.y', '{month}', 'SUCCESS', 1,
                    {at}, 'api', {at}, {at})"
            ))
            .await;
    }
}

/// Returns the executions with the month of their partition, counted from the current one, or its end of the table.
async fn places(fixture: &TwoTenants) -> Vec<(i64, String)> {
    let rows = fixture
        .app
        .rows(&format!(
            "select entity_id::int as month, coalesce(
                (select n::text from generate_series(-30, 30) n
                 where '{TABLE}_' || to_char(date_trunc('month', now() at time zone 'utc') + make_interval(months => n), 'YYYYMM')
                    = tableoid::regclass::text),
                substr(tableoid::regclass::text, length('{TABLE}') + 2)) as place
             from {TABLE} order by 1"
        ))
        .await;
    rows.iter()
        .map(|row| {
            let place = row["place"].as_str().expect("a name");
            (row["month"].as_i64().expect("a number"), place.to_owned())
        })
        .collect()
}

fn at(month: i64, place: &str) -> (i64, String) {
    (month, place.to_owned())
}

/// Sets the clock to an instant of the database's clock, and signs in again.
async fn set_clock(fixture: &mut TwoTenants, instant: &str) {
    let ahead = format!(
        "select (extract(epoch from {instant} - '{}') * 1000)::bigint as ms",
        fixture.app.now()
    );
    let ahead = fixture.app.rows(&ahead).await[0]["ms"].as_i64().expect("a number");
    fixture.app.advance(Duration::milliseconds(ahead));
    fixture.a.token = login(&fixture.app, "admin@alpha.test").await;
}

async fn maintain(fixture: &TwoTenants) {
    let complete = retention::maintain_logs(&Call::internal(fixture.app.runtime())).await;
    assert!(complete.expect("maintained"));
}

async fn run(fixture: &TwoTenants) {
    let input = json!({"entityType": "x.y", "entityId": "0"});
    assert_eq!(fixture.app.post(&fixture.a.token, EXECUTE, input).await.0, 200);
}

async fn rows(fixture: &TwoTenants) -> Vec<Value> {
    fixture.app.rows(&format!("select * from {TABLE} order by id")).await
}

#[actix_web::test]
async fn executions_lie_in_their_months_or_at_an_end_of_the_log() {
    let fixture = fixture().await;

    insert(&fixture, fixture.a.id, &[-1, 0, 1, 2, 3, 4]).await;

    let expected = [
        at(-1, "earlier"),
        at(0, "0"),
        at(1, "1"),
        at(2, "2"),
        at(3, "3"),
        at(4, "later"),
    ];
    assert_eq!(places(&fixture).await, expected);
}

#[actix_web::test]
async fn maintenance_creates_the_months_that_are_lacking() {
    let fixture = fixture().await;
    fixture
        .app
        .sql(&format!(
            "do $$ declare n integer; begin
                 alter table {TABLE} detach partition {TABLE}_later;
                 for n in 2..3 loop
                     execute format('drop table %I', '{TABLE}_' || to_char(now() at time zone 'utc' + make_interval(months => n), 'YYYYMM'));
                 end loop;
                 execute format('alter table {TABLE} attach partition {TABLE}_later for values from (%L) to (maxvalue)',
                     audit_month_id((date_trunc('month', now() at time zone 'utc') + interval '2 months')::date));
             end $$"
        ))
        .await;

    maintain(&fixture).await;

    insert(&fixture, fixture.a.id, &[1, 2, 3, 4]).await;
    let expected = [at(1, "1"), at(2, "2"), at(3, "3"), at(4, "later")];
    assert_eq!(places(&fixture).await, expected);
}

#[actix_web::test]
async fn months_are_dropped_after_their_retention_and_not_before() {
    for start in STARTS {
        let mut fixture = started_in(start, "[business_rules]\nlog_retention = \"30d\"\n").await;
        fixture.app.sql(DOWN).await;
        insert(&fixture, fixture.a.id, &[-30, -6, -4, -3, -2, 0]).await;
        fixture.app.sql(UP).await;
        let all = [
            at(-30, "earlier"),
            at(-6, "-6"),
            at(-4, "-4"),
            at(-3, "-3"),
            at(-2, "-2"),
            at(0, "0"),
        ];
        assert_eq!(
            places(&fixture).await,
            all,
            "the months begin with the oldest of the last two years"
        );

        // A second less than 30 days after the end of the third month before this one.
        set_clock(
            &mut fixture,
            "(date_trunc('month', now(), 'utc') - interval '2 months' + interval '30 days' - interval '1 second')",
        )
        .await;
        maintain(&fixture).await;
        assert_eq!(places(&fixture).await, all[3..]);

        let list = format!("{LOGS}?entityType=x.y&pageSize=2");
        let request = || {
            fixture
                .app
                .request(actix_web::http::Method::GET, &list)
                .bearer(&fixture.a.token)
        };
        let before = request().send().await;
        let tag = before.header("etag").expect("an entity tag");
        assert_eq!(before.json()["total"], 3);
        maintain(&fixture).await;
        let unchanged = request().header("If-None-Match", &tag).send().await;
        assert_eq!(unchanged.status, 304, "no month was dropped");

        fixture.app.advance(Duration::SECOND);
        maintain(&fixture).await;

        assert_eq!(places(&fixture).await, all[4..]);
        let after = request().header("If-None-Match", &tag).send().await;
        assert_eq!(after.status, 200, "a month was dropped");
        assert_eq!(after.json()["total"], 2);
    }
}

#[actix_web::test]
async fn the_migration_keeps_every_execution_there_and_back() {
    for start in STARTS {
        let fixture = started_in(start, "").await;
        fixture.create(RULES, rule("r1", "ACTION", "x.y")).await;
        run(&fixture).await;
        insert(&fixture, fixture.a.id, &[-30, -5, 2, 7]).await;
        insert(&fixture, fixture.b.id, &[-5, 0]).await;
        let before = rows(&fixture).await;
        assert_eq!(before.len(), 7);

        fixture.app.sql(DOWN).await;
        assert_eq!(rows(&fixture).await, before);
        let plain = format!(
            "select relkind::text as kind from pg_class where relname ~ '^{TABLE}(_[0-9a-z]+)?$' and relkind in ('r', 'p')"
        );
        assert_eq!(fixture.app.rows(&plain).await, [json!({"kind": "r"})]);
        run(&fixture).await;
        let before = rows(&fixture).await;
        assert_eq!(before.len(), 8, "the application writes without another grant");
        fixture.app.sql(UP).await;

        assert_eq!(rows(&fixture).await, before);
        run(&fixture).await;
        assert_eq!(rows(&fixture).await.len(), 9);
        let inserted: Vec<_> = places(&fixture)
            .await
            .into_iter()
            .filter(|(month, _)| *month != 0)
            .collect();
        let expected = [
            at(-30, "earlier"),
            at(-5, "-5"),
            at(-5, "-5"),
            at(2, "2"),
            at(7, "later"),
        ];
        assert_eq!(inserted, expected);
    }
}

#[actix_web::test]
async fn a_month_shows_nothing_of_another_tenant() {
    let fixture = fixture().await;
    insert(&fixture, fixture.a.id, &[0]).await;
    insert(&fixture, fixture.b.id, &[0]).await;
    let name = "select tableoid::regclass::text as name from business_rules_execution_logs limit 1";
    let month = fixture.app.rows(name).await[0]["name"]
        .as_str()
        .expect("a name")
        .to_owned();
    let scope = Scope::tenant(fixture.b.id);
    let mut connection = fixture.app.runtime().database.read(&scope).await.expect("a connection");
    let count = |expected: u32| {
        format!(
            "do $$ begin if (select count(*) from {month}) <> {expected} then raise exception 'another number of rows is visible'; end if; end $$"
        )
    };

    let rejected = connection.batch_execute(&count(1)).await.expect_err("no right");
    assert!(rejected.to_string().contains("permission denied"), "{rejected}");

    // Even if an administrator has granted that right.
    fixture
        .app
        .sql(&format!("grant select on {month} to backoffice_app"))
        .await;
    connection.batch_execute(&count(1)).await.expect("one row is visible");
    let rejected = connection.batch_execute(&count(2)).await.expect_err("not both");
    assert!(rejected.to_string().contains("another number"), "{rejected}");
    assert_eq!(fixture.app.rows(&format!("select 1 from {month}")).await.len(), 2);
}

#[actix_web::test]
async fn reads_by_id_read_one_month() {
    let fixture = fixture().await;
    insert(&fixture, fixture.a.id, &[0, 1, 2]).await;
    let scans = async |condition: &str| {
        let plan = format!(
            "create temporary table if not exists plan (line text);
             truncate plan;
             set plan_cache_mode = force_generic_plan;
             set enable_bitmapscan = off;
             prepare reading (uuid, uuid[]) as select 1 from {TABLE} where tenant_id = '{tenant}' and {condition};
             do $$ declare line text; begin
                 for line in execute format('explain (costs off) execute reading(%L, %L)', audit_lowest_id({at}), array[audit_lowest_id({at})]) loop
                     insert into plan values (line);
                 end loop;
             end $$;
             deallocate reading",
            tenant = fixture.a.id,
            at = day_of(1)
        );
        fixture.app.sql(&plan).await;
        let scanned = format!("select line from plan where line ~ ' on {TABLE}_[0-9a-z]+ '");
        fixture.app.rows(&scanned).await.len()
    };

    assert_eq!(scans("id is not null").await, 6, "four months and two ends");
    assert_eq!(scans("id = $1").await, 1);
    assert_eq!(
        scans("id = any($2)").await,
        6,
        "which is why a list by ids also names their range"
    );
    assert_eq!(scans("id = any($2) and id between $1 and $1").await, 1);
}
