//! Child processes: their command lines are printed, and their output goes to standard output.

use std::error::Error;
use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Write as _, stdout};
use std::os::fd::AsFd as _;
use std::process::{Command, ExitStatus, Stdio};

use crate::Result;
use crate::workspace::Workspace;

/// The result of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The task succeeded.
    Passed,
    /// The task failed; the exit code of this process.
    Failed(u8),
}

impl Outcome {
    /// Returns the outcome of a check that prints its own findings.
    pub(crate) fn of(passed: bool) -> Self {
        if passed { Self::Passed } else { Self::Failed(1) }
    }

    /// Returns this outcome if it failed, otherwise that of `other`.
    pub(crate) fn and_then(self, other: impl FnOnce() -> Result<Self>) -> Result<Self> {
        match self {
            Self::Passed => other(),
            Self::Failed(_) => Ok(self),
        }
    }
}

/// Returns a Cargo command in the root of the workspace.
pub(crate) fn cargo(workspace: &Workspace) -> Command {
    // The Cargo of the current toolchain, if Cargo runs this program.
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.current_dir(workspace.root());
    // These describe the package of this program; a child must find its own.
    for name in ["CARGO_MANIFEST_DIR", "CARGO_MANIFEST_PATH", "CARGO_PKG_NAME"] {
        command.env_remove(name);
    }
    command
}

/// Runs a child to its end.
pub(crate) fn run(command: &mut Command) -> Result<Outcome> {
    say(&format!("$ {}", shown(command)));
    // Cargo and nextest report on standard error; a single stream keeps the order.
    command.stderr(Stdio::from(stdout().as_fd().try_clone_to_owned()?));
    let status = command
        .status()
        .map_err(|error| format!("{} can't be run: {error}", shown(command)))?;
    outcome(command, status)
}

/// Runs a child to its end, and passes each line of its standard output to `seen` too. The child starts no process that keeps that output open.
pub(crate) fn run_and_read(command: &mut Command, mut seen: impl FnMut(&str)) -> Result<Outcome> {
    say(&format!("$ {}", shown(command)));
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::from(stdout().as_fd().try_clone_to_owned()?))
        .spawn()
        .map_err(|error| format!("{} can't be run: {error}", shown(command)))?;
    let lines = child.stdout.take().ok_or("the child has no standard output")?;
    for line in BufReader::new(lines).split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        say(&line);
        seen(&line);
    }
    outcome(command, child.wait()?)
}

fn outcome(command: &Command, status: ExitStatus) -> Result<Outcome> {
    match status.code() {
        Some(0) => Ok(Outcome::Passed),
        Some(code) => Ok(Outcome::Failed(u8::try_from(code).unwrap_or(1))),
        None => Err(format!("{} was ended by a signal", shown(command)).into()),
    }
}

/// Returns whether a child runs and succeeds; its output is discarded.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Returns the output of a child.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{} can't be run: {error}", shown(command)))?;
    if !output.status.success() {
        return Err(format!(
            "{} failed: {}",
            shown(command),
            String::from_utf8_lossy(&output.stderr).trim()
        )
        .into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Returns whether this runs in CI.
pub(crate) fn is_ci() -> bool {
    std::env::var_os("CI").is_some()
}

/// Prints a line and flushes, so that it precedes the output of children.
pub(crate) fn say(line: &str) {
    let mut out = stdout().lock();
    // If the reader has closed the pipe, the line may be lost.
    let _closed = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Formats an error with its causes in one line.
pub(crate) fn explained(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

fn shown(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program())
        .file_name()
        .unwrap_or(command.get_program());
    let words: Vec<_> = std::iter::once(program)
        .chain(command.get_args())
        .map(OsStr::to_string_lossy)
        .collect();
    words.join(" ")
}
