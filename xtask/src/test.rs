//! `cargo xtask test`

use std::process::Command;
use std::thread::available_parallelism;

use crate::Result;
use crate::process::{self, Outcome, cargo, say, succeeds};
use crate::scratch;
use crate::workspace::Workspace;

/// The variable with the server for the tests: a superuser's `postgres://` URL.
const VARIABLE: &str = "BACKOFFICE_TEST_DATABASE";
/// The programs that the tests of the pages need.
const BROWSER: [&str; 2] = ["chromium", "chromedriver"];
/// The variables with the number of tests that run at once: of nextest, and of the harness that `cargo test` runs.
const THREADS: [&str; 2] = ["NEXTEST_TEST_THREADS", "RUST_TEST_THREADS"];
/// Continues after a failed test; both runners accept it.
pub(crate) const NO_FAIL_FAST: &str = "--no-fail-fast";

/// Runs all tests, or the selected ones, on a cluster that is stopped afterwards.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<Outcome> {
    if !BROWSER
        .iter()
        .all(|program| succeeds(Command::new(program).arg("--version")))
    {
        say("chromium and chromedriver are not installed; the tests of the pages fail in CI and do nothing elsewhere");
    }
    if let Ok(url) = std::env::var(VARIABLE) {
        say(&format!("using the server that {VARIABLE} names"));
        return run_on(&url, workspace, arguments);
    }
    let postgres = scratch::cluster(workspace)?;
    let outcome = run_on(&postgres.url("postgres", "postgres"), workspace, arguments)?;
    postgres.stop()?;
    Ok(outcome)
}

/// Returns the number of tests that run at once: three for two cores, because tests wait for PostgreSQL, for processes and for intervals.
fn test_threads() -> usize {
    let cores = available_parallelism().map_or(1, std::num::NonZero::get);
    cores + cores / 2
}

fn run_on(url: &str, workspace: &Workspace, arguments: &[String]) -> Result<Outcome> {
    let threads = test_threads().to_string();
    let run = |command: &mut Command| {
        command.env(VARIABLE, url);
        for variable in THREADS {
            // A number that the caller chose stays.
            if std::env::var_os(variable).is_none() {
                command.env(variable, &threads);
            }
        }
        process::run(command)
    };
    let chooses_packages = arguments
        .iter()
        .any(|argument| argument.starts_with("-p") || argument.starts_with("--package"));
    let everything = if chooses_packages { None } else { Some("--workspace") };
    if !succeeds(cargo(workspace).args(["nextest", "--version"])) {
        say("cargo-nextest is not installed; cargo test takes its place");
        return run(cargo(workspace).arg("test").args(everything).args(arguments));
    }
    let tests = run(cargo(workspace)
        .args(["nextest", "run"])
        .args(everything)
        .args(arguments))?;
    if arguments.iter().any(|argument| argument != NO_FAIL_FAST) {
        // Test filters do not apply to doc tests, which nextest does not run.
        return Ok(tests);
    }
    tests.and_then(|| run(cargo(workspace).args(["test", "--doc", "--workspace"])))
}
