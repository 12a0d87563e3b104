//! Uploads over a connection, and the check of files, and quotas, on the command line.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;

use crate::extraction::upload_request;
use crate::office::{ADMINISTRATOR, office, sign_in};

const TENANT: &str = "(select id from directory_tenants where name = 'Main')";
const FILE: &str = "019aae20-0000-7000-8000-000000000001";
const MISSING: &str = "019aae20-0000-7000-8000-000000000002";
const UNKNOWN: &str = "019aae20-0000-7000-8000-000000000003";
const STORE: &str = "019aae00-0000-7000-8000-000000000002";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upload_stores_nothing_if_the_session_has_ended_meanwhile() {
    let (office, database) = office().await;
    let server = office.serve(&[]).await;
    for (signs_out, status) in [(false, "200"), (true, "401")] {
        let token = sign_in(&server, ADMINISTRATOR);
        let (head, body) = upload_request(&token, "note.txt", b"A note of many words");
        let (first, rest) = body.split_at(body.len() - 30);
        let mut stream = TcpStream::connect(server.api).expect("the server listens");
        for part in [head.as_bytes(), first] {
            stream.write_all(part).expect("sent");
        }
        // The server checks the caller again if the body takes more than a second.
        sleep(Duration::from_millis(1500)).await;

        if signs_out {
            assert_eq!(server.post("/api/auth/logout", &token, &json!({})).status, 302);
        }
        stream.write_all(rest).expect("sent");

        let mut response = String::new();
        stream.read_to_string(&mut response).expect("a response");
        assert!(response.starts_with(&format!("HTTP/1.1 {status} ")), "{response}");
    }
    let stored = database
        .rows("select file_name, (select used_bytes from attachments_usage) from attachments_attachments")
        .await;
    assert_eq!(stored, [json!({"file_name": "note.txt", "used_bytes": 20})]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_finds_files_without_objects_objects_without_files_and_wrong_counters() {
    let (office, database) = office().await;
    let tenant = database.rows(&format!("select {TENANT}::text as id")).await[0]["id"].clone();
    let tenant = tenant.as_str().expect("an id");
    let folder = office.path(&format!(
        "var/attachments/privateAttachments/{tenant}/privateAttachments/2026/11"
    ));
    fs::create_dir_all(&folder).expect("a folder");
    for id in [FILE, MISSING] {
        let insert = format!(
            "insert into attachments_attachments (tenant_id, id, organization_id, entity_id, record_id, partition_tenant_id, partition_id,
                store_id, storage_key, file_name, mime_type, file_size, sha256, is_utf8, content_state, tags, assignments, custom_fields,
                created_at, updated_at)
             select '{tenant}', '{id}', id, 'x.y', 'r1', '00000000-0000-0000-0000-000000000000', '{STORE}', '{STORE}',
                '{tenant}/privateAttachments/2026/11/{id}', 'a.txt', 'text/plain', 5, sha256('x'), true, 'none', '{{}}', '[]', '{{}}',
                now(), now()
             from directory_organizations where tenant_id = '{tenant}' limit 1"
        );
        database.sql(&insert).await;
    }
    fs::write(folder.join(FILE), "bytes").expect("an object");
    fs::write(folder.join(UNKNOWN), "bytes").expect("an object");
    fs::write(folder.join("note.txt"), "of an operator").expect("a file");
    database.sql("update attachments_usage set used_bytes = 7").await;
    database.sql("update attachments_counts set file_count = 9").await;

    let checked = office.failed_json(&["attachments", "check"]);

    assert_eq!(checked["files"], 2);
    let missing = json!([{"tenantId": tenant, "id": MISSING, "fileSize": 5, "objectSize": null}]);
    assert_eq!(checked["damaged"], json!({"number": 1, "first": missing}));
    assert_eq!(checked["unknownObjects"]["number"], 2);
    assert_eq!(checked["foreignObjects"]["number"], 1);
    let note = checked["foreignObjects"]["first"][0].as_str().expect("a path");
    assert!(note.ends_with("/note.txt"), "{note}");
    assert_eq!(checked["wrongCounters"], json!({"number": 1, "first": [tenant]}));

    office.failed_json(&["attachments", "check", "--repair"]);
    assert!(folder.join(FILE).exists() && !folder.join(UNKNOWN).exists());
    assert!(folder.join("note.txt").exists(), "no name of an object");
    let counters = database
        .rows("select used_bytes, file_count from attachments_usage, attachments_counts")
        .await;
    assert_eq!(counters, [json!({"used_bytes": 10, "file_count": 2})]);

    fs::write(folder.join(MISSING), "bytes").expect("an object");
    fs::remove_file(folder.join("note.txt")).expect("removed");
    let checked = office.json(&["attachments", "check"]);
    assert_eq!(
        (&checked["files"], &checked["damaged"]["number"]),
        (&json!(2), &json!(0))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_quota_is_set_and_cleared_with_an_entry_in_the_log() {
    let (office, database) = office().await;
    let quota = async || {
        let rows = database.rows("select used_bytes, quota from attachments_usage").await;
        rows.first().map(|row| row["quota"].clone())
    };

    let set = office.json(&["attachments", "quota", "Main", "2GiB"]);

    assert_eq!(set["quotaBytes"], 2_147_483_648_u64);
    assert_eq!(quota().await, Some(json!(2_147_483_648_u64)));
    let cleared = office.json(&["attachments", "quota", "Main", "default"]);
    assert_eq!(
        (cleared["quotaBytes"].clone(), quota().await),
        (json!(null), Some(json!(null)))
    );
    let entries = database
        .rows("select command_id, actor_kind from audit_action_logs where command_id = 'attachments.quota.set'")
        .await;
    let entry = json!({"command_id": "attachments.quota.set", "actor_kind": "system"});
    assert_eq!(entries, [entry.clone(), entry]);
    assert!(
        office
            .rejected(&["attachments", "quota", "Main", "much"])
            .contains("must be for example 500MiB")
    );
    assert!(
        office
            .rejected(&["attachments", "quota", "Other", "1GiB"])
            .contains("does not exist")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_that_name_a_tenant_need_the_directory() {
    let (office, _database) = office().await;
    let without = ["--set", "modules=attachments,progress"];

    for command in [
        &["attachments", "quota", "Main", "1GiB"][..],
        &["attachments", "move", "privateAttachments", "--tenant", "Main"],
    ] {
        let rejected = office.rejected(&[command, &without].concat());
        assert!(rejected.contains("needs the module `directory`"), "{rejected}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_move_of_an_unknown_partition_names_the_option_for_those_of_a_tenant() {
    let (office, _database) = office().await;

    let of_all = office.rejected(&["attachments", "move", "docs"]);
    let of_tenant = office.rejected(&["attachments", "move", "docs", "--tenant", "Main"]);

    assert!(of_all.contains("`docs`") && of_all.contains("--tenant"), "{of_all}");
    assert!(of_tenant.contains("Unknown partition"), "{of_tenant}");
}
