use std::thread;

use backoffice_local_postgres::{Error, LocalPostgres};

use crate::support::{Scratch, accepts_connections, child_with_cluster, hold, sql};

#[test]
#[ignore = "runs as a child process of other tests"]
fn child_sharing() {
    hold(|settings| LocalPostgres::shared(settings).expect("the cluster starts"));
}

#[test]
fn the_last_of_two_handles_stops_the_cluster() {
    let scratch = Scratch::new();
    let first = LocalPostgres::shared(&scratch.settings()).expect("the cluster starts");
    let second = LocalPostgres::shared(&scratch.settings()).expect("the cluster starts");
    assert_eq!(first.pid(), second.pid());

    drop(first);
    assert_eq!(sql(&second, "select 1"), "1");

    let socket_dir = second.socket_dir().to_owned();
    drop(second);
    assert!(!accepts_connections(&socket_dir));
}

#[test]
fn a_shared_cluster_cannot_be_had_alone() {
    let scratch = Scratch::new();
    let _shared = LocalPostgres::shared(&scratch.settings()).expect("the cluster starts");

    let error = LocalPostgres::start(&scratch.settings()).expect_err("a rejection");

    assert!(
        matches!(&error, Error::InUse { holder, .. } if holder == "processes that share it"),
        "{error}"
    );
}

#[test]
fn many_who_start_at_once_get_one_server() {
    let scratch = Scratch::new();
    let settings = scratch.settings();

    let starting: Vec<_> = (0..8)
        .map(|_| {
            let settings = settings.clone();
            thread::spawn(move || LocalPostgres::shared(&settings).expect("the cluster starts"))
        })
        .collect();
    let handles: Vec<_> = starting
        .into_iter()
        .map(|thread| thread.join().expect("it is there"))
        .collect();

    assert!(handles.iter().all(|handle| handle.pid() == handles[0].pid()));
    let socket_dir = handles[0].socket_dir().to_owned();
    drop(handles);
    assert!(!accepts_connections(&socket_dir));
}

#[test]
fn a_killed_process_no_longer_counts_as_a_user() {
    let scratch = Scratch::new();
    let settings = scratch.settings();
    let mut child = child_with_cluster("shared::child_sharing", &settings);
    let postgres = LocalPostgres::shared(&settings).expect("the cluster starts");
    child.kill().expect("the child runs");
    child.wait().expect("the child runs");
    assert_eq!(sql(&postgres, "select 1"), "1");

    let socket_dir = postgres.socket_dir().to_owned();
    drop(postgres);

    assert!(!accepts_connections(&socket_dir));
}
