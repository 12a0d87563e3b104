//! The measurements as a human-readable table.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use super::Options;
use super::load::Round;
use super::script::Script;
use super::subject::Subject;
use crate::Result;
use crate::process::Outcome;

/// The rates of a request and of pgbench.
#[derive(Debug)]
pub(super) struct Row {
    title: &'static str,
    wanted: f64,
    statements: usize,
    prepared: usize,
    pub(super) served: Vec<Round>,
    pub(super) bare: Vec<f64>,
}

/// All measurements.
#[derive(Debug)]
pub(super) struct Report {
    options: Options,
    rows: Vec<Row>,
    pub(super) with_policies: Vec<f64>,
    pub(super) without_policies: Vec<f64>,
    pub(super) ready: Vec<Duration>,
    pub(super) idle_kib: u64,
    pub(super) loaded_kib: u64,
    program_bytes: u64,
    /// Requests that could not be measured, with the reason.
    pub(super) failed: Vec<(&'static str, String)>,
}

impl Report {
    pub(super) fn new(options: &Options, program: &Path) -> Result<Self> {
        Ok(Self {
            options: options.clone(),
            rows: Vec::new(),
            with_policies: Vec::new(),
            without_policies: Vec::new(),
            ready: Vec::new(),
            idle_kib: 0,
            loaded_kib: 0,
            program_bytes: std::fs::metadata(program)?.len(),
            failed: Vec::new(),
        })
    }

    /// Whether everything could be measured.
    pub(super) fn outcome(&self) -> Outcome {
        Outcome::of(self.failed.is_empty())
    }

    pub(super) fn row(&mut self, subject: &Subject, script: &Script) -> &mut Row {
        let row = Row {
            title: subject.title,
            wanted: subject.wanted,
            statements: script.statements,
            prepared: script.prepared,
            served: Vec::new(),
            bare: Vec::new(),
        };
        let at = self.rows.len();
        self.rows.push(row);
        &mut self.rows[at]
    }
}

impl Row {
    fn rate(&self) -> f64 {
        median(self.served.iter().map(|round| round.per_second))
    }

    fn milliseconds(&self, of: impl Fn(&Round) -> Duration) -> f64 {
        median(self.served.iter().map(|round| of(round).as_secs_f64() * 1000.0))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Options {
            seconds,
            rounds,
            users,
            tenants,
            clients,
            ..
        } = self.options;
        writeln!(
            f,
            "\n{clients} clients, median of {rounds} rounds of {seconds} s each, taking turns; {tenants} tenants, {users} users\n"
        )?;
        writeln!(
            f,
            "| request | requests/s | p50 ms | p99 ms | server µs | statements | prepared anew | pgbench tps | ratio | wanted | |"
        )?;
        writeln!(
            f,
            "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |"
        )?;
        for row in &self.rows {
            let (rate, bare) = (row.rate(), median(row.bare.iter().copied()));
            let (p50, p99) = (row.milliseconds(|round| round.p50), row.milliseconds(|round| round.p99));
            let processor = row.milliseconds(|round| round.processor) * 1000.0;
            let ratio = rate / bare;
            writeln!(
                f,
                "| {} | {rate:.0} | {p50:.2} | {p99:.2} | {processor:.0} | {} | {} | {bare:.0} | {ratio:.2} | {} | {} |",
                row.title,
                row.statements,
                row.prepared,
                row.wanted,
                verdict(ratio >= row.wanted)
            )?;
        }
        let price = median(self.without_policies.iter().copied()) / median(self.with_policies.iter().copied());
        let mebibytes = |kib: u64| f64::from(u32::try_from(kib).unwrap_or(u32::MAX)) / 1024.0;
        let idle = mebibytes(self.idle_kib);
        let ready = median(self.ready.iter().map(|one| one.as_secs_f64() * 1000.0));
        writeln!(f, "\n| | measured | wanted | |\n| --- | ---: | ---: | --- |")?;
        writeln!(
            f,
            "| price of row-level security on the list | {price:.2}x | 1.2x | {} |",
            verdict(price <= 1.2)
        )?;
        writeln!(
            f,
            "| memory before the load | {idle:.1} MiB | 40 MiB | {} |",
            verdict(idle <= 40.0)
        )?;
        writeln!(
            f,
            "| memory after the load | {:.1} MiB | | |",
            mebibytes(self.loaded_kib)
        )?;
        writeln!(
            f,
            "| ready on a migrated database | {ready:.0} ms | 300 ms | {} |",
            verdict(ready <= 300.0)
        )?;
        writeln!(
            f,
            "| size of the program | {:.1} MiB | | |",
            mebibytes(self.program_bytes / 1024)
        )?;
        for (title, error) in &self.failed {
            writeln!(f, "\n{title} could not be measured: {error}")?;
        }
        Ok(())
    }
}

pub(super) fn verdict(reached: bool) -> &'static str {
    if reached { "reached" } else { "missed" }
}

pub(super) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_value_in_the_middle() {
        assert!((median([9.0, 1.0, 2.0].into_iter()) - 2.0).abs() < f64::EPSILON);
        assert!(median([].into_iter()).is_nan());
    }
}
