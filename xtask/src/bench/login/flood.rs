//! Many concurrent sign-ins, each repeated until it succeeds, while a user reads their profile.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::Instant;
use uuid::Uuid;

use super::{BEHIND_A_PROXY, hashing, request};
use crate::Result;
use crate::bench::Options;
use crate::bench::database::{Database, EMAIL, PASSWORD};
use crate::bench::http::{Client, Response};
use crate::bench::pause;
use crate::bench::report::{median, verdict};
use crate::bench::server::Server;

/// Duration of the profile reads before the flood, and of hashing alone.
const QUIET: Duration = Duration::from_secs(5);
/// Pause between two reads of the profile.
const PACE: Duration = Duration::from_millis(5);
const MIB_KIB: f64 = 1024.0;

/// The result of the floods.
#[derive(Debug)]
pub(super) struct Report {
    logins: usize,
    rounds: Vec<Round>,
    idle_kib: u64,
    peak_kib: u64,
}

/// One round: quiet phases, and two floods, only the first of them with concurrent profile reads.
#[derive(Debug)]
struct Round {
    before: Latency,
    beside_hashing: Latency,
    during: Latency,
    statuses: Statuses,
    /// Sign-ins per second with and without concurrent reads.
    verified: [f64; 2],
    /// Hashes per second of the cores alone, before the floods and after.
    alone: [f64; 2],
}

type Statuses = BTreeMap<u16, Status>;

#[derive(Debug, Default, Clone, Copy)]
struct Status {
    responses: u64,
    /// Responses with `Retry-After`.
    reported_when: u64,
}

#[derive(Debug, Clone, Copy)]
struct Latency {
    p50: f64,
    p99: f64,
    reads: usize,
}

/// Floods a server of its own, once per round.
pub(super) fn measure(
    program: &Path,
    work: &Path,
    database: &Database,
    tenant: Uuid,
    options: &Options,
) -> Result<Report> {
    // The seeded accounts get the password of the caller.
    database.execute(&format!(
        "update auth_users u set password_hash = c.password_hash from auth_users c \
         where c.email_norm = '{EMAIL}' and u.tenant_id = '{tenant}' and u.password_hash = 'none'"
    ))?;
    database.execute("vacuum analyze auth_users")?;
    let server = Server::start_with(program, work, database, &[BEHIND_A_PROXY])?;
    // Before the first sign-in: a thread that has hashed keeps its memory for a while.
    let idle_kib = server.resident_kib()?;
    let token = server.log_in(EMAIL, PASSWORD)?;
    let quiet = AtomicBool::new(true);
    profile_reads(&server, &token, &quiet, Some(Duration::from_secs(1)))?;
    let peak = AtomicU64::new(0);
    let mut rounds = Vec::new();
    for _ in 0..options.rounds() {
        rounds.push(round(&server, &token, tenant, options.logins, &peak)?);
    }
    Ok(Report {
        logins: options.logins,
        rounds,
        idle_kib,
        peak_kib: peak.into_inner(),
    })
}

fn round(server: &Server, token: &str, tenant: Uuid, logins: usize, peak: &AtomicU64) -> Result<Round> {
    let goes_on = AtomicBool::new(true);
    let alone_before = hashing::rate(QUIET)?;
    let before = profile_reads(server, token, &goes_on, Some(QUIET))?;
    let beside_hashing = hashing::beside(|| profile_reads(server, token, &goes_on, Some(QUIET)))??;
    let (during, read_beside) = std::thread::scope(|scope| {
        let reader = scope.spawn(|| profile_reads(server, token, &goes_on, None));
        let watch = scope.spawn(|| {
            while goes_on.load(Ordering::Acquire) {
                peak.fetch_max(server.resident_kib().unwrap_or_default(), Ordering::AcqRel);
                pause(Duration::from_millis(20));
            }
        });
        let flooded = flood(server.api(), tenant, logins);
        goes_on.store(false, Ordering::Release);
        let _watched = watch.join();
        (reader.join().map_err(|_| "the reader panicked"), flooded)
    });
    let (statuses, with_reader) = read_beside?;
    let (others, without_reader) = flood(server.api(), tenant, logins)?;
    let per_second = |statuses: &Statuses, elapsed: Duration| -> Result<f64> {
        let signed_in = statuses.get(&200).map_or(0, |status| status.responses);
        Ok(f64::from(u32::try_from(signed_in)?) / elapsed.as_secs_f64())
    };
    Ok(Round {
        before,
        beside_hashing,
        during: during??,
        verified: [
            per_second(&statuses, with_reader)?,
            per_second(&others, without_reader)?,
        ],
        statuses,
        alone: [alone_before, hashing::rate(QUIET)?],
    })
}

/// Reads the profile at a steady pace for a duration, or until the flood is over.
fn profile_reads(server: &Server, token: &str, goes_on: &AtomicBool, until: Option<Duration>) -> Result<Latency> {
    let mut client = Client::connect(server.api())?;
    let request = format!(
        "GET /api/auth/profile HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {token}\r\n\r\n",
        server.api()
    );
    let started = Instant::now();
    let mut times = Vec::new();
    while goes_on.load(Ordering::Acquire) && until.is_none_or(|until| started.elapsed() < until) {
        let sent = Instant::now();
        client.expect_ok(request.as_bytes())?;
        times.push(sent.elapsed().as_secs_f64() * 1000.0);
        pause(PACE);
    }
    times.sort_by(f64::total_cmp);
    let at = |percent: usize| times.get(times.len() * percent / 100).copied().unwrap_or(f64::NAN);
    Ok(Latency {
        p50: at(50),
        p99: at(99),
        reads: times.len(),
    })
}

fn flood(address: SocketAddr, tenant: Uuid, logins: usize) -> Result<(Statuses, Duration)> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut streams = Vec::new();
        for _ in 0..logins {
            streams.push(TcpStream::connect(address).await?);
        }
        let started = Instant::now();
        let clients: Vec<_> = streams
            .into_iter()
            .enumerate()
            .map(|(number, stream)| tokio::spawn(sign_in(stream, address, tenant, number)))
            .collect();
        let mut statuses = Statuses::new();
        for client in clients {
            for (status, counted) in client.await?? {
                let sum = statuses.entry(status).or_default();
                sum.responses += counted.responses;
                sum.reported_when += counted.reported_when;
            }
        }
        Ok((statuses, started.elapsed()))
    })
}

/// Signs one account in, with retries. A rejected client retries after half a second to a second, earlier than the server asks, so that the queue is
/// never empty, and not at the same time as the others.
async fn sign_in(mut stream: TcpStream, address: SocketAddr, tenant: Uuid, number: usize) -> Result<Statuses> {
    let body: Value = json!({
        "email": format!("user{}@example.com", number + 1),
        "password": PASSWORD,
        "tenantId": tenant,
    });
    let mut statuses = Statuses::new();
    loop {
        stream.write_all(&request(address, &body)).await?;
        let mut bytes = Vec::new();
        let response = loop {
            if stream.read_buf(&mut bytes).await? == 0 {
                return Err("the server closed the connection".into());
            }
            if let Some(response) = Response::complete(&bytes) {
                break response;
            }
        };
        let head = String::from_utf8_lossy(&bytes[..response.head]).to_ascii_lowercase();
        let status = statuses.entry(response.status).or_default();
        status.responses += 1;
        status.reported_when += u64::from(head.contains("\r\nretry-after:"));
        match response.status {
            200 => return Ok(statuses),
            429 | 503 => tokio::time::sleep(Duration::from_millis(500 + (number as u64 * 7) % 500)).await,
            other => {
                let body = String::from_utf8_lossy(&bytes[response.head..]).into_owned();
                return Err(format!("unexpected response {other} to a sign-in: {body}").into());
            }
        }
    }
}

impl Round {
    /// The slowdown of the slowest reads during the flood, as a factor.
    fn slower(&self) -> f64 {
        self.during.p99 / self.before.p99
    }

    /// The sign-ins per second relative to what the cores can hash, with and without concurrent reads.
    fn shares(&self) -> [f64; 2] {
        let [before, after] = self.alone;
        self.verified.map(|verified| verified / f64::midpoint(before, after))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (logins, rounds) = (self.logins, self.rounds.len());
        writeln!(
            f,
            "\n{logins} sign-ins at once, each until it is let in; {rounds} rounds\n"
        )?;
        writeln!(f, "| | measured | wanted | |\n| --- | ---: | ---: | --- |")?;
        let slower = median(self.rounds.iter().map(Round::slower));
        writeln!(
            f,
            "| p99 of GET /auth/profile against before, median | {slower:.1}x | 2x | {} |",
            verdict(slower <= 2.0)
        )?;
        let grown = f64::from(u32::try_from(self.peak_kib.saturating_sub(self.idle_kib)).unwrap_or(u32::MAX)) / MIB_KIB;
        writeln!(
            f,
            "| growth of memory | {grown:.1} MiB | 64 MiB | {} |",
            verdict(grown <= 64.0)
        )?;
        let [beside_reads, alone] = [0, 1].map(|which| median(self.rounds.iter().map(|round| round.shares()[which])));
        writeln!(
            f,
            "| share of what the cores can hash, median | {alone:.2} | 0.9 | {} |",
            verdict(alone >= 0.9)
        )?;
        writeln!(
            f,
            "| the same beside the reads of the profile, median | {beside_reads:.2} | | |"
        )?;
        for (number, round) in self.rounds.iter().enumerate() {
            writeln!(f, "\nRound {}:\n", number + 1)?;
            round.report(f)?;
        }
        Ok(())
    }
}

impl Round {
    fn report(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moments = [
            ("before", self.before),
            ("while as many threads hash outside the server", self.beside_hashing),
            ("during", self.during),
        ];
        for (name, latency) in moments {
            let Latency { p50, p99, reads } = latency;
            writeln!(f, "- {name}: p50 {p50:.2}, p99 {p99:.2} ms of {reads} reads")?;
        }
        for (status, counted) in &self.statuses {
            let Status {
                responses,
                reported_when,
            } = counted;
            let missed = if *status != 200 && responses != reported_when {
                "; missed"
            } else {
                ""
            };
            writeln!(
                f,
                "- {responses} responses {status}, {reported_when} of them with Retry-After{missed}"
            )?;
        }
        let ([beside_reads, alone], [before, after]) = (self.verified, self.alone);
        let [share_beside_reads, share] = self.shares();
        writeln!(
            f,
            "- {alone:.1} sign-ins per second, {beside_reads:.1} beside the reads; the cores alone hash {before:.1} before, {after:.1} after: \
             shares {share:.2}, {share_beside_reads:.2}"
        )
    }
}
