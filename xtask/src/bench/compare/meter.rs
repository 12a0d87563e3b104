//! What requests cost: processor time from `/proc`, statements and blocks from `pg_stat_statements`. A figure that the system does not have
//! (`/proc` outside of Linux, the extension where contrib is not installed) is absent.

use std::time::Duration;

use crate::Result;
use crate::bench::database::{APPLICATION, Database};
use crate::bench::server::Server;

/// The clock ticks of `/proc` in a second.
const TICKS: u64 = 100;

/// Readings at one moment.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Reading {
    postgres: Option<Duration>,
    server: Option<Duration>,
    statements: Option<u64>,
    blocks: Option<u64>,
}

/// The cost of one request.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Cost {
    /// Milliseconds of processor time of PostgreSQL.
    pub(super) postgres: Option<f64>,
    /// Milliseconds of processor time of the server.
    pub(super) server: Option<f64>,
    pub(super) statements: Option<f64>,
    /// Blocks of 8 KiB that PostgreSQL read, from memory or not.
    pub(super) blocks: Option<f64>,
}

/// Reads the counters of one PostgreSQL.
#[derive(Debug)]
pub(super) struct Meter<'a> {
    database: &'a Database,
    postmaster: u32,
    counts_statements: bool,
}

impl<'a> Meter<'a> {
    pub(super) fn new(database: &'a Database, postmaster: u32) -> Self {
        let created = database.execute("create extension if not exists pg_stat_statements");
        // Created without its library, the extension fails when it is read.
        let counts_statements = created.is_ok() && database.text("select count(*) from pg_stat_statements").is_ok();
        Self {
            database,
            postmaster,
            counts_statements,
        }
    }

    /// Whether statements and blocks are counted.
    pub(super) fn counts_statements(&self) -> bool {
        self.counts_statements
    }

    /// Reads the counters; those of the server only if there is one.
    pub(super) fn read(&self, server: Option<&Server>) -> Result<Reading> {
        let (statements, blocks) = if self.counts_statements {
            let counted = self.database.text(&format!(
                "select coalesce(sum(calls), 0)::bigint || ' ' || coalesce(sum(shared_blks_hit + shared_blks_read), 0)::bigint \
                 from pg_stat_statements s join pg_roles r on r.oid = s.userid where r.rolname = '{APPLICATION}'"
            ))?;
            let (statements, blocks) = counted.split_once(' ').ok_or("unexpected counters")?;
            (Some(statements.parse()?), Some(blocks.parse()?))
        } else {
            (None, None)
        };
        Ok(Reading {
            postgres: cluster_time(self.postmaster),
            server: server.and_then(|server| server.processor_time().ok()),
            statements,
            blocks,
        })
    }
}

impl Reading {
    /// Returns the cost of each of the requests since an earlier reading.
    pub(super) fn since(self, earlier: Self, requests: f64) -> Cost {
        let time = |now: Option<Duration>, then: Option<Duration>| {
            let used = now?.saturating_sub(then?);
            Some(used.as_secs_f64() * 1000.0 / requests)
        };
        #[expect(clippy::cast_precision_loss, reason = "counters of a bench")]
        let count = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?) as f64 / requests);
        Cost {
            postgres: time(self.postgres, earlier.postgres),
            server: time(self.server, earlier.server),
            statements: count(self.statements, earlier.statements),
            blocks: count(self.blocks, earlier.blocks),
        }
    }
}

impl Cost {
    /// Returns the cost of one of `parts` equal parts.
    pub(super) fn divided(self, parts: f64) -> Self {
        let part = |figure: Option<f64>| figure.map(|figure| figure / parts);
        Self {
            postgres: part(self.postgres),
            server: part(self.server),
            statements: part(self.statements),
            blocks: part(self.blocks),
        }
    }

    /// Returns the milliseconds of processor time of both programs.
    pub(super) fn milliseconds(&self) -> Option<f64> {
        Some(self.postgres? + self.server?)
    }
}

/// Returns the processor time of a postmaster, of its children and of those that have ended.
fn cluster_time(postmaster: u32) -> Option<Duration> {
    let own = std::fs::read_to_string(format!("/proc/{postmaster}/stat")).ok()?;
    let mut ticks = used(&own, true)?;
    for entry in std::fs::read_dir("/proc").ok()?.flatten() {
        let is_process = entry
            .file_name()
            .to_str()
            .is_some_and(|name| name.parse::<u32>().is_ok());
        if !is_process {
            continue;
        }
        // A process may end meanwhile.
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else {
            continue;
        };
        if parent(&stat) == Some(postmaster) {
            ticks += used(&stat, false).unwrap_or(0);
        }
    }
    Some(Duration::from_millis(ticks * 1000 / TICKS))
}

/// Returns the fields of `/proc/<pid>/stat` after the name: state, parent, ... .
fn fields(stat: &str) -> Option<Vec<&str>> {
    let (_, rest) = stat.rsplit_once(')')?;
    Some(rest.split_whitespace().collect())
}

fn parent(stat: &str) -> Option<u32> {
    fields(stat)?.get(1)?.parse().ok()
}

/// Returns the ticks of a process in user and kernel mode, optionally with those of its ended children.
fn used(stat: &str, with_ended: bool) -> Option<u64> {
    let fields = fields(stat)?;
    let times = fields.get(11..if with_ended { 15 } else { 13 })?;
    times.iter().map(|ticks| ticks.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "42 (postgres: a) b) S 7 42 42 0 -1 4194560 1 2 3 4 10 20 300 400 20 0 1 0";

    #[test]
    fn a_process_has_a_parent_and_four_times() {
        assert_eq!(parent(STAT), Some(7));
        assert_eq!(used(STAT, false), Some(30));
        assert_eq!(used(STAT, true), Some(730));
        assert_eq!(used("42 (x) S 7", true), None);
    }

    #[test]
    fn a_cost_is_a_difference_by_request() {
        let reading = |millis: u64, count: u64| Reading {
            postgres: Some(Duration::from_millis(millis)),
            server: None,
            statements: Some(count),
            blocks: Some(count),
        };

        let cost = reading(300, 50).since(reading(100, 10), 20.0);

        assert_eq!(cost.postgres, Some(10.0));
        assert_eq!((cost.server, cost.milliseconds()), (None, None));
        assert_eq!((cost.statements, cost.blocks), (Some(2.0), Some(2.0)));
    }
}
