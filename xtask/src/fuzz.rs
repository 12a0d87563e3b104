//! `cargo xtask openapi fuzz`: Schemathesis sends valid and invalid requests, derived from the document, to a real server.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::Result;
use crate::bench::http::Client;
use crate::bench::server::{Server, WITHOUT_LIMITS};
use crate::openapi::FILE;
use crate::process::{Outcome, cargo, explained, output, run as run_child, run_and_read, say};
use crate::python;
use crate::workspace::Workspace;

/// Checks, and exemptions with their reasons, relative to the root.
const SETTINGS: &str = "xtask/schemathesis.toml";
const EMAIL: &str = "admin@example.com";
/// The database exists only during the run.
const PASSWORD: &str = "examined-Twice-0917";
/// Maximum duration of a run in seconds.
pub(crate) const SECONDS: u32 = 160;
/// Examples, the values at the boundaries of every schema, then random ones.
const PHASES: &str = "examples,coverage,fuzzing";
/// Seed of the requests.
pub(crate) const SEED: u32 = 1;
const PATIENCE: Duration = Duration::from_secs(120);
/// The part of the report about failures, in the directory of the run.
const FAILURES: &str = "failures.txt";
/// The numbers of the report, in the directory of the run.
const NUMBERS: &str = "report.json";

/// Returns what the report of the last run says about failures.
pub(crate) fn failures(workspace: &Workspace) -> Result<String> {
    Ok(fs::read_to_string(workspace.target().join("fuzz").join(FAILURES))?)
}

/// Starts the server on a database of its own and runs Schemathesis against it.
pub(crate) fn run(workspace: &Workspace, seconds: u32, seed: u32) -> Result<Outcome> {
    let Some(programs) = python::programs(workspace)? else {
        return Ok(Outcome::Passed);
    };
    let build = ["build", "--workspace", "--bin", "backoffice"];
    if run_child(cargo(workspace).args(build))? != Outcome::Passed {
        return Ok(Outcome::Failed(1));
    }
    let work = workspace.target().join("fuzz");
    if work.exists() {
        fs::remove_dir_all(&work)?;
    }
    fs::create_dir_all(&work)?;
    let server = start(&workspace.target().join("debug/backoffice"), &work)?;
    let token = server.log_in(EMAIL, PASSWORD)?;
    let mut failures = Failures::default();
    let outcome = run_and_read(
        Command::new(programs.join("schemathesis"))
            .current_dir(&work)
            .arg("--config-file")
            .arg(workspace.root().join(SETTINGS))
            .arg("run")
            .arg(workspace.root().join(FILE))
            .args(["--url", &format!("http://{}/api", server.api())])
            .args(["--phases", PHASES])
            .args(["--max-time", &seconds.to_string(), "--seed", &seed.to_string()])
            .arg("--report-json-path")
            .arg(work.join(NUMBERS))
            .env("PYTHONPATH", workspace.root().join("xtask"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("BACKOFFICE_FUZZ_TOKEN", &token),
        |line| failures.read(line),
    );
    let gaps = [session_gap(profile(&server, &token)), coverage_gap(&work.join(NUMBERS))];
    server.stop()?;
    let gaps: Vec<String> = gaps.into_iter().flatten().collect();
    for gap in &gaps {
        say(gap);
        failures.add(gap);
    }
    fs::write(work.join(FAILURES), failures.text)?;
    say(&format!("the server's log is in {}", work.join("server.log").display()));
    let outcome = outcome?;
    outcome.and_then(|| Ok(Outcome::of(gaps.is_empty())))
}

/// Returns the finding if the session of the run has ended: since then the server has rejected every request with 401, and tested none.
fn session_gap(profile: Result<u16>) -> Option<String> {
    let reason = match profile {
        Ok(200) => return None,
        Ok(status) => format!("GET /auth/profile with the token of the run returned {status}"),
        Err(error) => explained(&*error),
    };
    Some(format!(
        "the session did not last until the end of the run, so the later requests tested nothing: {reason}; find the request that ended it in the \
         server's log, and exclude its operation in {SETTINGS}"
    ))
}

/// Returns the finding if operations of the document received no request.
fn coverage_gap(numbers: &Path) -> Option<String> {
    let read = || -> Result<Value> { Ok(serde_json::from_slice(&fs::read(numbers)?)?) };
    match read() {
        Ok(numbers) => untested(&numbers["operations"]),
        Err(error) => Some(format!("{}: {error}", numbers.display())),
    }
}

fn untested(operations: &Value) -> Option<String> {
    let [selected, tested] = ["selected", "tested"].map(|name| operations[name].as_u64());
    if selected.is_some() && selected == tested {
        return None;
    }
    let [selected, tested] = [selected, tested].map(Option::unwrap_or_default);
    Some(format!(
        "{tested} of {selected} operations were tested; reasons: {}",
        operations["skip_reasons"]
    ))
}

/// The section of the report about failures.
#[derive(Default)]
struct Failures {
    is_open: bool,
    text: String,
}

impl Failures {
    /// Reads a line of the report. Rules of equals signs stand around the titles of sections.
    fn read(&mut self, line: &str) {
        if line.starts_with("====") {
            let title = line.trim_matches('=').trim();
            self.is_open = title == "FAILURES" || title == "ERRORS";
        }
        if self.is_open {
            self.add(line);
        }
    }

    fn add(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }
}

/// Starts the server with a private PostgreSQL and an administrator.
fn start(program: &Path, work: &Path) -> Result<Server> {
    let password = work.join("password");
    fs::write(&password, PASSWORD)?;
    output(
        command(program, work)
            .args(["init", "--demo", "--email", EMAIL, "--password-file"])
            .arg(password),
    )?;
    Server::run(command(program, work), work, PATIENCE)
}

/// Returns the status of a request with the token.
fn profile(server: &Server, token: &str) -> Result<u16> {
    let request = format!(
        "GET /api/auth/profile HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {token}\r\n\r\n",
        server.api()
    );
    let (status, _body) = Client::connect(server.api())?.send(request.as_bytes())?;
    Ok(status)
}

/// Returns the server's command, without settings of the caller.
fn command(program: &Path, work: &Path) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("BACKOFFICE__") {
            command.env_remove(name);
        }
    }
    command
        .current_dir(work)
        .env("BACKOFFICE__DATA_DIR", work.join("var"))
        // The run sends thousands of requests from one address and one principal.
        .envs([WITHOUT_LIMITS]);
    command
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_session_that_ended_is_a_finding() {
        assert_eq!(session_gap(Ok(200)), None);
        let ended = session_gap(Ok(401)).expect("a finding");
        assert!(ended.contains("returned 401"), "{ended}");
        let stopped = session_gap(Err("connection refused".into())).expect("a finding");
        assert!(stopped.contains("connection refused"), "{stopped}");
    }

    #[test]
    fn operations_without_a_request_are_a_finding() {
        let numbers = |tested: u32| json!({"selected": 3, "tested": tested, "skip_reasons": ["Time limit reached"]});

        assert_eq!(untested(&numbers(3)), None);
        assert_eq!(
            untested(&numbers(1)).as_deref(),
            Some("1 of 3 operations were tested; reasons: [\"Time limit reached\"]")
        );
        assert!(untested(&Value::Null).is_some(), "the run ended before it selected any");
        assert!(coverage_gap(Path::new("/missing/report.json")).is_some());
    }
}
