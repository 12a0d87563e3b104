//! The commands that set up an installation, run repeatedly.

use backoffice_test_support::TestDatabase;
use serde_json::{Value, json};

use crate::support::{Folder, errors, text};

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
async fn concurrent_inits_create_one_tenant() {
    let (folder, database) = (Folder::new(), database().await);
    let outputs: Vec<String> = std::thread::scope(|scope| {
        let started: Vec<_> = (0..3)
            .map(|_| scope.spawn(|| run(&folder, &database, &["init", "--generate"])))
            .collect();
        started.into_iter().map(|one| one.join().expect("an output")).collect()
    });

    // The secrets may have been created by another process than the tenant.
    let of_others = outputs
        .iter()
        .filter(|output| output.contains("there is a tenant already"));
    assert_eq!(of_others.count(), 2, "{outputs:?}");
    assert!(
        outputs.iter().filter(|output| output.contains("secrets.toml")).count() <= 1,
        "{outputs:?}"
    );
    assert_eq!(database.rows("select id from directory_tenants").await.len(), 1);
    assert_eq!(database.rows("select id from auth_users").await.len(), 1);
}

#[cfg(feature = "auth")]
#[actix_web::test]
async fn init_reports_new_secrets_where_a_tenant_exists() {
    let (folder, database) = (Folder::new(), database().await);
    let init = || run(&folder, &database, &["init", "--generate"]);
    init();
    let unchanged = init();
    std::fs::remove_file(folder.path("var/secrets.toml")).expect("the file");

    let changed = init();

    assert!(unchanged.contains("nothing was changed"), "{unchanged}");
    assert!(
        changed.contains("secrets.toml") && !changed.contains("nothing was changed"),
        "{changed}"
    );
    assert!(folder.path("var/secrets.toml").is_file());
}

#[cfg(feature = "auth")]
#[actix_web::test]
async fn a_rejected_administrator_leaves_no_tenant() {
    let (folder, database) = (Folder::new(), database().await);
    let url = database.application_url();
    folder.write("short", "short");
    folder.write("password", "serves-Twice-4711");
    let init = |tenant: &str, email: &str, password: &str| {
        let arguments = [
            "init",
            "--tenant",
            tenant,
            "--email",
            email,
            "--password-file",
            password,
        ];
        folder.run_with(&arguments, &[("BACKOFFICE__DATABASE__URL", &url)])
    };
    let tenants = async || database.rows("select name from directory_tenants").await;

    let short = init("Typo Ltd", "boss@x.example", "short");
    let invalid = init("Typo Ltd", "boss", "password");

    assert!(!short.status.success() && !invalid.status.success());
    assert!(errors(&short).contains("Password does not meet"), "{}", errors(&short));
    assert!(errors(&invalid).contains("e-mail address"), "{}", errors(&invalid));
    assert_eq!(tenants().await, [Value::Null; 0]);
    let demo = ["init", "--generate", "--demo", "--email", "Demo-Employee@example.com"];
    let taken = folder.run_with(&demo, &[("BACKOFFICE__DATABASE__URL", &url)]);
    assert!(!taken.status.success(), "an address of a demonstration account");
    assert!(errors(&taken).contains("another `--email`"), "{}", errors(&taken));
    assert_eq!(tenants().await, [Value::Null; 0]);
    let created = text(&init("Right Ltd", "boss@x.example", "password"));
    assert_eq!(tenants().await, [json!({"name": "Right Ltd"})]);
    assert!(created.contains("(as given)") && !created.contains("curl"), "{created}");
}

#[cfg(feature = "directory")]
#[actix_web::test]
async fn a_schema_without_granted_rights_is_rejected_with_the_command_that_grants_them() {
    let (folder, database) = (Folder::new(), database().await);
    let (url, owner_url) = (database.application_url(), database.owner_url());
    let (_, after_scheme) = url.split_once("://").expect("a URL");
    let role = after_scheme.split([':', '@']).next().expect("a role");
    let revoked = format!("revoke all on __diesel_schema_migrations from \"{role}\"");
    database.sql(&revoked).await;
    let application = ("BACKOFFICE__DATABASE__URL", url.as_str());
    let list = ["tenant", "list"];

    for command in [&list[..], &["doctor"]] {
        let output = folder.run_with(command, &[application]);
        let reported = format!("{}{}", String::from_utf8_lossy(&output.stdout), errors(&output));
        assert!(!output.status.success(), "{reported}");
        let names_the_command =
            reported.contains("has no rights on the schema") && reported.contains("`backoffice migrate`");
        assert!(
            names_the_command && !reported.contains("permission denied"),
            "{reported}"
        );
    }

    let owner = ("BACKOFFICE__DATABASE__OWNER_URL", owner_url.as_str());
    text(&folder.run_with(&["migrate"], &[application, owner]));
    run(&folder, &database, &list);
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

const WITHOUT_ACCOUNTS: [&str; 2] = ["--set", "modules=[\"directory\"]"];

/// Returns the roles that the users of a tenant hold, and the seeded roles that the tenant has.
async fn roles_in(database: &TestDatabase, tenant: &str) -> [Vec<Value>; 2] {
    let tenant = format!("(select id from directory_tenants where name = '{tenant}')");
    let held = "join auth_user_roles l on l.role_tenant_id = r.tenant_id and l.role_id = r.id";
    let names = async |joined: &str| {
        let query = format!(
            "select r.seeded_as from auth_roles r {joined} \
             where r.tenant_id = {tenant} and r.seeded_as in ('admin', 'employee') order by r.seeded_as"
        );
        let rows = database.rows(&query).await;
        rows.into_iter().map(|row| row["seeded_as"].clone()).collect::<Vec<_>>()
    };
    [names(held).await, names("").await]
}

#[actix_web::test]
async fn a_tenant_from_before_accounts_gets_its_roles_with_the_first_administrator() {
    let (folder, database) = (Folder::new(), database().await);
    run(&folder, &database, &[&["init"], &WITHOUT_ACCOUNTS[..]].concat());
    let before = roles_in(&database, "Main").await;

    run(&folder, &database, &["init", "--generate"]);

    assert!(before.iter().all(Vec::is_empty), "{before:?}");
    let [held, all] = roles_in(&database, "Main").await;
    assert_eq!(held, ["admin"]);
    assert_eq!(all, ["admin", "employee"]);
}

#[actix_web::test]
async fn roles_sync_creates_the_roles_of_a_tenant_from_before_accounts() {
    let (folder, database) = (Folder::new(), database().await);
    run(&folder, &database, &["init", "--generate"]);
    run(
        &folder,
        &database,
        &[&["tenant", "create", "Late"], &WITHOUT_ACCOUNTS[..]].concat(),
    );
    let before = roles_in(&database, "Late").await;

    run(&folder, &database, &["roles", "sync", "--tenant", "Late"]);
    let user = [
        "user",
        "create",
        "late@example.com",
        "--tenant",
        "Late",
        "--role",
        "admin",
    ];
    run(&folder, &database, &[&user[..], &["--generate"]].concat());

    assert!(before.iter().all(Vec::is_empty), "{before:?}");
    let [held, all] = roles_in(&database, "Late").await;
    assert_eq!(held, ["admin"]);
    assert_eq!(all, ["admin", "employee"]);
}
