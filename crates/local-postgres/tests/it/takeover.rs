use backoffice_local_postgres::{LocalPostgres, Settings};

use crate::support::{Scratch, accepts_connections, child_with_cluster, hold, kill_9, sql};

#[test]
#[ignore = "runs as a child process of other tests"]
fn child_alone() {
    hold(|settings| LocalPostgres::start(settings).expect("the cluster starts"));
}

#[test]
fn a_server_whose_program_was_killed_is_taken_over() {
    let scratch = Scratch::new();
    let settings = scratch.settings();
    let mut child = child_with_cluster("takeover::child_alone", &settings);
    let rejected = LocalPostgres::start(&settings).expect_err("a rejection").to_string();
    child.kill().expect("the child runs");
    child.wait().expect("the child runs");

    let postgres = LocalPostgres::start(&settings).expect("the cluster starts");

    assert!(
        rejected.contains(&format!("in use by process {}", child.id())),
        "{rejected}"
    );
    let pid = std::fs::read_to_string(settings.dir.join("ready")).expect("files can be made and read");
    assert_eq!(postgres.pid().to_string(), pid);
    assert_eq!(sql(&postgres, "select 1"), "1");
    let socket_dir = postgres.socket_dir().to_owned();
    postgres.stop().expect("it stops");
    assert!(!accepts_connections(&socket_dir));
}

#[test]
fn a_server_that_was_taken_over_is_restarted_for_changed_settings() {
    let scratch = Scratch::new();
    let mut settings = scratch.settings();
    let mut child = child_with_cluster("takeover::child_alone", &settings);
    child.kill().expect("the child runs");
    child.wait().expect("the child runs");

    settings.extra.push(("max_connections".into(), "31".into()));
    let postgres = LocalPostgres::start(&settings).expect("the cluster starts");

    assert_eq!(sql(&postgres, "show max_connections"), "31");
}

#[test]
fn a_killed_server_recovers_with_what_was_committed() {
    let scratch = Scratch::new();
    let settings = Settings {
        durable: true,
        ..scratch.settings()
    };
    let first = LocalPostgres::start(&settings).expect("the cluster starts");
    sql(&first, "create table kept as select 7 as n");
    kill_9(first.pid());
    drop(first);

    let second = LocalPostgres::start(&settings).expect("the cluster starts");

    assert_eq!(sql(&second, "select n from kept"), "7");
}
