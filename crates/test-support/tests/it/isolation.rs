//! What the database lets the application's role read and do.

use backoffice_core::db::{Connector, TlsOptions};
use backoffice_core::months::{self, ConfiguredTable, Kept};
use backoffice_core::{Result, Scope};
use backoffice_test_support::TestApp;
use diesel::sql_types::BigInt;
use diesel::{QueryableByName, sql_query};
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use serde_json::json;
use uuid::Uuid;

#[derive(QueryableByName)]
struct Counted {
    #[diesel(sql_type = BigInt)]
    total: i64,
}

const OWN: Uuid = Uuid::from_u128(1);

async fn visible(app: &TestApp, scope: &Scope) -> Result<i64> {
    let mut connection = app.runtime().database.read(scope).await?;
    let counted: Counted = sql_query("select count(*) as total from core_outbox_events")
        .get_result(&mut *connection)
        .await?;
    Ok(counted.total)
}

async fn add_event(app: &TestApp, tenant: Uuid) {
    let sql = format!(
        "insert into core_outbox_events (tenant_id, id, seq, name, payload, browser, occurred_at, created_at, updated_at) \
         values ('{tenant}', gen_random_uuid(), 1, 'sample.note.created', '{{}}', false, now(), now(), now())"
    );
    assert_eq!(app.sql(&sql).await, 1);
}

#[actix_web::test]
async fn rows_of_another_tenant_are_not_there() {
    for app in [TestApp::builder(&[]), TestApp::builder(&[]).without_tenant_predicates()] {
        let app = app.build().await;
        add_event(&app, OWN).await;
        add_event(&app, Uuid::from_u128(2)).await;

        assert_eq!(
            visible(&app, &Scope::tenant(Uuid::from_u128(3)))
                .await
                .expect("a count"),
            0
        );
        assert_eq!(visible(&app, &Scope::tenant(OWN)).await.expect("a count"), 1);
        assert_eq!(visible(&app, &Scope::system()).await.expect("a count"), 2);
    }
}

#[actix_web::test]
async fn the_role_owns_nothing_and_cannot_bypass_row_level_security() {
    let app = TestApp::new(&[]).await;

    let role = app
        .rows(
            "select rolsuper, rolbypassrls, rolcreatedb, rolcreaterole, rolcanlogin, \
               (select count(*) from pg_class where relowner = r.oid) as owned, \
               (select count(*) from pg_auth_members where member = r.oid) as groups \
             from pg_roles r where rolname = 'backoffice_app'",
        )
        .await;

    let expected = json!({
        "rolsuper": false, "rolbypassrls": false, "rolcreatedb": false, "rolcreaterole": false, "rolcanlogin": true,
        "owned": 0, "groups": 0,
    });
    assert_eq!(role, [expected]);
}

#[actix_web::test]
async fn the_role_can_neither_switch_off_nor_rewrite() {
    let app = TestApp::new(&[]).await;
    let mut connection = app
        .runtime()
        .database
        .read(&Scope::system())
        .await
        .expect("a connection");

    for statement in [
        "alter table core_outbox_events disable row level security",
        "drop policy tenant_isolation on core_outbox_events",
        "set session authorization postgres",
        "set role postgres",
        "create table mine (id int)",
        "truncate core_outbox_events",
        "delete from audit_action_logs",
        "update audit_action_logs set actor_name = 'somebody else'",
        "select * from audit_action_logs_later",
        "delete from __diesel_schema_migrations",
    ] {
        let outcome = connection.batch_execute(statement).await;
        let error = outcome.expect_err(statement).to_string();
        assert!(
            error.contains("permission denied") || error.contains("must be owner"),
            "{statement}: {error}"
        );
    }
}

#[actix_web::test]
async fn entries_of_another_tenant_are_not_erased() {
    let app = TestApp::new(&[]).await;
    let database = &app.runtime().database;
    let mut connection = database.read(&Scope::tenant(OWN)).await.expect("a connection");
    let erase = |tenant: Uuid| format!("select audit_erase('{tenant}', 'auth.role', '{tenant}')");

    let own = connection.batch_execute(&erase(OWN)).await;
    let others = connection.batch_execute(&erase(Uuid::from_u128(2))).await;

    own.expect("allowed");
    let rejected = others.expect_err("rejected").to_string();
    assert!(rejected.contains("entries of another tenant"), "{rejected}");
}

/// The exploit: a temporary table with the name of the log, whose trigger runs when a function of the owner updates it.
const EXPLOIT: &str = "
    create function pg_temp.evil() returns trigger language plpgsql as $$
    begin
        execute 'grant update, delete, truncate on public.audit_action_logs to backoffice_app';
        execute 'create table public.created_by_app as select 1 as x';
        return null;
    end $$;
    create temp table audit_action_logs (like public.audit_action_logs);
    grant all on pg_temp.audit_action_logs to public;
    create trigger t before update on pg_temp.audit_action_logs for each statement execute function pg_temp.evil();";
const CALL: &str = "
    select set_config('app.scope', 'system', false);
    select set_config('app.tenant_id', '00000000-0000-0000-0000-000000000000', false);
    select audit_erase('00000000-0000-0000-0000-000000000000', 'x', '00000000-0000-0000-0000-000000000000');
    select audit_forget_counts(); select audit_count_entries(); select app_make_months('audit_action_logs', 4);
    select app_make_months('audit_access_logs', 4);
    select app_drop_months('audit_action_logs', now() - interval '25 hours');
    select app_drop_months('audit_access_logs', now() - interval '25 hours')";

#[actix_web::test]
async fn f6_temporary_tables_do_not_stand_in_for_the_log() {
    let app = TestApp::new(&[]).await;
    let mut connection = app
        .runtime()
        .database
        .read(&Scope::system())
        .await
        .expect("a connection");

    let rejected = connection
        .batch_execute(EXPLOIT)
        .await
        .expect_err("no temporary tables");
    assert!(rejected.to_string().contains("permission denied"), "{rejected}");

    // Even if an administrator has granted that right again.
    app.sql(&format!(
        "grant temporary on database \"{}\" to backoffice_app",
        app.database().name()
    ))
    .await;
    connection.batch_execute(EXPLOIT).await.expect("a temporary table");
    connection.batch_execute(CALL).await.expect("the functions work");

    let rejected = connection.batch_execute("delete from public.audit_action_logs").await;
    assert!(
        rejected
            .expect_err("an error")
            .to_string()
            .contains("permission denied")
    );
    let created = app
        .rows("select to_regclass('public.created_by_app') is null as nothing")
        .await;
    assert_eq!(created, [json!({"nothing": true})]);
}

#[actix_web::test]
async fn f6_young_entries_are_not_dropped_by_any_caller() {
    let app = TestApp::new(&[]).await;
    let database = &app.runtime().database;
    let add = |age: &str| {
        format!(
            "insert into audit_action_logs (tenant_id, id, seq, actor_kind, command_id, action_type, action_label, source, related, \
                execution_state, changed_fields, created_at, updated_at) \
             values ('{OWN}', audit_lowest_id(now() - interval '{age}'), 1, 'system', 'a.b', 'edit', 'A', 'system', '{{}}', 'done', '{{}}', \
                now(), now())"
        )
    };
    for age in ["20 days", "40 days", "70 days"] {
        app.sql(&add(age)).await;
    }
    let left = async || app.rows("select count(*) as n from audit_action_logs").await[0]["n"].clone();
    let drop_all = async || {
        let mut connection = database.read(&Scope::system()).await.expect("a connection");
        connection
            .batch_execute("select app_drop_months('audit_action_logs', now() - interval '25 hours')")
            .await
            .expect("allowed");
    };
    let owner = Connector::new("url", &app.database().owner_url().into(), &TlsOptions::default()).expect("a URL");

    let keep = async |kept| {
        let table = ConfiguredTable {
            name: "audit_action_logs",
            kind: "audit_logs.action",
            kept,
        };
        months::keep(&owner, &[table]).await.expect("written down");
    };

    keep(Kept::ForEver).await;
    drop_all().await;
    assert_eq!(left().await, json!(3), "all are kept, as configured");
    keep(Kept::Months(2)).await;
    drop_all().await;
    assert_eq!(left().await, json!(2), "two months are kept, as configured");

    keep(Kept::Months(1)).await;
    drop_all().await;
    assert_eq!(left().await, json!(1));
}
