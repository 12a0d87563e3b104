//! The commands `openapi` and `modules`, which describe this build and need no database.

use backoffice_core::module::document;
use backoffice_core::module::in_order;
use serde_json::json;

use super::output::{Output, print_lines, table};
use crate::config::Settings;
use crate::{Error, Result, host, modules};

/// Prints the OpenAPI document of the enabled modules.
pub(super) fn openapi(settings: &Settings) -> Result<()> {
    host::check_settings(settings)?;
    let modules = in_order(&modules::enabled(settings.modules.as_deref())?)?;
    let text = serde_json::to_string_pretty(&document(&modules)?).map_err(|error| Error::other(error.to_string()))?;
    print_lines(&text)
}

/// Lists the compiled-in modules, each after the modules that it requires.
pub(super) fn modules(settings: &Settings, output: Output) -> Result<()> {
    host::check_settings(settings)?;
    let enabled = in_order(&modules::enabled(settings.modules.as_deref())?)?;
    let compiled = in_order(&modules::compiled())?;
    let is_enabled = |name: &str| enabled.iter().any(|module| module.name == name);
    let rows: Vec<Vec<String>> = compiled
        .iter()
        .map(|module| {
            let state = if is_enabled(module.name) { "enabled" } else { "disabled" };
            let needs = if module.requires.is_empty() {
                String::new()
            } else {
                format!("requires {}", module.requires.join(", "))
            };
            vec![module.name.to_owned(), state.to_owned(), module.title.to_owned(), needs]
        })
        .collect();
    let values: Vec<_> = compiled
        .iter()
        .map(|module| {
            json!({"name": module.name, "title": module.title, "enabled": is_enabled(module.name), "requires": module.requires})
        })
        .collect();
    output.print(&table(&rows), &json!(values))
}
