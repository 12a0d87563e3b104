//! What the cores hash when they do nothing else.

use std::time::Duration;

use argon2::{Algorithm, Argon2, Params, Version};
use tokio::time::Instant;

use crate::Result;

/// Hashes per second of all cores, with the server's default cost.
pub(super) fn rate(duration: Duration) -> Result<f64> {
    let params = Params::new(19_456, 2, 1, None).map_err(|error| error.to_string())?;
    let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    let cores = std::thread::available_parallelism()?.get();
    let started = Instant::now();
    let hashed: u32 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..cores)
            .map(|_| {
                scope.spawn(|| {
                    let mut hashed = 0;
                    let mut hash = [0; 32];
                    while started.elapsed() < duration {
                        let outcome = argon2.hash_password_into(b"measured-Twice-0917", &[7; 16], &mut hash);
                        hashed += u32::from(outcome.is_ok());
                    }
                    hashed
                })
            })
            .collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).sum()
    });
    Ok(f64::from(hashed) / started.elapsed().as_secs_f64())
}
