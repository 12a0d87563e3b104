//! Intervals in queries.

use backoffice_core::list::parameters::exact_instant;
use backoffice_core::{Detail, Timestamp, Violations};

/// Parses the two ends of an interval, which are given together; the second one is later.
pub(super) fn interval(
    (from_path, from): (&str, Option<&str>),
    (to_path, to): (&str, Option<&str>),
    violations: &mut Violations,
) -> Option<(Timestamp, Timestamp)> {
    for (path, given, other) in [(from_path, from, to), (to_path, to, from)] {
        if given.is_none() && other.is_some() {
            violations.add(Detail::new(path, "is required together with the other end", "required"));
        }
    }
    let (from, to) = (
        exact_instant(from_path, from, violations),
        exact_instant(to_path, to, violations),
    );
    let (from, to) = from.zip(to)?;
    if to <= from {
        violations.add(Detail::new(
            to_path,
            format!("must be later than {from_path}"),
            "invalid_value",
        ));
    }
    Some((from, to))
}
