//! Requests beside their own statements, captured from PostgreSQL's log and run by pgbench: what the server adds to what it asks of PostgreSQL. The
//! same statements show the price of row-level security.

use std::time::Duration;

use super::super::capture::{Entry, Kind, Log, wait_for_deliveries};
use super::super::database::{APPLICATION, BYPASSING, PASSWORD};
use super::super::http::Client;
use super::super::load::{Load, Requests, run};
use super::super::pause;
use super::super::pgbench::Run;
use super::super::script::{self, Script};
use super::super::server::Server;
use super::super::subject::{Subject, subjects};
use super::Bench;
use super::report::{Own, failed};
use super::site::Site;
use super::work::start_of_rounds;
use crate::Result;
use crate::process::say;

/// Captures after two that differ.
const FURTHER_CAPTURES: u64 = 5;

/// Measures each request that is compared with its own statements.
pub(super) fn measure(bench: &Bench<'_>, site: &Site) -> Vec<Own> {
    let measured = subjects().into_iter().map(|subject| {
        say(&format!("own statements of {} ...", subject.title));
        one(bench, site, &subject).unwrap_or_else(|error| Own {
            title: subject.title,
            wanted: subject.wanted,
            result: Err(failed(subject.title, &*error)),
        })
    });
    measured.collect()
}

fn one(bench: &Bench<'_>, site: &Site, subject: &Subject) -> Result<Own> {
    let server = bench.server(&[])?;
    let token = server.log_in(&site.email, PASSWORD)?;
    let script = captured(bench, &server, &token, subject)?;
    let (mut served, mut bare, mut with_policies, mut without_policies) = (vec![], vec![], vec![], vec![]);
    for _ in 0..bench.options.rounds() {
        served.push(rate(bench, &server, &token, subject)?);
        bare.push(alone(bench, site, APPLICATION, &script)?);
        if subject.compares_row_security {
            with_policies.push(alone(bench, site, APPLICATION, &script)?);
            without_policies.push(alone(bench, site, BYPASSING, &script)?);
        }
    }
    Ok(Own {
        title: subject.title,
        wanted: subject.wanted,
        result: Ok(super::report::Shares {
            statements: script.statements,
            prepared: script.prepared,
            served,
            bare,
            with_policies,
            without_policies,
        }),
    })
}

fn rate(bench: &Bench<'_>, server: &Server, token: &str, subject: &Subject) -> Result<f64> {
    let host = server.api();
    let client = |client: u32| -> Requests {
        let (subject, token, mut round) = (subject.clone(), token.to_owned(), start_of_rounds());
        let constant: Option<std::sync::Arc<[u8]>> = subject
            .is_constant()
            .then(|| subject.request(host, &token, client, 0).into());
        Box::new(move || {
            round += 1;
            Some(match &constant {
                Some(request) => request.clone(),
                None => subject.request(host, &token, client, round).into(),
            })
        })
    };
    let load = Load {
        clients: (0..bench.options.clients).map(client).collect(),
        duration: Duration::from_secs(bench.options.seconds()),
        expected: 200,
    };
    Ok(run(host, load)?.per_second)
}

fn alone(bench: &Bench<'_>, site: &Site, role: &str, script: &Script) -> Result<f64> {
    let run = Run {
        postgres: bench.postgres,
        role,
        tenant: site.tenant,
        clients: bench.options.clients,
        seconds: bench.options.seconds(),
    };
    run.rate(&script.file, &script.values)
}

/// Captures the statements of one request on a warm connection as a script.
fn captured(bench: &Bench<'_>, server: &Server, token: &str, subject: &Subject) -> Result<Script> {
    // Before the client connects: the server closes a connection that is silent for as long as the deliveries of the earlier loads take.
    wait_for_deliveries(bench.database)?;
    let mut client = Client::connect(server.api())?;
    let start = start_of_rounds();
    for round in 0..20 {
        client.expect_ok(&subject.request(server.api(), token, 0, start + round))?;
    }
    let log = Log::open(bench.database)?;
    let captured = captured_pair(&log, &mut client, |round| {
        subject.request(server.api(), token, 0, start + round)
    });
    // Also after an error: logging every statement would slow down all later measurements.
    log.close()?;
    let (first, second) = captured?;
    script::write(bench.database, subject, &first, &second, bench.work)
}

/// Captures a request twice, again until both ran the same statements: a periodic statement of the server may fall into one of them.
fn captured_pair(
    log: &Log<'_>,
    client: &mut Client,
    request: impl Fn(u64) -> Vec<u8>,
) -> Result<(Vec<Entry>, Vec<Entry>)> {
    let background = log.during(|| {
        pause(Duration::from_millis(1500));
        Ok(())
    })?;
    let mut one = |round: u64| -> Result<Vec<Entry>> {
        let entries = log.during(|| client.expect_ok(&request(round)))?;
        let is_own = |entry: &Entry| background.iter().all(|other| other.sql != entry.sql);
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
fn runs(entries: &[Entry]) -> impl Iterator<Item = &str> {
    let runs = entries.iter().filter(|entry| entry.kind == Kind::Run);
    runs.map(|entry| entry.sql.as_str())
}
