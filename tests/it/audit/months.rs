//! The months of the logs: what a page reads of them, and where entries lie for which there is none.

use backoffice_core::retention;
use serde_json::{Value, json};

use super::rename;
use crate::call::Call;
use crate::history::ACTIONS;
use crate::world::{World, builder};

const UP: &str = include_str!("../../../migrations/core/2026-11-21-150000-0000_order_log_months/up.sql");
const DOWN: &str = include_str!("../../../migrations/core/2026-11-21-150000-0000_order_log_months/down.sql");

/// An entry of each of these months, counted from this one.
async fn entries(world: &World, months: &[i32]) {
    for month in months {
        let at = format!("(date_trunc('month', now(), 'utc') + interval '{month} months 10 days')");
        world
            .app
            .sql(&format!(
                "insert into audit_action_logs (tenant_id, id, seq, actor_kind, command_id, action_type, action_label, source,
                    resource_kind, resource_id, related, execution_state, changed_fields, created_at, updated_at)
                 values ('{}', audit_lowest_id({at}), 900000 + {month}, 'system', 'a.b', 'edit', 'A', 'system', 'month', '{month}', '{{}}',
                    'done', '{{}}', {at}, {at})",
                world.a.tenant
            ))
            .await;
    }
}

/// Where they are, by month.
async fn places(world: &World) -> Vec<(i32, String)> {
    let rows = world
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

async fn make(world: &World, months: u32) {
    world.app.sql(&format!("select audit_make_partitions({months})")).await;
}

fn at(month: i32, place: &str) -> (i32, String) {
    (month, place.to_owned())
}

#[actix_web::test]
async fn a_page_in_the_order_of_ids_reads_no_month_that_it_does_not_reach() {
    let world = World::new().await;
    entries(&world, &[-5, 0, 1, 2, 3, 7]).await;
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
        world.a.tenant
    );

    world.app.sql(&sql).await;

    let plan = world.app.rows("select line from plan").await;
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

#[actix_web::test]
async fn entries_that_came_while_months_were_lacking_stay_together_and_are_found() {
    let world = World::new().await;
    let all = [-5, 0, 3, 4, 6, 9];
    entries(&world, &all).await;
    let lacking = [at(4, "later"), at(6, "later"), at(9, "later")];
    assert_eq!(places(&world).await[..3], [at(-5, "earlier"), at(0, "0"), at(3, "3")]);
    assert_eq!(places(&world).await[3..], lacking);

    make(&world, 3).await;
    assert_eq!(places(&world).await[3..], lacking, "nothing is to be made");
    make(&world, 5).await;
    assert_eq!(places(&world).await[3..], [at(4, "9"), at(6, "9"), at(9, "9")]);
    entries(&world, &[5, 10, 12]).await;
    make(&world, 11).await;
    make(&world, 14).await;

    entries(&world, &[13, 14, 15]).await;
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
    assert_eq!(places(&world).await, expected);
    let secured = world
        .app
        .rows(
            "select count(*) as n from pg_partition_tree('audit_action_logs') t join pg_class c on c.oid = t.relid
             where not (c.relrowsecurity and c.relforcerowsecurity)",
        )
        .await;
    assert_eq!(secured[0]["n"], 0);
}

#[actix_web::test]
async fn the_migration_keeps_every_entry_there_and_back() {
    let world = World::new().await;
    entries(&world, &[-5, 0, 2, 7]).await;
    let image = async || -> (Value, Value) {
        let rows = |table| world.app.rows(table);
        (
            json!(rows("select * from audit_action_logs order by id").await),
            json!(rows("select * from audit_access_logs order by id").await),
        )
    };
    let before = image().await;

    world.app.sql(DOWN).await;
    assert_eq!(image().await, before);
    let places_without = places(&world).await;
    assert_eq!(places_without[0], at(-5, "default"));
    make(&world, 3).await;
    world.app.sql(UP).await;

    assert_eq!(image().await, before);
    let expected = [at(-5, "earlier"), at(0, "0"), at(2, "2"), at(7, "later")];
    assert_eq!(places(&world).await, expected);
    rename(&world, &world.a.keeper, world.a.role, "Goes on").await;
}

/// Entries of the last months in three organizations and none, some of them by the keeper: each organization has another number of them.
async fn months_that_are_over(world: &World) {
    let house = &world.a;
    world
        .app
        .sql(&format!(
            "do $$ declare month date; begin
                 alter table audit_action_logs detach partition audit_action_logs_earlier;
                 for step in 1..3 loop
                     month := (date_trunc('month', now(), 'utc') - make_interval(months => step))::date;
                     execute format('create table %I partition of audit_action_logs for values from (%L) to (%L)',
                         'audit_action_logs_' || to_char(month, 'YYYYMM'), audit_month_id(month),
                         audit_month_id((month + interval '1 month')::date));
                 end loop;
                 execute format('alter table audit_action_logs attach partition audit_action_logs_earlier for values from (minvalue) to (%L)',
                     audit_month_id(month));
             end $$;
             insert into audit_action_logs (tenant_id, id, seq, organization_id, actor_kind, actor_id, command_id, action_type, action_label,
                 source, resource_kind, resource_id, related, execution_state, changed_fields, created_at, updated_at)
             select '{tenant}', (substr(audit_lowest_id(at)::text, 1, 13) || '-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 900000 + n,
                 (array['{root}', '{child}', '{child}', '{other}', null, null, null]::uuid[])[n % 7 + 1], 'user', '{keeper}', 'a.b', 'edit', 'A',
                 'ui', 'month', n::text, '{{}}', 'done', '{{}}', at, at
             from (select n, date_trunc('month', now(), 'utc') + make_interval(months => n % 5 - 4, days => 3) as at
                   from generate_series(1, 100) n) s",
            tenant = house.tenant,
            root = house.root,
            child = house.child,
            other = house.other,
            keeper = house.keeper.id,
        ))
        .await;
}

/// What the callers are told, with and without an organization, and of a filter.
async fn totals(world: &World) -> Vec<(String, Value)> {
    let house = &world.a;
    let callers = [
        ("keeper", &house.keeper),
        ("admin", &house.admin),
        ("local", &house.local),
        ("user", &house.user),
        ("plain", &house.plain),
        ("of another tenant", &world.b.keeper),
        ("super administrator", &world.root),
    ];
    let child = house.child.to_string();
    let tenant = house.tenant.to_string();
    let mut told = Vec::new();
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
                let mut request = Call::get(&format!("{ACTIONS}{query}")).bare(&world.app, &caller.token);
                if let Some((header, value)) = selection {
                    request = request.header(header, value);
                }
                let answer = request.send().await;
                let header = selection.map(|(header, _)| header);
                told.push((
                    format!("{name} {query} {header:?}"),
                    json!([answer.status, answer.json()["total"]]),
                ));
            }
        }
    }
    told
}

#[actix_web::test]
async fn totals_are_the_same_once_months_that_are_over_were_counted() {
    let world = World::new().await;
    months_that_are_over(&world).await;
    let before = totals(&world).await;
    let keeper = &world.a.keeper;
    let total = async || {
        world.app.get(&keeper.token, ACTIONS).await.1["total"]
            .as_i64()
            .expect("a number")
    };
    let all = total().await;

    world
        .app
        .sql("select audit_count_entries() from generate_series(1, 30)")
        .await;
    let counted = world
        .app
        .rows("select sum(entries)::bigint as n, count(*) as rows from audit_entry_counts")
        .await;

    assert_eq!(
        counted[0],
        json!({"n": 60, "rows": 12}),
        "three months of five, four places each"
    );
    assert_eq!(totals(&world).await, before);
    assert!(
        before.iter().any(|(_, told)| told[1].as_i64() > Some(100)),
        "{before:#?}"
    );
    world
        .app
        .sql("update audit_entry_counts set entries = entries + 1")
        .await;
    assert_eq!(total().await, all + 12, "they are what is told");
    world
        .app
        .sql("update audit_entry_counts set entries = entries - 1")
        .await;
    world
        .app
        .sql("select audit_count_entries() from generate_series(1, 30)")
        .await;
    assert_eq!(total().await, all, "nothing is counted twice");
}

#[actix_web::test]
async fn what_retention_drops_is_in_no_total() {
    let world = World::of(builder().config("[audit.action]\nretention_months = 2\n")).await;
    months_that_are_over(&world).await;
    let keeper = &world.a.keeper;
    let total = async || {
        world.app.get(&keeper.token, ACTIONS).await.1["total"]
            .as_i64()
            .expect("a number")
    };
    let read = async || {
        world
            .app
            .get(&keeper.token, &format!("{ACTIONS}?resourceKind=month"))
            .await
            .1["total"]
            .clone()
    };
    world
        .app
        .sql("select audit_count_entries() from generate_series(1, 30)")
        .await;
    let before = total().await;

    let complete = retention::maintain_logs(&backoffice_core::Call::internal(world.app.runtime())).await;

    assert!(complete.expect("maintained"));
    assert_eq!(read().await, 60, "the oldest month, and what was older, is gone");
    assert_eq!(total().await, before - 40);
    let counted = world
        .app
        .rows("select count(distinct partition_name) as months, sum(entries)::bigint as n from audit_entry_counts")
        .await;
    assert_eq!(counted[0], json!({"months": 2, "n": 40}));
}
