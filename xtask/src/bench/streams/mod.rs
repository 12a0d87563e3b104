//! Open streams of events: their statements, their memory, and their cost for other requests.

mod crowd;

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use backoffice_local_postgres::LocalPostgres;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::capture::{Kind, Log};
use super::database::{Database, EMAIL, PASSWORD};
use super::http::Client;
use super::report::{median, percentile, verdict};
use super::server::{Server, WITHOUT_LIMITS};
use super::{Options, pause};
use crate::Result;
use crate::process::say;
use crowd::{Crowd, TENANTS};

/// Numbers of open streams for which statements are counted.
const STREAMS: [usize; 3] = [1, 100, 1000];
const QUIET: Duration = Duration::from_secs(5);
/// Time until the initial statements of new streams are over.
const SETTLE: Duration = Duration::from_secs(2);
/// Pause between two changes.
const PACE: Duration = Duration::from_millis(50);
const READ_PACE: Duration = Duration::from_millis(5);

/// The measurements.
#[derive(Debug)]
pub(super) struct Report {
    /// Number of streams, and statements per second without events and while one tenant changes something.
    statements: Vec<(usize, f64, f64)>,
    before_kib: u64,
    after_kib: u64,
    /// Milliseconds of the reads of another tenant's list, without streams and with all of them.
    before: Vec<f64>,
    during: Vec<f64>,
    changes: usize,
    received: u64,
    expected: u64,
}

/// Measures on a server of its own.
pub(super) fn measure(postgres: &LocalPostgres, program: &Path, work: &Path, options: &Options) -> Result<Report> {
    let database = Database::create(postgres, program, work)?;
    database.seed(&Options {
        users: options.users.min(1000),
        tenants: 3,
        ..options.clone()
    })?;
    let people = crowd::people(&database)?;
    let server = Server::start_with(program, work, &database, &[WITHOUT_LIMITS])?;
    let reader = server.log_in(EMAIL, PASSWORD)?;
    say(&format!("{} people sign in ...", people.len()));
    let tokens = people
        .iter()
        .map(|email| server.log_in(email, PASSWORD))
        .collect::<Result<Vec<_>>>()?;
    let writer = Writer::new(&server, tokens.first().ok_or("no accounts")?)?;
    reads(&server, &reader, &AtomicBool::new(true), Duration::from_secs(1))?;
    say("without streams ...");
    let (_, before) = writer.beside(|goes_on| reads(&server, &reader, goes_on, QUIET))?;
    let before_kib = server.resident_kib()?;
    let mut crowd = Crowd::new(server.api(), &tokens)?;
    let mut statements = Vec::new();
    for streams in STREAMS {
        say(&format!("{streams} streams ..."));
        crowd.grow(streams)?;
        pause(SETTLE);
        let silent = counted(&database, || {
            pause(QUIET);
            Ok(())
        })?;
        let busy = counted(&database, || {
            writer
                .beside(|_| {
                    pause(QUIET);
                    Ok(())
                })
                .map(|_| ())
        })?;
        statements.push((streams, silent, busy));
    }
    pause(SETTLE);
    let reported_before = crowd.received();
    let (changes, during) = writer.beside(|goes_on| reads(&server, &reader, goes_on, QUIET))?;
    pause(SETTLE);
    Ok(Report {
        statements,
        before_kib,
        after_kib: server.resident_kib()?,
        before,
        during,
        changes,
        received: crowd.received() - reported_before,
        expected: u64::try_from(changes * crowd.len() / TENANTS)?,
    })
}

/// Returns the server's statements per second while `work` runs.
fn counted(database: &Database, work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let log = Log::open(database)?;
    let started = Instant::now();
    let captured = log.during(work);
    let seconds = started.elapsed().as_secs_f64();
    log.close()?;
    let runs = captured?.iter().filter(|entry| entry.kind == Kind::Run).count();
    Ok(runs as f64 / seconds)
}

/// Returns the milliseconds of each read of a list, sorted.
pub(super) fn reads(server: &Server, token: &str, goes_on: &AtomicBool, until: Duration) -> Result<Vec<f64>> {
    let mut client = Client::connect(server.api())?;
    let request = format!(
        "GET /api/auth/users?pageSize=20 HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {token}\r\n\r\n",
        server.api()
    );
    let started = Instant::now();
    let mut times = Vec::new();
    while goes_on.load(Ordering::Acquire) && started.elapsed() < until {
        let sent = Instant::now();
        client.expect_ok(request.as_bytes())?;
        times.push(sent.elapsed().as_secs_f64() * 1000.0);
        pause(READ_PACE);
    }
    times.sort_by(f64::total_cmp);
    Ok(times)
}

/// A user who keeps renaming a role of the first tenant.
struct Writer<'a> {
    server: &'a Server,
    token: String,
    role: String,
    round: std::sync::atomic::AtomicUsize,
}

impl<'a> Writer<'a> {
    fn new(server: &'a Server, token: &str) -> Result<Self> {
        let mut writer = Self {
            server,
            token: token.to_owned(),
            role: String::new(),
            round: std::sync::atomic::AtomicUsize::new(0),
        };
        let (status, body) = writer.send("POST", &json!({"name": "Renamed"}))?;
        let body: Value = serde_json::from_slice(&body)?;
        writer.role = body["id"]
            .as_str()
            .ok_or_else(|| format!("{status}: {body}"))?
            .to_owned();
        Ok(writer)
    }

    fn send(&self, method: &str, body: &Value) -> Result<(u16, Vec<u8>)> {
        let body = body.to_string();
        let request = format!(
            "{method} /api/auth/roles HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.server.api(),
            self.token,
            body.len()
        );
        Client::connect(self.server.api())?.send(request.as_bytes())
    }

    /// Renames at a steady pace while `work` runs. Returns the number of renames and the output of `work`.
    fn beside<T>(&self, work: impl FnOnce(&AtomicBool) -> Result<T>) -> Result<(usize, T)> {
        let goes_on = AtomicBool::new(true);
        std::thread::scope(|scope| {
            let writing = scope.spawn(|| -> Result<usize> {
                let mut changes = 0;
                while goes_on.load(Ordering::Acquire) {
                    let round = self.round.fetch_add(1, Ordering::AcqRel);
                    let change = json!({"id": self.role, "name": format!("Renamed {round}")});
                    let (status, body) = self.send("PUT", &change)?;
                    if status != 200 {
                        return Err(format!("{status}: {}", String::from_utf8_lossy(&body)).into());
                    }
                    changes += 1;
                    pause(PACE);
                }
                Ok(changes)
            });
            let worked = work(&goes_on);
            goes_on.store(false, Ordering::Release);
            let changes = writing.join().map_err(|_| "the writer panicked")??;
            Ok((changes, worked?))
        })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = STREAMS[STREAMS.len() - 1];
        writeln!(f, "\n{most} open streams of {TENANTS} tenants\n")?;
        writeln!(
            f,
            "| streams | statements/s, silent | statements/s, changes in one tenant |\n| ---: | ---: | ---: |"
        )?;
        for (streams, silent, busy) in &self.statements {
            writeln!(f, "| {streams} | {silent:.1} | {busy:.1} |")?;
        }
        let silent = |index: usize| self.statements.get(index).map_or(f64::NAN, |one| one.1);
        let grown = silent(STREAMS.len() - 1) - silent(0);
        writeln!(f, "\n| | measured | wanted | |\n| --- | ---: | ---: | --- |")?;
        writeln!(
            f,
            "| further statements/s of {most} silent streams against one | {grown:.1} | 50 | {} |",
            verdict(grown <= 50.0)
        )?;
        let (before, during) = (percentile(&self.before, 99), percentile(&self.during, 99));
        let slower = during / before;
        writeln!(
            f,
            "| p99 of another tenant's list against before | {slower:.1}x | 1.5x | {} |",
            verdict(slower <= 1.5)
        )?;
        for (name, times) in [("without streams", &self.before), ("with all of them", &self.during)] {
            writeln!(
                f,
                "| {name}: p50, p99 of {} reads | {:.2}, {:.2} ms | | |",
                times.len(),
                median(times.iter().copied()),
                percentile(times, 99)
            )?;
        }
        let kib = self.after_kib.saturating_sub(self.before_kib);
        writeln!(
            f,
            "| memory before, with the streams | {:.1}, {:.1} MiB | | |",
            self.before_kib as f64 / 1024.0,
            self.after_kib as f64 / 1024.0
        )?;
        let each = kib as f64 / most as f64;
        writeln!(
            f,
            "| memory of a stream | {each:.1} KiB | 64 KiB | {} |",
            verdict(each <= 64.0)
        )?;
        writeln!(
            f,
            "| messages of {} changes, of the streams of their tenant | {} of {} | all | {} |",
            self.changes,
            self.received,
            self.expected,
            verdict(self.received == self.expected)
        )
    }
}
