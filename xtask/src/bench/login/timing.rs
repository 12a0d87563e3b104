//! The duration of a rejected sign-in for a known and for an unknown address, in turns.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use super::{BEHIND_A_PROXY, request};
use crate::Result;
use crate::bench::database::{Database, EMAIL};
use crate::bench::http::Client;
use crate::bench::report::{median, verdict};
use crate::bench::server::Server;

/// Maximum relative difference of the medians.
const TARGET: f64 = 0.05;
/// Number of concurrent rejected sign-ins, which shortens the wait for the floor. Less than the capacity of the hashing queue.
const AT_ONCE_BEHIND_THE_FLOOR: usize = 4;
const WARM_UP: usize = 20;
/// Number of pairs per client after which the counts of the limits are reset.
const PAIRS_OF_AN_ACCOUNT: usize = 10;

/// The two durations in milliseconds.
#[derive(Debug)]
pub(super) struct Timing {
    floor: &'static str,
    pairs: usize,
    known: f64,
    unknown: f64,
}

/// Times pairs of rejected sign-ins; without a floor one after the other.
pub(super) fn measure(
    program: &Path,
    work: &Path,
    database: &Database,
    pairs: usize,
    floor: Option<&'static str>,
) -> Result<Timing> {
    let mut settings = vec![BEHIND_A_PROXY];
    settings.extend(floor.map(|floor| ("BACKOFFICE__AUTH__LOGIN__FAILURE_FLOOR", floor)));
    let server = Server::start_with(program, work, database, &settings)?;
    rejections(&server, database, WARM_UP)?;
    let at_once = if floor.is_none() { AT_ONCE_BEHIND_THE_FLOOR } else { 1 };
    let (mut known, mut unknown) = (Vec::new(), Vec::new());
    let timed: Vec<Result<[Vec<f64>; 2]>> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..at_once)
            .map(|_| scope.spawn(|| rejections(&server, database, pairs.div_ceil(at_once))))
            .collect();
        let joined = clients.into_iter().map(std::thread::ScopedJoinHandle::join);
        joined.map(|one| one.map_err(|_| "a client panicked")?).collect()
    });
    for one in timed {
        let [of_known, of_unknown] = one?;
        known.extend(of_known);
        unknown.extend(of_unknown);
    }
    Ok(Timing {
        floor: floor.unwrap_or("default"),
        pairs: known.len(),
        known: median(known.into_iter()),
        unknown: median(unknown.into_iter()),
    })
}

/// Returns the milliseconds of each pair; every other pair begins with the unknown address.
fn rejections(server: &Server, database: &Database, pairs: usize) -> Result<[Vec<f64>; 2]> {
    let mut client = Client::connect(server.api())?;
    let mut times = [Vec::new(), Vec::new()];
    for pair in 0..pairs {
        if pair % PAIRS_OF_AN_ACCOUNT == 0 {
            // The hourly limit of one account is lower than the number of timed attempts.
            database.execute("delete from core_rate_limits")?;
        }
        let order = if pair % 2 == 0 { [0, 1] } else { [1, 0] };
        for which in order {
            // The unknown address is as long as the known one.
            let email = [EMAIL, "nobody@example.com"][which];
            let request = request(server.api(), &json!({"email": email, "password": "not this one"}));
            let sent = Instant::now();
            let (status, body) = client.send(&request)?;
            times[which].push(milliseconds(sent.elapsed()));
            if status != 401 {
                return Err(format!("{status}: {}", String::from_utf8_lossy(&body)).into());
            }
        }
    }
    Ok(times)
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

impl fmt::Display for Timing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            floor,
            pairs,
            known,
            unknown,
        } = self;
        let difference = (known - unknown).abs() / unknown;
        writeln!(
            f,
            "\nRejected sign-ins, {pairs} pairs in turns, failure floor {floor}\n"
        )?;
        writeln!(f, "| known address ms | unknown address ms | difference | wanted | |")?;
        writeln!(f, "| ---: | ---: | ---: | ---: | --- |")?;
        writeln!(
            f,
            "| {known:.2} | {unknown:.2} | {:.1} % | {:.0} % | {} |",
            difference * 100.0,
            TARGET * 100.0,
            verdict(difference <= TARGET)
        )
    }
}
