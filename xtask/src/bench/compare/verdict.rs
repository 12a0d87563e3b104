//! Targets, and whether a figure reaches them.

use std::fmt;

/// What a figure has to reach.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Target {
    /// Reported without a target.
    None,
    /// At least this.
    Least(f64),
    /// At most this.
    Most(f64),
}

/// The result of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Without a target.
    Reported,
    Ok,
    Missed,
    /// Could not be measured.
    Failed,
}

impl Target {
    /// Compares a figure with the target. A figure that is not a number misses every target.
    pub(super) fn verdict(self, figure: f64) -> Verdict {
        let is_reached = match self {
            Self::None => return Verdict::Reported,
            Self::Least(least) => figure >= least,
            Self::Most(most) => figure <= most,
        };
        if is_reached { Verdict::Ok } else { Verdict::Missed }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::Least(least) => write!(f, ">= {least}"),
            Self::Most(most) => write!(f, "<= {most}"),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reported => "",
            Self::Ok => "ok",
            Self::Missed => "missed",
            Self::Failed => "FAILED",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_reaches_its_target_or_misses_it() {
        assert_eq!(Target::Least(0.2).verdict(0.2), Verdict::Ok);
        assert_eq!(Target::Least(0.2).verdict(0.194), Verdict::Missed);
        assert_eq!(Target::Most(1.3).verdict(1.3), Verdict::Ok);
        assert_eq!(Target::Most(1.3).verdict(1.31), Verdict::Missed);
        assert_eq!(Target::None.verdict(0.0), Verdict::Reported);
    }

    #[test]
    fn a_figure_that_is_not_a_number_misses_its_target() {
        assert_eq!(Target::Least(0.0).verdict(f64::NAN), Verdict::Missed);
        assert_eq!(Target::Most(1.0).verdict(f64::NAN), Verdict::Missed);
    }
}
