//! Many requests at once for one thing.

use actix_web::http::Method;
use futures_util::future::{join, join_all};
use serde_json::{Value, json};

use crate::call::Call;
use crate::history::{self, REDO, UNDO, operation, unavailable};
use crate::world::{World, builder};

const MANY: usize = 100;

#[actix_web::test]
async fn aud_9_of_many_undos_one_succeeds() {
    let world = World::of(builder().pool_size(16)).await;
    let call = Call::put("/auth/roles", json!({"id": world.a.role, "name": "Renamed"}));
    let done = operation(&call.send(&world.app, &world.a.keeper.token).await);

    let answers = together(&world, UNDO, json!({"undoToken": done.token})).await;

    assert_eq!(count(&answers, 200), 1);
    let others: Vec<_> = answers.iter().filter(|(status, _)| *status != 200).collect();
    assert!(
        others
            .iter()
            .all(|(status, body)| (*status, body) == (400, &unavailable()))
    );
    assert_eq!(entries(&world, "undo").await, 1);
    assert_eq!(events(&world, "auth.role.updated", "undo").await, 1);
    assert_eq!(events(&world, "audit_logs.action.undone", "logId").await, 1);
}

#[actix_web::test]
async fn aud_9_of_many_redos_one_succeeds() {
    let world = World::of(builder().pool_size(16)).await;
    let call = Call::put("/auth/roles", json!({"id": world.a.role, "name": "Renamed"}));
    let done = operation(&call.send(&world.app, &world.a.keeper.token).await);
    history::undo(&world.app, &world.a.keeper, &done.token).await;

    let answers = together(&world, REDO, json!({"logId": done.log_id})).await;

    assert_eq!((count(&answers, 200), count(&answers, 400)), (1, MANY - 1));
    assert_eq!(entries(&world, "redo").await, 1);
    assert_eq!(events(&world, "auth.role.updated", "redo").await, 1);
}

#[actix_web::test]
async fn aud_9_undos_on_two_nodes_meet_in_the_database() {
    let world = World::of(builder().pool_size(8)).await;
    let node = world.app.second_node().await;
    let call = Call::put("/auth/roles", json!({"id": world.a.role, "name": "Renamed"}));
    let done = operation(&call.send(&world.app, &world.a.keeper.token).await);

    let apps = [&world.app, &node].into_iter().cycle().take(40);
    let answers = join_all(apps.map(|app| history::undo(app, &world.a.keeper, &done.token))).await;

    assert_eq!((count(&answers, 200), count(&answers, 400)), (1, 39));
    assert_eq!(entries(&world, "undo").await, 1);
}

/// Rounds of an edit and an undo of the edit before it, at once.
const ROUNDS: usize = 1000;

#[actix_web::test]
async fn aud_21_edits_and_undos_of_one_record_at_once_form_one_chain() {
    let world = World::of(builder().pool_size(4)).await;
    let node = world.app.second_node().await;
    let keeper = &world.a.keeper;
    let edit = async |name: String| {
        let call = Call::put("/auth/roles", json!({"id": world.a.role, "name": name}));
        operation(&call.send(&world.app, &keeper.token).await)
    };
    let entries = format!(
        "select count(*) as n from audit_action_logs where resource_kind = 'auth.role' and resource_id = '{}'",
        world.a.role
    );
    let earlier = usize::try_from(number(&world, &entries).await).expect("few");
    let (mut last, mut undone) = (edit("First".to_owned()).await, 0);

    for round in 0..ROUNDS {
        let edited = edit(format!("Round {round}"));
        // Each of them has the advantage every other time.
        let (edited, (status, body)) = if round % 2 == 0 {
            join(edited, history::undo(&node, keeper, &last.token)).await
        } else {
            let (undo, edited) = join(history::undo(&node, keeper, &last.token), edited).await;
            (edited, undo)
        };
        match status {
            200 => undone += 1,
            _ => assert_eq!((status, body), (400, unavailable())),
        }
        last = edited;
    }

    assert!(undone > 0 && undone < ROUNDS, "both orders occur: {undone}");
    let log = world
        .app
        .rows(&format!(
            "select history_action, version_before, version_after, source_log_id, id,
                snapshot_before - 'updatedAt' - '_children' as was,
                snapshot_after - 'updatedAt' - '_children' as became
             from audit_action_logs where resource_kind = 'auth.role' and resource_id = '{}' order by seq",
            world.a.role
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
    let row = &world
        .app
        .rows(&format!("select name from auth_roles where id = '{}'", world.a.role))
        .await[0];
    let end = log.last().expect("entries");
    assert_eq!(row["name"], end["became"]["name"]);
    let versions = world
        .app
        .rows(&format!(
            "select version, max_version from audit_resource_versions where resource_kind = 'auth.role' and resource_id = '{}'",
            world.a.role
        ))
        .await;
    assert_eq!(versions, [json!({"version": version, "max_version": max_version})]);
}

#[actix_web::test]
async fn aud_33_one_idempotency_key_has_one_effect() {
    let world = World::of(builder().pool_size(16)).await;
    let before = made(&world).await;
    let send = || async {
        let request = world.app.request(Method::POST, "/auth/roles");
        let request = request.bearer(&world.a.keeper.token).header("Idempotency-Key", "one");
        request.json(&json!({"name": "Once"})).send().await
    };

    let answers = join_all((0..50).map(|_| send())).await;
    let late = send().await;

    assert_eq!(made(&world).await, before + 1);
    let first = answers
        .iter()
        .find(|one| one.header("idempotency-replayed").is_none() && one.status == 201);
    let first = first.expect("one of them made the role");
    for answer in answers.iter().filter(|one| one.status != 409) {
        assert_eq!((answer.status, answer.json()), (201, first.json()));
    }
    assert_eq!((late.status, late.json()), (201, first.json()));
    assert_eq!(late.header("idempotency-replayed").as_deref(), Some("true"));
    assert_eq!(late.operation(), first.operation());
}

#[actix_web::test]
async fn aud_33_an_idempotency_key_with_another_body_is_refused() {
    let world = World::new().await;
    let send = async |body: Value| {
        let request = world.app.request(Method::POST, "/auth/roles");
        let request = request.bearer(&world.a.keeper.token).header("Idempotency-Key", "one");
        request.json(&body).send().await
    };

    assert_eq!(
        send(json!({"name": ""})).await.status,
        400,
        "a refusal is not remembered"
    );
    assert_eq!(send(json!({"name": "Once"})).await.status, 201);
    assert_eq!(send(json!({"name": "Twice"})).await.status, 422);
    assert_eq!(send(json!({"name": "Once"})).await.status, 201);
}

async fn together(world: &World, path: &str, body: Value) -> Vec<(u16, Value)> {
    join_all((0..MANY).map(|_| world.app.post(&world.a.keeper.token, path, body.clone()))).await
}

fn count(answers: &[(u16, Value)], wanted: u16) -> usize {
    answers.iter().filter(|(status, _)| *status == wanted).count()
}

async fn entries(world: &World, history: &str) -> u64 {
    number(
        world,
        &format!("select count(*) as n from audit_action_logs where history_action = '{history}'"),
    )
    .await
}

async fn events(world: &World, name: &str, member: &str) -> u64 {
    let sql = format!("select count(*) as n from core_outbox_events where name = '{name}' and payload ? '{member}'");
    number(world, &sql).await
}

async fn made(world: &World) -> u64 {
    number(
        world,
        "select count(*) as n from audit_action_logs where command_id = 'auth.role.create'",
    )
    .await
}

async fn number(world: &World, sql: &str) -> u64 {
    world.app.rows(sql).await[0]["n"].as_u64().expect("a number")
}
