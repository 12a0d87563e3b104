//! `cargo xtask test`

use std::process::Command;

use crate::Result;
use crate::process::{self, Outcome, cargo, say, succeeds};
use crate::scratch;
use crate::workspace::Workspace;

/// The variable with the server for the tests: a superuser's `postgres://` URL.
const VARIABLE: &str = "BACKOFFICE_TEST_DATABASE";
/// The programs that the tests of the pages need.
const BROWSER: [&str; 2] = ["chromium", "chromedriver"];
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

fn run_on(url: &str, workspace: &Workspace, arguments: &[String]) -> Result<Outcome> {
    let run = |command: &mut Command| process::run(command.env(VARIABLE, url));
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
