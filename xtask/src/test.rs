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
    if !succeeds(cargo(workspace).args(["nextest", "--version"])) {
        say("cargo-nextest is not installed; cargo test takes its place");
        let everything = Some("--workspace").filter(|_| !chooses_packages(arguments));
        return run(cargo(workspace).arg("test").args(everything).args(arguments));
    }
    let tests = run(cargo(workspace)
        .args(["nextest", "run"])
        .args(selection(arguments))
        .args(arguments))?;
    if arguments.iter().any(|argument| argument != NO_FAIL_FAST) {
        // Test filters do not apply to doc tests, which nextest does not run.
        return Ok(tests);
    }
    tests.and_then(|| run(cargo(workspace).args(["test", "--doc", "--workspace"])))
}

/// Returns the options of cargo and nextest; what follows `--` is for the tests.
fn options(arguments: &[String]) -> impl Iterator<Item = &str> {
    let options = arguments.iter().map(String::as_str);
    options.take_while(|argument| *argument != "--")
}

fn chooses_packages(arguments: &[String]) -> bool {
    options(arguments).any(|option| option.starts_with("-p") || option.starts_with("--package"))
}

/// Returns what selects packages and tests, beside the arguments of the caller: everything, or nothing more than the chosen packages.
///
/// Cargo gives libraries the features that the selected packages need. Chosen packages are therefore built together with this one, which has the
/// features of the whole workspace; otherwise libraries would be compiled a second time. Its tests do not run.
fn selection(arguments: &[String]) -> &'static [&'static str] {
    // nextest runs a test that one of several filters selects.
    let filters = |option: &str| option.starts_with("-E") || option.starts_with("--filter");
    match (chooses_packages(arguments), options(arguments).any(filters)) {
        (false, _) => &["--workspace"],
        (true, false) if !options(arguments).any(|option| option.ends_with("xtask")) => {
            &["--package", "xtask", "-E", "not package(xtask)"]
        }
        (true, _) => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selected(arguments: &[&str]) -> &'static [&'static str] {
        let arguments: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        selection(&arguments)
    }

    #[test]
    fn chosen_packages_are_built_with_the_features_of_the_workspace() {
        let beside: &[&str] = &["--package", "xtask", "-E", "not package(xtask)"];

        for arguments in [
            &["-p", "backoffice-catalog"][..],
            &["-pbackoffice-catalog", "prices"],
            &["--package=backoffice-catalog", "--", "-E"],
        ] {
            assert_eq!(selected(arguments), beside, "{arguments:?}");
        }
        assert_eq!(selected(&["--", "-p"]), ["--workspace"]);
        assert_eq!(selected(&["-E", "test(prices)"]), ["--workspace"]);
        assert_eq!(selected(&["-p", "backoffice-catalog", "-E", "test(prices)"]), [""; 0]);
        assert_eq!(selected(&["-p", "xtask"]), [""; 0]);
    }
}
