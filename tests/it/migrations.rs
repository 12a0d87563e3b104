//! Migrations and the versions of lists.

use backoffice_core::Module;
use backoffice_core::db::migrate;
use backoffice_core::module::migrations;
use backoffice_test_support::{APPLICATION_ROLE, TestDatabase};
use secrecy::SecretString;

async fn version(database: &TestDatabase) -> i64 {
    let stored = database
        .rows("select version from core_collections where kind = '*'")
        .await;
    stored.first().and_then(|row| row["version"].as_i64()).unwrap_or(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_migration_changes_the_version_of_everything_even_if_the_next_one_fails() {
    let database = TestDatabase::empty().await;
    let url = SecretString::from(database.owner_url());
    let apply = async |modules: &[&'static Module]| migrate(&url, APPLICATION_ROLE, &migrations(modules)).await;
    apply(&[]).await.expect("the tables of core");
    let of_core = version(&database).await;
    // The migration of the second module creates this table.
    database.sql("create table progress_jobs ()").await;

    let failed = apply(&[&backoffice_directory::MODULE, &backoffice_progress::MODULE]).await;

    assert!(failed.is_err());
    let of_directory = version(&database).await;
    assert!(of_core > 0 && of_directory > of_core, "{of_core} {of_directory}");

    database.sql("drop table progress_jobs").await;
    let applied = apply(&[&backoffice_directory::MODULE, &backoffice_progress::MODULE]).await;
    assert_eq!(applied.ok(), Some(1));
    assert_eq!(version(&database).await, of_directory + 1);

    // Without a migration nothing has changed.
    let applied = apply(&[&backoffice_directory::MODULE, &backoffice_progress::MODULE]).await;
    assert_eq!(applied.ok(), Some(0));
    assert_eq!(version(&database).await, of_directory + 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn migrations_of_two_modules_with_one_number_are_rejected() {
    let database = TestDatabase::empty().await;
    let url = SecretString::from(database.owner_url());
    let modules = migrations(&[&backoffice_directory::MODULE, &backoffice_directory::MODULE]);

    let rejected = migrate(&url, APPLICATION_ROLE, &modules).await;

    let error = rejected.expect_err("one number").to_string();
    assert!(error.contains("both have the number 0100"), "{error}");
    let tables = database
        .rows("select to_regclass('core_jobs') is not null as created")
        .await;
    assert_eq!(tables[0]["created"], false);
}
