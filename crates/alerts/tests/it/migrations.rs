//! Migrations of a database with rows, run as a role to which row-level security applies, as it does to the owner of the schema.

use serde_json::{Value, json};

use crate::fixture::{ASSIGNMENTS, Fixture};

const UP: &str = include_str!("../../migrations/2026-11-27-151500-1500_repeat_updates_of_rows/up.sql");
const DOWN: &str = include_str!("../../migrations/2026-11-27-151500-1500_repeat_updates_of_rows/down.sql");

/// Returns the numbers of open alerts.
async fn numbers(fixture: &Fixture) -> Vec<Value> {
    let stored = "select tenant_id, organization_id, kind, sum(alerts)::bigint as alerts from alerts_counts
        group by 1, 2, 3 having sum(alerts) <> 0 order by 1, 2, 3";
    fixture.app.rows(stored).await
}

/// Returns the times from which overlaps are on one job site.
async fn times(fixture: &Fixture) -> Vec<Value> {
    fixture
        .app
        .rows("select id, single_site_at from alerts_alerts order by id")
        .await
}

/// Runs a script in a transaction of the application's role.
async fn run(fixture: &Fixture, script: &str) {
    let script = format!("begin; set local role backoffice_app; {script}; commit");
    fixture.app.sql(&script).await;
}

#[actix_web::test]
async fn numbers_and_times_that_earlier_migrations_did_not_find_are_stored() {
    let fixture = Fixture::new().await;
    fixture
        .create(ASSIGNMENTS, fixture.at(fixture.s2, "06T07", "06T09"))
        .await;
    fixture.assign("06T08", "06T12").await;
    fixture.assign("06T08", "06T13").await;
    fixture.assign("07T08", "07T12").await;
    let resolved = fixture.assign("07T11", "07T15").await;
    fixture.remove(ASSIGNMENTS, resolved).await;
    let (numbers_before, times_before) = (numbers(&fixture).await, times(&fixture).await);
    let one = json!({"tenant_id": fixture.a.id, "organization_id": fixture.a.organization,
        "kind": "subject_overlap_different_sites", "alerts": 1});
    assert_eq!(numbers_before, [one]);
    assert!(
        times_before.iter().any(|row| row["single_site_at"] != Value::Null),
        "{times_before:?}"
    );
    // As the earlier migrations and the trigger have left them.
    let forgotten = "update alerts_alerts set single_site_at = null; delete from alerts_counts;
        insert into alerts_counts (tenant_id, id, organization_id, kind, alerts, created_at, updated_at)
        select tenant_id, gen_random_uuid(), organization_id, kind, -1, now(), now() from alerts_alerts";
    fixture.app.sql(forgotten).await;

    for script in [UP, DOWN, UP] {
        run(&fixture, script).await;
        assert_eq!(numbers(&fixture).await, numbers_before);
        assert_eq!(times(&fixture).await, times_before);
    }

    assert_eq!(fixture.page(&fixture.d.token, "").await["total"], 1);
    fixture.assert_no_difference().await;
}
