//! Other tenants while the large job runs: the delay before their own small jobs, and the duration of their requests.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::Instant;
use uuid::Uuid;

use super::{Job, deals, seed_as, tenant_number};
use crate::Result;
use crate::bench::database::{Database, PASSWORD};
use crate::bench::http::Client;
use crate::bench::pause;
use crate::bench::report::{median, percentile, verdict};
use crate::bench::server::Server;

const TENANTS: usize = 3;
/// Deals of a small job.
const REDUCED_CHUNK: usize = 10;
const QUIET: Duration = Duration::from_secs(5);
/// Pause between two reads.
const PACE: Duration = Duration::from_millis(5);
/// Pause between two small jobs of a tenant.
const BETWEEN: Duration = Duration::from_millis(700);

/// Measurements of the other tenants.
#[derive(Debug)]
pub(super) struct Beside {
    small_jobs: usize,
    /// From the request to the start, in seconds.
    longest_wait: f64,
    before: Vec<f64>,
    during: Vec<f64>,
    /// Items of the large job per second.
    rate: f64,
}

/// An account of another tenant.
#[derive(Debug)]
pub(super) struct Neighbour {
    email: String,
    owner: String,
    deals: Vec<Uuid>,
}

/// Creates tenants with some deals and an administrator each.
pub(super) fn neighbours(database: &Database) -> Result<Vec<Neighbour>> {
    (1..=TENANTS)
        .map(|number| {
            let (name, email) = (format!("Beside {number}"), format!("beside{number}@example.com"));
            database.command(&["tenant", "create", &name])?;
            database.create_administrator(&email, &name)?;
            let tenant = database.text(&format!("select id from directory_tenants where name = '{name}'"))?;
            seed_as(database, tenant.parse()?, tenant_number(number), REDUCED_CHUNK)?;
            Ok(Neighbour {
                owner: database.text(&format!("select id from auth_users where email_norm = '{email}'"))?,
                deals: deals(tenant_number(number), REDUCED_CHUNK),
                email,
            })
        })
        .collect()
}

/// Runs the large job while the neighbours send requests.
pub(super) fn measure(
    server: &Server,
    database: &Database,
    neighbours: &[Neighbour],
    large: impl FnOnce() -> Result<f64>,
) -> Result<Beside> {
    let tokens = neighbours
        .iter()
        .map(|one| server.log_in(&one.email, PASSWORD))
        .collect::<Result<Vec<_>>>()?;
    let first = tokens.first().ok_or("no neighbours")?;
    let goes_on = AtomicBool::new(true);
    reads(server, first, &goes_on, Some(Duration::from_secs(1)))?;
    let before = reads(server, first, &goes_on, Some(QUIET))?;
    let (during, ids, rate) = std::thread::scope(|scope| -> Result<_> {
        let reader = scope.spawn(|| reads(server, first, &goes_on, None));
        let jobs: Vec<_> = neighbours
            .iter()
            .zip(&tokens)
            .map(|(one, token)| scope.spawn(|| small_jobs(server, one, token, &goes_on)))
            .collect();
        let ran = large();
        goes_on.store(false, Ordering::Release);
        let mut ids = Vec::new();
        for jobs in jobs {
            ids.extend(jobs.join().map_err(|_| "a neighbour panicked")??);
        }
        let rate = ran?;
        let during = reader.join().map_err(|_| "the reader panicked")??;
        Ok((during, ids, rate))
    })?;
    pause(Duration::from_secs(5));
    let list: Vec<String> = ids.iter().map(|id| format!("'{id}'")).collect();
    let waited = database.text(&format!(
        "select max(extract(epoch from coalesce(started_at, now()) - created_at)) from progress_jobs where id in ({})",
        list.join(",")
    ))?;
    Ok(Beside {
        small_jobs: ids.len(),
        longest_wait: waited.parse()?,
        before,
        during,
        rate,
    })
}

/// Returns the milliseconds of each read of a list, sorted.
fn reads(server: &Server, token: &str, goes_on: &AtomicBool, until: Option<Duration>) -> Result<Vec<f64>> {
    let mut client = Client::connect(server.api())?;
    let request = format!(
        "GET /api/customers/deals?pageSize=20 HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {token}\r\n\r\n",
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
    Ok(times)
}

fn small_jobs(server: &Server, one: &Neighbour, token: &str, goes_on: &AtomicBool) -> Result<Vec<String>> {
    let mut job = Job::new(server.api(), token.to_owned(), one.owner.clone());
    let mut ids = Vec::new();
    while goes_on.load(Ordering::Acquire) {
        ids.push(job.start(&one.deals)?);
        pause(BETWEEN);
    }
    Ok(ids)
}

impl Beside {
    /// The slowdown of the slowest reads beside the large job, as a factor.
    fn slower(&self) -> f64 {
        percentile(&self.during, 99) / percentile(&self.before, 99)
    }
}

/// Writes the result over all rounds, then each round.
pub(super) fn report(f: &mut fmt::Formatter<'_>, rounds: &[Beside]) -> fmt::Result {
    let small_jobs: usize = rounds.iter().map(|round| round.small_jobs).sum();
    let longest_wait = rounds.iter().map(|round| round.longest_wait).fold(0.0, f64::max);
    writeln!(
        f,
        "| longest wait of {small_jobs} small jobs of other tenants | {longest_wait:.2} s | 2 s | {} |",
        verdict(longest_wait <= 2.0)
    )?;
    let slower = median(rounds.iter().map(Beside::slower));
    writeln!(
        f,
        "| p99 of another tenant's list against before, median of {} rounds | {slower:.1}x | 2x | {} |",
        rounds.len(),
        verdict(slower <= 2.0)
    )?;
    for round in rounds {
        for (name, times) in [("before", &round.before), ("during", &round.during)] {
            let (p50, p99) = (percentile(times, 50), percentile(times, 99));
            writeln!(
                f,
                "| {name}: p50, p99 of {} reads | {p50:.2}, {p99:.2} ms | | |",
                times.len()
            )?;
        }
        writeln!(f, "| deals per second meanwhile | {:.0} | | |", round.rate)?;
    }
    Ok(())
}
