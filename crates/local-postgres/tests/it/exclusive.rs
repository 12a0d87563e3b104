use std::fs;

use backoffice_local_postgres::{Error, LocalPostgres};

use crate::support::{Scratch, sql};

#[test]
fn a_second_start_on_a_cluster_in_use_is_rejected() {
    let scratch = Scratch::new();
    let first = LocalPostgres::start(&scratch.settings()).expect("the cluster starts");

    let again = LocalPostgres::start(&scratch.settings()).expect_err("a rejection");
    let shared = LocalPostgres::shared(&scratch.settings()).expect_err("a rejection");

    let me = format!("in use by process {}", std::process::id());
    assert!(again.to_string().contains(&me), "{again}");
    assert!(matches!(shared, Error::InUse { .. }), "{shared}");
    assert_eq!(sql(&first, "select 1"), "1");
}

#[test]
fn a_folder_with_other_files_is_left_alone() {
    let scratch = Scratch::new();
    let data = scratch.settings().dir.join("data");
    fs::create_dir_all(&data).expect("files can be made and read");
    fs::write(data.join("diary.txt"), "dear").expect("files can be made and read");

    let error = LocalPostgres::start(&scratch.settings()).expect_err("a rejection");

    // Root's folder is as foreign to the server as the other file.
    assert!(matches!(error, Error::NotACluster { .. }), "{error}");
    assert_eq!(
        fs::read_to_string(data.join("diary.txt")).expect("files can be made and read"),
        "dear"
    );
}

#[test]
fn a_cluster_exists_once_it_was_started() {
    let scratch = Scratch::new();
    let exists = || LocalPostgres::exists(&scratch.settings()).expect("the folder can be read");
    assert!(!exists());
    assert!(!scratch.settings().dir.exists(), "the look creates nothing");

    let postgres = LocalPostgres::start(&scratch.settings()).expect("the cluster starts");

    assert!(exists());
    postgres.stop().expect("it stops");
    assert!(exists());
}

#[test]
fn a_setting_that_the_server_rejects_is_shown_with_the_log() {
    let scratch = Scratch::new();
    let mut settings = scratch.settings();
    settings.extra.push(("shared_buffers".into(), "much".into()));

    let error = LocalPostgres::start(&settings).expect_err("it is refused").to_string();

    assert!(
        error.contains("invalid value for parameter \"shared_buffers\": \"much\""),
        "{error}"
    );
    LocalPostgres::start(&scratch.settings()).expect("the cluster starts");
}
