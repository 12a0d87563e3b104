//! Programs from PyPI, in an environment of their own below the target folder.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::Result;
use crate::process::{Outcome, is_ci, run, say, succeeds};
use crate::workspace::Workspace;

/// The requirements, relative to the root.
const REQUIREMENTS: &str = "xtask/requirements.txt";

/// Returns the folder of the installed programs. `None` if they can't be installed, which is a failure in CI and a message elsewhere.
pub(crate) fn programs(workspace: &Workspace) -> Result<Option<PathBuf>> {
    match installed(workspace) {
        Ok(programs) => Ok(Some(programs)),
        Err(error) if is_ci() => Err(error),
        Err(error) => {
            say(&format!("{error}; the step is skipped here, and fails in CI"));
            Ok(None)
        }
    }
}

fn installed(workspace: &Workspace) -> Result<PathBuf> {
    let requested = workspace.read(REQUIREMENTS)?;
    let folder = workspace.target().join("python");
    let stamp = folder.join("requirements.txt");
    let programs = folder.join("bin");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == requested) {
        return Ok(programs);
    }
    if !succeeds(Command::new("python3").args(["-c", "import venv, ensurepip"])) {
        return Err("python3 with venv is missing (Debian: apt-get install python3-venv)".into());
    }
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let created = run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
    let install = || {
        let pip = [
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--requirement",
        ];
        run(Command::new(programs.join("python"))
            .args(pip)
            .arg(workspace.root().join(REQUIREMENTS)))
    };
    if created.and_then(install)? != Outcome::Passed {
        return Err(format!("what {REQUIREMENTS} names can't be installed").into());
    }
    fs::write(stamp, requested)?;
    Ok(programs)
}
