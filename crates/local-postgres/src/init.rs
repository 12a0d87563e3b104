//! Creates a cluster, and checks an existing one.

use std::{
    fs::{self, DirBuilder, File},
    io,
    os::unix::fs::DirBuilderExt,
    path::Path,
};

use crate::{Binaries, Error, Settings, error::failed, home::Home};

/// Name of the file that marks a cluster without fsync and contains the boot id of the machine.
const VOLATILE: &str = "volatile";

/// Returns the major version of the data, `None` if there is no data.
pub(crate) fn major(home: &Home) -> Result<Option<u32>, Error> {
    let (data, file) = (home.data(), home.data().join("PG_VERSION"));
    match fs::read_to_string(&file) {
        Ok(text) => text
            .trim()
            .parse()
            .map(Some)
            .map_err(|_| Error::NotACluster { dir: data }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let is_empty = fs::read_dir(&data).map_or(true, |mut entries| entries.next().is_none());
            if is_empty {
                Ok(None)
            } else {
                Err(Error::NotACluster { dir: data })
            }
        }
        Err(error) => Err(failed("read", file)(error)),
    }
}

/// Creates the cluster if it is missing. It gets its final name only when complete, so a kill leaves no incomplete cluster.
pub(crate) fn ensure(home: &Home, binaries: &Binaries, durable: bool) -> Result<(), Error> {
    if major(home)?.is_some() {
        return Ok(());
    }
    tracing::info!(dir = %home.dir().display(), version = %binaries.version, "creating PostgreSQL cluster");
    let (data, draft) = (home.data(), home.dir().join("data.new"));
    let mut output = String::new();
    for locale in locales(binaries) {
        output = match initdb(home, binaries, &draft, locale, durable)? {
            None => {
                fs::rename(&draft, &data).map_err(failed("rename", &draft))?;
                return if durable { sync(home.dir()) } else { Ok(()) };
            }
            Some(complaint) => complaint,
        };
    }
    remove(&draft)?;
    Err(Error::Init { dir: data, output })
}

/// Prepares a start: deletes test data that a crash of the machine may have corrupted, and flushes the data of a cluster that becomes durable.
pub(crate) fn mend(home: &Home, binaries: &Binaries, settings: &Settings) -> Result<(), Error> {
    let marker = home.dir().join(VOLATILE);
    let (now, then) = (boot_id(), fs::read_to_string(&marker).ok());
    let was_running = home.data().join("postmaster.pid").exists();
    if was_running && !settings.durable && then.as_ref().is_some_and(|then| *then != now) {
        tracing::warn!(dir = %home.dir().display(), "machine crashed while a cluster ran without fsync; creating the cluster anew");
        remove(&home.data())?;
    }
    match (settings.durable, then) {
        (false, Some(then)) if then == now => Ok(()),
        (false, _) => home.write(VOLATILE, &now),
        (true, None) => Ok(()),
        (true, Some(_)) => {
            // Data in the memory of the system must be on the disk before a caller relies on it.
            let data = home.data();
            if let Some(output) = run(home, binaries, &["--sync-only".as_ref(), "--pgdata".as_ref(), &data])? {
                return Err(Error::Init { dir: data, output });
            }
            fs::remove_file(&marker).map_err(failed("remove", &marker))
        }
    }
}

/// Returns locales that sort by code point and convert case by Unicode if possible. From 17 on PostgreSQL has rules of its own.
fn locales(binaries: &Binaries) -> &'static [&'static [&'static str]] {
    const BUILTIN: [&str; 2] = ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"];
    if binaries.version.major >= 17 {
        &[
            &["--locale=C.UTF-8", BUILTIN[0], BUILTIN[1]],
            &["--locale=C", BUILTIN[0], BUILTIN[1]],
        ]
    } else {
        &[&["--locale=C.UTF-8"], &["--locale=C"]]
    }
}

/// Runs initdb and returns its output if it fails.
fn initdb(
    home: &Home,
    binaries: &Binaries,
    draft: &Path,
    locale: &[&str],
    durable: bool,
) -> Result<Option<String>, Error> {
    remove(draft)?;
    DirBuilder::new()
        .mode(0o700)
        .create(draft)
        .map_err(failed("create", draft))?;
    home.owner().take(draft)?;
    let mut arguments: Vec<&Path> = vec!["--pgdata".as_ref(), draft];
    arguments.extend(
        [
            "--username=postgres",
            "--encoding=UTF8",
            "--auth=trust",
            "--no-instructions",
        ]
        .map(AsRef::<Path>::as_ref),
    );
    arguments.extend(locale.iter().map(AsRef::<Path>::as_ref));
    if !durable {
        arguments.push("--no-sync".as_ref());
    }
    run(home, binaries, &arguments)
}

fn run(home: &Home, binaries: &Binaries, arguments: &[&Path]) -> Result<Option<String>, Error> {
    let program = binaries.dir.join("initdb");
    let output = home
        .owner()
        .command(&program)
        .args(arguments)
        .output()
        .map_err(failed("run", &program))?;
    Ok((!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}

fn remove(dir: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("remove", dir)(error)),
        _ => Ok(()),
    }
}

fn sync(dir: &Path) -> Result<(), Error> {
    File::open(dir)
        .and_then(|dir| dir.sync_all())
        .map_err(failed("sync", dir))
}

/// Returns an id that differs after every boot, if the system has one.
fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default()
}
