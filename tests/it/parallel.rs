//! Concurrent requests for the same record.

use std::time::Duration;

use actix_web::http::Method;
use backoffice_test_support::{REDO, UNDO};
use futures_util::future::{join, join_all};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::call::Call;
use crate::fixture::{Fixture, builder};
use crate::history::unavailable;

const BUSY_MS: usize = 100;

#[actix_web::test]
async fn aud_9_of_many_undos_one_succeeds() {
    let fixture = Fixture::of(builder().pool_size(16)).await;
    let call = Call::put("/auth/roles", json!({"id": fixture.a.role, "name": "Renamed"}));
    let done = call
        .send(&fixture.app, &fixture.a.tenant_admin.token)
        .await
        .undoable_write();

    let responses = together(&fixture, UNDO, json!({"undoToken": done.token})).await;

    assert_eq!(count(&responses, 200), 1);
    let others: Vec<_> = responses.iter().filter(|(status, _)| *status != 200).collect();
    assert!(
        others
            .iter()
            .all(|(status, body)| (*status, body) == (400, &unavailable()))
    );
    assert_eq!(entries(&fixture, "undo").await, 1);
    assert_eq!(events(&fixture, "auth.role.updated", "undo").await, 1);
    assert_eq!(events(&fixture, "audit_logs.action.undone", "logId").await, 1);
}

#[actix_web::test]
async fn aud_9_of_many_redos_one_succeeds() {
    let fixture = Fixture::of(builder().pool_size(16)).await;
    let call = Call::put("/auth/roles", json!({"id": fixture.a.role, "name": "Renamed"}));
    let done = call
        .send(&fixture.app, &fixture.a.tenant_admin.token)
        .await
        .undoable_write();
    fixture.app.undo(&fixture.a.tenant_admin.token, &done).await;

    let responses = together(&fixture, REDO, json!({"logId": done.log_id})).await;

    assert_eq!((count(&responses, 200), count(&responses, 400)), (1, BUSY_MS - 1));
    assert_eq!(entries(&fixture, "redo").await, 1);
    assert_eq!(events(&fixture, "auth.role.updated", "redo").await, 1);
}

#[actix_web::test]
async fn aud_9_undos_on_two_nodes_meet_in_the_database() {
    let fixture = Fixture::of(builder().pool_size(8)).await;
    let node = fixture.app.second_node().await;
    let call = Call::put("/auth/roles", json!({"id": fixture.a.role, "name": "Renamed"}));
    let done = call
        .send(&fixture.app, &fixture.a.tenant_admin.token)
        .await
        .undoable_write();

    let apps = [&fixture.app, &node].into_iter().cycle().take(40);
    let responses = join_all(apps.map(|app| app.undo(&fixture.a.tenant_admin.token, &done))).await;

    assert_eq!((count(&responses, 200), count(&responses, 400)), (1, 39));
    assert_eq!(entries(&fixture, "undo").await, 1);
}

/// Number of commands of a tenant that a process executes at once.
const WRITERS: usize = 6;

#[actix_web::test]
async fn commands_that_wait_for_a_lock_delay_others_but_do_not_stop_them() {
    let fixture = Fixture::of(builder().pool_size(16)).await;
    let (app, token, role) = (&fixture.app, &fixture.a.tenant_admin.token, fixture.a.role);
    let rename = async |number| {
        let call = Call::put("/auth/roles", json!({"id": role, "name": format!("Name {number}")}));
        call.send(app, token).await.status
    };
    app.sql(&format!(
        "begin; select 1 from auth_roles where id = '{role}' for update"
    ))
    .await;

    let waiting = join_all((0..WRITERS).map(rename));
    let (waited, another) = join(waiting, async {
        let call = Call::post("/auth/roles", json!({"name": "Another"}));
        let status = call.send(app, token).await.status;
        app.sql("rollback").await;
        status
    })
    .await;

    assert_eq!(another, 201);
    assert_eq!(waited, [200; WRITERS]);
}

/// Number of rounds of an edit concurrent with the undo of the previous edit.
const ROUNDS: usize = 1000;

#[actix_web::test]
async fn aud_21_edits_and_undos_of_one_record_at_once_form_one_chain() {
    let fixture = Fixture::of(builder().pool_size(4)).await;
    let node = fixture.app.second_node().await;
    let tenant_admin = &fixture.a.tenant_admin;
    let edit = async |name: String| {
        let call = Call::put("/auth/roles", json!({"id": fixture.a.role, "name": name}));
        call.send(&fixture.app, &tenant_admin.token).await.undoable_write()
    };
    let entries = format!(
        "select count(*) as n from audit_action_logs where resource_kind = 'auth.role' and resource_id = '{}'",
        fixture.a.role
    );
    let earlier = usize::try_from(number(&fixture, &entries).await).expect("few");
    let (mut last, mut undone) = (edit("First".to_owned()).await, 0);
    // The undo sends more statements before it locks the role, so it gets a start of up to the length of a round without one, whatever the load of the machine.
    let mut usual = Duration::ZERO;

    for round in 0..ROUNDS {
        let started = Instant::now();
        let start = usual * (u32::try_from(round).expect("few") / 2 % 4) / 3;
        let edited = async {
            sleep(start).await;
            edit(format!("Round {round}")).await
        };
        // The edit and the undo take turns at being sent first.
        let (edited, (status, body)) = if round % 2 == 0 {
            join(edited, node.undo(&tenant_admin.token, &last)).await
        } else {
            let (undo, edited) = join(node.undo(&tenant_admin.token, &last), edited).await;
            (edited, undo)
        };
        match status {
            200 => undone += 1,
            _ => assert_eq!((status, body), (400, unavailable())),
        }
        last = edited;
        if start.is_zero() {
            usual = started.elapsed();
        }
    }

    assert!(undone > 0 && undone < ROUNDS, "both orders occur: {undone}");
    let log = fixture
        .app
        .rows(&format!(
            "select history_action, version_before, version_after, source_log_id, id,
                snapshot_before - 'updatedAt' - '_children' as was,
                snapshot_after - 'updatedAt' - '_children' as became
             from audit_action_logs where resource_kind = 'auth.role' and resource_id = '{}' order by seq",
            fixture.a.role
        ))
        .await;
    assert_eq!(log.len(), earlier + 1 + ROUNDS + undone, "nothing is lost");
    let (mut version, mut max_version) = (json!(0), 0);
    for (before, entry) in log.iter().zip(&log[1..]) {
        assert_eq!(before["became"], entry["was"], "{before} {entry}");
    }
    for entry in &log {
        if entry["history_action"] == "undo" {
            let source = log
                .iter()
                .find(|one| one["id"] == entry["source_log_id"])
                .expect("it is there");
            assert_eq!(source["version_after"], version, "only the latest is undone");
            version = source["version_before"].clone();
        } else {
            max_version += 1;
            assert_eq!(
                (&entry["version_before"], &entry["version_after"]),
                (&version, &json!(max_version))
            );
            version = json!(max_version);
        }
    }
    let row = &fixture
        .app
        .rows(&format!("select name from auth_roles where id = '{}'", fixture.a.role))
        .await[0];
    let end = log.last().expect("entries");
    assert_eq!(row["name"], end["became"]["name"]);
    let versions = fixture
        .app
        .rows(&format!(
            "select version, max_version from audit_resource_versions where resource_kind = 'auth.role' and resource_id = '{}'",
            fixture.a.role
        ))
        .await;
    assert_eq!(versions, [json!({"version": version, "max_version": max_version})]);
}

#[actix_web::test]
async fn aud_33_one_idempotency_key_has_one_effect() {
    let fixture = Fixture::of(builder().pool_size(16)).await;
    let before = created(&fixture).await;
    let send = || async {
        let request = fixture.app.request(Method::POST, "/auth/roles");
        let request = request
            .bearer(&fixture.a.tenant_admin.token)
            .header("Idempotency-Key", "one");
        request.json(&json!({"name": "Once"})).send().await
    };

    let responses = join_all((0..50).map(|_| send())).await;
    let late = send().await;

    assert_eq!(created(&fixture).await, before + 1);
    let first = responses
        .iter()
        .find(|one| one.header("idempotency-replayed").is_none() && one.status == 201);
    let first = first.expect("one of them made the role");
    for outcome in responses.iter().filter(|one| one.status != 409) {
        assert_eq!((outcome.status, outcome.json()), (201, first.json()));
    }
    assert_eq!((late.status, late.json()), (201, first.json()));
    assert_eq!(late.header("idempotency-replayed").as_deref(), Some("true"));
    assert_eq!(late.operation(), first.operation());
}

#[actix_web::test]
async fn aud_33_an_idempotency_key_with_another_body_is_rejected() {
    let fixture = Fixture::new().await;
    let send = async |body: Value| {
        let request = fixture.app.request(Method::POST, "/auth/roles");
        let request = request
            .bearer(&fixture.a.tenant_admin.token)
            .header("Idempotency-Key", "one");
        request.json(&body).send().await
    };

    assert_eq!(
        send(json!({"name": ""})).await.status,
        400,
        "a rejection is not remembered"
    );
    assert_eq!(send(json!({"name": "Once"})).await.status, 201);
    assert_eq!(send(json!({"name": "Twice"})).await.status, 422);
    assert_eq!(send(json!({"name": "Once"})).await.status, 201);
}

async fn together(fixture: &Fixture, path: &str, body: Value) -> Vec<(u16, Value)> {
    join_all((0..BUSY_MS).map(|_| fixture.app.post(&fixture.a.tenant_admin.token, path, body.clone()))).await
}

fn count(responses: &[(u16, Value)], requested: u16) -> usize {
    responses.iter().filter(|(status, _)| *status == requested).count()
}

async fn entries(fixture: &Fixture, history: &str) -> u64 {
    number(
        fixture,
        &format!("select count(*) as n from audit_action_logs where history_action = '{history}'"),
    )
    .await
}

async fn events(fixture: &Fixture, name: &str, field: &str) -> u64 {
    let sql = format!("select count(*) as n from core_outbox_events where name = '{name}' and payload ? '{field}'");
    number(fixture, &sql).await
}

async fn created(fixture: &Fixture) -> u64 {
    number(
        fixture,
        "select count(*) as n from audit_action_logs where command_id = 'auth.role.create'",
    )
    .await
}

async fn number(fixture: &Fixture, sql: &str) -> u64 {
    fixture.app.rows(sql).await[0]["n"].as_u64().expect("a number")
}
