//! `cargo xtask ci`

use std::time::{Duration, Instant};

use crate::Result;
use crate::process::{Outcome, cargo, explained, is_ci, run as run_child, say, succeeds};
use crate::workspace::Workspace;
use crate::{features, fuzz, migrations, openapi, test, tidy};

const FUZZ: &str = "fuzz";

type Step = fn(&Workspace) -> Result<Outcome>;

const STEPS: &[(&str, Step)] = &[
    ("format", format),
    ("clippy", clippy),
    ("rustdoc", rustdoc),
    ("package", package),
    ("tidy", tidy::run),
    ("openapi", openapi::check),
    ("validate", openapi::validate),
    (FUZZ, examine),
    ("migrations", migrations::check),
    ("features", features::run),
    ("deny", deny),
    ("test", tests),
];

struct Report {
    name: &'static str,
    outcome: Outcome,
    duration: Duration,
}

/// Runs every step, even after a failed one, and prints the duration of each.
pub(crate) fn run(workspace: &Workspace) -> Result<Outcome> {
    let reports: Vec<Report> = STEPS
        .iter()
        .map(|(name, step)| perform(name, *step, workspace))
        .collect();
    // The output of the later steps is long; what the fuzzer found stands at the end, too.
    if reports
        .iter()
        .any(|report| report.name == FUZZ && report.outcome != Outcome::Passed)
    {
        say(&fuzz::failures(workspace).unwrap_or_default());
    }
    say("\nstep        result  seconds");
    for report in &reports {
        let result = if report.outcome == Outcome::Passed {
            "passed"
        } else {
            "FAILED"
        };
        say(&format!(
            "{:<11} {result} {:>8.1}",
            report.name,
            report.duration.as_secs_f64()
        ));
    }
    let total: Duration = reports.iter().map(|report| report.duration).sum();
    say(&format!("{:<18} {:>8.1}", "total", total.as_secs_f64()));
    Ok(reports
        .iter()
        .map(|report| report.outcome)
        .find(|outcome| *outcome != Outcome::Passed)
        .unwrap_or(Outcome::Passed))
}

fn perform(name: &'static str, step: Step, workspace: &Workspace) -> Report {
    say(&format!("\n== {name}"));
    let started = started();
    let outcome = step(workspace).unwrap_or_else(|error| {
        say(&format!("error: {}", explained(&*error)));
        Outcome::Failed(1)
    });
    Report {
        name,
        outcome,
        duration: started.elapsed(),
    }
}

#[expect(clippy::disallowed_methods, reason = "measures the duration of a step")]
fn started() -> Instant {
    Instant::now()
}

fn format(workspace: &Workspace) -> Result<Outcome> {
    run_child(cargo(workspace).args(["fmt", "--all", "--check"]))
}

fn clippy(workspace: &Workspace) -> Result<Outcome> {
    run_child(cargo(workspace).args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))
}

/// Builds the documentation of every crate, without a warning: no link leads nowhere.
fn rustdoc(workspace: &Workspace) -> Result<Outcome> {
    let mut command = cargo(workspace);
    command.args(["doc", "--workspace", "--no-deps", "--quiet"]);
    run_child(command.env("RUSTDOCFLAGS", "-D warnings"))
}

/// Packs every crate, as it is needed to embed a module: manifests are complete and every file of a package exists.
fn package(workspace: &Workspace) -> Result<Outcome> {
    let options = ["--no-verify", "--allow-dirty", "--exclude-lockfile", "--quiet"];
    run_child(cargo(workspace).args(["package", "--workspace"]).args(options))
}

/// Sends valid and invalid requests to a real server: boundary values, then random ones of a fixed seed.
fn examine(workspace: &Workspace) -> Result<Outcome> {
    fuzz::run(workspace, fuzz::SECONDS, fuzz::SEED)
}

/// Checks licenses, banned crates and sources, and advisories if their database can be downloaded. Without cargo-deny this is a failure in CI and a
/// message elsewhere.
fn deny(workspace: &Workspace) -> Result<Outcome> {
    if !succeeds(cargo(workspace).args(["deny", "--version"])) {
        return without_deny(is_ci());
    }
    let outcome = run_child(cargo(workspace).args(["deny", "check", "bans", "licenses", "sources"]))?;
    if !succeeds(cargo(workspace).args(["deny", "fetch", "db"])) {
        say("the advisory database can't be downloaded; advisories are not checked");
        return Ok(outcome);
    }
    let advisories = ["deny", "check", "--disable-fetch", "advisories"];
    outcome.and_then(|| run_child(cargo(workspace).args(advisories)))
}

fn without_deny(is_ci: bool) -> Result<Outcome> {
    let missing = "cargo-deny is not installed (cargo install --locked cargo-deny)";
    if is_ci {
        return Err(format!("{missing}: licenses, banned crates and sources can't be checked").into());
    }
    say(&format!("{missing}; the step is skipped here, and fails in CI"));
    Ok(Outcome::Passed)
}

fn tests(workspace: &Workspace) -> Result<Outcome> {
    test::run(workspace, &[test::NO_FAIL_FAST.to_owned()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_cargo_deny_fails_in_ci_only() {
        assert!(without_deny(true).is_err());
        assert_eq!(without_deny(false).expect("a message"), Outcome::Passed);
    }
}
