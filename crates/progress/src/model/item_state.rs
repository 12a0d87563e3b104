//! The state of an item.

/// The state of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ItemState {
    /// Not yet processed.
    Pending,
    /// Changed.
    Succeeded,
    /// No change was needed.
    Skipped,
    /// Failed.
    Failed,
}

impl ItemState {
    /// All states.
    pub const ALL: [Self; 4] = [Self::Pending, Self::Succeeded, Self::Skipped, Self::Failed];

    /// Returns the value in the database and on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Succeeded => "succeeded",
            Self::Skipped => "skipped",
            Self::Failed => "failed",
        }
    }

    /// Parses the value in the database and on the wire.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }
}
