//! Texts and lists of a bounded length.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// A text or a list of `MIN` to `MAX` characters or items. Another length is a fault of the field, with the code `too_short` or `too_long`.
///
/// The API document does not see the bounds: state them with `#[schema(value_type = ..., max_items = ...)]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Bounded<T, const MIN: usize, const MAX: usize>(pub T);

/// A value with a length.
pub trait Length {
    /// Returns the number of characters or items.
    fn length(&self) -> usize;
}

impl Length for String {
    fn length(&self) -> usize {
        self.chars().count()
    }
}

impl<T> Length for Vec<T> {
    fn length(&self) -> usize {
        self.len()
    }
}

impl<'de, T: Deserialize<'de> + Length, const MIN: usize, const MAX: usize> Deserialize<'de> for Bounded<T, MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = T::deserialize(deserializer)?;
        match value.length() {
            length if length < MIN => Err(D::Error::custom(format_args!("{TOO_SHORT}{MIN}"))),
            length if length > MAX => Err(D::Error::custom(format_args!("{TOO_LONG}{MAX}"))),
            _ => Ok(Self(value)),
        }
    }
}

/// Start of the message about a text or list that is too short.
pub(crate) const TOO_SHORT: &str = "must have a length of at least ";
/// Start of the message about a text or list that is too long.
pub(crate) const TOO_LONG: &str = "must have a length of at most ";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_and_items_are_counted() {
        let text = |text: &str| serde_json::from_str::<Bounded<String, 1, 2>>(text).map_err(|error| error.to_string());
        let list = serde_json::from_str::<Bounded<Vec<u8>, 0, 1>>("[1, 2]");

        assert_eq!(text("\"äö\"").map(|one| one.0), Ok("äö".to_owned()));
        assert!(text("\"\"").is_err_and(|error| error.starts_with(TOO_SHORT)));
        assert!(text("\"abc\"").is_err_and(|error| error.starts_with(TOO_LONG)));
        assert!(list.is_err());
    }
}
