//! Memory of a thread that hashes.

use argon2::Block;

/// The memory of a thread, kept from hash to hash, because allocating and clearing it costs a twentieth of a hash.
#[derive(Debug, Default)]
pub(super) struct Memory(Vec<Block>);

impl Memory {
    /// Returns `count` blocks with arbitrary contents.
    pub(super) fn blocks(&mut self, count: usize) -> &mut [Block] {
        if self.0.len() < count {
            self.0.resize(count, Block::new());
        }
        &mut self.0[..count]
    }
}
