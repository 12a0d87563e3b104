use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
};

use backoffice_local_postgres::LocalPostgres;

use crate::support::{Scratch, accepts_connections, sql, volatile};

#[test]
fn a_new_cluster_accepts_connections_until_it_is_stopped() {
    let scratch = Scratch::new();

    let postgres = LocalPostgres::start(&scratch.settings()).expect("the cluster starts");
    let socket_dir = postgres.socket_dir().to_owned();

    assert!(accepts_connections(&socket_dir));
    assert_eq!(sql(&postgres, "show server_encoding"), "UTF8");
    assert_eq!(sql(&postgres, "select current_user"), "postgres");
    assert!(sql(&postgres, "show server_version").starts_with(&postgres.version().to_string()));
    postgres.stop().expect("it stops");
    assert!(!accepts_connections(&socket_dir));
}

#[test]
fn only_the_servers_user_may_enter_and_there_is_no_tcp_port() {
    let scratch = Scratch::new();

    let postgres = LocalPostgres::start(&scratch.settings()).expect("the cluster starts");

    let door = fs::metadata(postgres.socket_dir()).expect("files can be made and read");
    let data = fs::metadata(postgres.dir().join("data")).expect("files can be made and read");
    assert_eq!(door.mode() & 0o777, 0o700);
    assert_eq!(door.uid(), data.uid());
    assert_ne!(door.uid(), 0);
    assert_eq!(sql(&postgres, "show listen_addresses"), "");
}

#[test]
fn roots_cluster_lies_elsewhere_when_the_servers_user_cannot_reach_the_folder() {
    let scratch = Scratch::new();
    fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o700)).expect("files can be made and read");

    let postgres = LocalPostgres::start(&scratch.settings()).expect("the cluster starts");
    sql(&postgres, "create table kept as select 7 as n");
    let (dir, is_root) = (
        postgres.dir().to_owned(),
        fs::metadata(scratch.path()).expect("it is there").uid() == 0,
    );
    postgres.stop().expect("it stops");

    assert_eq!(dir.starts_with(scratch.path()), !is_root);
    let again = LocalPostgres::start(&scratch.settings()).expect("the cluster starts");
    assert_eq!(sql(&again, "select n from kept"), "7");
    drop(again);
    fs::remove_dir_all(dir).expect("files can be made and read");
}

#[test]
fn a_deep_folder_gets_its_socket_elsewhere() {
    let scratch = Scratch::new();
    let deep = scratch.path().join("d".repeat(60)).join("e, f".repeat(15));

    let postgres = LocalPostgres::start(&volatile(deep)).expect("the cluster starts");

    assert!(!postgres.socket_dir().starts_with(postgres.dir()));
    assert_eq!(
        fs::metadata(postgres.socket_dir())
            .expect("files can be made and read")
            .mode()
            & 0o777,
        0o700
    );
    assert_eq!(sql(&postgres, "select 1"), "1");
    let socket_dir = postgres.socket_dir().to_owned();
    drop(postgres);
    fs::remove_dir(socket_dir).expect("files can be made and read");
}

#[test]
fn a_folder_name_with_blanks_and_quotes_serves() {
    let scratch = Scratch::new();

    let postgres = LocalPostgres::start(&volatile(scratch.path().join("it's a % b"))).expect("the cluster starts");

    assert!(postgres.socket_dir().starts_with(postgres.dir()));
    assert_eq!(sql(&postgres, "select 1"), "1");
}
