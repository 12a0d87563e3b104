//! A write is one transaction: whichever statement fails, the database is in the state before or after the write.

mod not_undoable;

use std::collections::{BTreeMap, BTreeSet};

use backoffice_test_support::{DatabaseSnapshot, FaultMode, REDO, TestResponse, UNDO, UndoableWrite};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::call::Call;
use crate::fixture::{Account, Fixture, builder};
use crate::scenarios::{rich, scenarios};

/// More statements than any request sends.
const MOST_STATEMENTS: u64 = 100;

/// The rows of each table, without values that differ between runs.
type Shape = BTreeMap<String, Vec<String>>;

#[actix_web::test]
async fn aud_20_a_write_of_roles_is_whole_or_absent() {
    whole_or_absent("auth.role").await;
}

#[actix_web::test]
async fn aud_20_a_write_of_users_is_whole_or_absent() {
    whole_or_absent("auth.user").await;
}

#[actix_web::test]
async fn aud_20_a_write_of_the_profile_is_whole_or_absent() {
    whole_or_absent("auth.profile").await;
}

#[actix_web::test]
async fn aud_20_a_write_of_a_sidebar_is_whole_or_absent() {
    whole_or_absent("auth.sidebar").await;
}

#[actix_web::test]
async fn aud_20_a_write_of_organizations_is_whole_or_absent() {
    whole_or_absent("directory.organization").await;
}

#[actix_web::test]
async fn aud_20_a_write_of_deals_is_whole_or_absent() {
    whole_or_absent("customers.deal").await;
}

#[actix_web::test]
async fn aud_20_a_write_of_pipelines_is_whole_or_absent() {
    whole_or_absent("customers.pipeline.").await;
}

#[actix_web::test]
async fn aud_20_a_write_of_stages_is_whole_or_absent() {
    whole_or_absent("customers.pipeline_stage").await;
}

#[actix_web::test]
async fn aud_20_a_write_of_companies_is_whole_or_absent() {
    whole_or_absent("customers.company").await;
}

#[actix_web::test]
async fn aud_20_a_write_of_people_is_whole_or_absent() {
    whole_or_absent("customers.person").await;
}

#[actix_web::test]
async fn aud_20_a_write_of_the_catalog_is_whole_or_absent() {
    whole_or_absent("catalog").await;
}

#[actix_web::test]
async fn aud_20_a_write_of_files_is_whole_or_absent() {
    whole_or_absent("attachments.").await;
}

#[actix_web::test]
async fn aud_20_a_write_of_the_calendar_is_whole_or_absent() {
    whole_or_absent("calendar.").await;
}

#[actix_web::test]
async fn aud_20_a_write_of_assignments_is_whole_or_absent() {
    whole_or_absent("dispatch.").await;
}

#[actix_web::test]
async fn aud_20_a_write_of_rules_is_whole_or_absent() {
    whole_or_absent("business_rules.").await;
}

#[actix_web::test]
async fn aud_20_a_write_that_can_not_be_undone_is_whole_or_absent() {
    let (failed, lost) = (
        not_undoable::walk(FaultMode::Before).await,
        not_undoable::walk(FaultMode::After).await,
    );

    compare(&failed, &lost);
}

/// The groups above: prefixes of commands. A prefix without a dot at its end names whole commands of several entities.
const GROUPS: [&str; 15] = [
    "auth.role",
    "auth.user",
    "auth.profile",
    "auth.sidebar",
    "directory.organization",
    "customers.deal",
    "customers.pipeline.",
    "customers.pipeline_stage",
    "customers.company",
    "customers.person",
    "catalog",
    "attachments.",
    "calendar.",
    "dispatch.",
    "business_rules.",
];

#[actix_web::test]
async fn aud_20_a_write_of_other_modules_is_whole_or_absent() {
    let is_other = |command: &str| !GROUPS.iter().any(|group| command.starts_with(group));
    let others: BTreeSet<&str> = scenarios()
        .iter()
        .map(|scenario| scenario.command)
        .filter(|id| is_other(id))
        .collect();

    for command in others {
        whole_or_absent(command).await;
    }
}

/// Checks the commands of a group, their undo and redo: an unsent statement leaves no trace, a lost response changes nothing else.
async fn whole_or_absent(group: &str) {
    let failed = walk(group, FaultMode::Before).await;
    let lost = walk(group, FaultMode::After).await;

    assert!(!failed.is_empty(), "no scenario runs a command of `{group}`");
    compare(&failed, &lost);
}

fn compare(failed: &[Tried], lost: &[Tried]) {
    assert!(
        failed.iter().all(|write| write.faults > 2),
        "each write sends several statements"
    );
    assert_eq!(failed.len(), lost.len(), "both walks try the same writes");
    for (failed, lost) in failed.iter().zip(lost) {
        assert_eq!(failed.what, lost.what);
        for (table, rows) in &failed.after {
            let other = &lost.after[table];
            let differing: Vec<_> = rows
                .iter()
                .zip(other)
                .find(|(one, other)| one != other)
                .into_iter()
                .collect();
            assert!(rows == other, "{}: {table}: {differing:#?}", failed.what);
        }
    }
}

/// A write that was tried with a fault at each of its statements.
struct Tried {
    what: String,
    /// Number of faults that left the database unchanged.
    faults: u64,
    /// The final state.
    after: Shape,
}

/// Returns the ids of all rows.
async fn known_ids(fixture: &Fixture) -> BTreeSet<String> {
    fixture.app.snapshot().await.values().flatten().flat_map(ids).collect()
}

/// Runs one scenario of each command of a group on one fixture.
async fn walk(group: &str, mode: FaultMode) -> Vec<Tried> {
    let fixture = &rich(Fixture::of(builder().through_proxy()).await).await;
    let known = known_ids(fixture).await;
    let (admin, mut tried, mut seen) = (&fixture.a.tenant_admin, Vec::new(), BTreeSet::new());
    let scenarios = scenarios().into_iter();
    for scenario in scenarios.filter(|one| one.command.starts_with(group) && seen.insert(one.command)) {
        let what = scenario.command;
        tried.push(attempt(fixture, &known, admin, &(scenario.call)(&fixture.a), what, mode).await);
        let log_id = last_entry(fixture).await;
        let undo = Call::post(UNDO, json!({"undoToken": write_of(fixture, log_id).await.token}));
        tried.push(attempt(fixture, &known, admin, &undo, &format!("undo of {what}"), mode).await);
        let redo = Call::post(REDO, json!({"logId": log_id}));
        tried.push(attempt(fixture, &known, admin, &redo, &format!("redo of {what}"), mode).await);
        // Restores the state that the next command expects.
        let redone = write_of(fixture, last_entry(fixture).await).await;
        let (status, body) = fixture.app.undo(&admin.token, redone).await;
        assert_eq!(status, 200, "{what}, undo again: {body}");
    }
    tried
}

/// Tries a write with a fault at its first statement, its second, and so on, until it succeeds or has an effect.
async fn attempt(
    fixture: &Fixture,
    known: &BTreeSet<String>,
    caller: &Account,
    call: &Call,
    what: &str,
    mode: FaultMode,
) -> Tried {
    let (before, digests) = (fixture.app.snapshot().await, fixture.app.digests().await);
    let digest = digests.now().await;
    for k in 1..MOST_STATEMENTS {
        fixture.app.proxy().fail_at(k, mode);
        let response = call.send(&fixture.app, &caller.token).await;
        let is_through = fixture.app.proxy().heal();
        if digests.now().await == digest {
            assert!(
                !is_through,
                "{what}: it has no effect: {} {}",
                response.status,
                response.text()
            );
            rejected(&response, &format!("{what}, statement {k}"));
            continue;
        }
        let snapshot = fixture.app.snapshot().await;
        if is_through {
            assert!(response.status < 400, "{what}: {} {}", response.status, response.text());
        } else {
            let effect = surplus(&before, &snapshot);
            let sent = mode == FaultMode::After;
            assert!(
                sent,
                "{what}: statement {k} was never sent, and yet it has an effect: {effect:#?}"
            );
            rejected(&response, &format!("{what}, statement {k}"));
        }
        return Tried {
            what: what.to_owned(),
            faults: k - 1,
            after: shape(known, snapshot),
        };
    }
    panic!("{what} sends more than {MOST_STATEMENTS} statements");
}

fn surplus(before: &DatabaseSnapshot, after: &DatabaseSnapshot) -> Vec<Value> {
    let new = |(table, rows): (&String, &Vec<Value>)| {
        let new = rows.iter().filter(|row| !before[table].contains(row));
        new.cloned().collect::<Vec<_>>()
    };
    after.iter().flat_map(new).collect()
}

fn rejected(response: &TestResponse, what: &str) {
    let reported = (response.status, &response.json()["error"]);
    assert_eq!(reported, (503, &json!("Service temporarily unavailable")), "{what}");
    assert!(response.header("retry-after").is_some(), "{what}");
    assert!(response.cookies().is_empty(), "{what}: the cookies stay");
}

/// Columns, and fields of snapshots, whose values differ between two runs of the same request.
const RANDOM: [&str; 11] = [
    "undo_secret",
    "password_hash",
    "token_hash",
    "status_token_hash",
    "request_id",
    "key_hash",
    "key_prefix",
    "keyPrefix",
    "prefix",
    "integrity",
    "last4",
];

/// Removes ids that were created since, secrets and request ids, and the times of revocations, which come from the real clock.
fn shape(known: &BTreeSet<String>, snapshot: DatabaseSnapshot) -> Shape {
    let rows = |table: &str, rows: Vec<Value>| {
        let mut texts: Vec<String> = rows
            .into_iter()
            .map(|mut row| {
                let fields = row.as_object_mut().expect("a row");
                match table {
                    "auth_revocations" => fields.retain(|name, _| !name.ends_with("_at")),
                    // Sealed with a random nonce.
                    "onboarding_requests" => drop(fields.remove("email")),
                    "business_rules_webhook_secrets" => drop(fields.remove("secret")),
                    // Its rows have random ids, also those of the records that were there before.
                    "alerts_counts" => drop(fields.remove("id")),
                    // Measured.
                    "business_rules_execution_logs" => drop(fields.remove("execution_time_ms")),
                    _ => {}
                }
                without_new_ids(&row, known).to_string()
            })
            .collect();
        texts.sort();
        texts
    };
    snapshot
        .into_iter()
        .map(|(table, own)| (table.clone(), rows(&table, own)))
        .collect()
}

fn ids(row: &Value) -> Vec<String> {
    match row {
        Value::String(text) if text.parse::<Uuid>().is_ok() => vec![text.clone()],
        Value::Array(values) => values.iter().flat_map(ids).collect(),
        Value::Object(fields) => fields.values().flat_map(ids).collect(),
        _ => Vec::new(),
    }
}

fn without_new_ids(value: &Value, known: &BTreeSet<String>) -> Value {
    match value {
        Value::String(text) => {
            let mut text = text.clone();
            for word in text.clone().split(|c: char| !c.is_ascii_hexdigit() && c != '-') {
                if word.len() == 36 && word.parse::<Uuid>().is_ok() && !known.contains(word) {
                    text = text.replace(word, "<new>");
                }
            }
            Value::String(text)
        }
        Value::Array(values) => values.iter().map(|one| without_new_ids(one, known)).collect(),
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, _)| !RANDOM.contains(&name.as_str()))
            .map(|(name, one)| (name.clone(), without_new_ids(one, known)))
            .collect(),
        other => other.clone(),
    }
}

pub(crate) async fn last_entry(fixture: &Fixture) -> Uuid {
    let sql = format!(
        "select id from audit_action_logs where tenant_id = '{}' order by seq desc limit 1",
        fixture.a.tenant
    );
    crate::fixture::id(&fixture.app.rows(&sql).await[0]["id"])
}

/// Returns the write of an entry of the log; after a lost response the owner has no other way to learn the undo token.
pub(crate) async fn write_of(fixture: &Fixture, log_id: Uuid) -> UndoableWrite {
    UndoableWrite::from_entry(&crate::history::entry(&fixture.app, &fixture.a.tenant_admin, log_id).await)
}
