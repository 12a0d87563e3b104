//! `cargo xtask module new <name>`

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;
use crate::process::{Outcome, cargo, output, run as run_child, say};
use crate::workspace::Workspace;

/// Files of a new module, relative to the root. Placeholders `{…}` are replaced.
const FILES: &[(&str, &str)] = &[
    ("crates/{name}/Cargo.toml", include_str!("scaffold/Cargo.toml.in")),
    ("crates/{name}/README.md", include_str!("scaffold/README.md.in")),
    ("crates/{name}/build.rs", include_str!("scaffold/build.rs.in")),
    ("crates/{name}/src/lib.rs", include_str!("scaffold/lib.rs.in")),
    ("crates/{name}/src/acl.rs", include_str!("scaffold/acl.rs.in")),
    ("crates/{name}/src/commands.rs", include_str!("scaffold/commands.rs.in")),
    ("crates/{name}/src/http.rs", include_str!("scaffold/http.rs.in")),
    (
        "crates/{name}/src/interceptors.rs",
        include_str!("scaffold/interceptors.rs.in"),
    ),
    ("crates/{name}/src/model.rs", include_str!("scaffold/model.rs.in")),
    ("crates/{name}/src/query.rs", include_str!("scaffold/query.rs.in")),
    ("crates/{name}/src/schema.rs", include_str!("scaffold/schema.rs.in")),
    ("crates/{name}/tests/it/main.rs", include_str!("scaffold/it.rs.in")),
    ("tests/it/{snake}.rs", include_str!("scaffold/composed_seed.rs.in")),
    (
        "tests/it/endpoints/{snake}.rs",
        include_str!("scaffold/composed_endpoints.rs.in"),
    ),
    (
        "tests/it/scenarios/{snake}.rs",
        include_str!("scaffold/composed_scenarios.rs.in"),
    ),
    (
        "migrations/{name}/{date}-100000-{number}_create_{snake}/up.sql",
        include_str!("scaffold/up.sql.in"),
    ),
    (
        "migrations/{name}/{date}-100000-{number}_create_{snake}/down.sql",
        include_str!("scaffold/down.sql.in"),
    ),
];
/// Lines that a new module adds to a file, and a word that occurs in the lines beside them, or with which they begin (`^word`).
struct Addition {
    file: &'static str,
    among: &'static str,
    lines: &'static str,
}

const ADDITIONS: &[Addition] = &[
    Addition {
        file: "Cargo.toml",
        among: "backoffice-",
        lines: "backoffice-{name} = { path = \"crates/{name}\", version = {version} }",
    },
    Addition {
        file: "apps/server/Cargo.toml",
        among: " = [\"dep:backoffice-",
        lines: "{name} = [\"dep:backoffice-{name}\"]",
    },
    Addition {
        file: "apps/server/Cargo.toml",
        among: "[dependencies.backoffice-",
        lines: "[dependencies.backoffice-{name}]\nworkspace = true\noptional = true",
    },
    Addition {
        file: "apps/server/src/modules.rs",
        among: "#[cfg(feature = ",
        lines: "        #[cfg(feature = \"{name}\")]\n        &backoffice_{snake}::MODULE,",
    },
    Addition {
        file: "tests/Cargo.toml",
        among: "^backoffice-",
        lines: "backoffice-{name}.workspace = true",
    },
    Addition {
        file: "tests/it/main.rs",
        among: "mod ",
        lines: "mod {snake};",
    },
    Addition {
        file: "tests/it/fixture.rs",
        among: "    &backoffice_",
        lines: "    &backoffice_{snake}::MODULE,",
    },
    Addition {
        file: "tests/it/endpoints/mod.rs",
        among: "pub(crate) mod ",
        lines: "pub(crate) mod {snake};",
    },
    Addition {
        file: "tests/it/scenarios.rs",
        among: "pub(crate) mod ",
        lines: "pub(crate) mod {snake};",
    },
    Addition {
        file: "tests/it/composed.rs",
        among: "    // Modules of `xtask module new`.",
        lines: "    Composed {\n        seed: |fixture, tenant| Box::pin(crate::{snake}::seed(fixture, tenant)),\n        endpoints: endpoints::{snake}::table,\n        scenarios: scenarios::{snake}::scenarios,\n    },",
    },
];
/// The lowest migration number without a reserved module.
const FIRST_NUMBER: u32 = 400;

/// Writes the files of a module and adds it to the host.
pub(crate) fn run(workspace: &Workspace, name: &str) -> Result<Outcome> {
    if !is_name(name) {
        return Err(format!("`{name}` is not a valid name of a module; use lower-case words joined by hyphens").into());
    }
    if workspace.root().join("crates").join(name).exists() {
        return Err(format!("crates/{name} already exists").into());
    }
    let template = Template::new(workspace, name)?;
    for (file, text) in FILES {
        let file = workspace.root().join(template.fill(file));
        fs::create_dir_all(file.parent().unwrap_or(workspace.root()))?;
        fs::write(&file, template.fill(text))?;
    }
    link(
        &format!("../../migrations/{name}"),
        &workspace.root().join(template.fill("crates/{name}/migrations")),
    )?;
    compose(workspace, &template)?;
    let formatted = run_child(cargo(workspace).args(["fmt", "--package", &template.fill("backoffice-{name}")]))?;
    say(&format!(
        "created crates/{name}, migrations/{name} (number {}) and tests/it/{{.,endpoints,scenarios}}/{name}.rs",
        template.number
    ));
    say(
        "next: read docs/MODULES.md, describe the table in the migration, then `cargo xtask openapi` and `cargo xtask ci`",
    );
    Ok(formatted)
}

struct Template {
    name: String,
    number: String,
    date: String,
    version: String,
}

impl Template {
    fn new(workspace: &Workspace, name: &str) -> Result<Self> {
        let manifest = workspace.read("Cargo.toml")?;
        let version = manifest
            .lines()
            .find_map(|line| line.strip_prefix("version = "))
            .ok_or("Cargo.toml has no version")?;
        Ok(Self {
            name: name.to_owned(),
            number: format!("{:04}", free_number(&workspace.files()?)),
            date: today()?,
            version: version.to_owned(),
        })
    }

    fn fill(&self, text: &str) -> String {
        let camel: String = self.name.split('-').map(capitalized).collect();
        let title = self.name.replace('-', " ");
        let title = capitalized(&title);
        text.replace("{name}", &self.name)
            .replace("{snake}", &self.name.replace('-', "_"))
            .replace("{camel}", &camel)
            .replace("{title}", &title)
            .replace("{number}", &self.number)
            .replace("{date}", &self.date)
            .replace("{version}", &self.version)
    }
}

fn capitalized(word: &str) -> String {
    word.get(..1).map(str::to_uppercase).unwrap_or_default() + word.get(1..).unwrap_or_default()
}

fn is_name(name: &str) -> bool {
    name.split('-').all(|word| {
        word.starts_with(|c: char| c.is_ascii_lowercase())
            && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    })
}

/// Returns the hundred above the highest number of a migration.
fn free_number(files: &[PathBuf]) -> u32 {
    let number = |file: &Path| -> Option<u32> {
        let version = file.parent()?.file_name()?.to_str()?.split_once('_')?.0;
        version.rsplit('-').next()?.parse().ok()
    };
    let migrations = files.iter().filter(|file| file.starts_with("migrations"));
    let highest = migrations.filter_map(|file| number(file)).max().unwrap_or(0);
    FIRST_NUMBER.max((highest / 100 + 1) * 100)
}

/// Returns today's date, for example `2026-11-20`.
fn today() -> Result<String> {
    let mut date = Command::new("date");
    Ok(output(date.args(["-u", "+%Y-%m-%d"]))?.trim().to_owned())
}

fn link(target: &str, link: &Path) -> Result<()> {
    Ok(std::os::unix::fs::symlink(target, link)?)
}

/// Adds the module to the workspace's dependencies, to the host's manifest and to its list of modules.
fn compose(workspace: &Workspace, template: &Template) -> Result<()> {
    for addition in ADDITIONS {
        let text = workspace.read(addition.file)?;
        let text = insert_sorted(&text, addition.among, &template.fill(addition.lines)).ok_or_else(|| {
            format!(
                "{}: has no line with {}; add {} by hand",
                addition.file, addition.among, template.name
            )
        })?;
        fs::write(workspace.root().join(addition.file), text)?;
    }
    let manifest = "apps/server/Cargo.toml";
    let text = add_default(&workspace.read(manifest)?, &template.name);
    Ok(fs::write(workspace.root().join(manifest), text)?)
}

/// Inserts lines in order among the sorted lines that contain this word.
fn insert_sorted(text: &str, among: &str, new: &str) -> Option<String> {
    let mut lines: Vec<&str> = text.lines().collect();
    let first = new.lines().next()?;
    let is_among = |line: &&str| match among.strip_prefix('^') {
        Some(start) => line.starts_with(start),
        None => line.contains(among),
    };
    let later = lines.iter().position(|line| is_among(line) && *line > first);
    let last = || {
        let at = lines.iter().rposition(is_among)?;
        // A comment marks the end of a list.
        let is_mark = lines[at].trim_start().starts_with("//");
        Some(if is_mark { at } else { at + new.lines().count() })
    };
    let at = later.or_else(last)?.min(lines.len());
    lines.splice(at..at, new.lines());
    Some(lines.join("\n") + "\n")
}

/// Adds a Cargo feature to `default`.
fn add_default(manifest: &str, name: &str) -> String {
    let add = |line: &str| -> Option<String> {
        let listed = line.strip_prefix("default = [")?.strip_suffix(']')?;
        let own = format!("\"{name}\"");
        let mut names: Vec<&str> = listed
            .split(", ")
            .filter(|one| !one.is_empty())
            .chain([own.as_str()])
            .collect();
        names.sort_unstable();
        Some(format!("default = [{}]", names.join(", ")))
    };
    let lines: Vec<String> = manifest
        .lines()
        .map(|line| add(line).unwrap_or_else(|| line.to_owned()))
        .collect();
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_module_takes_the_next_hundred() {
        let files = [
            "migrations/a/2026-11-20-100000-0800_x/up.sql".into(),
            "migrations/a/2026-11-20-100000-0900_y/up.sql".into(),
        ];

        assert_eq!(free_number(&files), 1000);
        assert_eq!(free_number(&[]), FIRST_NUMBER);
    }

    #[test]
    fn lines_are_put_where_they_belong() {
        let text = "x\nb = 1\nd = 1\ny\n";

        assert_eq!(
            insert_sorted(text, " = ", "c = 1").as_deref(),
            Some("x\nb = 1\nc = 1\nd = 1\ny\n")
        );
        assert_eq!(
            insert_sorted(text, " = ", "e = 1").as_deref(),
            Some("x\nb = 1\nd = 1\ne = 1\ny\n")
        );
        assert_eq!(
            insert_sorted("a\n    // end\nz\n", "// end", "    b\n    c").as_deref(),
            Some("a\n    b\n    c\n    // end\nz\n")
        );
        assert_eq!(
            insert_sorted("name = \"a-x\"\na-b\na-d\n", "^a-", "a-c").as_deref(),
            Some("name = \"a-x\"\na-b\na-c\na-d\n")
        );
        assert_eq!(insert_sorted(text, "absent", "e = 1"), None);
    }

    #[test]
    fn a_feature_is_added_to_the_default() {
        assert_eq!(
            add_default("default = [\"a\", \"c\"]\n", "b"),
            "default = [\"a\", \"b\", \"c\"]\n"
        );
        assert_eq!(add_default("default = []\n", "b"), "default = [\"b\"]\n");
    }

    #[test]
    fn names_are_words_joined_by_hyphens() {
        assert!(is_name("price-lists"));
        for name in ["", "Price", "price_lists", "-a", "a-", "1a"] {
            assert!(!is_name(name), "{name}");
        }
    }
}
