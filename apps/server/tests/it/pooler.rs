//! A pooler between the program and PostgreSQL that drops the settings with which sessions should start.

use std::time::Duration;

use backoffice_core::db::{Connector, SessionOptions, TlsOptions};
use backoffice_test_support::{FaultProxy, TestDatabase};
use serde_json::Value;

use crate::support::{Folder, errors, text};

const LIMITS: [(&str, &str); 3] = [
    ("lock_timeout", "5000"),
    ("idle_in_transaction_session_timeout", "60000"),
    ("statement_timeout", "7000"),
];
const PLANNER: [(&str, &str); 2] = [("random_page_cost", "1.1"), ("jit", "off")];

async fn database() -> TestDatabase {
    TestDatabase::create(&backoffice_server::modules::compiled()).await
}

fn connector(database: &TestDatabase) -> Connector {
    let url = database.application_url().into();
    Connector::new("database.url", &url, &TlsOptions::default()).expect("a URL")
}

/// Sets settings of the application's role, in this database only, because all tests share the role.
async fn alter_role(database: &TestDatabase, settings: &[(&str, &str)]) {
    let connector = connector(database);
    let role = connector.config().get_user().expect("a role");
    for (name, value) in settings {
        let sql = format!(
            "alter role \"{role}\" in database \"{}\" set {name} = {value}",
            database.name()
        );
        database.sql(&sql).await;
    }
}

/// Returns the names of the required and of the planner's settings that are not in effect in a new session.
async fn unmet(connector: &Connector, options: &SessionOptions) -> [Vec<String>; 2] {
    let (client, driven) = connector.connect().await.expect("a connection");
    let driving = tokio::spawn(driven);
    let unmet = options.unmet(&client).await.expect("the settings can be read");
    drop(client);
    driving.await.expect("no panic").expect("a connection");
    [unmet.required, unmet.planner].map(|settings| settings.into_iter().map(|one| one.name).collect())
}

#[tokio::test]
async fn limits_that_are_not_in_effect_are_found() {
    let database = database().await;
    let plain = connector(&database);
    let mut with_options = plain.clone();
    let options = SessionOptions::new(plain.config(), Duration::from_secs(7));
    options.apply(with_options.config_mut());
    let nothing = <[Vec<String>; 2]>::default();

    let [limits, planner] = unmet(&plain, &options).await;

    assert_eq!(limits, LIMITS.map(|(name, _)| name));
    assert_eq!(planner, PLANNER.map(|(name, _)| name));
    assert_eq!(unmet(&with_options, &options).await, nothing);
    alter_role(&database, &LIMITS).await;
    alter_role(&database, &PLANNER).await;
    assert_eq!(unmet(&plain, &options).await, nothing, "the role has them");
    alter_role(&database, &[("statement_timeout", "8000"), ("jit", "on")]).await;
    let [limits, planner] = unmet(&plain, &options).await;
    assert_eq!(limits, ["statement_timeout"]);
    assert_eq!(planner, ["jit"]);
    assert_eq!(unmet(&with_options, &options).await, nothing, "the options win");
}

#[tokio::test]
async fn the_isolation_level_of_the_role_has_no_effect_unless_the_options_are_dropped() {
    let database = database().await;
    let plain = connector(&database);
    let mut with_options = plain.clone();
    let options = SessionOptions::new(plain.config(), Duration::from_secs(7));
    options.apply(with_options.config_mut());

    alter_role(&database, &LIMITS).await;
    alter_role(&database, &[("default_transaction_isolation", "'repeatable read'")]).await;

    let [required, _] = unmet(&plain, &options).await;
    assert_eq!(required, ["default_transaction_isolation"]);
    assert_eq!(unmet(&with_options, &options).await, <[Vec<String>; 2]>::default());
    let (client, driven) = with_options.connect().await.expect("a connection");
    let driving = tokio::spawn(driven);
    let level = client
        .query_one("show transaction_isolation", &[])
        .await
        .expect("a row");
    assert_eq!(level.get::<_, String>(0), "read committed");
    drop(client);
    driving.await.expect("no panic").expect("a connection");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pooler_that_drops_the_limits_is_rejected_unless_the_role_has_them() {
    let (folder, database) = (Folder::new(), database().await);
    let proxy = FaultProxy::start(&database.application_url());
    let variables = [
        ("BACKOFFICE__DATABASE__URL", proxy.url()),
        ("BACKOFFICE__DATABASE__STATEMENT_TIMEOUT", "7s"),
    ];
    let init = || folder.run_with(&["init", "--generate"], &variables);
    let session = || {
        let output = folder.run_with(&["doctor", "--json"], &variables);
        let report: Vec<Value> =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", errors(&output)));
        let findings = report.into_iter().filter(|finding| finding["subject"] == "session");
        let texts = findings.map(|finding| format!("{}: {}", finding["verdict"], finding["text"]));
        texts.collect::<Vec<_>>()
    };

    text(&init());
    let passed_on = session();
    proxy.drop_options();
    let rejected = init();
    let dropped = session();
    alter_role(&database, &LIMITS).await;
    let slower = session();
    alter_role(&database, &PLANNER).await;

    assert!(
        passed_on.len() == 1 && passed_on[0].starts_with("\"ok\""),
        "{passed_on:?}"
    );
    let rejection = errors(&rejected);
    assert!(!rejected.status.success(), "{rejection}");
    for (name, value) in LIMITS {
        let statement = format!("set {name} = {value}`");
        assert!(rejection.contains(&statement), "{rejection}");
        assert!(dropped[0].contains(&statement), "{dropped:?}");
    }
    assert!(
        dropped.len() == 2 && dropped[0].starts_with("\"fail\"") && dropped[1].starts_with("\"warn\""),
        "{dropped:?}"
    );
    assert!(
        slower.len() == 2 && slower[0].starts_with("\"ok\"") && slower[1].contains("set random_page_cost = 1.1`"),
        "{slower:?}"
    );
    assert_eq!(session(), passed_on, "the role has all of them");
    text(&init());
}
