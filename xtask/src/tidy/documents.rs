//! What the documents list is what the code has.

use std::collections::BTreeSet;

use backoffice_core::registry::Registry;

use super::{Findings, Tree};
use crate::Result;

const ARCHITECTURE: &str = "docs/ARCHITECTURE.md";
const DEPLOYMENT: &str = "docs/DEPLOYMENT.md";
/// The file with the subcommands of the host.
const CLI: &str = "apps/server/src/cli/arguments.rs";
/// The file with the counters that exist from the start.
const ADMIN: &str = "apps/server/src/admin.rs";

/// Every package is in the codemap.
pub(super) fn codemap(tree: &Tree<'_>) -> Result<Findings> {
    let codemap = tree.workspace.read(ARCHITECTURE)?;
    let packages = tree.workspace.packages().iter();
    Ok(packages
        .map(|package| package.dir.display().to_string())
        .filter(|dir| !codemap.contains(&format!("| `{dir}` |")))
        .map(|dir| format!("{ARCHITECTURE}: the codemap lacks `{dir}`"))
        .collect())
}

/// The README of a module names its features, commands, entities and tables.
pub(super) fn modules(tree: &Tree<'_>) -> Result<Findings> {
    let mut findings = Findings::new();
    for module in &tree.modules {
        let file = format!("crates/{}/README.md", module.name);
        let readme = tree.workspace.read(&file)?;
        let mut registry = Registry::default();
        (module.register)(&mut registry);
        let mut ids: BTreeSet<String> = module.features.iter().map(|feature| feature.id.to_owned()).collect();
        let registered = registry.commands();
        ids.extend(registered.commands().map(|command| command.id.to_owned()));
        ids.extend(registered.entities().map(|entity| entity.kind().to_owned()));
        for (_, sql) in tree.texts(&format!("migrations/{}", module.name), &["sql"])? {
            ids.extend(sql.lines().filter_map(table).map(str::to_owned));
        }
        let missing = ids.iter().filter(|id| !names(&readme, id));
        findings.extend(missing.map(|id| format!("{file}: lacks `{id}`")));
    }
    Ok(findings)
}

fn table(line: &str) -> Option<&str> {
    line.strip_prefix("create table ")?.split([' ', '(']).next()
}

/// Returns whether a document has an id, or its last word as `.word` in a paragraph with an id of the same beginning.
fn names(document: &str, id: &str) -> bool {
    if document.contains(&format!("`{id}`")) {
        return true;
    }
    let Some((start, last)) = id.rsplit_once('.') else {
        return false;
    };
    document
        .split("\n\n")
        .flat_map(|paragraph| {
            if paragraph.starts_with('|') {
                paragraph.split('\n').collect()
            } else {
                vec![paragraph]
            }
        })
        .any(|part| part.contains(&format!("`{start}.")) && part.contains(&format!("`.{last}`")))
}

/// Every setting is in the table of settings.
pub(super) fn settings(tree: &Tree<'_>) -> Result<Findings> {
    let table = tree.workspace.read(DEPLOYMENT)?;
    let mut findings = Findings::new();
    let sources = ["crates", "apps"].map(|below| tree.texts(below, &["rs"]));
    for source in sources {
        let configs = source?.into_iter().filter(|(file, _)| {
            let name = file.file_name().and_then(|name| name.to_str());
            matches!(name, Some("config.rs" | "sections.rs"))
                && !file.components().any(|part| part.as_os_str() == "tests")
        });
        for (file, text) in configs {
            let missing = fields(&text).filter(|field| !is_listed(&table, field));
            findings.extend(
                missing.map(|field| format!("{DEPLOYMENT}: lacks the setting `{field}` of {}", file.display())),
            );
        }
    }
    Ok(findings)
}

/// Returns the fields of the structs that are deserialized.
fn fields(text: &str) -> impl Iterator<Item = &str> {
    let (mut is_inside, mut is_setting, mut renamed) = (false, false, None);
    let production = text.split("#[cfg(test)]").next().unwrap_or_default();
    production.lines().filter_map(move |line| {
        let item = line
            .strip_prefix("pub(crate) ")
            .or(line.strip_prefix("pub "))
            .unwrap_or(line);
        if line.starts_with("#[derive(") {
            is_setting = line.contains("Deserialize");
        } else if item.starts_with("struct ") {
            is_inside = is_setting && line.ends_with('{');
            is_setting = false;
        } else if line.starts_with('}') {
            is_inside = false;
        }
        let field = line.strip_prefix("    ").filter(|_| is_inside)?;
        if let Some(name) = field.strip_prefix("#[serde(rename = \"") {
            renamed = name.split('"').next();
        }
        let field = field
            .strip_prefix("pub(crate) ")
            .or(field.strip_prefix("pub "))
            .unwrap_or(field);
        let name = field.split_once(": ")?.0;
        let is_name = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        is_name.then(|| renamed.take().unwrap_or(name))
    })
}

fn is_listed(table: &str, field: &str) -> bool {
    let cells = table
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let words = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    words.into_iter().any(|word| word.split('.').any(|part| part == field))
}

/// Every subcommand and every metric is documented, and every documented metric exists, as does every counter that is created at the start.
pub(super) fn operations(tree: &Tree<'_>) -> Result<Findings> {
    let document = tree.workspace.read(DEPLOYMENT)?;
    let mut findings = Findings::new();
    let cli = tree.workspace.read(CLI)?;
    let variants = cli.split("enum Command {\n").nth(1).unwrap_or_default();
    let variants = variants.split("\n}").next().unwrap_or_default().lines();
    let subcommands: Vec<String> = variants
        .filter_map(|line| line.strip_prefix("    ")?.split([',', '(']).next())
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_alphabetic()))
        .map(kebab)
        .collect();
    if subcommands.is_empty() {
        findings.push(format!("{CLI}: no subcommand was found, so none is checked"));
    }
    let missing = subcommands.iter().filter(|name| !has_word(&document, name));
    findings.extend(missing.map(|name| format!("{DEPLOYMENT}: lacks the command `{name}`")));
    let mut metrics = BTreeSet::new();
    for below in ["crates", "apps"] {
        for (_, text) in tree.texts(below, &["rs"])? {
            for call in ["metrics::counter!(", "metrics::gauge!(", "metrics::histogram!("] {
                let names = text
                    .split(call)
                    .skip(1)
                    .filter_map(|rest| rest.trim_start().strip_prefix('"')?.split('"').next());
                metrics.extend(names.map(str::to_owned));
            }
        }
    }
    let missing = metrics.iter().filter(|name| !document.contains(&format!("`{name}`")));
    findings.extend(missing.map(|name| format!("{DEPLOYMENT}: lacks the metric `{name}`")));
    let listed = document.split("| metric | meaning |").nth(1).unwrap_or_default();
    let listed = listed
        .lines()
        .skip(2)
        .map_while(|line| line.strip_prefix("| `")?.split('`').next());
    let gone = listed.filter(|name| !metrics.contains(*name));
    findings.extend(gone.map(|name| format!("{DEPLOYMENT}: the metric `{name}` does not exist")));
    let admin = tree.workspace.read(ADMIN)?;
    let alerted = alerted(&admin);
    if alerted.is_empty() {
        findings.push(format!(
            "{ADMIN}: no counter was found in `ALERTED`, so none is checked"
        ));
    }
    let gone = alerted.into_iter().filter(|name| !metrics.contains(*name));
    findings.extend(gone.map(|name| format!("{ADMIN}: nothing counts the metric `{name}` of `ALERTED`")));
    Ok(findings)
}

/// Returns the names of the counters that the host creates at the start.
fn alerted(admin: &str) -> Vec<&str> {
    let list = admin.split("const ALERTED: ").nth(1).unwrap_or_default();
    let list = list.split("];").next().unwrap_or_default();
    let pairs = list.split('(').skip(1);
    pairs
        .filter_map(|pair| pair.trim_start().strip_prefix('"')?.split('"').next())
        .collect()
}

fn has_word(document: &str, command: &str) -> bool {
    ["`", " "]
        .iter()
        .any(|end| document.contains(&format!("`{command}{end}")))
}

fn kebab(name: &str) -> String {
    let mut kebab = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !kebab.is_empty() {
            kebab.push('-');
        }
        kebab.push(c.to_ascii_lowercase());
    }
    kebab
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_may_be_shortened_beside_another_of_the_same_beginning() {
        let readme = "| `a.b.create`, `.update` | x |\n| `a.c.create` | y |\n\n`a.d.create`;\n`.delete`";

        assert!(names(readme, "a.b.create") && names(readme, "a.b.update") && names(readme, "a.d.delete"));
        assert!(!names(readme, "a.c.update") && !names(readme, "a.b.delete"));
    }

    #[test]
    fn the_alerted_counters_are_the_first_texts_of_the_pairs() {
        let admin = "const ALERTED: [(&str, &str); 2] = [\n    (\n        \"a_total\",\n        \"bytes (or more)\",\n    ),\n    (\"b_total\", \"b\"),\n];\n(\"c\", 1)";

        assert_eq!(alerted(admin), ["a_total", "b_total"]);
    }

    #[test]
    fn the_fields_of_deserialized_structs_are_settings() {
        let text = "#[derive(Debug, Deserialize)]\npub struct Jobs {\n    /// Workers.\n    pub workers: u16,\n    #[serde(rename = \"per_tenant\")]\n    most: u16,\n}\n\
                    #[derive(Debug)]\nstruct Other {\n    hidden: u16,\n}\n";

        assert_eq!(fields(text).collect::<Vec<_>>(), ["workers", "per_tenant"]);
        assert!(is_listed("| `jobs.workers`, `.per_tenant` | `4` |", "per_tenant"));
        assert!(!is_listed("| `jobs.workers` | `per_tenant` |", "per_tenant"));
    }

    #[test]
    fn subcommands_are_written_with_hyphens() {
        assert_eq!(kebab("ApiKey"), "api-key");
        assert!(has_word("`api-key create`", "api-key") && !has_word("`api-keys`", "api-key"));
    }
}
