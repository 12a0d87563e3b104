//! Searches for the server's programs.

mod install;
mod places;
mod version;

use std::{
    ffi::OsStr,
    io::IsTerminal as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{
    Error,
    fetch::{self, Fetched},
    owner::{Owner, current_uid},
};

pub use version::Version;

/// The oldest major version that the migrations and queries of Backoffice support.
const OLDEST: u32 = 15;

/// The programs that are needed to create, start and stop a cluster. Distributions often put only some programs into `PATH`.
const PROGRAMS: [&str; 3] = ["initdb", "postgres", "pg_ctl"];

/// A folder with the programs of a PostgreSQL server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binaries {
    /// The folder that contains `initdb`, `postgres` and `pg_ctl`.
    pub dir: PathBuf,
    /// The version that `postgres` reports.
    pub version: Version,
}

/// The places to search. Tests create their own; all other callers use [`Environment::current`].
#[derive(Debug, Clone)]
pub struct Environment {
    /// `BACKOFFICE_PG_BIN`: the only folder to use.
    pub pg_bin: Option<PathBuf>,
    /// The folders of `PATH`.
    pub path: Vec<PathBuf>,
    /// The root of the distributions' folders: `/`.
    pub root: PathBuf,
    /// Whether a package of binaries may be downloaded when nothing is installed.
    pub download: bool,
}

impl Environment {
    /// Returns the environment of this process. `BACKOFFICE_PG_DOWNLOAD` is `allow` or `never`; without it packages are downloaded only when
    /// a user started the program, that is, when standard input is a terminal.
    pub fn current() -> Self {
        let path = std::env::var_os("PATH").unwrap_or_default();
        Self {
            pg_bin: std::env::var_os("BACKOFFICE_PG_BIN")
                .filter(|dir| !dir.is_empty())
                .map(PathBuf::from),
            path: std::env::split_paths(&path).filter(|dir| dir.is_absolute()).collect(),
            root: PathBuf::from("/"),
            download: may_download(
                std::env::var_os("BACKOFFICE_PG_DOWNLOAD").as_deref(),
                std::io::stdin().is_terminal(),
            ),
        }
    }
}

fn may_download(setting: Option<&OsStr>, is_interactive: bool) -> bool {
    match setting {
        Some(setting) if !setting.is_empty() => setting == "allow",
        _ => is_interactive,
    }
}

/// Returns the binaries that a new cluster would use, without downloading any.
///
/// # Errors
///
/// [`Error::NoBinaries`] when none are installed, [`Error::ConfiguredBinaries`] when `BACKOFFICE_PG_BIN` is invalid.
pub fn find(environment: &Environment) -> Result<Binaries, Error> {
    let owner = Owner::myself(current_uid()?);
    let environment = &Environment {
        download: false,
        ..environment.clone()
    };
    Search {
        environment,
        owner: &owner,
        packages: None,
        requested: None,
    }
    .run(Path::new(""))
}

/// A search through all places.
pub(crate) struct Search<'a> {
    pub(crate) environment: &'a Environment,
    /// The user who must be able to run the programs.
    pub(crate) owner: &'a Owner,
    /// The folder of downloaded packages.
    pub(crate) packages: Option<PathBuf>,
    /// The major version that created the existing data.
    pub(crate) requested: Option<u32>,
}

impl Search<'_> {
    /// Returns the first usable folder, in the order that the README defines. `data` is for the text of the error.
    pub(crate) fn run(&self, data: &Path) -> Result<Binaries, Error> {
        if let Some(dir) = &self.environment.pg_bin {
            return self.configured(dir, data);
        }
        let mut looked = Vec::new();
        let fetched = self.packages.as_deref().map(fetch::present).unwrap_or_default();
        let found = self.first(places::all(self.environment).into_iter().chain(fetched), &mut looked);
        if let Some(binaries) = found {
            return Ok(binaries);
        }
        if self.environment.download
            && let Some(packages) = &self.packages
        {
            let Fetched { folders, failures } = fetch::fetch(packages, self.environment);
            looked.extend(failures);
            if let Some(binaries) = self.first(folders.into_iter(), &mut looked) {
                return Ok(binaries);
            }
        }
        Err(self.nothing(data, &looked))
    }

    fn configured(&self, dir: &Path, data: &Path) -> Result<Binaries, Error> {
        let unusable = |reason| Error::ConfiguredBinaries {
            dir: dir.to_owned(),
            reason,
        };
        let binaries = probe(dir, self.owner).map_err(unusable)?;
        match self.serves(&binaries) {
            true => Ok(binaries),
            false => Err(self.nothing(data, &[note(&binaries)])),
        }
    }

    fn first(&self, folders: impl Iterator<Item = PathBuf>, looked: &mut Vec<String>) -> Option<Binaries> {
        for folder in folders {
            match probe(&folder, self.owner) {
                Ok(binaries) if self.serves(&binaries) => return Some(binaries),
                Ok(binaries) => looked.push(note(&binaries)),
                Err(reason) => looked.push(format!("{}: {reason}", folder.display())),
            }
        }
        None
    }

    fn serves(&self, binaries: &Binaries) -> bool {
        self.requested.is_none_or(|major| major == binaries.version.major)
    }

    fn nothing(&self, data: &Path, looked: &[String]) -> Error {
        let looked = match looked {
            [] => "PATH, pg_config and the folders of distributions".to_owned(),
            some => some.join("; "),
        };
        match self.requested {
            Some(major) => Error::OtherVersion {
                dir: data.to_owned(),
                major,
                looked,
            },
            None => Error::NoBinaries {
                install: install::command(&self.environment.root),
                looked,
            },
        }
    }
}

fn note(binaries: &Binaries) -> String {
    format!("{}: version {}", binaries.dir.display(), binaries.version)
}

/// Runs `postgres --version` as the user who is to run the server.
fn probe(dir: &Path, owner: &Owner) -> Result<Binaries, String> {
    if let Some(missing) = PROGRAMS.iter().find(|program| !dir.join(program).is_file()) {
        return Err(format!("there is no {missing}"));
    }
    let output = owner.command(dir.join("postgres")).arg("--version").output();
    let output = output.map_err(|error| format!("postgres does not run: {error}"))?;
    if !output.status.success() {
        return Err(format!(
            "postgres does not run: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        ));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    match Version::parse(&text) {
        Some(version) if version.major >= OLDEST => Ok(Binaries {
            dir: dir.to_owned(),
            version,
        }),
        Some(version) => Err(format!("version {version} is older than {OLDEST}")),
        None => Err(format!("`{}` is not a version", text.trim())),
    }
}

/// Returns the first line that a program prints.
fn first_line(program: &Path, argument: &str) -> Option<String> {
    let output = Command::new(program)
        .arg(argument)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let line = String::from_utf8_lossy(&output.stdout)
        .lines()
        .next()?
        .trim()
        .to_owned();
    output.status.success().then_some(line)
}

#[cfg(test)]
mod tests;
