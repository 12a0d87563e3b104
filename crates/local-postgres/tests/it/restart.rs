use std::fs;

use backoffice_local_postgres::{LocalPostgres, Settings};

use crate::support::{Scratch, sql, until};

#[test]
fn a_second_start_keeps_the_data() {
    let scratch = Scratch::new();
    let first = LocalPostgres::start(&scratch.settings()).expect("the cluster starts");
    sql(&first, "create table kept as select 7 as n");
    first.stop().expect("it stops");

    let second = LocalPostgres::start(&scratch.settings()).expect("the cluster starts");

    assert_eq!(sql(&second, "select n from kept"), "7");
}

#[test]
fn changed_settings_take_effect_with_the_next_start() {
    let scratch = Scratch::new();
    let settings = scratch.settings();
    let first = LocalPostgres::start(&settings).expect("the cluster starts");
    assert_eq!(sql(&first, "show fsync"), "off");
    assert_eq!(sql(&first, "show max_connections"), "200");
    drop(first);

    let extra = vec![
        ("max_connections".into(), "17".into()),
        ("application_name".into(), "it's".into()),
    ];
    let second = LocalPostgres::start(&Settings {
        durable: true,
        extra,
        ..settings.clone()
    })
    .expect("it is there");

    assert_eq!(sql(&second, "show max_connections"), "17");
    assert_eq!(sql(&second, "show fsync"), "on");
    assert!(!settings.dir.join("volatile").exists());
}

#[test]
fn leftovers_of_a_torn_start_do_not_block() {
    let scratch = Scratch::new();
    let settings = scratch.settings();
    drop(LocalPostgres::start(&settings).expect("the cluster starts"));
    // An incomplete cluster, a dead socket, and a pid file with the id of a process that is not a server.
    fs::create_dir(settings.dir.join("data.new")).expect("files can be made and read");
    fs::write(settings.dir.join("data.new/half"), "").expect("files can be made and read");
    fs::write(settings.dir.join("socket/.s.PGSQL.5432"), "").expect("files can be made and read");
    fs::write(
        settings.dir.join("socket/.s.PGSQL.5432.lock"),
        format!("{}\n", std::process::id()),
    )
    .expect("it is there");
    let pid_file = format!(
        "{}\n{}\n1\n5432\n/nowhere\n\n1 1\nready\n",
        std::process::id(),
        settings.dir.join("data").display()
    );
    fs::write(settings.dir.join("data/postmaster.pid"), pid_file).expect("files can be made and read");

    let postgres = LocalPostgres::start(&settings).expect("the cluster starts");

    assert_eq!(sql(&postgres, "select 1"), "1");
}

#[test]
fn test_data_is_created_anew_after_the_machine_crashed() {
    let scratch = Scratch::new();
    let settings = scratch.settings();
    let first = LocalPostgres::start(&settings).expect("the cluster starts");
    sql(&first, "create table torn as select 1 as n");
    drop(first);
    fs::write(settings.dir.join("volatile"), "another boot").expect("files can be made and read");
    fs::write(settings.dir.join("data/postmaster.pid"), "4000000\n").expect("files can be made and read");

    let second = LocalPostgres::start(&settings).expect("the cluster starts");

    assert_eq!(sql(&second, "select to_regclass('torn') is null"), "t");
}

#[test]
fn a_removed_folder_does_not_keep_the_server() {
    let scratch = Scratch::new();
    let postgres = LocalPostgres::start(&scratch.settings()).expect("the cluster starts");
    let process = format!("/proc/{}", postgres.pid());
    fs::remove_dir_all(scratch.path()).expect("files can be made and read");

    drop(postgres);

    until(|| !fs::exists(&process).expect("files can be made and read"));
}
