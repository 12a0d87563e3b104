//! For every undoable command: `undo` and `redo` restore every row, and the events of each step say what it does.

mod events;

use std::collections::{BTreeMap, BTreeSet};

use backoffice_test_support::{DatabaseSnapshot, UndoableWrite};
use serde_json::{Value, json};

use self::events::{AnnouncedChange, EntryWriter};
use crate::fixture::{Account, Fixture, id, text};
use crate::scenarios::{Scenario, rich, scenarios, undoable};
use crate::transactions::{last_entry, write_of};

/// Tables that no undo restores: the record of actions, and sessions. A store of files remains without its partition, because objects may still have
/// to be removed from it.
const UNLOGGED: [&str; 17] = [
    "attachments_stores",
    "audit_access_logs",
    "audit_action_links",
    "audit_action_logs",
    "audit_counted_partitions",
    "audit_entry_counts",
    "audit_resource_versions",
    "auth_one_time_tokens",
    "auth_revocations",
    "auth_sessions",
    "core_collections",
    "core_event_streams",
    "core_idempotency_keys",
    "core_job_tenants",
    "core_jobs",
    "core_outbox_events",
    "core_rate_limits",
];

#[actix_web::test]
async fn aud_3_every_undoable_command_has_a_scenario_and_every_scenario_a_command() {
    let fixture = Fixture::new().await;

    let mut covered: BTreeSet<&str> = scenarios().iter().map(|scenario| scenario.command).collect();
    covered.extend(crate::customers::OF_JOBS);

    assert_eq!(covered, undoable(fixture.app.platform()));
}

#[actix_web::test]
async fn aud_1_aud_2_an_administrators_commands_are_undone_and_redone_exactly() {
    let fixture = rich(Fixture::new().await).await;

    for scenario in scenarios() {
        invariant(&fixture, &fixture.a.tenant_admin, &scenario).await;
    }
}

#[actix_web::test]
async fn aud_1_aud_2_a_super_administrators_commands_in_a_tenant_are_undone_and_redone_exactly() {
    let fixture = rich(Fixture::new().await).await;

    for scenario in scenarios().iter().filter(|scenario| scenario.by_anybody) {
        invariant(&fixture, &fixture.root, scenario).await;
    }
}

#[actix_web::test]
async fn aud_1_aud_2_the_invariant_holds_by_row_level_security_alone() {
    let fixture = rich(Fixture::without_predicates().await).await;

    for scenario in scenarios() {
        invariant(&fixture, &fixture.a.tenant_admin, &scenario).await;
    }
}

#[actix_web::test]
async fn aud_1_aud_2_commands_of_jobs_are_undone_and_redone_exactly() {
    let fixture = rich(Fixture::new().await).await;

    for number in 0.. {
        let before = snapshot(&fixture).await;
        let Some(command) = crate::customers::run_of_jobs(&fixture, number).await else {
            break;
        };
        let log_id = last_entry(&fixture).await;
        let done = write_of(&fixture, log_id).await;
        let what = format!("{command}, {number}");
        let caller = &fixture.a.tenant_admin;
        restored(&fixture, caller, (command, &what), &before, &done).await;
    }
}

/// before -> run -> undo = before -> redo = after -> undo = before.
async fn invariant(fixture: &Fixture, caller: &Account, scenario: &Scenario) {
    let what = format!("{} ({})", scenario.command, scenario.state);
    let call = (scenario.call)(&fixture.a);
    let before = snapshot(fixture).await;
    let mut request = call.request(&fixture.app, &caller.token);
    if caller.token == fixture.root.token {
        // Without a selection the request would apply to the customers and the catalog of the caller's own tenant.
        request = request.header("X-Tenant-Id", &fixture.a.tenant.to_string());
    }
    let response = request.send().await;
    assert!(response.status < 300, "{what}: {} {}", response.status, response.text());
    let done = response.undoable_write();
    assert_eq!(response.operation().expect("a header")["commandId"], scenario.command);
    restored(fixture, caller, (scenario.command, &what), &before, &done).await;
}

/// Checks the invariant after the run, and the events of each step. A command is given with what messages say about it.
async fn restored(
    fixture: &Fixture,
    caller: &Account,
    (command, what): (&str, &str),
    before: &DatabaseSnapshot,
    done: &UndoableWrite,
) {
    let after = snapshot(fixture).await;
    assert_ne!(after, *before, "{what}: it does something");
    let command = fixture.app.platform().registry().find_command(command);
    let announced = AnnouncedChange {
        fixture,
        command: *command.expect("a registered command"),
        resource: done.resource,
        what,
    };
    announced.check(done.log_id, EntryWriter::Command).await;

    let (status, body) = fixture.app.undo(&caller.token, done).await;
    assert_eq!(status, 200, "{what}, undo: {body}");
    equal(&snapshot(fixture).await, before, &format!("{what}, undone"));
    announced
        .check(id(&body["traceLogId"]), EntryWriter::Undo(done.log_id))
        .await;

    let (status, body) = fixture.app.redo(&caller.token, done).await;
    assert_eq!(status, 200, "{what}, redo: {body}");
    assert_eq!(id(&body["sourceLogId"]), done.log_id);
    equal(&snapshot(fixture).await, &after, &format!("{what}, redone"));
    announced
        .check(id(&body["logId"]), EntryWriter::Redo(done.log_id))
        .await;

    let redone = UndoableWrite {
        log_id: id(&body["logId"]),
        token: text(&body["undoToken"]),
        ..done.clone()
    };
    let (status, body) = fixture.app.undo(&caller.token, &redone).await;
    assert_eq!(status, 200, "{what}, undo again: {body}");
    equal(&snapshot(fixture).await, before, &format!("{what}, undone again"));
    announced
        .check(id(&body["traceLogId"]), EntryWriter::Undo(redone.log_id))
        .await;
}

/// Returns all rows that are not deleted, without the time of their last change.
pub(crate) async fn snapshot(fixture: &Fixture) -> DatabaseSnapshot {
    let mut snapshot = fixture.app.snapshot_without(&UNLOGGED, &["updated_at"]).await;
    for rows in snapshot.values_mut() {
        rows.retain(|row| row.get("deleted_at").is_none_or(Value::is_null));
    }
    only_open_alerts(&mut snapshot);
    snapshot
}

/// Alerts are derived from assignments: a change that is undone leaves a resolved alert, and the same conflict, if it comes back, gets another alert. So
/// the open alerts are compared by what they say.
fn only_open_alerts(snapshot: &mut DatabaseSnapshot) {
    let alerts = snapshot.get_mut("alerts_alerts").expect("the table of alerts");
    alerts.retain(|row| row["resolved_at"].is_null());
    let open: BTreeSet<String> = alerts.iter().map(|row| text(&row["id"])).collect();
    let of_alerts = snapshot.get_mut("alerts_assignments").expect("their assignments");
    of_alerts.retain(|row| open.contains(&text(&row["alert_id"])));
    for (table, identities) in [
        (
            "alerts_alerts",
            &["id", "identity_key", "occurred_at", "created_at"][..],
        ),
        ("alerts_assignments", &["id", "alert_id", "created_at"]),
    ] {
        for row in snapshot.get_mut(table).into_iter().flatten() {
            let row = row.as_object_mut().expect("a row");
            for name in identities {
                row.remove(*name);
            }
        }
    }
    join_counts(snapshot.get_mut("alerts_counts").expect("the numbers of open alerts"));
}

/// The number of an organization and kind is the sum of its rows.
fn join_counts(rows: &mut Vec<Value>) {
    let mut sums = BTreeMap::<_, i64>::new();
    for row in rows.drain(..) {
        let of = ["tenant_id", "organization_id", "kind"].map(|name| text(&row[name]));
        *sums.entry(of).or_default() += row["alerts"].as_i64().expect("a number");
    }
    sums.retain(|_, alerts| *alerts != 0);
    rows.extend(sums.into_iter().map(|(of, alerts)| json!([of, alerts])));
}

pub(crate) fn equal(present: &DatabaseSnapshot, expected: &DatabaseSnapshot, what: &str) {
    for (table, rows) in expected {
        let missing: Vec<_> = rows.iter().filter(|row| !present[table].contains(row)).collect();
        let surplus: Vec<_> = present[table].iter().filter(|row| !rows.contains(row)).collect();
        assert!(
            missing.is_empty() && surplus.is_empty(),
            "{what}: {table} lacks {missing:#?} and has {surplus:#?}"
        );
    }
}
