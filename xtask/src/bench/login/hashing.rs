//! The hash rate of the cores outside of the server.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Scope;
use std::time::Duration;

use argon2::{Algorithm, Argon2, Params, Version};
use tokio::time::Instant;

use crate::Result;
use crate::bench::pause;

/// The niceness of the server's hashing threads.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 19;

/// Returns the hashes per second of all cores without other load, with the server's default cost.
pub(super) fn rate(duration: Duration) -> Result<f64> {
    let argon2 = server_default()?;
    let goes_on = AtomicBool::new(true);
    let started = Instant::now();
    let hashed: u32 = std::thread::scope(|scope| {
        let threads = hash_on_all_cores(scope, &argon2, &goes_on, || ());
        pause(duration);
        goes_on.store(false, Ordering::Release);
        threads.into_iter().filter_map(|thread| thread.join().ok()).sum()
    });
    Ok(f64::from(hashed) / started.elapsed().as_secs_f64())
}

/// Runs work while all cores hash at the priority of the server's threads.
pub(super) fn beside<T>(work: impl FnOnce() -> T) -> Result<T> {
    let argon2 = server_default()?;
    let goes_on = AtomicBool::new(true);
    Ok(std::thread::scope(|scope| {
        hash_on_all_cores(scope, &argon2, &goes_on, throttle);
        let done = work();
        goes_on.store(false, Ordering::Release);
        done
    }))
}

fn server_default() -> Result<Argon2<'static>> {
    let params = Params::new(19_456, 2, 1, None).map_err(|error| error.to_string())?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

/// Starts one thread per core, each of which returns its number of hashes. The memory is reused for each hash, as in the server.
fn hash_on_all_cores<'scope>(
    scope: &'scope Scope<'scope, '_>,
    argon2: &'scope Argon2<'static>,
    goes_on: &'scope AtomicBool,
    prepare: fn(),
) -> Vec<std::thread::ScopedJoinHandle<'scope, u32>> {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let hash_on = move || {
        prepare();
        let mut hashed = 0;
        let mut hash = [0; 32];
        let mut blocks = vec![argon2::Block::new(); argon2.params().block_count()];
        while goes_on.load(Ordering::Acquire) {
            let outcome = argon2.hash_password_into_with_memory(
                b"measured-Twice-0917",
                &[7; 16],
                &mut hash,
                blocks.as_mut_slice(),
            );
            hashed += u32::from(outcome.is_ok());
        }
        hashed
    };
    (0..cores).map(|_| scope.spawn(hash_on)).collect()
}

/// Lowers the priority of this thread, on systems with thread priorities.
fn throttle() {
    #[cfg(target_os = "linux")]
    let _unchanged = rustix::process::setpriority_process(None, NICENESS);
}
