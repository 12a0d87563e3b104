//! Clients that open connections and stop sending, and their cost for other requests.

use std::fmt;
use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;

use backoffice_local_postgres::LocalPostgres;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;
use tokio::time::Instant;

use super::Options;
use super::database::{Database, PASSWORD, TENANT};
use super::http::Client;
use super::login::{BEHIND_A_PROXY, next_address, request};
use super::report::{percentile, verdict};
use super::server::Server;
use crate::Result;
use crate::process::say;

/// Number of clients of each kind: connections without a byte, and incomplete bodies.
const WAITING: usize = 500;
/// Each signs in with a third of an account's limit, three times.
const ACCOUNTS: usize = 10;
const SIGN_INS_OF_AN_ACCOUNT: usize = 30;
const READS: usize = 300;
const ALLOWED_FACTOR: f64 = 2.0;
/// Maximum memory of all waiting clients together.
const ALLOWED_KIB: u64 = 32 * 1024;

/// Milliseconds of one kind of request.
#[derive(Debug, Clone, Copy)]
struct Latency {
    p50: f64,
    p99: f64,
}

/// The latencies before and during the wait.
#[derive(Debug)]
pub(super) struct Report {
    rows: Vec<(&'static str, Latency, Latency)>,
    idle_kib: u64,
    busy_kib: u64,
}

/// Measures on a server of its own.
pub(super) fn measure(postgres: &LocalPostgres, program: &Path, work: &Path, options: &Options) -> Result<Report> {
    raise_file_limit()?;
    let database = Database::create(postgres, program, work)?;
    database.seed(options)?;
    for account in 0..ACCOUNTS {
        database.create_administrator(&email(account), TENANT)?;
    }
    let server = Server::start_with(program, work, &database, &[BEHIND_A_PROXY])?;
    say("before ...");
    // Once to warm up: threads that hash keep their memory for a while.
    ask(&server)?;
    let before = ask(&server)?;
    let idle_kib = server.resident_kib()?;
    say(&format!(
        "beside {WAITING} connections without a byte and {WAITING} unfinished bodies ..."
    ));
    let waiting = wait_on(server.api())?;
    let during = ask(&server)?;
    let busy_kib = server.resident_kib()?;
    drop(waiting);
    let titles = ["POST /auth/login", "GET /version", "GET /readyz"];
    let rows = titles.into_iter().zip(before.into_iter().zip(during));
    Ok(Report {
        rows: rows.map(|(title, (before, during))| (title, before, during)).collect(),
        idle_kib,
        busy_kib,
    })
}

fn raise_file_limit() -> Result<()> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    Ok(setrlimit(Resource::Nofile, raised)?)
}

fn wait_on(address: SocketAddr) -> Result<Vec<TcpStream>> {
    let unfinished = format!(
        "POST /api/auth/login HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{{"
    );
    let mut waiting = Vec::with_capacity(2 * WAITING);
    for _ in 0..WAITING {
        let mut stream = TcpStream::connect(address)?;
        stream.write_all(unfinished.as_bytes())?;
        waiting.push(stream);
        waiting.push(TcpStream::connect(address)?);
    }
    Ok(waiting)
}

fn ask(server: &Server) -> Result<[Latency; 3]> {
    let host = server.api();
    let login = |number: usize| {
        let login = json!({"email": email(number % ACCOUNTS), "password": PASSWORD});
        request(host, &login)
    };
    let read = |path: &str| {
        let [_, b, c, d] = next_address();
        format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nx-forwarded-for: 11.{b}.{c}.{d}\r\n\r\n").into_bytes()
    };
    Ok([
        times(host, ACCOUNTS * SIGN_INS_OF_AN_ACCOUNT, login)?,
        times(host, READS, |_| read("/api/version"))?,
        times(server.admin(), READS, |_| read("/readyz"))?,
    ])
}

fn email(account: usize) -> String {
    format!("waiting{account}@example.com")
}

fn times(address: SocketAddr, count: usize, request: impl Fn(usize) -> Vec<u8>) -> Result<Latency> {
    let mut client = Client::connect(address)?;
    let mut times = Vec::with_capacity(count);
    for number in 0..count {
        let request = request(number);
        let sent = Instant::now();
        client.expect_ok(&request)?;
        times.push(sent.elapsed().as_secs_f64() * 1000.0);
    }
    times.sort_by(f64::total_cmp);
    Ok(Latency {
        p50: percentile(&times, 50),
        p99: percentile(&times, 99),
    })
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "\n{WAITING} connections without a byte and {WAITING} unfinished bodies\n"
        )?;
        writeln!(f, "| | p50 before | during | p99 before | during | wanted | |")?;
        writeln!(f, "| --- | ---: | ---: | ---: | ---: | ---: | --- |")?;
        for (title, before, during) in &self.rows {
            let is_met = during.p50 <= before.p50 * ALLOWED_FACTOR && during.p99 <= before.p99 * ALLOWED_FACTOR;
            writeln!(
                f,
                "| {title} | {:.2} | {:.2} | {:.2} | {:.2} | {ALLOWED_FACTOR:.0}x | {} |",
                before.p50,
                during.p50,
                before.p99,
                during.p99,
                verdict(is_met)
            )?;
        }
        let more = self.busy_kib.saturating_sub(self.idle_kib);
        writeln!(
            f,
            "\nMemory: {} KiB before, {more} KiB more during, at most {ALLOWED_KIB}: {}",
            self.idle_kib,
            verdict(more <= ALLOWED_KIB)
        )
    }
}
