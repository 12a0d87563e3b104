//! The workspace as reported by Cargo and git.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::Result;
use crate::process::{cargo, output};

/// The workspace.
#[derive(Debug)]
pub(crate) struct Workspace {
    root: PathBuf,
    target: PathBuf,
    packages: Vec<Package>,
}

/// A package of the workspace.
#[derive(Debug)]
pub(crate) struct Package {
    /// Name of the package.
    pub(crate) name: String,
    /// Folder, relative to the root.
    pub(crate) dir: PathBuf,
    /// Dependencies.
    pub(crate) dependencies: Vec<Dependency>,
    /// Cargo features, each with the features that it enables.
    pub(crate) features: Vec<(String, Vec<String>)>,
    /// Main source file, relative to the root: that of the library, or else of the program.
    pub(crate) main_source: PathBuf,
}

/// A dependency of a manifest.
#[derive(Debug)]
pub(crate) struct Dependency {
    /// Name of the package.
    pub(crate) name: String,
    /// Whether only tests, examples and benches use it.
    pub(crate) is_dev: bool,
}

impl Workspace {
    /// Finds the workspace of this package.
    pub(crate) fn find() -> Result<Self> {
        let own = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
        let root = Path::new(&own).join("..").canonicalize()?;
        let mut workspace = Self {
            root,
            target: PathBuf::new(),
            packages: Vec::new(),
        };
        let arguments = ["metadata", "--format-version=1", "--no-deps"];
        let metadata: Value = serde_json::from_str(&output(cargo(&workspace).args(arguments))?)?;
        workspace.target = text(&metadata, "target_directory").into();
        workspace.packages = items(&metadata, "packages")
            .map(|one| package(one, &workspace.root))
            .collect();
        workspace.packages.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(workspace)
    }

    /// Returns the root folder.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns Cargo's target folder.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// Returns the packages by name.
    pub(crate) fn packages(&self) -> &[Package] {
        &self.packages
    }

    /// Returns the package of this name.
    pub(crate) fn package(&self, name: &str) -> Option<&Package> {
        self.packages.iter().find(|package| package.name == name)
    }

    /// Returns the text of a file, given relative to the root.
    pub(crate) fn read(&self, file: impl AsRef<Path>) -> Result<String> {
        let file = file.as_ref();
        fs::read_to_string(self.root.join(file)).map_err(|error| format!("{}: {error}", file.display()).into())
    }

    /// Returns every file that is or may be committed, relative to the root, sorted. Symbolic links count as files.
    pub(crate) fn files(&self) -> Result<Vec<PathBuf>> {
        let mut git = Command::new("git");
        git.current_dir(&self.root)
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
        let mut files: Vec<PathBuf> = match output(&mut git) {
            Ok(listed) => listed
                .split('\0')
                .filter(|name| !name.is_empty())
                .map(PathBuf::from)
                .collect(),
            // An unpacked archive has no repository.
            Err(_) => walk(&self.root, Path::new(""))?,
        };
        files.retain(|file| self.root.join(file).symlink_metadata().is_ok());
        files.sort();
        files.dedup();
        Ok(files)
    }
}

fn package(value: &Value, root: &Path) -> Package {
    let relative = |path: &str| {
        Path::new(path)
            .strip_prefix(root)
            .unwrap_or(Path::new(path))
            .to_path_buf()
    };
    let manifest = relative(text(value, "manifest_path"));
    let kind = |target: &Value, kind: &str| items(target, "kind").any(|one| one == kind);
    let main = items(value, "targets")
        .find(|target| kind(target, "lib"))
        .or_else(|| items(value, "targets").find(|target| kind(target, "bin")));
    let features = value.get("features").and_then(Value::as_object).into_iter().flatten();
    Package {
        name: text(value, "name").to_owned(),
        dir: manifest.parent().unwrap_or(Path::new("")).to_path_buf(),
        dependencies: items(value, "dependencies")
            .map(|one| Dependency {
                name: text(one, "name").to_owned(),
                is_dev: one.get("kind").and_then(Value::as_str) == Some("dev"),
            })
            .collect(),
        features: features
            .map(|(name, on)| {
                let on = on
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(Value::as_str)
                    .map(str::to_owned);
                (name.clone(), on.collect())
            })
            .collect(),
        main_source: main
            .map(|target| relative(text(target, "src_path")))
            .unwrap_or_default(),
    }
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn items<'a>(value: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    value.get(field).and_then(Value::as_array).into_iter().flatten()
}

fn walk(root: &Path, dir: &Path) -> Result<Vec<PathBuf>> {
    const IGNORED: [&str; 3] = ["target", "var", ".git"];
    let mut files = Vec::new();
    for entry in fs::read_dir(root.join(dir))? {
        let entry = entry?;
        let path = dir.join(entry.file_name());
        if IGNORED.iter().any(|name| Path::new(name) == path) {
            continue;
        }
        if entry.file_type()?.is_dir() {
            files.extend(walk(root, &path)?);
        } else {
            files.push(path);
        }
    }
    Ok(files)
}
