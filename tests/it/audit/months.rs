//! The months of the logs: the partitions that a page reads, and the placement of entries whose month has no partition.

use backoffice_core::retention;
use backoffice_test_support::{Duration, TestApp};
use serde_json::{Value, json};

use super::rename;
use crate::call::Call;
use crate::fixture::{Fixture, builder};
use crate::history::ACTIONS;

const UP: &str = include_str!("../../../migrations/core/2026-11-21-150000-0000_order_log_months/up.sql");
const DOWN: &str = include_str!("../../../migrations/core/2026-11-21-150000-0000_order_log_months/down.sql");
/// The migration that generalizes the functions of the logs to any table.
const GENERAL_UP: &str = include_str!("../../../migrations/core/2026-11-25-130000-0000_partition_by_month/up.sql");
const GENERAL_DOWN: &str = include_str!("../../../migrations/core/2026-11-25-130000-0000_partition_by_month/down.sql");

/// The months in which the clocks of the fixtures start, counted from the present one of the database. In the present one the entries of a fixture lie
/// in a month of the log; in an older one they lie in `_earlier`, as those of a constant date do from its next month on.
const STARTS: [i32; 2] = [0, -2];

async fn started_in(month: i32) -> Fixture {
    Fixture::of(builder().starting_in_month(month)).await
}

/// Creates this many months of a log before the present one of the database, and moves the rows of `_earlier` to their months.
pub(super) async fn create_past_months(app: &TestApp, log: &str, months: i32) {
    app.sql(&format!(
        "do $$ declare month date; begin
             create temporary table moved on commit drop as select * from {log}_earlier;
             truncate {log}_earlier;
             alter table {log} detach partition {log}_earlier;
             for step in 1..{months} loop
                 month := (date_trunc('month', now() at time zone 'utc') - make_interval(months => step))::date;
                 execute format('create table %I partition of {log} for values from (%L) to (%L)', '{log}_' || to_char(month, 'YYYYMM'),
                     audit_month_id(month), audit_month_id((month + interval '1 month')::date));
             end loop;
             execute format('alter table {log} attach partition {log}_earlier for values from (minvalue) to (%L)', audit_month_id(month));
             insert into {log} select * from moved;
         end $$"
    ))
    .await;
}

/// Inserts one entry in each of these months, counted from the current one.
async fn entries(fixture: &Fixture, months: &[i32]) {
    for month in months {
        let at = format!("(date_trunc('month', now(), 'utc') + interval '{month} months 10 days')");
        fixture
            .app
            .sql(&format!(
                "insert into audit_action_logs (tenant_id, id, seq, actor_kind, command_id, action_type, action_label, source,
                    resource_kind, resource_id, related, execution_state, changed_fields, created_at, updated_at)
                 values ('{}', audit_lowest_id({at}), 900000 + {month}, 'system', 'a.b', 'edit', 'A', 'system', 'month', '{month}', '{{}}',
                    'done', '{{}}', {at}, {at})",
                fixture.a.tenant
            ))
            .await;
    }
}

/// Returns the partitions of these entries, by month.
async fn places(fixture: &Fixture) -> Vec<(i32, String)> {
    let rows = fixture
        .app
        .rows(
            "select resource_id::int as month, case when tableoid::regclass::text ~ '[0-9]{6}$'
                then extract(year from age(to_date(right(tableoid::regclass::text, 6), 'YYYYMM'), date_trunc('month', now() at time zone 'utc')))
                    * 12 + extract(month from age(to_date(right(tableoid::regclass::text, 6), 'YYYYMM'),
                    date_trunc('month', now() at time zone 'utc'))) || ''
                else substr(tableoid::regclass::text, 19) end as place
             from audit_action_logs where resource_kind = 'month' order by 1",
        )
        .await;
    rows.iter()
        .map(|row| {
            let month = row["month"].as_i64().and_then(|month| i32::try_from(month).ok());
            (
                month.expect("a number"),
                row["place"].as_str().expect("a name").to_owned(),
            )
        })
        .collect()
}

async fn create(fixture: &Fixture, months: u32) {
    fixture
        .app
        .sql(&format!("select app_make_months('audit_action_logs', {months})"))
        .await;
}

fn at(month: i32, place: &str) -> (i32, String) {
    (month, place.to_owned())
}

#[actix_web::test]
async fn a_page_in_the_order_of_ids_reads_no_month_that_it_does_not_reach() {
    for start in STARTS {
        let fixture = started_in(start).await;
        entries(&fixture, &[-5, 0, 1, 2, 3, 7]).await;
        let sql = format!(
            "create temporary table plan (line text);
             analyze audit_action_logs;
             set enable_seqscan = off;
             do $$ declare line text; begin
                 for line in execute 'explain (analyze, costs off, timing off, summary off) select id from audit_action_logs
                     where tenant_id = ''{}'' and id < audit_lowest_id(date_trunc(''month'', now(), ''utc'') + interval ''3 months'')
                     order by id desc limit 2' loop
                     insert into plan values (line);
                 end loop;
             end $$",
            fixture.a.tenant
        );

        fixture.app.sql(&sql).await;

        let plan = fixture.app.rows("select line from plan").await;
        let lines: Vec<&str> = plan.iter().filter_map(|row| row["line"].as_str()).collect();
        let scans: Vec<&&str> = lines
            .iter()
            .filter(|line| line.contains(" on audit_action_logs_"))
            .collect();
        let read: Vec<_> = scans.iter().filter(|line| !line.contains("never executed")).collect();
        assert!(lines.iter().all(|line| !line.contains("Sort")), "{lines:#?}");
        assert_eq!(
            (scans.len(), read.len()),
            (4, 2),
            "of this month, two more and what is older: {lines:#?}"
        );
    }
}

#[actix_web::test]
async fn entries_that_came_while_months_were_lacking_stay_together_and_are_found() {
    for start in STARTS {
        let fixture = started_in(start).await;
        let all = [-5, 0, 3, 4, 6, 9];
        entries(&fixture, &all).await;
        let lacking = [at(4, "later"), at(6, "later"), at(9, "later")];
        assert_eq!(places(&fixture).await[..3], [at(-5, "earlier"), at(0, "0"), at(3, "3")]);
        assert_eq!(places(&fixture).await[3..], lacking);

        create(&fixture, 3).await;
        assert_eq!(places(&fixture).await[3..], lacking, "nothing is to be made");
        create(&fixture, 9).await;
        assert_eq!(places(&fixture).await[3..], [at(4, "9"), at(6, "9"), at(9, "9")]);
        entries(&fixture, &[5, 10, 12]).await;
        create(&fixture, 12).await;
        create(&fixture, 14).await;

        entries(&fixture, &[13, 14, 15]).await;
        let expected = [
            at(-5, "earlier"),
            at(0, "0"),
            at(3, "3"),
            at(4, "9"),
            at(5, "9"),
            at(6, "9"),
            at(9, "9"),
            at(10, "12"),
            at(12, "12"),
            at(13, "13"),
            at(14, "14"),
            at(15, "later"),
        ];
        assert_eq!(places(&fixture).await, expected);
        let secured = fixture
            .app
            .rows(
                "select count(*) as n from pg_partition_tree('audit_action_logs') t join pg_class c on c.oid = t.relid
                 where not (c.relrowsecurity and c.relforcerowsecurity)",
            )
            .await;
        assert_eq!(secured[0]["n"], 0);
    }
}

#[actix_web::test]
async fn entries_of_a_clock_that_was_ahead_leave_the_months_before_them_to_others() {
    for start in STARTS {
        let fixture = started_in(start).await;
        entries(&fixture, &[6, 9]).await;

        create(&fixture, 4).await;
        entries(&fixture, &[4, 5]).await;
        let ahead = [at(4, "4"), at(5, "later"), at(6, "later"), at(9, "later")];
        assert_eq!(places(&fixture).await, ahead);
        create(&fixture, 6).await;
        entries(&fixture, &[7]).await;
        create(&fixture, 8).await;
        entries(&fixture, &[8]).await;

        let mut expected = vec![
            at(4, "4"),
            at(5, "6"),
            at(6, "6"),
            at(7, "7"),
            at(8, "8"),
            at(9, "later"),
        ];
        assert_eq!(places(&fixture).await, expected);
        create(&fixture, 9).await;
        expected[5] = at(9, "9");
        assert_eq!(places(&fixture).await, expected, "its time has come");
    }
}

#[actix_web::test]
async fn the_migration_keeps_every_entry_there_and_back() {
    for start in STARTS {
        let fixture = started_in(start).await;
        entries(&fixture, &[-5, 0, 2, 7]).await;
        let snapshot = async || -> (Value, Value) {
            let rows = |table| fixture.app.rows(table);
            (
                json!(rows("select * from audit_action_logs order by id").await),
                json!(rows("select * from audit_access_logs order by id").await),
            )
        };
        let before = snapshot().await;

        fixture.app.sql(GENERAL_DOWN).await;
        fixture.app.sql(DOWN).await;
        assert_eq!(snapshot().await, before);
        let places_without = places(&fixture).await;
        assert_eq!(places_without[0], at(-5, "default"));
        fixture.app.sql("select audit_make_partitions(3)").await;
        fixture.app.sql(UP).await;
        fixture.app.sql(GENERAL_UP).await;

        assert_eq!(snapshot().await, before);
        let expected = [at(-5, "earlier"), at(0, "0"), at(2, "2"), at(7, "later")];
        assert_eq!(places(&fixture).await, expected);
        rename(&fixture, &fixture.a.tenant_admin, fixture.a.role, "Goes on").await;
    }
}

/// Inserts entries of the admin in three organizations and without one: of this month, of three past months, and older ones. There are none of the
/// last month, because maintenance must not count it yet on the first day of the next one.
async fn months_that_are_over(fixture: &Fixture) {
    let tenant_fixture = &fixture.a;
    create_past_months(&fixture.app, "audit_action_logs", 4).await;
    fixture
        .app
        .sql(&format!(
            "insert into audit_action_logs (tenant_id, id, seq, organization_id, actor_kind, actor_id, command_id, action_type, action_label,
                source, resource_kind, resource_id, related, execution_state, changed_fields, created_at, updated_at)
             select '{tenant}', (substr(audit_lowest_id(at)::text, 1, 13) || '-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 900000 + n,
                (array['{root}', '{child}', '{child}', '{other}', null, null, null]::uuid[])[n % 7 + 1], 'user', '{tenant_admin}', 'a.b', 'edit', 'A',
                'ui', 'month', n::text, '{{}}', 'done', '{{}}', at, at
             from (select n, date_trunc('month', now(), 'utc') + make_interval(months => (array[-5, -4, -3, -2, 0])[n % 5 + 1]) as at
                   from generate_series(1, 100) n) s",
            tenant = tenant_fixture.tenant,
            root = tenant_fixture.root,
            child = tenant_fixture.child,
            other = tenant_fixture.other,
            tenant_admin = tenant_fixture.tenant_admin.id,
        ))
        .await;
}

/// Returns the number of entries in the months that maintenance counts after [`months_that_are_over`], and the number of totals that it stores: one
/// for each tenant, organization and month.
async fn to_count(fixture: &Fixture) -> Value {
    let month = |ago: i32| {
        format!("audit_month_id((date_trunc('month', now() at time zone 'utc') - interval '{ago} months')::date)")
    };
    let sql = format!(
        "select coalesce(sum(entries), 0)::bigint as n, count(*) as rows from (
             select count(*) as entries from audit_action_logs where id >= {} and id < {}
             group by tenant_id, organization_id, tableoid) t",
        month(4),
        month(0)
    );
    fixture.app.rows(&sql).await.remove(0)
}

/// Returns the number of entries and of totals that maintenance has stored.
async fn counted(fixture: &Fixture) -> Value {
    let sql = "select coalesce(sum(entries), 0)::bigint as n, count(*) as rows from audit_entry_counts";
    fixture.app.rows(sql).await.remove(0)
}

/// Counts the entries of past months, as maintenance does.
async fn count(fixture: &Fixture) {
    let all = "select audit_count_entries() from generate_series(1, 30)";
    fixture.app.sql(all).await;
    fixture.change_all_collections().await;
}

/// Returns the totals that callers receive, with and without an organization, and with a filter.
async fn totals(fixture: &Fixture) -> Vec<(String, Value)> {
    let tenant_fixture = &fixture.a;
    let callers = [
        ("keeper", &tenant_fixture.tenant_admin),
        ("admin", &tenant_fixture.admin),
        ("local", &tenant_fixture.local),
        ("user", &tenant_fixture.user),
        ("plain", &tenant_fixture.plain),
        ("of another tenant", &fixture.b.tenant_admin),
        ("super administrator", &fixture.root),
    ];
    let child = tenant_fixture.child.to_string();
    let tenant = tenant_fixture.tenant.to_string();
    let mut reported = Vec::new();
    for (name, caller) in callers {
        for query in [
            "",
            &format!("?organizationId={child}"),
            "?resourceKind=month",
            "?undoableOnly=true",
        ] {
            for selection in [
                None,
                Some(("x-organization-id", &child)),
                Some(("x-tenant-id", &tenant)),
            ] {
                let mut request = Call::get(&format!("{ACTIONS}{query}")).bare(&fixture.app, &caller.token);
                if let Some((header, value)) = selection {
                    request = request.header(header, value);
                }
                let response = request.send().await;
                let header = selection.map(|(header, _)| header);
                reported.push((
                    format!("{name} {query} {header:?}"),
                    json!([response.status, response.json()["total"]]),
                ));
            }
        }
    }
    reported
}

#[actix_web::test]
async fn totals_are_the_same_once_months_that_are_over_were_counted() {
    for start in STARTS {
        let fixture = started_in(start).await;
        months_that_are_over(&fixture).await;
        let before = totals(&fixture).await;
        let tenant_admin = &fixture.a.tenant_admin;
        let total = async || {
            fixture.app.get(&tenant_admin.token, ACTIONS).await.1["total"]
                .as_i64()
                .expect("a number")
        };
        let all = total().await;

        count(&fixture).await;

        let expected = to_count(&fixture).await;
        assert_eq!(counted(&fixture).await, expected);
        if start == 0 {
            let inserted = json!({"n": 60, "rows": 12});
            assert_eq!(expected, inserted, "three months of five, four places each");
        }
        assert_eq!(totals(&fixture).await, before);
        // Entries that are younger than the clock of the application are hidden.
        let visible = if start == 0 { 100 } else { 80 };
        assert!(
            before.iter().any(|(_, reported)| reported[1].as_i64() > Some(visible)),
            "{before:#?}"
        );
        fixture
            .app
            .sql("update audit_entry_counts set entries = entries + 1")
            .await;
        fixture.change_all_collections().await;
        let own = format!("audit_entry_counts where tenant_id = '{}'", fixture.a.tenant);
        let own = fixture.app.count(&own).await;
        assert!(own >= 12, "{own}");
        assert_eq!(total().await, all + own, "the reported total includes them");
        fixture
            .app
            .sql("update audit_entry_counts set entries = entries - 1")
            .await;
        count(&fixture).await;
        assert_eq!(total().await, all, "nothing is counted twice");
    }
}

#[actix_web::test]
async fn what_retention_drops_is_in_no_total() {
    for start in STARTS {
        let builder = builder().config("[audit.action]\nretention_months = 2\n");
        let fixture = Fixture::of(builder.starting_in_month(start)).await;
        months_that_are_over(&fixture).await;
        // Months end by the database's clock.
        let ahead = format!(
            "select extract(epoch from date_trunc('month', now(), 'utc') + interval '19 days 8 hours' - '{}')::bigint as seconds",
            fixture.app.now()
        );
        let ahead = fixture.app.rows(&ahead).await[0]["seconds"].as_i64().expect("a number");
        fixture.app.advance(Duration::seconds(ahead));
        let tenant_admin = fixture.sign_in(&fixture.a.tenant_admin.email).await;
        let total = async |query: &str| {
            let (_, list) = fixture.app.get(&tenant_admin.token, &format!("{ACTIONS}{query}")).await;
            list["total"].as_i64().expect("a number")
        };
        count(&fixture).await;
        let before = total("").await;

        let complete = retention::maintain_logs(&backoffice_core::Call::internal(fixture.app.runtime())).await;

        assert!(complete.expect("maintained"));
        assert_eq!(
            total("?resourceKind=month").await,
            40,
            "two months, and what was older, are gone"
        );
        assert_eq!(total("").await, before - 60);
        let expected = to_count(&fixture).await;
        assert_eq!(counted(&fixture).await, expected);
        if start == 0 {
            assert_eq!(expected, json!({"n": 20, "rows": 4}));
        }
    }
}

#[actix_web::test]
async fn aud_32_old_months_go_and_an_insert_never_lacks_one() {
    for start in STARTS {
        old_months_go(&started_in(start).await, start).await;
    }
}

async fn old_months_go(fixture: &Fixture, start: i32) {
    let (app, tenant_admin) = (&fixture.app, &fixture.a.tenant_admin);
    let done = rename(fixture, tenant_admin, fixture.a.role, "Renamed").await;
    create_past_months(app, "audit_action_logs", 25 - start).await;
    create_past_months(app, "audit_access_logs", 4 - start).await;
    // The first day of a month, counted back from the one of the application's clock.
    let month = |ago: i32| {
        format!(
            "(date_trunc('month', now() at time zone 'utc') - interval '{} months')",
            ago - start
        )
    };
    let old = format!("({} + interval '5 days') at time zone 'utc'", month(25));
    app.sql(&format!(
        "insert into audit_action_logs (tenant_id, id, seq, actor_kind, command_id, action_type, action_label, source, resource_kind,
            resource_id, related, execution_state, changed_fields, created_at, updated_at)
         values ('{0}', audit_lowest_id({old}), 900000, 'system', 'a.b', 'edit', 'A', 'system', 'a', 'b', '{{}}', 'done', '{{}}', {old}, {old})",
        fixture.a.tenant
    ))
    .await;
    app.sql(&format!(
        "insert into audit_resource_versions
         values ('{0}', audit_lowest_id({old}), 'a', 'b', 1, 1, audit_lowest_id({old}), {old}, {old})",
        fixture.a.tenant
    ))
    .await;
    let exists = |log: &str, ago| format!("to_regclass('{log}_' || to_char({}, 'YYYYMM')) is not null", month(ago));
    let left = async || {
        let found = format!(
            "select (select count(*) from audit_action_logs where resource_kind = 'a') as entries,
                (select count(*) from audit_resource_versions where resource_kind = 'a') as versions,
                {} as old_actions, {} as actions, {} as old_accesses, {} as accesses",
            exists("audit_action_logs", 25),
            exists("audit_action_logs", 24),
            exists("audit_access_logs", 4),
            exists("audit_access_logs", 3)
        );
        app.rows(&found).await.remove(0)
    };
    let all = json!({"entries": 1, "versions": 1, "old_actions": true, "actions": true, "old_accesses": true, "accesses": true});
    assert_eq!(left().await, all, "the entry lies in its month");

    let complete = retention::maintain_logs(&backoffice_core::Call::internal(app.runtime()))
        .await
        .expect("maintained");

    assert!(complete);
    let expected = json!({"entries": 0, "versions": 0, "old_actions": false, "actions": true, "old_accesses": false, "accesses": true});
    assert_eq!(
        left().await,
        expected,
        "24 months and 90 days before the 20th of a month"
    );
    assert_eq!(app.undo(&tenant_admin.token, &done).await.0, 200, "newer undos go on");
    app.advance(Duration::days(365 * 5));
    let later = fixture.sign_in(&tenant_admin.email).await;
    rename(fixture, &later, fixture.a.role, "Years later").await;
}
