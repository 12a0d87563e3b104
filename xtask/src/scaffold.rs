//! `cargo xtask module new <name>`

mod plural;
mod template;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;
use crate::process::{Outcome, cargo, output, run as run_child, say};
use crate::workspace::Workspace;
pub(crate) use template::Names;
use template::Template;

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
    ("crates/{name}/tests/it/main.rs", include_str!("scaffold/it_main.rs.in")),
    (
        "crates/{name}/tests/it/{entities}.rs",
        include_str!("scaffold/it_entities.rs.in"),
    ),
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

/// Lines that a new module adds to a file.
struct Addition {
    file: &'static str,
    /// A text that the lines beside them contain; after `^`, a text with which these lines begin.
    among: &'static str,
    lines: &'static str,
}

const ADDITIONS: &[Addition] = &[
    Addition {
        file: "Cargo.toml",
        among: "^backoffice-",
        lines: "backoffice-{name} = { path = \"crates/{name}\", version = {version} }",
    },
    Addition {
        file: "Cargo.toml",
        among: "[profile.release.package.backoffice-",
        lines: "[profile.release.package.backoffice-{name}]\nopt-level = \"s\"",
    },
    Addition {
        file: "Cargo.toml",
        among: "[profile.dist.package.backoffice-",
        lines: "[profile.dist.package.backoffice-{name}]\nopt-level = \"z\"",
    },
    Addition {
        file: "apps/server/Cargo.toml",
        among: " = [\"dep:backoffice-",
        lines: "{name} = [\"dep:backoffice-{name}\"]",
    },
    Addition {
        file: "apps/server/Cargo.toml",
        among: "[dependencies.backoffice-",
        lines: "[dependencies.backoffice-{name}]\nworkspace = true\noptional = true\n\n",
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
    Addition {
        file: "docs/ARCHITECTURE.md",
        among: "| `crates/catalog` |",
        lines: "| `crates/{name}` | {many} |",
    },
];

/// The lowest migration number of a new module; lower ones belong to the first modules.
const FIRST_NUMBER: u32 = 400;

/// Writes the files of a module and adds it to the host, to the tests of all modules and to the documents.
pub(crate) fn run(workspace: &Workspace, names: Names<'_>) -> Result<Outcome> {
    let template = Template::new(names)?
        .with("{number}", format!("{:04}", free_number(&workspace.files()?)))
        .with("{date}", today()?)
        .with("{version}", version(workspace)?);
    let created = template.fill("backoffice-{name}");
    if let Some(package) = workspace.package(&created) {
        let dir = package.dir.display();
        return Err(format!("{dir} holds the package `{created}` already; choose a different name").into());
    }
    let existing = FILES
        .iter()
        .map(|(file, _)| *file)
        .chain(["tests/it/{snake}"])
        .map(|file| template.fill(file))
        .find(|file| workspace.root().join(file).exists());
    if let Some(file) = existing {
        return Err(format!("{file} already exists; choose a different name").into());
    }
    if let Some(name) = template.taken(FILES.iter().map(|(_, text)| *text)) {
        return Err(format!("`{name}` has another meaning in the new files; choose a different entity").into());
    }
    for (file, text) in FILES {
        let file = workspace.root().join(template.fill(file));
        fs::create_dir_all(file.parent().unwrap_or(workspace.root()))?;
        fs::write(&file, template.fill(text))?;
    }
    link(
        &template.fill("../../migrations/{name}"),
        &workspace.root().join(template.fill("crates/{name}/migrations")),
    )?;
    compose(workspace, &template, names.module)?;
    let formatted = run_child(cargo(workspace).args(["fmt", "--package", &created, "backoffice-tests"]))?;
    say(&template.fill(
        "created crates/{name}, migrations/{name} (number {number}), tests/it/{snake}.rs, tests/it/endpoints/{snake}.rs and \
         tests/it/scenarios/{snake}.rs",
    ));
    say("next: `cargo xtask openapi`, then `cargo xtask ci`; docs/MODULES.md describes how to go on");
    Ok(formatted)
}

/// Returns the version of the packages, in quotes.
fn version(workspace: &Workspace) -> Result<String> {
    let manifest = workspace.read("Cargo.toml")?;
    let version = manifest.lines().find_map(|line| line.strip_prefix("version = "));
    Ok(version.ok_or("Cargo.toml has no version")?.to_owned())
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

/// Adds the module to the files that list all modules.
fn compose(workspace: &Workspace, template: &Template, module: &str) -> Result<()> {
    for addition in ADDITIONS {
        let text = workspace.read(addition.file)?;
        let text = insert_sorted(&text, addition.among, &template.fill(addition.lines)).ok_or_else(|| {
            format!(
                "{}: has no line with {}; add {module} by hand",
                addition.file, addition.among
            )
        })?;
        fs::write(workspace.root().join(addition.file), text)?;
    }
    for (file, add) in [
        ("apps/server/Cargo.toml", add_default as fn(&str, &str) -> String),
        ("README.md", add_to_layout),
    ] {
        let text = add(&workspace.read(file)?, module);
        fs::write(workspace.root().join(file), text)?;
    }
    Ok(())
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

/// Adds a module to the table in the README of the workspace.
fn add_to_layout(readme: &str, name: &str) -> String {
    const MODULES: &str = " | one module each |";
    readme.replacen(MODULES, &format!(", `{name}`{MODULES}"), 1)
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
    fn a_module_is_added_to_its_section_wherever_it_sorts() {
        let manifest = include_str!("../../Cargo.toml");

        for name in ["aa", "zz"] {
            let added = ADDITIONS.iter().filter(|addition| addition.file == "Cargo.toml");
            let text = added.fold(manifest.to_owned(), |text, addition| {
                let lines = addition.lines.replace("{name}", name);
                insert_sorted(&text, addition.among, &lines).expect("a place")
            });

            let section = |title: &str| text.split("\n[").find(|section| section.starts_with(title));
            let dependencies = section("workspace.dependencies]").expect("dependencies");
            assert!(dependencies.contains(&format!("\nbackoffice-{name} = ")), "{name}");
            for profile in ["release", "dist"] {
                let profile = section(&format!("profile.{profile}.package.backoffice-{name}]"));
                assert_eq!(profile.map(|text| text.matches(" = ").count()), Some(1), "{name}");
            }
        }
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
    fn a_module_is_added_to_the_layout() {
        assert_eq!(
            add_to_layout("| `crates/a`, `b` | one module each |\n", "c"),
            "| `crates/a`, `b`, `c` | one module each |\n"
        );
    }

    #[test]
    fn entities_have_names_of_their_own_in_the_new_files() {
        let taken = |entity: &str| {
            let names = Names {
                module: "work-orders",
                entity,
                plural: None,
            };
            let template = Template::new(names).expect("valid names");
            template.taken(FILES.iter().map(|(_, text)| *text))
        };

        for entity in ["item", "order", "time-entry", "price-list", "call", "type"] {
            assert_eq!(taken(entity), None, "{entity}");
        }
        for entity in ["rule", "feature", "record", "page", "query"] {
            assert!(taken(entity).is_some(), "{entity}");
        }
    }

    #[test]
    fn every_placeholder_of_the_templates_is_replaced() {
        /// Names in braces that belong to the generated code: arguments of formats and parameters of paths.
        const ARGUMENTS: [&str; 5] = ["id", "body", "branch", "ORDERS", "ORGANIZATIONS"];
        let names = Names {
            module: "work-orders",
            entity: "order",
            plural: None,
        };
        let template = ["{number}", "{date}", "{version}"]
            .into_iter()
            .fold(Template::new(names).expect("valid names"), |template, placeholder| {
                template.with(placeholder, "0".to_owned())
            });

        for (file, text) in FILES {
            let text = template.fill(&format!("{file}\n{text}"));
            let braced = text.split('{').filter_map(|rest| Some(rest.split_once('}')?.0));
            let names = braced.filter(|inner| inner.starts_with(char::is_alphabetic) && !inner.contains(['\n', ',']));
            let unknown: Vec<&str> = names.filter(|name| !ARGUMENTS.contains(name)).collect();

            assert!(unknown.is_empty(), "{file}: {unknown:?}");
        }
    }
}
