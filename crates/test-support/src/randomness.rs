//! Pseudo-random bytes that are the same in every run.

use std::sync::atomic::{AtomicU64, Ordering};

use backoffice_core::ids::Randomness;
use sha2::{Digest, Sha256};

/// SHA-256 of a seed and a counter. The same seed and the same order of calls give the same ids and tokens.
#[derive(Debug)]
pub struct SeededRandomness {
    seed: u64,
    blocks: AtomicU64,
}

impl SeededRandomness {
    /// Creates a stream from this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            blocks: AtomicU64::new(0),
        }
    }
}

impl Randomness for SeededRandomness {
    fn fill(&self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(32) {
            let number = self.blocks.fetch_add(1, Ordering::Relaxed);
            let block = Sha256::new()
                .chain_update(self.seed.to_be_bytes())
                .chain_update(number.to_be_bytes())
                .finalize();
            chunk.copy_from_slice(&block[..chunk.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(seed: u64) -> [u8; 40] {
        let mut bytes = [0; 40];
        SeededRandomness::new(seed).fill(&mut bytes);
        bytes
    }

    #[test]
    fn equal_seeds_give_equal_bytes_and_others_do_not() {
        assert_eq!(first(1), first(1));
        assert_ne!(first(1), first(2));
        assert_ne!(first(1)[..8], first(1)[32..]);
    }
}
