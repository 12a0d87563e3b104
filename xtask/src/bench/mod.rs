//! `bench`: the release server and pgbench take turns on a PostgreSQL of their own; the report compares their rates.

mod bulk;
mod capture;
mod database;
pub(crate) mod http;
mod load;
mod login;
mod pgbench;
mod report;
mod script;
mod server;
mod streams;
mod subject;
mod types;
mod waiting;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use backoffice_local_postgres::{LocalPostgres, Settings};
use clap::Args;

use crate::Result;
use crate::process::{Outcome, cargo, run as run_child, say};
use crate::workspace::Workspace;
use database::Database;
use http::Client;
use report::Report;
use script::Script;
use server::Server;
use subject::{Subject, subjects};

/// A subject that is measured separately.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Other {
    /// The logs with 10,000 and with 1,000,000 entries, and the cost of recording reads for a list
    Audit,
    /// A bulk job over 10,000 deals, and its cost for other requests
    Bulk,
    /// 1,000 open streams of events: statements, memory, and their cost for other requests
    Streams,
    /// Both login-timing and login-flood
    Login,
    /// Whether the duration of a rejected sign-in distinguishes a known address from an unknown one
    LoginTiming,
    /// The cost of 500 concurrent sign-ins for other requests
    LoginFlood,
    /// The cost of clients that open connections and stop sending
    Waiting,
}

/// The extent of the measurements.
#[derive(Debug, Clone, Args)]
pub(crate) struct Options {
    /// A subject other than the comparison of the server with PostgreSQL
    #[arg(value_enum)]
    subject: Option<Other>,
    /// Seconds of each round
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// Number of rounds; their median is reported
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Users of the tenant that the requests read
    #[arg(long, default_value_t = 10_000)]
    users: u32,
    /// Tenants
    #[arg(long, default_value_t = 20)]
    tenants: u32,
    /// Concurrent clients of the server and of pgbench
    #[arg(long, default_value_t = 16)]
    clients: u32,
    /// Number of timed pairs of rejected sign-ins
    #[arg(long, default_value_t = 500)]
    pairs: usize,
    /// Concurrent sign-ins
    #[arg(long, default_value_t = 500)]
    logins: usize,
    /// The server to measure [default: the one of this workspace]
    #[arg(long)]
    program: Option<PathBuf>,
}

/// Builds, measures and prints. The report lists missed targets and failed measurements; a failed measurement also fails the command.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<Outcome> {
    if let Some(Other::Audit) = options.subject {
        let test = [
            "test",
            "--package",
            "backoffice-tests",
            "--test",
            "it",
            "--",
            "audit::scale",
            "--ignored",
            "--nocapture",
        ];
        return run_child(cargo(workspace).args(test).arg("--test-threads=1"));
    }
    match &options.program {
        // An unoptimised load generator would take the processor from the server.
        Some(program) if !cfg!(debug_assertions) => report(workspace, &program.canonicalize()?, options),
        given => {
            let build = [
                "build",
                "--release",
                "--package",
                "backoffice-server",
                "--package",
                "xtask",
            ];
            let release = workspace.target().join("release");
            let mut again = Command::new(release.join("xtask"));
            again.args(std::env::args_os().skip(1));
            if given.is_none() {
                again.arg("--program").arg(release.join("backoffice"));
            }
            run_child(cargo(workspace).args(build))?.and_then(|| run_child(&mut again))
        }
    }
}

fn report(workspace: &Workspace, program: &Path, options: &Options) -> Result<Outcome> {
    let postgres = LocalPostgres::start(&Settings::new(workspace.target().join("bench-postgres")))?;
    say(&format!(
        "PostgreSQL {} with fsync in {}",
        postgres.version(),
        postgres.dir().display()
    ));
    let work = workspace.target().join("bench");
    std::fs::create_dir_all(&work)?;
    let mut outcome = Outcome::Passed;
    let report = match options.subject {
        None | Some(Other::Audit) => measure(&postgres, program, &work, options).map(|report| {
            outcome = report.outcome();
            report.to_string()
        }),
        Some(Other::Bulk) => bulk::measure(&postgres, program, &work, options).map(|report| report.to_string()),
        Some(Other::Streams) => streams::measure(&postgres, program, &work, options).map(|report| report.to_string()),
        Some(Other::Waiting) => waiting::measure(&postgres, program, &work, options).map(|report| report.to_string()),
        Some(Other::Login) => login::measure(&postgres, program, &work, options, [true, true]),
        Some(Other::LoginTiming) => login::measure(&postgres, program, &work, options, [true, false]),
        Some(Other::LoginFlood) => login::measure(&postgres, program, &work, options, [false, true]),
    };
    postgres.stop()?;
    say(&report?);
    Ok(outcome)
}

fn measure(postgres: &LocalPostgres, program: &Path, work: &Path, options: &Options) -> Result<Report> {
    let database = Database::create(postgres, program, work)?;
    say(&format!(
        "{} tenants, {} users in one of them",
        options.tenants, options.users
    ));
    let tenant = database.seed(options)?;
    let mut report = Report::new(options, program)?;
    for _ in 0..5 {
        report
            .ready
            .push(Server::start(program, work, &database)?.ready_after());
    }
    let server = Server::start(program, work, &database)?;
    report.idle_kib = server.resident_kib()?;
    let token = server.log_in(database::EMAIL, database::PASSWORD)?;
    for subject in subjects() {
        say(&format!("{} ...", subject.title));
        let measured = captured(&database, &server, &token, &subject, work).and_then(|script| {
            let row = report.row(&subject, &script);
            for _ in 0..options.rounds {
                row.served.push(load::run(&server, &token, &subject, options)?);
                row.bare
                    .push(pgbench::run(postgres, database::APPLICATION, tenant, &script, options)?);
            }
            if subject.compares_row_security {
                for _ in 0..options.rounds {
                    let run = |role| pgbench::run(postgres, role, tenant, &script, options);
                    report.with_policies.push(run(database::APPLICATION)?);
                    report.without_policies.push(run(database::BYPASSING)?);
                }
            }
            Ok(())
        });
        // The others are measured all the same.
        if let Err(error) = measured {
            say(&format!("{} could not be measured: {error}", subject.title));
            report.failed.push((subject.title, error.to_string()));
        }
    }
    report.loaded_kib = server.resident_kib()?;
    Ok(report)
}

/// Captures the statements of one request on a warm connection as a script.
fn captured(database: &Database, server: &Server, token: &str, subject: &Subject, work: &Path) -> Result<Script> {
    let mut client = Client::connect(server.api())?;
    for round in 0..20 {
        client.expect_ok(&subject.request(server.api(), token, 0, round))?;
    }
    let log = capture::Log::open(database)?;
    let captured = captured_pair(&log, &mut client, |round| {
        subject.request(server.api(), token, 0, round)
    });
    // Also after an error: logging every statement would slow down all later measurements.
    log.close()?;
    let (first, second) = captured?;
    script::write(database, subject, &first, &second, work)
}

/// Captures after two that differ.
const FURTHER_CAPTURES: u64 = 5;

/// Captures a request twice, again until both ran the same statements: a periodic statement of the server may fall into one of them.
fn captured_pair(
    log: &capture::Log<'_>,
    client: &mut Client,
    request: impl Fn(u64) -> Vec<u8>,
) -> Result<(Vec<capture::Entry>, Vec<capture::Entry>)> {
    let background = log.during(|| {
        pause(Duration::from_millis(1500));
        Ok(())
    })?;
    let mut one = |round: u64| -> Result<Vec<capture::Entry>> {
        let entries = log.during(|| client.expect_ok(&request(round)))?;
        let is_own = |entry: &capture::Entry| background.iter().all(|other| other.sql != entry.sql);
        Ok(entries.into_iter().filter(is_own).collect())
    };
    let (mut first, mut second) = (one(101)?, one(102)?);
    for round in 103..103 + FURTHER_CAPTURES {
        if runs(&first).eq(runs(&second)) {
            break;
        }
        first = std::mem::replace(&mut second, one(round)?);
    }
    Ok((first, second))
}

/// The statements that a request ran.
fn runs(entries: &[capture::Entry]) -> impl Iterator<Item = &str> {
    let runs = entries.iter().filter(|entry| entry.kind == capture::Kind::Run);
    runs.map(|entry| entry.sql.as_str())
}

#[expect(clippy::disallowed_methods, reason = "nothing asynchronous runs on this thread")]
fn pause(duration: Duration) {
    std::thread::sleep(duration);
}
