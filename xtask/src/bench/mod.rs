//! `bench`: the release server and pgbench take turns on a PostgreSQL of their own; the report compares their rates.

mod bulk;
mod capture;
mod compare;
mod database;
mod devices;
mod dispatch;
mod files;
pub(crate) mod http;
mod load;
mod login;
mod pgbench;
mod push;
mod report;
mod rules;
mod script;
pub(crate) mod server;
mod sign_ups;
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

/// A subject that is measured separately.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Other {
    /// The logs with 10,000 and with 1,000,000 entries, and the cost of recording reads for a list
    Audit,
    /// A bulk job over 10,000 deals, and its cost for other requests
    Bulk,
    /// 10,000 reports of devices in a minute, and their cost for other requests
    Devices,
    /// Reads of a small and of a large dispatch tenant, and the cost of writes beside many assignments
    Dispatch,
    /// Files: memory and rate of uploads, downloads and images, and a library of 1,000,000
    Files,
    /// 10,000 push messages to a gateway that responds after nine seconds, and the wait of another tenant's small jobs
    Push,
    /// The cost of business rules for the commands that they validate
    Rules,
    /// The time from the link of a sign-up to its tenant, and what the duration of a submission reveals
    SignUps,
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
    /// Measures the comparison in five minutes: one short round, at most 10,000 rows
    #[arg(long)]
    quick: bool,
    /// Rows in each table of the compared tenants, at least 100 [default: 100,10000,1000000; with --quick 100,10000]
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(100..))]
    rows: Vec<u32>,
    /// Seconds of each round [default: 5; with --quick 1]
    #[arg(long)]
    seconds: Option<u64>,
    /// Number of rounds; their median is reported [default: 3; with --quick 1]
    #[arg(long)]
    rounds: Option<usize>,
    /// Users of the tenant that the requests of the other subjects read
    #[arg(long, default_value_t = 10_000)]
    users: u32,
    /// Tenants of the other subjects
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

impl Options {
    fn seconds(&self) -> u64 {
        self.seconds.unwrap_or(if self.quick { 1 } else { 5 })
    }

    fn rounds(&self) -> usize {
        self.rounds.unwrap_or(if self.quick { 1 } else { 3 })
    }

    /// The sizes of the compared tenants, in ascending order.
    fn sizes(&self) -> Vec<u32> {
        let default: &[u32] = if self.quick {
            &[100, 10_000]
        } else {
            &[100, 10_000, 1_000_000]
        };
        let mut sizes = if self.rows.is_empty() {
            default.to_vec()
        } else {
            self.rows.clone()
        };
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }
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
    let is_comparison = matches!(options.subject, None | Some(Other::Audit));
    let postgres = start_postgres(workspace.target().join("bench-postgres"), is_comparison)?;
    say(&format!(
        "PostgreSQL {} with fsync in {}",
        postgres.version(),
        postgres.dir().display()
    ));
    let work = workspace.target().join("bench");
    std::fs::create_dir_all(&work)?;
    let mut outcome = Outcome::Passed;
    let report = match options.subject {
        None | Some(Other::Audit) => compare::measure(&postgres, program, &work, options).map(|report| {
            outcome = report.outcome();
            report.to_string()
        }),
        Some(Other::Bulk) => bulk::measure(&postgres, program, &work, options).map(|report| report.to_string()),
        Some(Other::Files) => files::measure(&postgres, program, &work, options).map(|report| report.to_string()),
        Some(Other::Rules) => rules::measure(&postgres, program, &work, options).map(|report| report.to_string()),
        Some(Other::Devices) => devices::measure(&postgres, program, &work, options).map(|report| report.to_string()),
        Some(Other::Dispatch) => dispatch::measure(&postgres, program, &work, options).map(|report| report.to_string()),
        Some(Other::Push) => push::measure(&postgres, program, &work, options).map(|report| report.to_string()),
        Some(Other::SignUps) => sign_ups::measure(&postgres, program, &work, options).map(|report| report.to_string()),
        Some(Other::Streams) => streams::measure(&postgres, program, &work, options).map(|report| report.to_string()),
        Some(Other::Waiting) => waiting::measure(&postgres, program, &work, options).map(|report| report.to_string()),
        Some(Other::Login) => login::measure(&postgres, program, &work, options, [true, true]),
        Some(Other::LoginTiming) => login::measure(&postgres, program, &work, options, [true, false]),
        Some(Other::LoginFlood) => login::measure(&postgres, program, &work, options, [false, true]),
    };
    postgres.stop()?;
    let report = report?;
    say(&report);
    std::fs::write(work.join("report.txt"), report)?;
    Ok(outcome)
}

/// Starts PostgreSQL. For the comparison it counts statements, if contrib is installed, and vacuums only when the bench does.
fn start_postgres(dir: PathBuf, is_comparison: bool) -> Result<LocalPostgres> {
    let mut settings = Settings::new(dir);
    if !is_comparison {
        return Ok(LocalPostgres::start(&settings)?);
    }
    let set = |settings: &mut Settings, values: &[(&str, &str)]| {
        let values = values
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        settings.extra.extend(values);
    };
    set(
        &mut settings,
        &[
            ("shared_buffers", "512MB"),
            ("max_wal_size", "8GB"),
            ("checkpoint_timeout", "30min"),
            ("autovacuum", "off"),
        ],
    );
    let without_contrib = settings.clone();
    set(&mut settings, &[("shared_preload_libraries", "pg_stat_statements")]);
    match LocalPostgres::start(&settings) {
        Ok(postgres) => Ok(postgres),
        // Without the library PostgreSQL does not start.
        Err(backoffice_local_postgres::Error::Start { .. }) => Ok(LocalPostgres::start(&without_contrib)?),
        Err(error) => Err(error.into()),
    }
}

#[expect(clippy::disallowed_methods, reason = "nothing asynchronous runs on this thread")]
fn pause(duration: Duration) {
    std::thread::sleep(duration);
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    fn extent(line: &str) -> (u64, usize, Vec<u32>) {
        let options = Line::parse_from(line.split(' ')).options;
        (options.seconds(), options.rounds(), options.sizes())
    }

    #[test]
    fn quick_is_short_unless_more_is_requested() {
        assert_eq!(extent("bench"), (5, 3, vec![100, 10_000, 1_000_000]));
        assert_eq!(extent("bench --quick"), (1, 1, vec![100, 10_000]));
        assert_eq!(
            extent("bench --quick --seconds 2 --rows 500,100"),
            (2, 1, vec![100, 500])
        );
    }
}
