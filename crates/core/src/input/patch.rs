//! The fields of a partial update.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A field of a partial update: `Keep` when it is absent, `Clear` for `null`, `Set` for a value. Its struct has `#[serde(default)]`, and its
/// schema is that of `Option<T>`, or of `T` if null is rejected: `#[schema(value_type = Option<Uuid>)]`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Patch<T> {
    /// The field keeps its value.
    #[default]
    Keep,
    /// The field loses its value.
    Clear,
    /// The field gets this value.
    Set(T),
}

impl<T> Patch<T> {
    /// Returns whether the request does not contain the field.
    #[must_use]
    pub const fn is_keep(&self) -> bool {
        matches!(self, Self::Keep)
    }

    /// Returns whether the request contains `null`.
    #[must_use]
    pub const fn is_clear(&self) -> bool {
        matches!(self, Self::Clear)
    }

    /// Returns the new value, if there is one.
    #[must_use]
    pub fn value(self) -> Option<T> {
        match self {
            Self::Set(value) => Some(value),
            Self::Keep | Self::Clear => None,
        }
    }

    /// Borrows the value.
    #[must_use]
    pub const fn as_ref(&self) -> Patch<&T> {
        match self {
            Self::Keep => Patch::Keep,
            Self::Clear => Patch::Clear,
            Self::Set(value) => Patch::Set(value),
        }
    }

    /// Converts the value.
    pub fn map<U>(self, convert: impl FnOnce(T) -> U) -> Patch<U> {
        match self {
            Self::Keep => Patch::Keep,
            Self::Clear => Patch::Clear,
            Self::Set(value) => Patch::Set(convert(value)),
        }
    }

    /// Returns `None` to keep, `Some(None)` to clear, and `Some(Some(value))` to set: the form of diesel's change sets.
    pub fn into_change(self) -> Option<Option<T>> {
        match self {
            Self::Keep => None,
            Self::Clear => Some(None),
            Self::Set(value) => Some(Some(value)),
        }
    }

    /// Writes the field into an optional column.
    pub fn apply_to(self, slot: &mut Option<T>) {
        if let Some(value) = self.into_change() {
            *slot = value;
        }
    }
}

impl<T> From<T> for Patch<T> {
    fn from(value: T) -> Self {
        Self::Set(value)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Patch<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Option::deserialize(deserializer)? {
            None => Self::Clear,
            Some(value) => Self::Set(value),
        })
    }
}

/// The API document needs the defaults of a struct with `#[serde(default)]`; it leaves out those that are null.
impl<T: Serialize> Serialize for Patch<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_ref().value().serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, PartialEq, Eq, Deserialize)]
    #[serde(default)]
    struct Body {
        name: Patch<String>,
    }

    #[test]
    fn absent_null_and_a_value_differ() {
        let body = |text: &str| serde_json::from_str::<Body>(text).expect("a body").name;

        assert_eq!(body("{}"), Patch::Keep);
        assert_eq!(body(r#"{"name": null}"#), Patch::Clear);
        assert_eq!(body(r#"{"name": "a"}"#), Patch::Set("a".to_owned()));
    }

    #[test]
    fn an_optional_column_is_kept_cleared_or_set() {
        let mut slot = Some(1);

        Patch::Keep.apply_to(&mut slot);
        assert_eq!(slot, Some(1));
        Patch::Set(2).apply_to(&mut slot);
        assert_eq!(slot, Some(2));
        Patch::Clear.apply_to(&mut slot);
        assert_eq!(slot, None);
    }
}
