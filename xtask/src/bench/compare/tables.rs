//! The report as human-readable tables.

use std::fmt::{self, Display, Formatter};

use super::super::report::median;
use super::meter::Cost;
use super::report::{Growth, Line, Measured, Own, Report, Shares, Unmeasured};
use super::subjects::{GROWTH, ROUND_TRIPS};
use super::verdict::{Target, Verdict};

/// Maximum memory before the first request, in MiB.
const MEMORY: Target = Target::Most(40.0);
/// Maximum memory after the first sign-in, in MiB.
const SIGNED_IN_MEMORY: Target = Target::Most(60.0);
/// Maximum size of the program, in MiB.
const PROGRAM: Target = Target::Most(35.0);
/// Maximum time until the server is ready, in milliseconds.
const READY: Target = Target::Most(300.0);
/// Maximum price of row-level security on the list of users, as a factor.
const POLICIES: Target = Target::Most(1.2);

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (seconds, rounds, clients) = (self.options.seconds(), self.options.rounds(), self.options.clients);
        writeln!(
            f,
            "\n{clients} clients, median of {rounds} rounds of {seconds} s each, server and reference in turns\n"
        )?;
        writeln!(
            f,
            "| subject | rows | requests/s | p50 ms | p99 ms | PostgreSQL ms | server ms | statements | blocks | reference | \
             reference/s | reference ms | ratio | target | |"
        )?;
        writeln!(
            f,
            "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- | ---: | ---: | ---: | --- | --- |"
        )?;
        self.lines.iter().try_for_each(|one| line(f, one))?;
        self.limits(f)?;
        self.growth(f)?;
        self.own(f)?;
        self.others(f)
    }
}

fn line(f: &mut Formatter<'_>, line: &Line) -> fmt::Result {
    let Line {
        title,
        rows,
        beside,
        target,
        result,
    } = line;
    let verdict = line.verdict();
    let measured = match result {
        Ok(measured) => measured,
        Err(unmeasured) => {
            let reason = unmeasured.reason();
            return writeln!(
                f,
                "| {title} | {rows} | | | | | | | | {beside} | | | | {target} | {verdict}: {reason} |"
            );
        }
    };
    writeln!(
        f,
        "| {title} | {rows} | {:.0} | {} | {} | {} | {} | {} | {} | {beside} | {:.0} | {} | {:.2} | {target} | {verdict} |",
        measured.rate(),
        latency(measured, |round| round.p50),
        latency(measured, |round| round.p99),
        figure(measured.cost(|cost| cost.postgres), 3),
        figure(measured.cost(|cost| cost.server), 3),
        figure(measured.cost(|cost| cost.statements), 1),
        figure(measured.cost(|cost| cost.blocks), 0),
        measured.rate_beside(),
        figure(measured.cost_beside(|cost| cost.postgres), 3),
        measured.ratio(),
    )
}

/// A job has no latency.
fn latency(measured: &Measured, of: impl Fn(&super::super::load::Round) -> std::time::Duration) -> String {
    let milliseconds = measured.milliseconds(of);
    figure(Some(milliseconds).filter(|milliseconds| *milliseconds > 0.0), 2)
}

/// A figure, or a dash for one that this system does not have.
fn figure(figure: Option<f64>, decimals: usize) -> String {
    figure.map_or_else(|| "-".to_owned(), |figure| format!("{figure:.decimals$}"))
}

impl Report {
    fn limits(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "\nLimits of the machine: pgbench, {} clients\n",
            self.options.clients
        )?;
        writeln!(
            f,
            "| limit | transactions/s | PostgreSQL ms | |\n| --- | ---: | ---: | --- |"
        )?;
        for (name, samples) in &self.limits {
            match samples {
                Err(error) => writeln!(f, "| {name} | | | {}: {error} |", Verdict::Failed)?,
                Ok(samples) => {
                    let rate = median(samples.iter().map(|sample| sample.rate));
                    let cost = samples.first().and_then(|sample| sample.cost.postgres);
                    writeln!(f, "| {name} | {rate:.0} | {} | |", figure(cost, 3))?;
                }
            }
        }
        Ok(())
    }

    fn growth(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.growth.is_empty() {
            return Ok(());
        }
        let sizes = self.options.sizes();
        let largest = sizes.iter().max().copied().unwrap_or_default();
        writeln!(f, "\nProcessor time of lists, PostgreSQL + server\n")?;
        writeln!(f, "| list | ms at 10,000 rows | ms at {largest} | factor | target | |")?;
        writeln!(f, "| --- | ---: | ---: | ---: | --- | --- |")?;
        self.growth.iter().try_for_each(|one| growth(f, one))
    }

    fn own(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nRequests beside their own statements\n")?;
        writeln!(
            f,
            "| request | statements | prepared anew | requests/s | pgbench tps | ratio | target | |"
        )?;
        writeln!(f, "| --- | ---: | ---: | ---: | ---: | ---: | --- | --- |")?;
        self.own.iter().try_for_each(|one| own(f, one))
    }

    fn others(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n| | measured | target | |\n| --- | ---: | --- | --- |")?;
        match &self.trips {
            #[expect(clippy::cast_precision_loss, reason = "a few round trips")]
            Ok(trips) => other(f, "round trips of an update", *trips as f64, "", ROUND_TRIPS)?,
            Err(error) => writeln!(
                f,
                "| round trips of an update | | {ROUND_TRIPS} | {}: {error} |",
                Verdict::Failed
            )?,
        }
        let mut shares = self.own.iter().filter_map(|own| own.result.as_ref().ok());
        if let Some(price) = shares.find_map(Shares::price) {
            other(
                f,
                "price of row-level security on the list of users",
                price,
                "x",
                POLICIES,
            )?;
        }
        match &self.start {
            Err(error) => writeln!(f, "| start | | | {}: {error} |", Verdict::Failed)?,
            Ok(start) => {
                let ready = median(start.ready.iter().map(|one| one.as_secs_f64() * 1000.0));
                other(f, "ready on a migrated database", ready, " ms", READY)?;
                other(
                    f,
                    "memory before the first request",
                    mebibytes(start.idle_kib),
                    " MiB",
                    MEMORY,
                )?;
                let signed_in = mebibytes(start.signed_in_kib);
                other(f, "memory after the first sign-in", signed_in, " MiB", SIGNED_IN_MEMORY)?;
            }
        }
        other(
            f,
            "memory after the load",
            mebibytes(self.loaded_kib),
            " MiB",
            Target::None,
        )?;
        other(
            f,
            "size of the program",
            mebibytes(self.program_bytes / 1024),
            " MiB",
            PROGRAM,
        )
    }
}

fn growth(f: &mut Formatter<'_>, growth: &Growth) -> fmt::Result {
    let milliseconds = |cost: &Result<Cost, Unmeasured>| figure(cost.as_ref().ok().and_then(Cost::milliseconds), 3);
    let (usual, large, verdict) = (
        milliseconds(&growth.usual),
        milliseconds(&growth.large),
        growth.verdict(),
    );
    let title = growth.title;
    match growth.factor() {
        Ok(factor) => writeln!(
            f,
            "| {title} | {usual} | {large} | {factor:.2} | {GROWTH} | {verdict} |"
        ),
        Err(unmeasured) => {
            let reason = unmeasured.reason();
            writeln!(f, "| {title} | {usual} | {large} | | {GROWTH} | {verdict}: {reason} |")
        }
    }
}

fn own(f: &mut Formatter<'_>, own: &Own) -> fmt::Result {
    let Own { title, wanted, result } = own;
    let verdict = own.verdict();
    match result {
        Err(unmeasured) => writeln!(
            f,
            "| {title} | | | | | | >= {wanted} | {verdict}: {} |",
            unmeasured.reason()
        ),
        Ok(shares) => writeln!(
            f,
            "| {title} | {} | {} | {:.0} | {:.0} | {:.2} | >= {wanted} | {verdict} |",
            shares.statements,
            shares.prepared,
            median(shares.served.iter().copied()),
            median(shares.bare.iter().copied()),
            shares.ratio()
        ),
    }
}

impl Shares {
    /// The factor by which row-level security slows the statements down, if it was measured.
    fn price(&self) -> Option<f64> {
        let price = median(self.without_policies.iter().copied()) / median(self.with_policies.iter().copied());
        Some(price).filter(|price| price.is_finite())
    }
}

fn other(f: &mut Formatter<'_>, title: &str, measured: f64, unit: &str, target: Target) -> fmt::Result {
    let verdict = target.verdict(measured);
    match target {
        Target::None => writeln!(f, "| {title} | {measured:.1}{unit} | | |"),
        _ => writeln!(f, "| {title} | {measured:.2}{unit} | {target}{unit} | {verdict} |"),
    }
}

fn mebibytes(kib: u64) -> f64 {
    f64::from(u32::try_from(kib).unwrap_or(u32::MAX)) / 1024.0
}
