//! Sign-ins: what their duration reveals, and what a flood of them costs other requests.

mod flood;
mod hashing;
mod timing;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use backoffice_local_postgres::LocalPostgres;
use serde_json::Value;

use super::Options;
use super::database::Database;
use crate::Result;
use crate::process::say;

/// Every attempt comes from an address of its own, so that the limits count it but never reject it.
pub(super) const BEHIND_A_PROXY: (&str, &str) = ("BACKOFFICE__HTTP__PROXY_DEPTH", "1");

/// Measures timing and flood, as requested, and returns the results as tables.
pub(super) fn measure(
    postgres: &LocalPostgres,
    program: &Path,
    work: &Path,
    options: &Options,
    [timing, flood]: [bool; 2],
) -> Result<String> {
    let database = Database::create(postgres, program, work)?;
    let tenant = database.seed(options)?;
    let mut report = String::new();
    if timing {
        for floor in [None, Some("0ms")] {
            say(&format!("failure floor: {} ...", floor.unwrap_or("default")));
            report.push_str(&timing::measure(program, work, &database, options.pairs, floor)?.to_string());
        }
    }
    if flood {
        say("flood ...");
        report.push_str(&flood::measure(program, work, &database, tenant, options)?.to_string());
    }
    Ok(report)
}

/// Returns an address that no request has used yet; its first byte may be replaced.
pub(super) fn next_address() -> [u8; 4] {
    static ADDRESSES: AtomicU32 = AtomicU32::new(1);
    ADDRESSES.fetch_add(1, Ordering::Relaxed).to_be_bytes()
}

/// Returns the bytes of a sign-in from an unused address.
pub(super) fn request(host: SocketAddr, body: &Value) -> Vec<u8> {
    let [_, b, c, d] = next_address();
    let body = body.to_string();
    format!(
        "POST /api/auth/login HTTP/1.1\r\nhost: {host}\r\nx-forwarded-for: 10.{b}.{c}.{d}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}
