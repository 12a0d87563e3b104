//! 10,000 push messages of one tenant to a gateway that responds after nine seconds, and the wait of another tenant's messages.

use std::fmt;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use backoffice_local_postgres::LocalPostgres;
use serde_json::json;
use tokio::time::Instant;
use uuid::Uuid;

use super::database::{Database, EMAIL, PASSWORD};
use super::http::Client;
use super::report::{median, verdict};
use super::server::{Server, WITHOUT_LIMITS};
use super::{Options, pause};
use crate::Result;
use crate::process::say;

const OTHER: &str = "Other";
const OTHER_EMAIL: &str = "other@example.com";
/// Devices of the tenant with many messages.
const DEVICES: usize = 100;
/// Messages of the tenant with many messages, and the batches that they are sent in.
const MESSAGES: usize = 10_000;
const BATCHES: usize = 10;
/// The gateway responds after this time: just before the server gives up.
const SLOW: Duration = Duration::from_secs(9);
/// Small jobs of the other tenant before and during the messages.
const JOBS: usize = 20;
const PACE: Duration = Duration::from_millis(500);
/// Longest wait for a small job.
const PATIENCE: Duration = Duration::from_secs(120);
/// Maximum wait of a small job. An idle worker looks for jobs once a second.
const WANTED: f64 = 2.0;

/// The measurements, in seconds.
#[derive(Debug)]
pub(super) struct Report {
    before: Vec<f64>,
    during: Vec<f64>,
    /// Messages that the gateway received meanwhile, and the most at once.
    received: usize,
    at_once: usize,
    memory_kib: [u64; 2],
}

/// Measures on a server of its own.
pub(super) fn measure(postgres: &LocalPostgres, program: &Path, work: &Path, options: &Options) -> Result<Report> {
    let database = Database::create(postgres, program, work)?;
    database.seed(&Options {
        users: options.users.min(1000),
        ..options.clone()
    })?;
    database.command(&["tenant", "create", OTHER])?;
    database.create_administrator(OTHER_EMAIL, OTHER)?;
    let gateway = Gateway::start()?;
    let url = format!("http://{}/", gateway.address);
    let settings = [
        WITHOUT_LIMITS,
        ("BACKOFFICE__DEVICES__MAX_PER_USER", "1000"),
        ("BACKOFFICE__EGRESS__ALLOWED_HOSTS", "[\"127.0.0.1\"]"),
        ("BACKOFFICE__PUSH__WEBHOOK_URL", url.as_str()),
        (
            "BACKOFFICE__PUSH__WEBHOOK_SECRET",
            "whsec_CQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQk=",
        ),
    ];
    let server = Server::start_with(program, work, &database, &settings)?;
    let token = server.log_in(EMAIL, PASSWORD)?;
    for number in 0..DEVICES {
        register(&server, &token, number, "webhook")?;
    }
    register(&server, &server.log_in(OTHER_EMAIL, PASSWORD)?, 0, "log")?;
    let tenant = database.tenant()?;
    let other: Uuid = database
        .text(&format!("select id from directory_tenants where name = '{OTHER}'"))?
        .parse()?;
    say("small jobs alone ...");
    let before = small_jobs(&database, other)?;
    let idle = server.resident_kib()?;
    say("small jobs beside many messages ...");
    for _ in 0..BATCHES {
        enqueue(&database, tenant, MESSAGES / BATCHES / DEVICES)?;
    }
    // All slots that the tenant may have are waiting for the gateway.
    pause(Duration::from_secs(3));
    let during = small_jobs(&database, other)?;
    Ok(Report {
        before,
        during,
        received: gateway.received.load(Ordering::Acquire),
        at_once: gateway.most.load(Ordering::Acquire),
        memory_kib: [idle, server.resident_kib()?],
    })
}

fn register(server: &Server, token: &str, number: usize, provider: &str) -> Result<()> {
    let body = json!({"deviceId": format!("device {number}"), "platform": "android", "locale": "en",
        "pushToken": format!("token {number}"), "pushProvider": provider})
    .to_string();
    let request = format!(
        "POST /api/devices HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        server.api(),
        body.len()
    );
    let (status, body) = Client::connect(server.api())?.send(request.as_bytes())?;
    match status {
        201 => Ok(()),
        _ => Err(format!("{status}: {}", String::from_utf8_lossy(&body)).into()),
    }
}

/// Writes a batch with this many messages for each device of a tenant, and its job, as the channel of notifications does. Returns the id of the job.
fn enqueue(database: &Database, tenant: Uuid, each: usize) -> Result<String> {
    database.text(&format!(
        "with batch as (select gen_random_uuid() as id), written as (
            insert into devices_push_deliveries (tenant_id, id, notification_id, device_row_id, user_id, batch_id, provider, payload, status,
                attempts, due_at, created_at, updated_at)
            select '{tenant}', gen_random_uuid(), gen_random_uuid(), d.id, d.user_id, batch.id, d.push_provider,
                '{{\"type\": \"samples.sample.done\", \"severity\": \"info\", \"linkHref\": null, \"params\": {{}}, \"title\": \"Title\", \
                    \"body\": \"Text\", \"topic\": null}}', 'pending', 0, now(), now(), now()
            from batch, devices_devices d, generate_series(1, {each}) where d.tenant_id = '{tenant}'
        ), tenants as (
            insert into core_job_tenants (tenant_id, id, last_claim_at, created_at, updated_at)
            values ('{tenant}', gen_random_uuid(), to_timestamp(0), now(), now()) on conflict (tenant_id) do nothing
        )
        insert into core_jobs (tenant_id, id, kind, payload, actor_kind, selection, priority, run_at, state, attempt, max_attempts, cursor,
            created_at, updated_at)
        select '{tenant}', gen_random_uuid(), 'devices.push.send', jsonb_build_object('batch', batch.id), 'system', '{{}}', 100, now(), 'queued',
            0, 8, 0, now(), now() from batch
        returning id"
    ))
}

/// Runs small jobs of a tenant, one after the other, and returns the seconds from the commit of each until it is done, sorted.
fn small_jobs(database: &Database, tenant: Uuid) -> Result<Vec<f64>> {
    let mut times = Vec::new();
    for _ in 0..JOBS {
        let job = enqueue(database, tenant, 1)?;
        let started = Instant::now();
        let done = format!("select (state = 'done')::text from core_jobs where id = '{job}'");
        while database.text(&done)? != "true" {
            if started.elapsed() > PATIENCE {
                return Err("a small job was not done in two minutes".into());
            }
            pause(Duration::from_millis(10));
        }
        times.push(started.elapsed().as_secs_f64());
        pause(PACE);
    }
    times.sort_by(f64::total_cmp);
    Ok(times)
}

/// A gateway that responds slowly.
struct Gateway {
    address: SocketAddr,
    received: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

impl Gateway {
    fn start() -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let (received, most, now) = (
            Arc::new(AtomicUsize::new(0)),
            Arc::default(),
            Arc::new(AtomicUsize::new(0)),
        );
        let gateway = Self {
            address,
            received: Arc::clone(&received),
            most: Arc::clone(&most),
        };
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (received, most, now) = (Arc::clone(&received), Arc::clone(&most), Arc::clone(&now));
                std::thread::spawn(move || respond(stream, &received, &most, &now));
            }
        });
        Ok(gateway)
    }
}

/// Responds to the requests of a connection until it ends.
fn respond(mut stream: TcpStream, received: &AtomicUsize, most: &AtomicUsize, now: &AtomicUsize) {
    let mut bytes = [0; 16 * 1024];
    // A request of this size arrives in one piece.
    while stream.read(&mut bytes).is_ok_and(|length| length > 0) {
        received.fetch_add(1, Ordering::AcqRel);
        most.fetch_max(now.fetch_add(1, Ordering::AcqRel) + 1, Ordering::AcqRel);
        pause(SLOW);
        now.fetch_sub(1, Ordering::AcqRel);
        if stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").is_err() {
            return;
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let longest = |times: &[f64]| times.last().copied().unwrap_or(f64::NAN);
        writeln!(
            f,
            "\n{MESSAGES} push messages of a tenant to a gateway that responds after {SLOW:?}\n"
        )?;
        writeln!(f, "| | measured | wanted | |\n| --- | ---: | ---: | --- |")?;
        writeln!(
            f,
            "| longest wait of another tenant's small jobs | {:.2} s | {WANTED} s | {} |",
            longest(&self.during),
            verdict(longest(&self.during) <= WANTED)
        )?;
        for (name, times) in [("alone", &self.before), ("beside the messages", &self.during)] {
            writeln!(
                f,
                "| small jobs {name}, {}: median, longest | {:.2}, {:.2} s | | |",
                times.len(),
                median(times.iter().copied()),
                longest(times)
            )?;
        }
        writeln!(
            f,
            "| messages received meanwhile, most at once | {}, {} | | |",
            self.received, self.at_once
        )?;
        let [idle, busy] = self.memory_kib;
        writeln!(f, "| memory before and during | {idle}, {busy} KiB | | |")
    }
}
