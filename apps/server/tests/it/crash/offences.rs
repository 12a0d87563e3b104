//! States that the database must never be in, whenever the server was killed.

use std::time::Duration;

use backoffice_test_support::TestDatabase;
use tokio::time::{Instant, sleep};

/// The rules, each as a query for the rows that violate it.
const OFFENCES: &[(&str, &str)] = &[
    (
        "a role has as many versions as changes other than undo and redo, and is in the state of its last entry",
        "select r.id, v.version, v.max_version, l.* from auth_roles r
         left join audit_resource_versions v on v.tenant_id = r.tenant_id and v.resource_kind = 'auth.role' and v.resource_id = r.id::text
         left join lateral (
             select count(*) filter (where e.history_action is null) as changes,
                 (array_agg(coalesce(e.version_after, s.version_before) order by e.seq desc))[1] as state
             from audit_action_logs e
             left join audit_action_logs s on s.tenant_id = e.tenant_id and s.id = e.source_log_id and e.history_action = 'undo'
             where e.tenant_id = r.tenant_id and e.resource_kind = 'auth.role' and e.resource_id = r.id::text) l on true
         where starts_with(r.name, 'crash ')
           and (v.max_version is distinct from l.changes or v.version is distinct from l.state or l.changes = 0)",
    ),
    (
        "each image follows from the one before, and the last is the row",
        "select * from (
             select l.id, l.snapshot_before ->> 'name' as was, l.snapshot_after ->> 'name' as became, r.name,
                 lag(l.snapshot_after ->> 'name') over history as earlier, lead(l.id) over history as later
             from audit_action_logs l
             left join auth_roles r on r.tenant_id = l.tenant_id and r.id::text = l.resource_id
             where l.command_id in ('auth.role.create', 'auth.role.update')
             window history as (partition by l.tenant_id, l.resource_id order by l.seq)) e
         where was is distinct from earlier or (later is null and became is distinct from name)",
    ),
    (
        "an entry is undone or redone exactly when there is an entry that says so, and then has no token",
        "select l.id, l.execution_state from audit_action_logs l
         left join (
             select tenant_id, source_log_id, count(*) filter (where history_action = 'undo') as undos,
                 count(*) filter (where history_action = 'redo') as redos
             from audit_action_logs where source_log_id is not null group by 1, 2
         ) h on h.tenant_id = l.tenant_id and h.source_log_id = l.id
         where (coalesce(h.undos, 0), coalesce(h.redos, 0)) <> (case l.execution_state when 'done' then 0 else 1 end,
                                      case l.execution_state when 'redone' then 1 else 0 end)
            or (l.execution_state <> 'done' and l.undo_secret is not null)",
    ),
    (
        "an entry has its event",
        "select l.id from audit_action_logs l
         left join (select distinct tenant_id, log_id from core_outbox_events) e on e.tenant_id = l.tenant_id and e.log_id = l.id
         where e.log_id is null",
    ),
    (
        "an event has its entry",
        "select e.id from core_outbox_events e where e.log_id is not null and not exists (
             select from audit_action_logs l where l.tenant_id = e.tenant_id and l.id = e.log_id)",
    ),
    (
        "commit numbers are unique and without gaps",
        "select s.tenant_id, s.last_seq, n.* from core_event_streams s
         cross join lateral (
             select count(*) as rows, count(distinct seq) as numbers, min(seq) as first, max(seq) as last from (
                 select seq from audit_action_logs where tenant_id = s.tenant_id
                 union all select seq from core_outbox_events where tenant_id = s.tenant_id) both_tables) n
         where s.name = 'log'
           and (n.rows <> n.numbers or n.rows <> s.last_seq or n.first <> 1 or n.last <> s.last_seq)",
    ),
    ("nothing failed", "select id, command_id from audit_action_logs where execution_state = 'failed'"),
];

/// Checks that no row violates a rule.
pub(super) async fn check_log(database: &TestDatabase) {
    for (rule, query) in OFFENCES {
        let offending = database.rows(query).await;
        assert!(offending.is_empty(), "{rule}: {offending:#?}");
    }
}

/// Waits until PostgreSQL has finished or rolled back the transactions of the killed server; only then the outcome is known.
pub(crate) async fn wait_until_disconnected(database: &TestDatabase) {
    let started = Instant::now();
    let others = "select pid from pg_stat_activity where datname = current_database() \
                  and backend_type = 'client backend' and pid <> pg_backend_pid()";
    while !database.rows(others).await.is_empty() {
        assert!(
            started.elapsed() < Duration::from_secs(10),
            "connections of the killed server are left"
        );
        sleep(Duration::from_millis(5)).await;
    }
}
