//! The module over HTTP, and its rules.

#![expect(clippy::expect_used, reason = "a test fails by a panic")]

mod acknowledgements;
mod background;
mod bookings;
mod engine;
mod events;
mod fixture;
mod histories;
mod kinds;
mod marks;
mod migrations;
mod naive;
mod overlaps;
mod recipients;

use std::hash::{BuildHasher, Hasher, RandomState};

/// Returns the seed of random tests: that of the variable, or a new one. A failing test shows it.
fn seed(variable: &str) -> [u8; 32] {
    let random = || RandomState::new().build_hasher().finish();
    let text = std::env::var(variable).unwrap_or_else(|_| format!("{:016x}{:016x}", random(), random()));
    println!("{variable}={text}");
    let mut seed = [0; 32];
    for (byte, character) in seed.iter_mut().zip(text.bytes()) {
        *byte = character;
    }
    seed
}
