//! The worker that sends webhooks is killed, again and again. Every committed change reaches the receiver, never before its commit, and as one message
//! for a receiver that ignores repeated ids. `BACKOFFICE_KILLED_WORKERS` sets the number of kills.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use backoffice_core::ids::Ids;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::bulk::SHORT_LEASE;
use crate::connection::Connection;
use crate::office::{NO_LIMITS, NO_WORKERS, office, sign_in};

const KILLS: usize = 3;
const DEALS: usize = 60;
const USER: &str = "requester@example.com";
/// The receiver has a private address.
const LOCAL: (&str, &str) = ("BACKOFFICE__EGRESS__ALLOWED_HOSTS", "[\"127.0.0.1\"]");
const PATIENCE: Duration = Duration::from_secs(90);
/// How long the receiver takes for a message, so that workers are killed while it does.
const EFFORT: Duration = Duration::from_millis(20);

/// A request to the receiver.
#[derive(Debug)]
struct Message {
    id: String,
    deal: String,
    /// Whether the deal could be read when the message came.
    is_committed: bool,
}

/// A receiver that reads the deal of each message from the server before it responds.
struct Receiver {
    address: SocketAddr,
    messages: Arc<Mutex<Vec<Message>>>,
}

impl Receiver {
    fn start(api: SocketAddr, token: &str) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        let messages = Arc::new(Mutex::new(Vec::new()));
        let (received, token) = (Arc::clone(&messages), token.to_owned());
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (received, token) = (Arc::clone(&received), token.clone());
                thread::spawn(move || serve(stream, api, &token, &received));
            }
        });
        Self { address, messages }
    }

    fn count(&self) -> usize {
        self.messages.lock().expect("no thread panics").len()
    }

    async fn wait_for(&self, count: usize) {
        let started = Instant::now();
        while self.count() < count {
            assert!(started.elapsed() < PATIENCE, "{} of {count} messages", self.count());
            sleep(Duration::from_millis(5)).await;
        }
    }
}

/// Serves a connection; it ends with the worker.
#[expect(clippy::disallowed_methods, reason = "this thread is no worker")]
fn serve(mut stream: TcpStream, api: SocketAddr, token: &str, received: &Mutex<Vec<Message>>) {
    let mut buffer = Vec::new();
    while let Some((id, body)) = read(&mut stream, &mut buffer) {
        let deal = body["deal"].as_str().unwrap_or_default().to_owned();
        let path = format!("/api/customers/deals?id={deal}");
        let found = Connection::open(api).and_then(|mut server| server.send("GET", &path, token, None));
        let is_committed = found.is_ok_and(|found| found.body["items"][0]["id"] == deal.as_str());
        thread::sleep(EFFORT);
        let message = Message { id, deal, is_committed };
        received.lock().expect("no thread panics").push(message);
        if stream
            .write_all(b"HTTP/1.1 204 X\r\ncontent-length: 0\r\n\r\n")
            .is_err()
        {
            return;
        }
    }
}

/// Reads the id and the body of a message; `None` at the end of the connection.
fn read(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<(String, Value)> {
    loop {
        if let Some(end) = buffer.windows(4).position(|part| part == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&buffer[..end]).to_ascii_lowercase();
            let headers: BTreeMap<&str, &str> = head.lines().filter_map(|line| line.split_once(": ")).collect();
            let length: usize = headers.get("content-length")?.parse().ok()?;
            let (start, end) = (end + 4, end + 4 + length);
            if buffer.len() >= end {
                let body = serde_json::from_slice(&buffer[start..end]).ok()?;
                let id = (*headers.get("webhook-id")?).to_owned();
                buffer.drain(..end);
                return Some((id, body));
            }
        }
        let mut part = [0; 4096];
        match stream.read(&mut part) {
            Ok(0) | Err(_) => return None,
            Ok(count) => buffer.extend_from_slice(&part[..count]),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn webhooks_of_killed_workers_arrive_at_least_once_under_one_id_and_after_the_commit() {
    let kills = std::env::var("BACKOFFICE_KILLED_WORKERS").map_or(KILLS, |kills| kills.parse().expect("a number"));
    let (office, _database) = office().await;
    office.create_user(USER, "admin");
    let server = office.serve(&[NO_WORKERS, NO_LIMITS, LOCAL]).await;
    let token = sign_in(&server, USER);
    let receiver = Receiver::start(server.api, &token);
    let webhook = json!({"type": "CALL_WEBHOOK", "config":
        {"url": format!("http://{}/", receiver.address), "body": {"deal": "{{entityId}}"}}});
    let rule = json!({"ruleId": "reported", "ruleName": "Reported", "ruleType": "VALIDATION", "entityType": "customers.deal",
        "eventType": "created", "successActions": [webhook]});
    let created = server.post("/api/business_rules/rules", &token, &rule);
    assert_eq!(created.status, 201, "{}", created.text);
    let deals: BTreeSet<String> = (0..DEALS)
        .map(|number| {
            let deal = json!({"title": format!("Deal {number}")});
            let created = server.post("/api/customers/deals", &token, &deal);
            assert_eq!(created.status, 201, "{}", created.text);
            created.body["id"].as_str().expect("an id").to_owned()
        })
        .collect();
    assert_eq!(receiver.count(), 0, "no worker runs");

    for _ in 0..kills {
        let mut worker = office.work(&[SHORT_LEASE, LOCAL]).await;
        receiver.wait_for(receiver.count() + DEALS / (2 * kills)).await;
        // At a random moment of a message.
        let [moment] = Ids::default().random::<1>();
        sleep(Duration::from_micros(u64::from(moment) * 80)).await;
        worker.kill();
    }
    let mut worker = office.work(&[SHORT_LEASE, LOCAL]).await;
    let open = || {
        let path = "/api/business_rules/webhook-deliveries?status=pending";
        server.get(path, &token).body["total"].as_u64()
    };
    let started = Instant::now();
    while open() != Some(0) {
        assert!(started.elapsed() < PATIENCE, "{:?} are left", open());
        sleep(Duration::from_millis(200)).await;
    }
    worker.check_health();
    assert!(worker.end().success(), "{}", worker.log());

    let messages = receiver.messages.lock().expect("no thread panics");
    let reported: BTreeSet<(&str, &str)> = messages.iter().map(|one| (&*one.id, &*one.deal)).collect();
    let of_deals: BTreeSet<&str> = reported.iter().map(|(_, deal)| *deal).collect();
    assert_eq!(
        of_deals,
        deals.iter().map(|deal| &**deal).collect(),
        "every deal is reported"
    );
    assert_eq!(reported.len(), DEALS, "each under one id");
    assert!(messages.iter().all(|one| one.is_committed), "{messages:?}");
    println!("{} messages for {DEALS} deals", messages.len());
}
