//! The bytes that the actions of a run may build from references.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Most bytes of all texts and values that the actions of a run build together.
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// The bytes that the actions of a run may still build.
#[derive(Debug)]
pub(crate) struct TextBudget(AtomicUsize);

impl Default for TextBudget {
    fn default() -> Self {
        Self::new(MOST_BYTES)
    }
}

impl TextBudget {
    pub(crate) const fn new(bytes: usize) -> Self {
        Self(AtomicUsize::new(bytes))
    }

    /// Takes bytes that are about to be built. Returns whether that many were left; takes none otherwise.
    #[must_use]
    pub(crate) fn take(&self, bytes: usize) -> bool {
        let rest = |left: usize| left.checked_sub(bytes);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, rest).is_ok()
    }

    /// Returns the bytes that are left.
    #[cfg(test)]
    pub(crate) fn left(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}
