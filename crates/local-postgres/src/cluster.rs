//! The handle of a running cluster.

use std::path::{Path, PathBuf};

use crate::{
    Error, Settings, Version,
    home::{Home, has_cluster},
    lock::{Sharing, StartLock, Users},
    server::Server,
    socket,
};

/// A running private cluster. Dropping the handle stops it, unless other handles share it.
#[derive(Debug)]
pub struct LocalPostgres {
    home: Home,
    users: Users,
    /// `None` once stopped.
    server: Option<Server>,
    facts: Facts,
}

#[derive(Debug)]
struct Facts {
    pid: u32,
    socket_dir: PathBuf,
    bin_dir: PathBuf,
    version: Version,
}

impl LocalPostgres {
    /// Starts the cluster for this caller alone. Creates it if it is missing; takes over its server if a killed process left
    /// it running. Blocks until the server accepts connections.
    ///
    /// # Errors
    ///
    /// [`Error::InUse`] while another handle uses the cluster, [`Error::NoBinaries`] when PostgreSQL is not installed
    /// and cannot be fetched, [`Error::Start`] with the end of the log when the server does not start.
    pub fn start(settings: &Settings) -> Result<Self, Error> {
        Self::open(settings, Sharing::Alone)
    }

    /// Joins the cluster, or starts it as [`LocalPostgres::start`] does. Dropping the last handle stops it. Changed
    /// settings take effect only when the cluster has no other user.
    ///
    /// # Errors
    ///
    /// As [`LocalPostgres::start`]; [`Error::InUse`] only while another handle uses the cluster alone.
    pub fn shared(settings: &Settings) -> Result<Self, Error> {
        Self::open(settings, Sharing::WithOthers)
    }

    /// Returns whether the cluster exists. Creates and starts nothing.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] when the folder cannot be read.
    pub fn exists(settings: &Settings) -> Result<bool, Error> {
        has_cluster(&settings.dir)
    }

    fn open(settings: &Settings, sharing: Sharing) -> Result<Self, Error> {
        let home = Home::open_or_create(&settings.dir)?;
        let _starting = StartLock::acquire(&home)?;
        let (users, alone) = Users::claim(&home, sharing)?;
        let server = Server::bring_up(&home, settings, alone)?;
        let facts = Facts {
            pid: server.pid,
            socket_dir: server.socket_dir.clone(),
            bin_dir: server.binaries.dir.clone(),
            version: server.binaries.version,
        };
        Ok(Self {
            home,
            users,
            server: Some(server),
            facts,
        })
    }

    /// Returns the address for this user and database, in the form that tokio-postgres and libpq read. The superuser is
    /// `postgres`; there are no passwords.
    pub fn url(&self, user: &str, database: &str) -> String {
        socket::url(&self.facts.socket_dir, user, database)
    }

    /// Returns the folder of the cluster. Differs from [`Settings::dir`] when the user that runs the server for root cannot reach that.
    pub fn dir(&self) -> &Path {
        self.home.dir()
    }

    /// Returns the folder of the socket `.s.PGSQL.5432`; `PGHOST` for PostgreSQL's own tools.
    pub fn socket_dir(&self) -> &Path {
        &self.facts.socket_dir
    }

    /// Returns the folder of the server's programs.
    pub fn bin_dir(&self) -> &Path {
        &self.facts.bin_dir
    }

    /// Returns the path of the server's log.
    pub fn log(&self) -> PathBuf {
        self.home.log()
    }

    /// Returns the process id of the postmaster.
    pub fn pid(&self) -> u32 {
        self.facts.pid
    }

    /// Returns the version of the server.
    pub fn version(&self) -> Version {
        self.facts.version
    }

    /// Stops the cluster, unless other handles share it: in fast mode, after 10 s in immediate mode.
    ///
    /// # Errors
    ///
    /// [`Error::Stop`] when the server does not stop.
    pub fn stop(mut self) -> Result<(), Error> {
        self.end()
    }

    fn end(&mut self) -> Result<(), Error> {
        let Some(server) = self.server.take() else {
            return Ok(());
        };
        // The folder may have been removed meanwhile, with its locks; then no other process shares the cluster.
        let _stopping = StartLock::acquire(&self.home).ok();
        if self.users.leave() {
            server.take_down(&self.home)
        } else {
            Ok(())
        }
    }
}

impl Drop for LocalPostgres {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            tracing::warn!(%error, "private PostgreSQL left running");
        }
    }
}
