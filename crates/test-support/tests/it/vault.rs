//! Sealed values after a rotation of the keys.

use backoffice_core::jobs::enqueue_due;
use backoffice_core::vault::{SealedColumn, SealedState, states};
use backoffice_core::{Call, Module, Scope};
use backoffice_test_support::{APPLICATION_ROLE, Duration, TestApp};
use diesel::sql_query;
use diesel::sql_types::{Array, Binary, Uuid as SqlUuid};
use uuid::Uuid;

const COLUMN: SealedColumn = SealedColumn {
    table: "sealing_values",
    column: "value",
};

static MODULE: Module = Module {
    name: "sealing",
    register: |registry| {
        registry.extend(COLUMN);
    },
    ..Module::EMPTY
};

const TABLE: &str = "create table sealing_values (tenant_id uuid, id uuid, value bytea, primary key (tenant_id, id))";

/// Returns the configuration of these keys, the first of which seals.
fn keys(names: &[&str]) -> String {
    let keys: Vec<String> = names
        .iter()
        .map(|name| format!("{{ kid = \"{name}\", secret = \"{}\" }}", name.repeat(20)))
        .collect();
    format!("[vault]\nkeys = [{}]\n", keys.join(", "))
}

/// Inserts a value of each tenant and id, sealed with the first key of the application.
async fn insert(app: &TestApp, rows: &[(Uuid, Uuid)]) {
    let sealed = |(tenant, id): &(Uuid, Uuid)| {
        let sealed = app.platform().vault().seal(*tenant, COLUMN.of(*id), b"secret");
        sealed.expect("a key")
    };
    let mut connection = app
        .runtime()
        .database
        .unlogged(&Scope::system())
        .await
        .expect("a connection");
    let statement = sql_query("insert into sealing_values select * from unnest($1, $2, $3)")
        .bind::<Array<SqlUuid>, _>(rows.iter().map(|(tenant, _)| *tenant).collect::<Vec<_>>())
        .bind::<Array<SqlUuid>, _>(rows.iter().map(|(_, id)| *id).collect::<Vec<_>>())
        .bind::<Array<Binary>, _>(rows.iter().map(sealed).collect::<Vec<_>>());
    let inserted = diesel_async::RunQueryDsl::execute(statement, &mut *connection).await;
    assert_eq!(inserted.expect("inserted"), rows.len());
}

/// Runs the schedule after this time.
async fn run_after(node: &TestApp, duration: Duration) {
    node.advance(duration);
    enqueue_due(&Call::internal(node.runtime())).await.expect("enqueued");
    node.run_jobs().await;
}

async fn state(node: &TestApp) -> SealedState {
    let mut states = states(&Call::internal(node.runtime())).await.expect("read");
    assert_eq!(states.len(), 1);
    states.remove(0)
}

async fn create_table(app: &TestApp) {
    app.sql(TABLE).await;
    app.sql(&format!(
        "grant select, insert, update on sealing_values to {APPLICATION_ROLE}"
    ))
    .await;
}

async fn rotated() -> (TestApp, TestApp) {
    let app = TestApp::builder(&[&MODULE]).config(&keys(&["old"])).build().await;
    create_table(&app).await;
    let rotated = app.second_node_with(&keys(&["new", "old"])).await;
    // A new schedule is due after its first interval.
    run_after(&rotated, Duration::ZERO).await;
    (app, rotated)
}

#[actix_web::test]
async fn all_values_are_sealed_again_over_several_pages_also_those_of_equal_ids() {
    let (app, rotated) = rotated().await;
    let rows: Vec<(Uuid, Uuid)> = (1..=3)
        .flat_map(|tenant| (1..=700).map(move |id| (Uuid::from_u128(tenant), Uuid::from_u128(id))))
        .collect();
    insert(&app, &rows).await;
    let before = state(&rotated).await;
    assert_eq!((before.values, before.older, before.unreadable), (2100, 2100, 0));

    run_after(&rotated, Duration::minutes(11)).await;

    let after = state(&rotated).await;
    assert_eq!((after.values, after.older, after.unreadable), (2100, 0, 0));
}

#[actix_web::test]
async fn a_column_without_older_values_is_read_again_a_day_later() {
    let (app, rotated) = rotated().await;
    let row = |id: u128| (Uuid::from_u128(1), Uuid::from_u128(id));
    insert(&app, &[row(1)]).await;
    run_after(&rotated, Duration::minutes(11)).await;
    assert_eq!(state(&rotated).await.older, 0);

    // As long as the last pass has found some, the next one looks again.
    insert(&app, &[row(2)]).await;
    run_after(&rotated, Duration::minutes(11)).await;
    assert_eq!(state(&rotated).await.older, 0);

    run_after(&rotated, Duration::minutes(11)).await;
    insert(&app, &[row(3)]).await;
    run_after(&rotated, Duration::minutes(11)).await;
    assert_eq!(state(&rotated).await.older, 1, "the column was not read");
    run_after(&rotated, Duration::days(1)).await;
    assert_eq!(state(&rotated).await.older, 0);
}

#[actix_web::test]
async fn values_of_a_disabled_module_are_counted_and_sealed_again() {
    static OTHER: Module = Module {
        name: "other",
        ..Module::EMPTY
    };
    let app = TestApp::builder(&[&OTHER]).compiled(&[&OTHER, &MODULE]);
    let app = app.config(&keys(&["old"])).build().await;
    let call = Call::internal(app.runtime());
    assert_eq!(states(&call).await.expect("read"), [], "the module was never enabled");
    create_table(&app).await;
    insert(&app, &[(Uuid::from_u128(1), Uuid::from_u128(1))]).await;
    let rotated = app.second_node_with(&keys(&["new", "old"])).await;
    run_after(&rotated, Duration::ZERO).await;
    let before = state(&rotated).await;
    assert_eq!((before.values, before.older, before.unreadable), (1, 1, 0));
    assert_eq!(before.disabled_module, Some("sealing"));

    run_after(&rotated, Duration::minutes(11)).await;

    let removed = app.second_node_with(&keys(&["new"])).await;
    let after = state(&removed).await;
    assert_eq!((after.values, after.older, after.unreadable), (1, 0, 0));
    let without_keys = app.second_node_with("").await;
    assert_eq!(state(&without_keys).await.unreadable, 1);
}
