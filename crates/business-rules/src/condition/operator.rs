//! Operators of comparisons.

use std::cmp::Ordering;

use serde_json::Value;

use super::compare;
use super::evaluation::{Steps, Unevaluated};

/// An operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    Equal,
    NotEqual,
    Greater,
    AtLeast,
    Less,
    AtMost,
    In,
    NotIn,
    Contains,
    NotContains,
    StartsWith,
    EndsWith,
    Matches,
    IsEmpty,
    IsNotEmpty,
}

/// The names of all operators.
pub(crate) const NAMES: [(&str, Operator); 16] = [
    ("=", Operator::Equal),
    ("==", Operator::Equal),
    ("!=", Operator::NotEqual),
    (">", Operator::Greater),
    (">=", Operator::AtLeast),
    ("<", Operator::Less),
    ("<=", Operator::AtMost),
    ("IN", Operator::In),
    ("NOT_IN", Operator::NotIn),
    ("CONTAINS", Operator::Contains),
    ("NOT_CONTAINS", Operator::NotContains),
    ("STARTS_WITH", Operator::StartsWith),
    ("ENDS_WITH", Operator::EndsWith),
    ("MATCHES", Operator::Matches),
    ("IS_EMPTY", Operator::IsEmpty),
    ("IS_NOT_EMPTY", Operator::IsNotEmpty),
];

impl Operator {
    pub(crate) fn parse(name: &str) -> Option<Self> {
        NAMES
            .iter()
            .find(|(own, _)| *own == name)
            .map(|(_, operator)| *operator)
    }

    /// Whether the operator compares with a value.
    pub(crate) const fn has_operand(self) -> bool {
        !matches!(self, Self::IsEmpty | Self::IsNotEmpty)
    }

    /// Compares two values.
    ///
    /// # Errors
    /// When no steps are left.
    pub(super) fn holds(self, left: &Value, right: &Value, steps: &mut Steps<'_>) -> Result<bool, Unevaluated> {
        let ordered = |accepts: fn(Ordering) -> bool| compare::order(left, right).is_some_and(accepts);
        Ok(match self {
            Self::Equal => compare::equal(left, right, steps)?,
            Self::NotEqual => !compare::equal(left, right, steps)?,
            Self::Greater => ordered(Ordering::is_gt),
            Self::AtLeast => ordered(Ordering::is_ge),
            Self::Less => ordered(Ordering::is_lt),
            Self::AtMost => ordered(Ordering::is_le),
            Self::In => compare::has_element(right, left, steps)?,
            Self::NotIn => !compare::has_element(right, left, steps)?,
            Self::Contains => compare::contains(left, right, steps)?,
            Self::NotContains => !compare::contains(left, right, steps)?,
            Self::StartsWith => compare::texts(left, right, |text, part| text.starts_with(part)),
            Self::EndsWith => compare::texts(left, right, |text, part| text.ends_with(part)),
            // A pattern is a text, for which the comparison itself searches.
            Self::Matches => false,
            Self::IsEmpty => compare::is_empty(left),
            Self::IsNotEmpty => !compare::is_empty(left),
        })
    }
}
