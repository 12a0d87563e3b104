//! `config`: the settings that are set.

use backoffice_core::config::CORE_SECTIONS;
use serde_json::{Map, Value, json};

use super::output::Output;
use crate::config::{Settings, effective};
use crate::{Result, host, modules};

/// Prints the settings as TOML with their origins, and the names of the sections.
pub(super) fn print(settings: &Settings, output: Output) -> Result<()> {
    let of_modules = modules::compiled()
        .into_iter()
        .flat_map(|module| module.config_sections.iter().copied());
    let sections: Vec<&str> = CORE_SECTIONS.iter().copied().chain(of_modules).collect();
    host::check_settings(settings)?;
    let lines = effective(settings);
    let names = sections.join(", ");
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let values: Map<String, Value> = lines
        .into_iter()
        .map(|line| (line.key, json!({"value": line.value, "origin": line.origin})))
        .collect();
    output.print(&format!("# Sections: {names}\n{text}"), &Value::Object(values))
}
