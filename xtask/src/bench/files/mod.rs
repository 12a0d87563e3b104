//! Files: memory and rate of uploads, downloads and images, and a library with 1,000,000 of them.

mod images;
mod library;
mod transfers;
mod wire;

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use backoffice_local_postgres::LocalPostgres;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::database::{Database, EMAIL, PASSWORD};
use super::http::Client;
use super::report::{percentile, verdict};
use super::server::Server;
use super::{Options, pause};
use crate::Result;
use wire::Caller;

/// The tenant whose files are measured.
const TENANT: &str = "Files";
const FILES_EMAIL: &str = "files@example.com";
/// Time between two samples of the memory.
const SAMPLE: Duration = Duration::from_millis(10);
/// Pause between two reads of the list beside.
const READ_PACE: Duration = Duration::from_millis(5);

/// A figure and its bound.
#[derive(Debug)]
pub(super) struct Row {
    what: String,
    figure: String,
    wanted: String,
    is_met: Option<bool>,
}

impl Row {
    /// A figure without a bound.
    fn plain(what: &str, figure: String) -> Self {
        Self {
            what: what.to_owned(),
            figure,
            wanted: String::new(),
            is_met: None,
        }
    }

    /// A figure that must be at most this.
    fn at_most(what: &str, figure: f64, unit: &str, bound: f64) -> Self {
        Self {
            what: what.to_owned(),
            figure: format!("{figure:.2}{unit}"),
            wanted: format!("at most {bound}{unit}"),
            is_met: Some(figure <= bound),
        }
    }

    /// A figure that must be at least this.
    fn at_least(what: &str, figure: f64, unit: &str, bound: f64) -> Self {
        Self {
            what: what.to_owned(),
            figure: format!("{figure:.2}{unit}"),
            wanted: format!("at least {bound}{unit}"),
            is_met: Some(figure >= bound),
        }
    }

    /// A number that must be exactly this.
    fn exactly(what: &str, figure: usize, wanted: usize) -> Self {
        Self {
            what: what.to_owned(),
            figure: figure.to_string(),
            wanted: wanted.to_string(),
            is_met: Some(figure == wanted),
        }
    }
}

/// The measurements.
#[derive(Debug)]
pub(super) struct Report(Vec<Row>);

/// Measures on a server of its own.
pub(super) fn measure(postgres: &LocalPostgres, program: &Path, work: &Path, options: &Options) -> Result<Report> {
    let database = Database::create(postgres, program, work)?;
    database.seed(&Options {
        users: options.users.min(1000),
        tenants: 2,
        ..options.clone()
    })?;
    database.command(&["tenant", "create", TENANT])?;
    database.create_administrator(FILES_EMAIL, TENANT)?;
    // The files of an earlier run belong to no database.
    let data = work.join("var");
    for folder in ["attachments", "images", "spool"] {
        match std::fs::remove_dir_all(data.join(folder)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
    }
    let settings = [
        ("BACKOFFICE__RATE_LIMITS__ENABLED", "false"),
        ("BACKOFFICE__ATTACHMENTS__MAX_UPLOAD", "2GiB"),
        ("BACKOFFICE__ATTACHMENTS__TENANT_QUOTA", "100GiB"),
        ("BACKOFFICE__ATTACHMENTS__PER_TENANT", "64"),
        ("BACKOFFICE__ATTACHMENTS__PER_PRINCIPAL", "64"),
    ];
    let server = Server::start_with(program, work, &database, &settings)?;
    let reader = server.log_in(EMAIL, PASSWORD)?;
    let caller = caller(&server)?;
    let bench = Bench {
        database: &database,
        server: &server,
        caller,
        reader,
        work,
    };
    let mut rows = transfers::measure(&bench)?;
    rows.extend(images::measure(&bench)?);
    rows.extend(library::measure(&bench)?);
    for folder in ["attachments", "images"] {
        std::fs::remove_dir_all(data.join(folder))?;
    }
    Ok(Report(rows))
}

/// Signs in the owner of the files, and creates an organization.
fn caller(server: &Server) -> Result<Caller> {
    let token = server.log_in(FILES_EMAIL, PASSWORD)?;
    let body = json!({"name": "Office"}).to_string();
    let request = format!(
        "POST /api/directory/organizations HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        server.api(),
        body.len()
    );
    let (status, response) = Client::connect(server.api())?.send(request.as_bytes())?;
    let response: Value = serde_json::from_slice(&response)?;
    let organization = response["id"].as_str();
    Ok(Caller {
        address: server.api(),
        token,
        organization: organization.ok_or_else(|| format!("{status}: {response}"))?.to_owned(),
    })
}

/// What every measurement needs.
struct Bench<'a> {
    database: &'a Database,
    server: &'a Server,
    caller: Caller,
    /// An access token of another tenant.
    reader: String,
    work: &'a Path,
}

/// What happened beside a piece of work.
struct Beside<T> {
    outcome: T,
    /// MiB by which the memory of the server grew at most.
    grown: f64,
    /// The 99th percentile of the reads of another tenant's list, in milliseconds.
    p99: f64,
    seconds: f64,
}

impl Bench<'_> {
    /// Runs work while the memory of the server is sampled, and another tenant reads a list.
    fn beside<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<Beside<T>> {
        let before = self.server.resident_kib()?;
        let goes_on = AtomicBool::new(true);
        std::thread::scope(|scope| {
            let memory = scope.spawn(|| {
                let mut most = 0;
                while goes_on.load(Ordering::Acquire) {
                    most = self.server.resident_kib().unwrap_or(0).max(most);
                    pause(SAMPLE);
                }
                most
            });
            let reads = scope.spawn(|| self.reads(&goes_on));
            let started = Instant::now();
            let outcome = work();
            let seconds = started.elapsed().as_secs_f64();
            goes_on.store(false, Ordering::Release);
            let most = memory.join().map_err(|_| "the sampling failed")?;
            let times = reads.join().map_err(|_| "the reads failed")??;
            Ok(Beside {
                outcome: outcome?,
                grown: most.saturating_sub(before) as f64 / 1024.0,
                p99: percentile(&times, 99),
                seconds,
            })
        })
    }

    /// Returns the milliseconds of reads of the users of another tenant, sorted.
    fn reads(&self, goes_on: &AtomicBool) -> Result<Vec<f64>> {
        let mut client = Client::connect(self.server.api())?;
        let request = format!(
            "GET /api/auth/users?pageSize=20 HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\n\r\n",
            self.server.api(),
            self.reader
        );
        let mut times = Vec::new();
        while goes_on.load(Ordering::Acquire) {
            let sent = Instant::now();
            client.expect_ok(request.as_bytes())?;
            times.push(sent.elapsed().as_secs_f64() * 1000.0);
            pause(READ_PACE);
        }
        times.sort_by(f64::total_cmp);
        Ok(times)
    }

    /// Returns the 99th percentile of the reads of another tenant's list when nothing else happens.
    fn quiet(&self) -> Result<f64> {
        let quiet = self.beside(|| {
            pause(Duration::from_secs(5));
            Ok(())
        })?;
        Ok(quiet.p99)
    }

    /// Runs asynchronous work on one thread.
    fn run<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?
            .block_on(work)
    }

    /// Uploads a file and returns its id.
    fn upload(&self, name: &str, block: &[u8], length: u64) -> Result<String> {
        let (status, body) = Self::run(self.caller.upload(name, block, length))?;
        let id = body["item"]["id"].as_str();
        Ok(id.ok_or_else(|| format!("{status}: {body}"))?.to_owned())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n| | measured | wanted | |")?;
        writeln!(f, "| --- | ---: | ---: | --- |")?;
        for row in &self.0 {
            let verdict = row.is_met.map_or("", verdict);
            writeln!(f, "| {} | {} | {} | {verdict} |", row.what, row.figure, row.wanted)?;
        }
        Ok(())
    }
}
