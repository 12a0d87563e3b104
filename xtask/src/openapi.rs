//! `cargo xtask openapi`

use std::fs;

use backoffice_core::http::document;
use backoffice_core::module::in_order;

use crate::Result;
use crate::process::{Outcome, say};
use crate::workspace::Workspace;

/// The committed document, relative to the root.
pub(crate) const FILE: &str = "docs/openapi.json";

/// Writes the document of all modules.
pub(crate) fn write(workspace: &Workspace) -> Result<Outcome> {
    fs::write(workspace.root().join(FILE), generate()?)?;
    say(&format!("wrote {FILE}"));
    Ok(Outcome::Passed)
}

/// Fails when the committed document is not the one of the declarations.
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

fn generate() -> Result<String> {
    let modules = in_order(&backoffice_server::modules::compiled())?;
    // Through a value, whose members are sorted: the text depends on the content alone.
    let document = serde_json::to_value(document(&modules))?;
    Ok(format!("{}\n", serde_json::to_string_pretty(&document)?))
}
