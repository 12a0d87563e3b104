//! 10,000 reports of devices in a minute, and their cost for other requests.

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use backoffice_local_postgres::LocalPostgres;
use serde_json::json;
use tokio::time::Instant;

use super::capture::{Kind, Log};
use super::database::{Database, EMAIL, PASSWORD};
use super::http::Client;
use super::report::{median, percentile, verdict};
use super::server::{Server, WITHOUT_LIMITS};
use super::streams::reads;
use super::{Options, pause};
use crate::Result;
use crate::process::say;

/// Reports in a minute.
const REPORTS: u32 = 10_000;
/// Devices that report.
const DEVICES: usize = 40;
/// Of so many reports, one changes the device.
const CHANGED: usize = 10;
const CLIENTS: usize = 4;
const ROUND: Duration = Duration::from_secs(20);
/// Maximum p99 of other reads, against the p99 without reports.
const WANTED: f64 = 1.5;

/// The measurements.
#[derive(Debug)]
pub(super) struct Report {
    /// Milliseconds of reads without and with reports, sorted.
    before: Vec<f64>,
    during: Vec<f64>,
    /// Milliseconds of the reports, sorted.
    reports: Vec<f64>,
    seconds: f64,
    /// Statements of a report that changes nothing.
    statements: usize,
}

/// Measures on a server of its own.
pub(super) fn measure(postgres: &LocalPostgres, program: &Path, work: &Path, options: &Options) -> Result<Report> {
    let database = Database::create(postgres, program, work)?;
    database.seed(&Options {
        users: options.users.min(1000),
        ..options.clone()
    })?;
    let server = Server::start_with(program, work, &database, &[WITHOUT_LIMITS])?;
    let token = server.log_in(EMAIL, PASSWORD)?;
    let mut client = Client::connect(server.api())?;
    for number in 0..DEVICES {
        report(&server, &mut client, &token, number, 0)?;
    }
    let goes_on = AtomicBool::new(true);
    reads(&server, &token, &goes_on, Duration::from_secs(2))?;
    say("without reports ...");
    let before = reads(&server, &token, &goes_on, ROUND)?;
    say("with reports ...");
    let sent = AtomicUsize::new(0);
    let started = Instant::now();
    let (during, reports) = std::thread::scope(|scope| -> Result<_> {
        let reporting: Vec<_> = (0..CLIENTS)
            .map(|_| scope.spawn(|| reports_at_pace(&server, &token, &sent, &goes_on, started)))
            .collect();
        let during = reads(&server, &token, &goes_on, ROUND);
        goes_on.store(false, Ordering::Release);
        let mut times = Vec::new();
        for client in reporting {
            times.extend(client.join().map_err(|_| "a client panicked")??);
        }
        Ok((during?, times))
    })?;
    let seconds = started.elapsed().as_secs_f64();
    let mut reports = reports;
    reports.sort_by(f64::total_cmp);
    // The server has closed the idle connection.
    let mut client = Client::connect(server.api())?;
    let log = Log::open(&database)?;
    let captured = log.during(|| report(&server, &mut client, &token, 0, 0).map(|_| ()));
    log.close()?;
    Ok(Report {
        before,
        during,
        reports,
        seconds,
        statements: captured?.iter().filter(|entry| entry.kind == Kind::Run).count(),
    })
}

/// Sends the next report whenever it is due, and returns the milliseconds of each.
fn reports_at_pace(
    server: &Server,
    token: &str,
    sent: &AtomicUsize,
    goes_on: &AtomicBool,
    started: Instant,
) -> Result<Vec<f64>> {
    let mut client = Client::connect(server.api())?;
    let interval = Duration::from_secs(60) / REPORTS;
    let mut times = Vec::new();
    while goes_on.load(Ordering::Acquire) {
        let number = sent.fetch_add(1, Ordering::AcqRel);
        let due = interval * u32::try_from(number)?;
        pause(due.saturating_sub(started.elapsed()));
        let version = if number.is_multiple_of(CHANGED) { number } else { 0 };
        times.push(report(server, &mut client, token, number % DEVICES, version)?);
    }
    Ok(times)
}

/// Reports a device, with a new version unless it is 0; returns the milliseconds.
fn report(server: &Server, client: &mut Client, token: &str, device: usize, version: usize) -> Result<f64> {
    let mut body = json!({"deviceId": format!("device {device}"), "platform": "android", "locale": "en"});
    if version > 0 {
        body["clientAppVersion"] = json!(format!("1.{version}"));
    }
    let body = body.to_string();
    let request = format!(
        "POST /api/devices HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        server.api(),
        body.len()
    );
    let sent = Instant::now();
    let (status, body) = client.send(request.as_bytes())?;
    match status {
        201 => Ok(sent.elapsed().as_secs_f64() * 1000.0),
        _ => Err(format!("{status}: {}", String::from_utf8_lossy(&body)).into()),
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nReports of {DEVICES} devices, one of {CHANGED} with a change\n")?;
        writeln!(f, "| | measured | wanted | |\n| --- | ---: | ---: | --- |")?;
        let rate = self.reports.len() as f64 / self.seconds * 60.0;
        let wanted = f64::from(REPORTS) * 0.99;
        writeln!(
            f,
            "| reports in a minute | {rate:.0} | {REPORTS} | {} |",
            verdict(rate >= wanted)
        )?;
        let (before, during) = (percentile(&self.before, 99), percentile(&self.during, 99));
        writeln!(
            f,
            "| p99 of other reads against without reports | {:.2}x | {WANTED}x | {} |",
            during / before,
            verdict(during <= before * WANTED)
        )?;
        for (name, times) in [
            ("reads without reports", &self.before),
            ("reads with reports", &self.during),
            ("reports", &self.reports),
        ] {
            writeln!(
                f,
                "| {name}, {}: p50, p99 | {:.2}, {:.2} ms | | |",
                times.len(),
                median(times.iter().copied()),
                percentile(times, 99)
            )?;
        }
        writeln!(
            f,
            "| statements of a report without a change | {} | | |",
            self.statements
        )
    }
}
