//! The server is killed repeatedly while it writes, undoes and redoes. Every acknowledged write exists, no write exists in part, and the server
//! serves again within two seconds. `BACKOFFICE_CRASH_ROUNDS` sets the number of kills.

mod check;
mod client;
mod ledger;
mod offences;

use std::thread;
use std::time::Duration;

use backoffice_core::ids::Ids;
use backoffice_test_support::TestDatabase;
use serde_json::json;
use tokio::time::{Instant, sleep};

use self::client::Client;
use self::ledger::What;
use self::offences::check_log;
pub(crate) use self::offences::wait_until_disconnected;
use crate::connection::Connection;
use crate::server::Server;
use crate::support::{Folder, errors};

const ROUNDS: usize = 20;
const CLIENTS: usize = 4;
const PASSWORD: &str = "killed-Often-4711";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn aud_20_a_killed_server_loses_nothing_that_it_acknowledged() {
    let modules = backoffice_server::modules::compiled();
    let database = TestDatabase::create(&modules).await;
    let folder = Folder::new();
    let rounds = std::env::var("BACKOFFICE_CRASH_ROUNDS").ok();
    let rounds = rounds.and_then(|text| text.parse().ok()).unwrap_or(ROUNDS);
    let mut clients = accounts(&folder, &database).await;
    let token = clients[0].token.clone();
    let mut slowest = Duration::ZERO;

    for round in 0..=rounds {
        let started = Instant::now();
        let server = Server::start(&folder, &database);
        server.wait_for("/api/auth/profile", &token).await;
        slowest = slowest.max(started.elapsed());
        if round == rounds {
            break;
        }
        clients = kill_under_load(server, clients, round).await;
        wait_until_disconnected(&database).await;
        for client in &mut clients {
            client.check(&database).await;
        }
        check_log(&database).await;
    }

    let acknowledged: usize = clients.iter().map(|client| client.ledger.len()).sum();
    let lost: usize = clients.iter().map(|client| client.lost).sum();
    let of = |what: What| {
        clients
            .iter()
            .flat_map(|client| &client.ledger)
            .filter(|one| one.what == what)
            .count()
    };
    let (undone, redone) = (of(What::Undo), of(What::Redo));
    println!(
        "{rounds} kills: {acknowledged} writes, {undone} of them undos, {redone} redos, {lost} that took effect without a response; \
         slowest start {slowest:?}"
    );
    assert!(
        acknowledged >= rounds * CLIENTS && undone > 0 && redone > 0,
        "too little was written to show anything: {acknowledged}"
    );
    assert!(slowest <= Duration::from_secs(2), "{slowest:?}");
}

/// Lets the clients write and kills the server at a random moment.
async fn kill_under_load(mut server: Server, clients: Vec<Client>, round: usize) -> Vec<Client> {
    let api = server.api;
    let writing: Vec<_> = clients
        .into_iter()
        .map(|client| thread::spawn(move || client.write_until_killed(api, round)))
        .collect();
    let [moment] = Ids::default().random::<1>();
    sleep(Duration::from_millis(100 + u64::from(moment) * 2)).await;
    server.kill();
    writing
        .into_iter()
        .map(|client| client.join().expect("every other response is a success"))
        .collect()
}

/// Creates an administrator of the first tenant for each client, and signs in.
async fn accounts(folder: &Folder, database: &TestDatabase) -> Vec<Client> {
    folder.write("password", PASSWORD);
    let url = database.application_url();
    let run = |arguments: &[&str]| {
        let output = folder.run_with(arguments, &[("BACKOFFICE__DATABASE__URL", &url)]);
        assert!(output.status.success(), "{}", errors(&output));
    };
    run(&["init", "--generate"]);
    let emails: Vec<String> = (0..CLIENTS)
        .map(|number| format!("writer{number}@example.com"))
        .collect();
    for email in &emails {
        let options = ["--tenant", "Main", "--role", "admin", "--password-file", "password"];
        run(&[&["user", "create", email], &options[..]].concat());
    }
    let server = Server::start(folder, database);
    server.wait_for("/api/version", "").await;
    let sign_in = |(number, email): (usize, &String)| {
        let body = json!({"email": email, "password": PASSWORD});
        let mut connection = Connection::open(server.api).expect("the server listens");
        let response = connection
            .send("POST", "/api/auth/login", "", Some(&body))
            .expect("a response");
        let token = response.body["token"]
            .as_str()
            .unwrap_or_else(|| panic!("signed in: {}", response.body));
        Client::new(number, email, token)
    };
    emails.iter().enumerate().map(sign_in).collect()
}
