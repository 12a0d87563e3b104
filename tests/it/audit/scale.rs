//! The cost of lists when the logs are long. Ignored: it inserts a million rows. `cargo xtask bench audit` runs it and prints the table.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use backoffice_test_support::TestApp;
use serde_json::Value;
use uuid::Uuid;

use super::months::create_past_months;
use crate::call::Call;
use crate::fixture::{Account, Fixture, builder, text};
use crate::history::{ACTIONS, EXPORT};

const SMALL: u32 = 10_000;
const LARGE: u32 = 1_000_000;

/// Returns one of the generated resources.
fn resource(number: u32) -> Uuid {
    Uuid::from_u128(0x7000_0000_0000_7000_8000_0000_0000_0000 + u128::from(number))
}

/// Inserts entries over 24 months, up to the 20th of the present one: `count` in one tenant, a hundredth of that in each of 19 others.
async fn generate(fixture: &Fixture, count: u32) {
    let app = &fixture.app;
    create_past_months(app, "audit_action_logs", 24).await;
    app.sql(
        "do $$ declare month_table regclass; begin
             -- Only what the requests read is to be counted.
             for month_table in select relid::regclass from pg_partition_tree('audit_action_logs') where isleaf loop
                 execute format('alter table %s set (autovacuum_enabled = false)', month_table);
             end loop;
         end $$",
    )
    .await;
    let tenant_fixture = &fixture.a;
    let mut tenants = vec![(tenant_fixture.tenant, count)];
    tenants.extend((0..19).map(|number| (Uuid::from_u128(0x99_0000 + number), count / 100)));
    for (tenant, count) in tenants {
        let resources = count / 10;
        app.sql(&format!(
            "insert into audit_action_logs (tenant_id, id, seq, organization_id, actor_kind, actor_id, actor_name, command_id, action_type,
                action_label, source, resource_kind, resource_id, parent_resource_kind, parent_resource_id, related, execution_state,
                version_before, version_after, undo_secret, snapshot_before, snapshot_after, changes, changed_fields, created_at, updated_at)
             select '{tenant}', (substr(audit_lowest_id(at)::text, 1, 13) || '-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 1000000 + n,
                (array['{0}', '{1}']::uuid[])[n % 2 + 1], 'user',
                ('00000000-0000-7000-8000-' || lpad((n % 50)::text, 12, '0'))::uuid, 'Actor ' || n % 50, 'auth.role.update', 'edit',
                'Update role', 'ui', 'auth.role', ('70000000-0000-7000-8000-' || lpad(to_hex(n % {resources}), 12, '0')),
                'auth.group', ('70000000-0000-7000-8000-' || lpad(to_hex(n % {resources} / 10), 12, '0')),
                case when n % 20 = 0 then array['auth.group:' || '70000000-0000-7000-8000-' || lpad(to_hex(n % {resources} / 7), 12, '0')]
                     else '{{}}' end,
                'done', n / {resources}, n / {resources} + 1, sha256(n::text::bytea), '{{\"name\": \"before\"}}', '{{\"name\": \"after\"}}',
                '{{\"name\": {{\"from\": \"before\", \"to\": \"after\"}}}}', case n % 10 when 0 then '{{name,slug}}' else '{{name}}' end::text[], at, at
             from (select n, date_trunc('month', now(), 'utc') - interval '23 months' + n * (interval '718 days' / {count}) as at
                   from generate_series(1, {count}) n) s",
            tenant_fixture.child, tenant_fixture.other
        ))
        .await;
        app.sql(&format!(
            "insert into audit_action_links (tenant_id, id, resource_kind, resource_id, log_id)
             select tenant_id, (substr(id::text, 1, 14) || '7' || substr(md5(id::text)::uuid::text, 16))::uuid, 'auth.group',
                substr(related[1], 12), id
             from audit_action_logs where tenant_id = '{tenant}' and related <> '{{}}' and actor_name like 'Actor %'"
        ))
        .await;
        app.sql(&format!(
            "insert into audit_resource_versions (tenant_id, id, resource_kind, resource_id, version, max_version, last_log_id, created_at, updated_at)
             select distinct on (resource_id) tenant_id, id, 'auth.role', resource_id, version_after, version_after, id, created_at, created_at
             from audit_action_logs where tenant_id = '{tenant}' and resource_kind = 'auth.role' and actor_name like 'Actor %'
             order by resource_id, version_after desc"
        ))
        .await;
    }
    // As maintenance does after the end of a month.
    app.sql("select audit_count_entries() from generate_series(1, 30)")
        .await;
    app.sql("vacuum analyze audit_entry_counts").await;
    app.sql("vacuum analyze audit_action_logs").await;
    app.sql("vacuum analyze audit_action_links").await;
    app.sql("vacuum analyze audit_resource_versions").await;
}

struct Cost {
    statements: u64,
    blocks: i64,
    partitions: i64,
    time: Duration,
}

const BLOCKS: &str = "select coalesce(sum(heap_blks_hit + heap_blks_read + coalesce(idx_blks_hit + idx_blks_read, 0)), 0)::bigint as blocks \
    from pg_statio_all_tables where relname like 'audit_%'";
const SCANNED: &str = "select count(*) filter (where t.touched > 0) as partitions from ( \
    select sum(coalesce(seq_scan, 0) + coalesce(idx_scan, 0)) as touched from pg_stat_all_tables \
    where relname like 'audit_action_logs_%' group by relid) t";

#[expect(clippy::disallowed_methods, reason = "measures a duration")]
fn clock() -> Instant {
    Instant::now()
}

/// Flushes the statistics of the application's connections: each reports them with a statement at least a second after its last report.
async fn settle(app: &TestApp, caller: &Account) {
    for _ in 0..3 {
        actix_web::rt::time::sleep(Duration::from_millis(1100)).await;
        app.get(&caller.token, "/auth/profile").await;
    }
}

async fn cost(app: &TestApp, caller: &Account, path: &str) -> Cost {
    let get = async || {
        let response = Call::get(path).send(app, &caller.token).await;
        assert_eq!(response.status, 200, "{path}: {}", response.text());
    };
    get().await;
    let mut times = Vec::new();
    for _ in 0..5 {
        let started = clock();
        get().await;
        times.push(started.elapsed());
    }
    times.sort();
    settle(app, caller).await;
    app.sql("select pg_stat_reset()").await;
    let ((), statements) = app.count_statements(get()).await;
    settle(app, caller).await;
    let number = |rows: Vec<Value>, name: &str| rows[0][name].as_i64().unwrap_or_default();
    Cost {
        statements,
        blocks: number(app.rows(BLOCKS).await, "blocks"),
        partitions: number(app.rows(SCANNED).await, "partitions"),
        time: times[2],
    }
}

async fn measured(count: u32) -> Vec<(String, Cost)> {
    let fixture = Fixture::of(builder().starting_in_month(0).through_proxy()).await;
    generate(&fixture, count).await;
    let day = "select to_char(end_of_day - interval '2 days', 'YYYY-MM-DD') as after, to_char(end_of_day, 'YYYY-MM-DD') as before
        from (select date_trunc('month', now() at time zone 'utc') - interval '8 months' as end_of_day) s";
    let day = fixture.app.rows(day).await.remove(0);
    let (after, before) = (text(&day["after"]), text(&day["before"]));
    let actor = "actorUserId=00000000-0000-7000-8000-000000000007";
    let one = format!("resourceKind=auth.group&resourceId={}", resource(5));
    // Flushes the statistics of the inserts first.
    cost(&fixture.app, &fixture.a.tenant_admin, ACTIONS).await;
    let queries = [
        ("list page, no total", format!("{ACTIONS}?includeTotal=false")),
        (
            "page 3 of a day",
            format!("{ACTIONS}?includeTotal=false&before={before}&after={after}&page=3&pageSize=5"),
        ),
        ("by actor", format!("{ACTIONS}?includeTotal=false&{actor}")),
        (
            "by organization and field",
            format!(
                "{ACTIONS}?includeTotal=false&organizationId={}&fieldName=slug",
                fixture.a.child
            ),
        ),
        (
            "undoableOnly",
            format!("{ACTIONS}?includeTotal=false&undoableOnly=true"),
        ),
        (
            "includeRelated",
            format!("{ACTIONS}?includeTotal=false&includeRelated=true&{one}"),
        ),
        ("export of 1000", EXPORT.to_owned()),
        ("list page with its total", ACTIONS.to_owned()),
    ];
    let mut costs = Vec::new();
    for (title, path) in queries {
        costs.push((
            title.to_owned(),
            cost(&fixture.app, &fixture.a.tenant_admin, &path).await,
        ));
    }
    costs
}

#[actix_web::test]
#[ignore = "makes a million rows"]
async fn lists_of_a_million_entries_cost_like_lists_of_ten_thousand() {
    let (small, large) = (measured(SMALL).await, measured(LARGE).await);

    let mut table = String::from(
        "| query | statements | blocks at 10,000 | at 1,000,000 | ratio | months read | ms | ms |\n|---|---|---|---|---|---|---|---|\n",
    );
    for ((title, small), (_, large)) in small.iter().zip(&large) {
        let ratio = large.blocks as f64 / small.blocks.max(1) as f64;
        let ms = |cost: &Cost| cost.time.as_secs_f64() * 1000.0;
        writeln!(
            table,
            "| {title} | {} | {} | {} | {ratio:.2} | {} | {:.1} | {:.1} |",
            large.statements,
            small.blocks,
            large.blocks,
            large.partitions,
            ms(small),
            ms(large)
        )
        .expect("a string takes it");
    }
    println!("{table}");
}

#[actix_web::test]
#[ignore = "measures times"]
async fn the_access_log_costs_a_list_little() {
    let mut table = String::from("| access log | ms of a list of 50 users |\n|---|---|\n");
    let kinds = "disabled_kinds = ['auth.user']";
    for (title, config) in [("off", kinds), ("on", ""), ("on, every read", "window_seconds = 0")] {
        let fixture = Fixture::of(builder().config(&format!("[audit.access]\n{config}\n"))).await;
        let (app, tenant_admin) = (&fixture.app, &fixture.a.tenant_admin);
        app.sql(&format!(
            "insert into auth_users (tenant_id, id, organization_id, email, email_norm, is_active, is_confirmed, created_at, updated_at)
             select '{}', gen_random_uuid(), '{}', 'many' || n || '@alpha.test', 'many' || n || '@alpha.test', true, true, now(), now()
             from generate_series(1, 10000) n",
            fixture.a.tenant, fixture.a.child
        ))
        .await;
        app.sql("analyze auth_users").await;
        let mut times = Vec::new();
        for _ in 0..300 {
            let started = clock();
            assert_eq!(app.get(&tenant_admin.token, "/auth/users?pageSize=50").await.0, 200);
            times.push(started.elapsed());
        }
        times.sort();
        writeln!(table, "| {title} | {:.2} |", times[150].as_secs_f64() * 1000.0).expect("a string takes it");
    }
    println!("{table}");
}
