//! The server is killed repeatedly while clients upload and delete files. Afterwards every acknowledged file has its bytes, no deleted one has any, and
//! the check of files, objects and counters finds no difference. `BACKOFFICE_KILLED_UPLOADS` sets the number of kills.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use backoffice_core::ids::Ids;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};

use crate::connection::{Connection, Response, credential};
use crate::crash::wait_until_disconnected;
use crate::office::{ADMINISTRATOR, NO_LIMITS, Office, office, sign_in};
use crate::server::Server;

const KILLS: usize = 3;
const CLIENTS: usize = 32;
/// Uploads and deletions of a round before the server may be killed.
const WRITES: usize = 200;
const UPLOADS_AT_ONCE: (&str, &str) = ("BACKOFFICE__ATTACHMENTS__PER_TENANT", "64");
const BOUNDARY: &str = "----killed";
const PATIENCE: Duration = Duration::from_secs(60);

/// What a client knows of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Stored,
    /// The deletion has no response.
    Uncertain,
    Deleted,
}

/// The files of a client: their contents and states by id.
type Files = BTreeMap<String, (String, State)>;

/// Returns a content of about 20 kB that no other file has.
fn content(client: usize, round: usize, number: usize) -> String {
    format!("file {number} of client {client} in round {round}\n").repeat(500)
}

fn upload(address: SocketAddr, token: &str, content: &str) -> io::Result<Response> {
    let part = |name: &str, value: &str| {
        format!("--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };
    let body = format!(
        "{}{}--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"file\"; filename=\"note.txt\"\r\n\r\n{content}\r\n--{BOUNDARY}--\r\n",
        part("entityId", "killed.record"),
        part("recordId", "r1")
    );
    let request = format!(
        "POST /api/attachments HTTP/1.1\r\nhost: localhost\r\n{}content-type: multipart/form-data; boundary={BOUNDARY}\r\n\
         content-length: {}\r\n\r\n{body}",
        credential(token),
        body.len()
    );
    Connection::open(address)?.exchange(request.as_bytes())
}

/// Uploads files and deletes every third one, until the server no longer responds. Returns the number of acknowledged writes.
fn write_until_killed(address: SocketAddr, token: &str, client: usize, round: usize, files: &mut Files) -> usize {
    let mut acknowledged = 0;
    for number in 0.. {
        let content = content(client, round, number);
        let Ok(uploaded) = upload(address, token, &content) else {
            break;
        };
        assert_eq!(uploaded.status, 200, "{}", uploaded.text);
        let id = uploaded.body["item"]["id"].as_str().expect("an id").to_owned();
        files.insert(id.clone(), (content.clone(), State::Stored));
        acknowledged += 1;
        if number % 3 != 0 {
            continue;
        }
        files.insert(id.clone(), (content.clone(), State::Uncertain));
        let path = format!("/api/attachments/library/{id}");
        let deleted = Connection::open(address).and_then(|mut one| one.send("DELETE", &path, token, None));
        let Ok(deleted) = deleted else { break };
        assert_eq!(deleted.status, 200, "{}", deleted.text);
        files.insert(id, (content, State::Deleted));
        acknowledged += 1;
    }
    acknowledged
}

/// Lets all clients write, and kills the server once enough is written. Returns their files, and the number of acknowledged writes.
async fn kill_under_load(mut server: Server, token: &str, round: usize, clients: Vec<Files>) -> (Vec<Files>, usize) {
    let writing: Vec<_> = clients
        .into_iter()
        .enumerate()
        .map(|(client, mut files)| {
            let (address, token) = (server.api, token.to_owned());
            spawn_blocking(move || {
                let acknowledged = write_until_killed(address, &token, client, round, &mut files);
                (files, acknowledged)
            })
        })
        .collect();
    let started = Instant::now();
    while uploads(&server) < WRITES / 2 {
        assert!(started.elapsed() < PATIENCE, "{}", server.log());
        sleep(Duration::from_millis(5)).await;
    }
    let [moment] = Ids::default().random::<1>();
    sleep(Duration::from_millis(u64::from(moment))).await;
    server.kill();
    let (mut clients, mut acknowledged) = (Vec::new(), 0);
    for client in writing {
        let (files, number) = client.await.expect("no client fails");
        clients.push(files);
        acknowledged += number;
    }
    (clients, acknowledged)
}

/// Returns the number of uploads that the server has stored.
fn uploads(server: &Server) -> usize {
    let text = server.operators("/metrics").text;
    let stored = "attachments_uploads_total{outcome=\"stored\"} ";
    let number = text.lines().find_map(|line| line.strip_prefix(stored));
    number.map_or(0, |number| number.trim().parse().expect("a number"))
}

/// Waits until the server has removed the objects of interrupted uploads and deletions.
async fn wait_for_sweep(office: &Office, server: &Server, remaining: impl AsyncFn() -> usize) {
    let started = Instant::now();
    while remaining().await > 0 {
        assert!(
            started.elapsed() < PATIENCE,
            "{}\n{:#}",
            server.log(),
            office.json(&["jobs", "list", "--all"])
        );
        sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_killed_during_uploads_and_deletions_keeps_files_objects_and_counters_equal() {
    let kills = std::env::var("BACKOFFICE_KILLED_UPLOADS").ok();
    let kills = kills.map_or(KILLS, |number| number.parse().expect("a number"));
    let (office, database) = office().await;
    let mut clients = vec![Files::new(); CLIENTS];
    let (mut acknowledged, mut unfinished) = (0, 0);
    for round in 0..kills {
        let server = office.serve(&[NO_LIMITS, UPLOADS_AT_ONCE]).await;
        let token = sign_in(&server, ADMINISTRATOR);
        let written;
        (clients, written) = kill_under_load(server, &token, round, clients).await;
        acknowledged += written;
        wait_until_disconnected(&database).await;
        // The server waits an hour until it takes an upload for interrupted.
        let expired = "update attachments_staged set expires_at = created_at - interval '1 minute'";
        unfinished += database.sql(expired).await;

        let server = office.serve(&[NO_LIMITS]).await;
        let staged = async || usize::try_from(database.sql("select from attachments_staged").await).expect("a count");
        wait_for_sweep(&office, &server, staged).await;
        let checked = office.json(&["attachments", "check"]);
        let rows = database.sql("select from attachments_attachments").await;
        assert_eq!(checked["files"].as_u64(), Some(rows), "{checked:#}");
    }

    let server = office.serve(&[NO_LIMITS]).await;
    let token = sign_in(&server, ADMINISTRATOR);
    let mut uncertain = 0;
    for (id, (content, state)) in clients.iter().flatten() {
        let response = server.get(&format!("/api/attachments/file/{id}"), &token);
        match state {
            State::Stored => assert_eq!((response.status, &response.text), (200, content), "{id}"),
            State::Deleted => assert_eq!(response.status, 404, "{id}"),
            State::Uncertain => uncertain += 1,
        }
    }
    println!(
        "{kills} kills: {acknowledged} writes, {unfinished} unfinished uploads and deletions, {uncertain} deletions without a response"
    );
    let least = kills * WRITES / 2;
    assert!(
        acknowledged >= least && unfinished > 0,
        "too little was written to show anything: {acknowledged}, {unfinished}"
    );
}
