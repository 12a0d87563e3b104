//! `cargo xtask openapi`

use std::fs;
use std::process::Command;

use backoffice_core::module::{document, in_order};
use serde_json::Value;

use crate::Result;
use crate::process::{Outcome, run, say};
use crate::python;
use crate::workspace::Workspace;

/// Longest line of a value that is written on one line.
const LINE: usize = 120;
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
    let mut text = String::new();
    render(&document(&modules)?, 0, &mut text);
    text.push('\n');
    Ok(text)
}

/// Writes a value on one line if that is short, else each of its parts on lines of their own: a change touches few lines, and the file stays small.
fn render(value: &Value, depth: usize, text: &mut String) {
    let compact = value.to_string();
    if depth + compact.chars().count() <= LINE {
        text.push_str(&compact);
        return;
    }
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, part)| (Some(name), part));
            render_parts(['{', '}'], fields, depth, text);
        }
        Value::Array(items) => render_parts(['[', ']'], items.iter().map(|part| (None, part)), depth, text),
        _ => text.push_str(&compact),
    }
}

fn render_parts<'a>(
    [open, close]: [char; 2],
    parts: impl Iterator<Item = (Option<&'a String>, &'a Value)>,
    depth: usize,
    text: &mut String,
) {
    text.push(open);
    for (index, (name, part)) in parts.enumerate() {
        text.push_str(if index == 0 { "\n" } else { ",\n" });
        text.push_str(&" ".repeat(depth + 1));
        if let Some(name) = name {
            text.push_str(&format!("{}:", Value::from(name.as_str())));
        }
        render(part, depth + 1, text);
    }
    text.push('\n');
    text.push_str(&" ".repeat(depth));
    text.push(close);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn short_values_are_on_one_line_and_the_text_means_the_same() {
        let value = json!({"a": [1, 2], "long": ["x".repeat(100), {"name": "y".repeat(60)}], "none": {}});
        let mut text = String::new();

        render(&value, 0, &mut text);

        assert!(text.starts_with("{\n \"a\":[1,2],\n \"long\":[\n  \"xxx"), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), value);
    }
}
