//! `cargo xtask features`

use crate::Result;
use crate::process::{Outcome, cargo, run as run_child, say};
use crate::workspace::{Package, Workspace};

/// Package of the host.
const HOST: &str = "backoffice-server";

/// Checks that the host compiles without modules, and with each single module and its requirements.
pub(crate) fn run(workspace: &Workspace) -> Result<Outcome> {
    let host = workspace
        .package(HOST)
        .ok_or("the workspace has no package backoffice-server")?;
    let mut failed = Vec::new();
    for feature in std::iter::once(None).chain(module_features(host).map(Some)) {
        let mut command = cargo(workspace);
        command.args(["check", "--package", HOST, "--no-default-features"]);
        if let Some(feature) = feature {
            command.args(["--features", feature]);
        }
        if run_child(&mut command)? != Outcome::Passed {
            failed.push(feature.unwrap_or("no module"));
        }
    }
    if !failed.is_empty() {
        say(&format!("the host does not compile with: {}", failed.join(", ")));
    }
    Ok(Outcome::of(failed.is_empty()))
}

/// Returns the Cargo features of the host that correspond to modules.
pub(crate) fn module_features(host: &Package) -> impl Iterator<Item = &str> {
    host.features
        .iter()
        .filter(|(name, on)| on.iter().any(|one| *one == format!("dep:backoffice-{name}")))
        .map(|(name, _)| name.as_str())
}
