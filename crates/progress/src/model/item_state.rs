//! What became of an item.

/// What became of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ItemState {
    /// Nobody has come to it yet.
    Pending,
    /// It was changed.
    Succeeded,
    /// Nothing was to change.
    Skipped,
    /// It could not be changed.
    Failed,
}

impl ItemState {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Pending, Self::Succeeded, Self::Skipped, Self::Failed];

    /// The word in the database and on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Succeeded => "succeeded",
            Self::Skipped => "skipped",
            Self::Failed => "failed",
        }
    }

    /// The state of this word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }
}
