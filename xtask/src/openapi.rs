//! `cargo xtask openapi`

use std::fs;
use std::process::Command;

use backoffice_core::module::document;
use backoffice_core::module::in_order;

use crate::Result;
use crate::process::{Outcome, run, say};
use crate::python;
use crate::workspace::Workspace;

/// The committed document, relative to the root.
pub(crate) const FILE: &str = "docs/openapi.json";

/// Writes the document of all modules.
pub(crate) fn write(workspace: &Workspace) -> Result<Outcome> {
    fs::write(workspace.root().join(FILE), generate()?)?;
    say(&format!("wrote {FILE}"));
    Ok(Outcome::Passed)
}

/// Fails if the committed document differs from the declarations.
pub(crate) fn check(workspace: &Workspace) -> Result<Outcome> {
    let committed = workspace.read(FILE).unwrap_or_default();
    let generated = generate()?;
    if committed == generated {
        say(&format!("{FILE} is up to date"));
        return Ok(Outcome::Passed);
    }
    match committed
        .lines()
        .zip(generated.lines())
        .position(|(old, new)| old != new)
    {
        Some(line) => say(&format!("{FILE}:{}: differs from the endpoint declarations", line + 1)),
        None => say(&format!(
            "{FILE}: is missing or ends elsewhere than the endpoint declarations say"
        )),
    }
    say("run `cargo xtask openapi` and commit the file");
    Ok(Outcome::Failed(1))
}

/// Fails if an independent program rejects the committed document.
pub(crate) fn validate(workspace: &Workspace) -> Result<Outcome> {
    let Some(programs) = python::programs(workspace)? else {
        return Ok(Outcome::Passed);
    };
    let errors = ["--validation-errors", "all", "--subschema-errors", "all"];
    run(Command::new(programs.join("openapi-spec-validator"))
        .current_dir(workspace.root())
        .args(errors)
        .arg(FILE))
}

fn generate() -> Result<String> {
    let modules = in_order(&backoffice_server::modules::compiled())?;
    Ok(format!("{}\n", serde_json::to_string_pretty(&document(&modules))?))
}
