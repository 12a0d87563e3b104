//! What the server needs before its first request.

use std::time::Duration;

use super::super::database::PASSWORD;
use super::Bench;
use super::site::Site;
use crate::Result;
use crate::process::say;

/// Time until the server is ready, and its memory.
#[derive(Debug)]
pub(super) struct Start {
    pub(super) ready: Vec<Duration>,
    pub(super) idle_kib: u64,
    /// After the first sign-in.
    pub(super) signed_in_kib: u64,
}

/// Starts the server several times.
pub(super) fn measure(bench: &Bench<'_>, site: &Site) -> Result<Start> {
    say("start ...");
    let start = || bench.server(&[]);
    let mut ready = Vec::new();
    for _ in 0..5 {
        ready.push(start()?.ready_after());
    }
    let server = start()?;
    let idle_kib = server.resident_kib()?;
    server.log_in(&site.email, PASSWORD)?;
    Ok(Start {
        ready,
        idle_kib,
        signed_in_kib: server.resident_kib()?,
    })
}
