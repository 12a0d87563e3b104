//! `migrate`: the rights that it sets, and the databases that it rejects.

use std::process::Output;

use backoffice_server::modules::compiled;
use backoffice_test_support::TestDatabase;
use serde_json::{Value, json};

use crate::support::{Folder, errors, text};

fn migrate(folder: &Folder, application_url: &str, owner_url: &str) -> Output {
    let urls = [
        ("BACKOFFICE__DATABASE__URL", application_url),
        ("BACKOFFICE__DATABASE__OWNER_URL", owner_url),
    ];
    folder.run_with(&["migrate"], &urls)
}

/// Returns what a role may do with each table, and with each column of the logs.
async fn rights(database: &TestDatabase, role: &str) -> Vec<Value> {
    let query = format!(
        "select c.relname as name,
             array(select p from unnest(array['select', 'insert', 'update', 'delete', 'truncate', 'references', 'trigger']) p
                   where has_table_privilege('{role}', c.oid, p)) as rights,
             array(select a.attname || ' ' || p
                   from pg_attribute a, unnest(array['select', 'insert', 'update', 'references']) p
                   where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and c.relname like 'audit%'
                       and has_column_privilege('{role}', c.oid, a.attnum, p)
                   order by 1) as columns
         from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') order by 1"
    );
    database.rows(&query).await
}

#[actix_web::test]
async fn rights_that_were_granted_by_hand_are_revoked() {
    let (folder, database) = (Folder::new(), TestDatabase::create(&compiled()).await);
    let (url, owner_url) = (database.application_url(), database.owner_url());
    let (_, after_scheme) = url.split_once("://").expect("a URL");
    let role = after_scheme.split([':', '@']).next().expect("a role");
    let before = rights(&database, role).await;
    let of_log = before.iter().find(|table| table["name"] == "audit_access_logs");
    assert_eq!(of_log.expect("the log")["rights"], json!(["select", "insert"]));

    for grant in [
        format!("grant all on all tables in schema public to \"{role}\""),
        "grant update, delete, truncate on audit_access_logs, audit_action_logs to public".to_owned(),
        format!("grant update (snapshot_before) on audit_action_logs, audit_action_logs_later to \"{role}\""),
    ] {
        database.sql(&grant).await;
        assert_ne!(rights(&database, role).await, before, "{grant}");

        text(&migrate(&folder, &url, &owner_url));

        assert_eq!(rights(&database, role).await, before, "{grant}");
    }
}

#[actix_web::test]
async fn a_role_that_does_not_own_the_schema_is_rejected_with_the_next_step() {
    let folder = Folder::new();
    for (database, expected) in [
        (TestDatabase::create(&compiled()).await, "does not own the schema"),
        (TestDatabase::empty().await, "may not create tables in the schema"),
    ] {
        let rejected = migrate(&folder, &database.owner_url(), &database.application_url());

        let reported = errors(&rejected);
        assert!(!rejected.status.success(), "{reported}");
        assert!(
            reported.contains("database.owner_url") && reported.contains(expected),
            "{reported}"
        );
        assert!(reported.contains("put the URL of the role that owns"), "{reported}");
    }
}

#[actix_web::test]
async fn a_migration_waits_for_another_one_whatever_the_lock_timeout() {
    let (folder, database) = (Folder::new(), TestDatabase::create(&compiled()).await);
    let (url, owner_url) = (database.application_url(), database.owner_url());
    let limit = format!("alter database \"{}\" set lock_timeout = '10ms'", database.name());
    database.sql(&limit).await;
    let waits = async { tokio::task::spawn_blocking(move || migrate(&folder, &url, &owner_url)).await };

    let other = "select pg_advisory_xact_lock(hashtext('backoffice.migrate'))";
    let migrated = database.while_changing(other, waits).await.expect("no panic");

    text(&migrated);
}

#[actix_web::test]
async fn a_server_that_accepts_no_writes_is_rejected_with_the_next_step() {
    let (folder, database) = (Folder::new(), TestDatabase::empty().await);
    let read_only = format!(
        "alter database \"{}\" set default_transaction_read_only = on",
        database.name()
    );
    database.sql(&read_only).await;

    let rejected = migrate(&folder, &database.application_url(), &database.owner_url());

    let reported = errors(&rejected);
    assert!(!rejected.status.success(), "{reported}");
    assert!(
        reported.contains("accepts no writes") && reported.contains("database.owner_url"),
        "{reported}"
    );
}
