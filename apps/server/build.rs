//! Options of the linker for the program.

use std::env;
use std::process::Command;

/// The oldest glibc whose dynamic linker understands packed relocations.
const PACKED_SINCE: (u32, u32) = (2, 36);

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // A bit instead of an entry of 24 bytes for each pointer: the program has 3 MiB less, and a start does not load them into memory.
    if is_built_for_this_machine() && glibc().is_some_and(|version| version >= PACKED_SINCE) {
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

fn is_built_for_this_machine() -> bool {
    let is = |name, value| env::var(name).is_ok_and(|found| found == value);
    is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") && env::var("HOST") == env::var("TARGET")
}

/// Returns the version of this machine's C library.
fn glibc() -> Option<(u32, u32)> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.split('.').next()?.parse().ok()?))
}
