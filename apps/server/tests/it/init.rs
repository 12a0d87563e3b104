//! The commands that set up an installation, run repeatedly.

use backoffice_test_support::TestDatabase;
use serde_json::Value;

use crate::support::{Folder, text};

async fn database() -> TestDatabase {
    TestDatabase::create(&backoffice_server::modules::compiled()).await
}

/// Runs a command and returns its output.
fn run(folder: &Folder, database: &TestDatabase, arguments: &[&str]) -> String {
    let url = database.application_url();
    text(&folder.run_with(arguments, &[("BACKOFFICE__DATABASE__URL", &url)]))
}

#[actix_web::test]
async fn acc_40_init_twice_creates_one_tenant() {
    let (folder, database) = (Folder::new(), database().await);
    let tables = [
        "directory_tenants",
        "directory_organizations",
        "auth_users",
        "auth_roles",
        "auth_default_grants",
    ];
    let count = async || {
        let mut counts = Vec::new();
        for table in tables {
            counts.push(database.rows(&format!("select id from {table}")).await.len());
        }
        counts
    };

    run(&folder, &database, &["init", "--generate"]);
    let first = count().await;
    let secrets = std::fs::read_to_string(folder.path("var/secrets.toml")).expect("the file");
    let other = ["--tenant", "Other", "--email", "other@example.com", "--json"];
    let again = run(&folder, &database, &[&["init", "--generate"], &other[..]].concat());

    assert_eq!((first[0], first[1], first[2]), (1, 1, 1));
    assert_eq!(count().await, first);
    let again: Value = serde_json::from_str(&again).expect("JSON");
    assert_eq!(again["tenant"], Value::Null, "{again}");
    let kept = std::fs::read_to_string(folder.path("var/secrets.toml")).expect("the file");
    assert_eq!(kept, secrets, "the keys stay as they are");
}

#[actix_web::test]
async fn acc_40_roles_sync_adds_what_is_new_and_returns_nothing_that_was_taken_away() {
    let (folder, database) = (Folder::new(), database().await);
    run(&folder, &database, &["init", "--generate"]);
    let admin = "(select id from auth_roles where name_norm = 'admin')";
    let features = async || {
        let query = format!("select features from auth_role_acls where role_id = {admin}");
        let rows = database.rows(&query).await;
        let list = rows[0]["features"].as_array().expect("a list").clone();
        list.into_iter()
            .map(|feature| feature.as_str().expect("a text").to_owned())
            .collect::<Vec<_>>()
    };
    let seeded = features().await;
    let (removed, new) = ("auth.*", "directory.organizations.*");
    assert!(
        [removed, new].iter().all(|one| seeded.iter().any(|other| one == other)),
        "{seeded:?}"
    );
    // The first was removed by an administrator; the second belongs to a new module.
    for feature in [removed, new] {
        let change =
            format!("update auth_role_acls set features = array_remove(features, '{feature}') where role_id = {admin}");
        assert_eq!(database.sql(&change).await, 1);
    }
    let forgotten = format!("delete from auth_default_grants where feature = '{new}' and role_id = {admin}");
    assert_eq!(database.sql(&forgotten).await, 1);

    run(&folder, &database, &["roles", "sync"]);
    let synchronized = features().await;
    run(&folder, &database, &["roles", "sync"]);

    let expected: Vec<String> = seeded.into_iter().filter(|one| one != removed).collect();
    assert_eq!(synchronized, expected);
    assert_eq!(
        features().await,
        synchronized,
        "the second time there is nothing to add"
    );
}
