//! The tables that are partitioned by month, with every module.

use std::collections::BTreeSet;

use backoffice_core::Scope;
use diesel_async::SimpleAsyncConnection;
use serde_json::{Value, json};

use crate::fixture::{MODULES, text};

async fn app() -> backoffice_test_support::TestApp {
    backoffice_test_support::TestApp::builder(MODULES)
        .config(crate::fixture::AUTH)
        .build()
        .await
}

fn names(rows: &[Value]) -> BTreeSet<String> {
    rows.iter().map(|row| text(&row["name"])).collect()
}

#[actix_web::test]
async fn a_table_is_partitioned_if_and_only_if_it_is_declared() {
    let app = app().await;
    let partitioned =
        "select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'p'";

    let declared: BTreeSet<String> = app
        .platform()
        .monthly_tables()
        .iter()
        .map(|table| table.name.to_owned())
        .collect();

    assert_eq!(names(&app.rows(partitioned).await), declared);
    assert_eq!(names(&app.rows("select name from core_monthly_tables").await), declared);
}

#[actix_web::test]
async fn migrate_creates_the_months_ahead_between_two_ends() {
    let app = app().await;
    let ends = ["earlier", "later"].map(|end| json!({"part": end}));
    let months = "select to_char(now() at time zone 'utc' + make_interval(months => n), 'YYYYMM') as part from generate_series(0, 3) n";
    let mut expected: Vec<Value> = app.rows(months).await;
    expected.extend(ends);

    for table in app.platform().monthly_tables().iter() {
        let name = table.name;
        let parts = format!(
            "select substr(c.relname, length('{name}') + 2) as part from pg_inherits i join pg_class c on c.oid = i.inhrelid
             where i.inhparent = '{name}'::regclass order by 1"
        );
        assert_eq!(app.rows(&parts).await, expected, "{name}");
    }
}

#[actix_web::test]
async fn the_application_has_no_rights_on_partitions_which_are_secured_like_their_tables() {
    let app = app().await;
    let open = "select c.relname as name from pg_class c
        where c.relnamespace = 'public'::regnamespace and c.relispartition and c.relkind in ('r', 'p') and not (
            c.relrowsecurity and c.relforcerowsecurity
            and exists (select from pg_policy p where p.polrelid = c.oid and p.polname = 'tenant_isolation')
            and not has_table_privilege('backoffice_app', c.oid, 'select, insert, update, delete, truncate, references, trigger')
            and not has_any_column_privilege('backoffice_app', c.oid, 'select, insert, update, references')
            and c.relowner = (select t.relowner from pg_inherits i join pg_class t on t.oid = i.inhparent where i.inhrelid = c.oid))";

    assert_eq!(app.rows(open).await, Vec::<Value>::new());
}

#[actix_web::test]
async fn the_application_neither_changes_the_retention_nor_partitions_a_table() {
    let app = app().await;
    let mut connection = app
        .runtime()
        .database
        .read(&Scope::system())
        .await
        .expect("a connection");

    for (statement, reason) in [
        ("update core_monthly_tables set kept = '1 day'", "permission denied"),
        (
            "insert into core_monthly_tables values ('auth_sessions', '1 day', now())",
            "permission denied",
        ),
        ("delete from core_monthly_tables", "permission denied"),
        ("call app_partition_by_month('auth_sessions')", "permission denied"),
        ("call app_merge_months('audit_action_logs')", "permission denied"),
        ("call app_replace_table('auth_sessions', true)", "permission denied"),
        (
            "select app_make_months('auth_sessions', 3)",
            "\"auth_sessions\" is not partitioned by month",
        ),
        (
            "select app_drop_months('auth_sessions', now() - interval '25 hours')",
            "\"auth_sessions\" is not partitioned by month",
        ),
        (
            "select app_drop_months('audit_action_logs', now())",
            "rows younger than a day are kept",
        ),
        (
            "select app_make_months('audit_action_logs', 25)",
            "must be between 0 and 24",
        ),
    ] {
        let rejected = connection.batch_execute(statement).await.expect_err(statement);
        assert!(rejected.to_string().contains(reason), "{statement}: {rejected}");
    }
}
