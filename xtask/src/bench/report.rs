//! Figures that all reports share.

/// Returns the word for a target.
pub(super) fn verdict(reached: bool) -> &'static str {
    if reached { "reached" } else { "missed" }
}

/// Returns the value in the middle.
pub(super) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Returns the value below which this share of the sorted values lies.
pub(super) fn percentile(sorted: &[f64], percent: usize) -> f64 {
    sorted.get(sorted.len() * percent / 100).copied().unwrap_or(f64::NAN)
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
