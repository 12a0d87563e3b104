//! The measurements.

use std::error::Error;
use std::path::Path;

use super::super::Options;
use super::super::load::Round;
use super::super::report::median;
use super::meter::Cost;
use super::start::Start;
use super::subjects::GROWTH;
use super::verdict::{Target, Verdict};
use crate::Result;
use crate::process::{Outcome, say};

/// A round of a reference.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    pub(super) rate: f64,
    pub(super) cost: Cost,
}

/// The rounds of a request and of its reference.
#[derive(Debug, Default)]
pub(super) struct Measured {
    pub(super) served: Vec<(Round, Cost)>,
    pub(super) beside: Vec<Sample>,
}

/// Why there are no figures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unmeasured {
    /// The server lacks what the target is about: the target is missed.
    Missing(&'static str),
    /// An error.
    Failed(String),
}

/// A subject in a tenant.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) title: &'static str,
    pub(super) rows: u32,
    /// Name of the reference.
    pub(super) beside: &'static str,
    pub(super) target: Target,
    pub(super) result: std::result::Result<Measured, Unmeasured>,
}

/// The cost of a list in two tenants.
#[derive(Debug)]
pub(super) struct Growth {
    pub(super) title: &'static str,
    pub(super) usual: std::result::Result<Cost, Unmeasured>,
    pub(super) large: std::result::Result<Cost, Unmeasured>,
}

/// A request beside its own statements.
#[derive(Debug)]
pub(super) struct Own {
    pub(super) title: &'static str,
    pub(super) wanted: f64,
    pub(super) result: std::result::Result<Shares, Unmeasured>,
}

/// Rates of a request and of its statements alone.
#[derive(Debug)]
pub(super) struct Shares {
    pub(super) statements: usize,
    /// Number of statements that the server only prepared.
    pub(super) prepared: usize,
    pub(super) served: Vec<f64>,
    pub(super) bare: Vec<f64>,
    pub(super) with_policies: Vec<f64>,
    pub(super) without_policies: Vec<f64>,
}

/// All measurements.
#[derive(Debug)]
pub(crate) struct Report {
    pub(super) options: Options,
    pub(super) program_bytes: u64,
    pub(super) start: std::result::Result<Start, String>,
    pub(super) loaded_kib: u64,
    pub(super) limits: Vec<(&'static str, std::result::Result<Vec<Sample>, String>)>,
    pub(super) lines: Vec<Line>,
    pub(super) growth: Vec<Growth>,
    /// Round trips of an update.
    pub(super) trips: std::result::Result<u64, String>,
    pub(super) own: Vec<Own>,
}

impl Report {
    pub(super) fn new(options: &Options, program: &Path) -> Result<Self> {
        Ok(Self {
            options: options.clone(),
            program_bytes: std::fs::metadata(program)?.len(),
            start: Err("not measured".to_owned()),
            loaded_kib: 0,
            limits: Vec::new(),
            lines: Vec::new(),
            growth: Vec::new(),
            trips: Err("not measured".to_owned()),
            own: Vec::new(),
        })
    }

    /// Whether everything could be measured; a missed target is not a failure.
    pub(crate) fn outcome(&self) -> Outcome {
        let lines = self.lines.iter().map(Line::verdict);
        let growth = self.growth.iter().map(Growth::verdict);
        let own = self.own.iter().map(Own::verdict);
        let others = self.start.is_ok() && self.trips.is_ok() && self.limits.iter().all(|(_, limit)| limit.is_ok());
        Outcome::of(others && lines.chain(growth).chain(own).all(|verdict| verdict != Verdict::Failed))
    }
}

impl Unmeasured {
    pub(super) fn verdict(&self) -> Verdict {
        match self {
            Self::Missing(_) => Verdict::Missed,
            Self::Failed(_) => Verdict::Failed,
        }
    }

    /// The reason, without characters that end the cell of a table.
    pub(super) fn reason(&self) -> String {
        match self {
            Self::Missing(what) => (*what).to_owned(),
            Self::Failed(error) => error.replace(['\n', '|'], " "),
        }
    }
}

impl Measured {
    pub(super) fn rate(&self) -> f64 {
        median(self.served.iter().map(|(round, _)| round.per_second))
    }

    pub(super) fn rate_beside(&self) -> f64 {
        median(self.beside.iter().map(|sample| sample.rate))
    }

    /// The median of a figure of the requests; absent if a round lacks it.
    pub(super) fn cost(&self, of: impl Fn(&Cost) -> Option<f64>) -> Option<f64> {
        median_of(self.served.iter().map(|(_, cost)| of(cost)))
    }

    pub(super) fn cost_beside(&self, of: impl Fn(&Cost) -> Option<f64>) -> Option<f64> {
        median_of(self.beside.iter().map(|sample| of(&sample.cost)))
    }

    pub(super) fn milliseconds(&self, of: impl Fn(&Round) -> std::time::Duration) -> f64 {
        median(self.served.iter().map(|(round, _)| of(round).as_secs_f64() * 1000.0))
    }

    /// The share of the reference's rate.
    pub(super) fn ratio(&self) -> f64 {
        self.rate() / self.rate_beside()
    }
}

impl Line {
    pub(super) fn verdict(&self) -> Verdict {
        match &self.result {
            Ok(measured) => self.target.verdict(measured.ratio()),
            Err(unmeasured) => unmeasured.verdict(),
        }
    }
}

impl Growth {
    /// The cost in the largest tenant as a multiple.
    pub(super) fn factor(&self) -> std::result::Result<f64, Unmeasured> {
        let cost = |cost: &std::result::Result<Cost, Unmeasured>| {
            let cost = cost.as_ref().map_err(Clone::clone)?;
            cost.milliseconds().ok_or(Unmeasured::Missing("no processor times"))
        };
        Ok(cost(&self.large)? / cost(&self.usual)?)
    }

    pub(super) fn verdict(&self) -> Verdict {
        self.factor()
            .map_or_else(|unmeasured| unmeasured.verdict(), |factor| GROWTH.verdict(factor))
    }
}

impl Own {
    pub(super) fn verdict(&self) -> Verdict {
        match &self.result {
            Ok(shares) => Target::Least(self.wanted).verdict(shares.ratio()),
            Err(unmeasured) => unmeasured.verdict(),
        }
    }
}

impl Shares {
    pub(super) fn ratio(&self) -> f64 {
        median(self.served.iter().copied()) / median(self.bare.iter().copied())
    }
}

fn median_of(figures: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let figures: Option<Vec<f64>> = figures.collect();
    figures
        .filter(|figures| !figures.is_empty())
        .map(|figures| median(figures.into_iter()))
}

/// Reports an error at once, and returns it for the table.
pub(super) fn failed(title: &str, error: &(dyn Error + 'static)) -> Unmeasured {
    say(&format!("{title} failed: {error}"));
    Unmeasured::Failed(error.to_string())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn measured(rates: [f64; 3], beside: f64) -> Measured {
        let round = |per_second| Round {
            requests: 1,
            per_second,
            p50: Duration::ZERO,
            p99: Duration::ZERO,
        };
        let cost = Cost {
            postgres: Some(1.0),
            ..Cost::default()
        };
        Measured {
            served: rates.map(|rate| (round(rate), cost)).to_vec(),
            beside: vec![Sample { rate: beside, cost }],
        }
    }

    fn line(result: std::result::Result<Measured, Unmeasured>) -> Line {
        Line {
            title: "users",
            rows: 100,
            beside: "users",
            target: Target::Least(0.2),
            result,
        }
    }

    #[test]
    fn a_line_compares_the_medians() {
        let line = line(Ok(measured([10.0, 900.0, 20.0], 100.0)));

        assert_eq!(line.verdict(), Verdict::Ok);
        let ratio = line.result.as_ref().map(Measured::ratio);
        assert!(ratio.is_ok_and(|ratio| (ratio - 0.2).abs() < 1e-9));
    }

    #[test]
    fn what_the_server_lacks_is_missed_and_an_error_has_failed() {
        assert_eq!(line(Err(Unmeasured::Missing("no ETag"))).verdict(), Verdict::Missed);
        assert_eq!(
            line(Err(Unmeasured::Failed("500".to_owned()))).verdict(),
            Verdict::Failed
        );
    }

    #[test]
    fn a_figure_that_a_round_lacks_is_absent() {
        let measured = measured([1.0, 2.0, 3.0], 1.0);

        assert_eq!(measured.cost(|cost| cost.postgres), Some(1.0));
        assert_eq!(measured.cost(|cost| cost.blocks), None);
    }

    #[test]
    fn the_cost_of_a_list_grows_by_a_factor() {
        let cost = |milliseconds| {
            Ok(Cost {
                postgres: Some(milliseconds),
                server: Some(1.0),
                ..Cost::default()
            })
        };
        let growth = |large| Growth {
            title: "users",
            usual: cost(1.0),
            large,
        };

        assert_eq!(growth(cost(1.5)).verdict(), Verdict::Ok);
        assert_eq!(growth(cost(2.0)).verdict(), Verdict::Missed);
        assert_eq!(
            growth(Err(Unmeasured::Failed("408".to_owned()))).verdict(),
            Verdict::Failed
        );
    }
}
