//! The folders where PostgreSQL may be installed.

use std::{
    cmp::Reverse,
    fs,
    path::{Path, PathBuf},
};

use super::{Environment, PROGRAMS, first_line};

/// Folders below the root; `*` matches a version, and the newest version is first.
const DISTRIBUTIONS: &[&str] = &[
    "usr/lib/postgresql/*/bin",                          // Debian, Ubuntu
    "usr/pgsql-*/bin",                                   // Fedora and RHEL, from postgresql.org
    "usr/bin",                                           // Fedora, Arch
    "usr/libexec/postgresql*",                           // Alpine
    "usr/lib/postgresql*/bin",                           // openSUSE
    "opt/homebrew/opt/postgresql@*/bin",                 // Homebrew on Apple processors
    "usr/local/opt/postgresql@*/bin",                    // Homebrew on Intel processors
    "Applications/Postgres.app/Contents/Versions/*/bin", // Postgres.app
    "usr/local/pgsql/bin",                               // built from source
];

/// Returns all existing folders, in order and without repetitions.
pub(super) fn all(environment: &Environment) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = Vec::new();
    let found = in_path(environment)
        .into_iter()
        .chain(by_pg_config(environment))
        .chain(of_distributions(environment));
    for folder in found {
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    folders
}

/// Returns the folders of the programs in `PATH`. Follows links, because the folder of the target contains the other programs, too.
fn in_path(environment: &Environment) -> Vec<PathBuf> {
    let programs = environment
        .path
        .iter()
        .flat_map(|dir| PROGRAMS.iter().map(move |program| dir.join(program)));
    let real = programs.filter_map(|program| program.canonicalize().ok());
    real.filter_map(|program| program.parent().map(Path::to_owned))
        .collect()
}

fn by_pg_config(environment: &Environment) -> Option<PathBuf> {
    let program = environment
        .path
        .iter()
        .map(|dir| dir.join("pg_config"))
        .find(|program| program.is_file())?;
    let folder = PathBuf::from(first_line(&program, "--bindir")?);
    // Development packages contain pg_config without a server.
    folder.join("postgres").is_file().then(|| folder.canonicalize().ok())?
}

fn of_distributions(environment: &Environment) -> Vec<PathBuf> {
    let folders = DISTRIBUTIONS
        .iter()
        .flat_map(|pattern| expand(&environment.root, pattern));
    folders
        .filter(|folder| folder.join("postgres").is_file())
        .filter_map(|folder| folder.canonicalize().ok())
        .collect()
}

fn expand(root: &Path, pattern: &str) -> Vec<PathBuf> {
    let Some((before, after)) = pattern.split_once('*') else {
        return vec![root.join(pattern)];
    };
    let (parent, prefix) = before.rsplit_once('/').unwrap_or(("", before));
    let entries = fs::read_dir(root.join(parent)).into_iter().flatten().flatten();
    let mut versions: Vec<(u32, PathBuf)> = entries
        .filter_map(|entry| {
            let name = entry.file_name();
            let version = name.to_str()?.strip_prefix(prefix)?.parse().ok()?;
            Some((version, entry.path().join(after.trim_start_matches('/'))))
        })
        .collect();
    versions.sort_by_key(|(version, _)| Reverse(*version));
    versions.into_iter().map(|(_, folder)| folder).collect()
}
