//! Starts the server, takes over a running one, and stops it.
#![expect(
    clippy::disallowed_methods,
    reason = "waits for another process, on the thread of its caller; no business code"
)]

use std::{
    fs,
    os::unix::{net::UnixStream, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use crate::{
    Binaries, Environment, Error, Settings,
    error::failed,
    find::Search,
    home::{Home, LOG},
    init,
    log::not_started,
    postmaster::{Postmaster, Status},
    socket,
};

const CONFIG: &str = "backoffice.conf";
const ACCESS: &str = "pg_hba.conf";

/// The socket has no access rules, because only the permissions of its folder restrict access.
const ACCESS_RULES: &str = "# Written at every start.\nlocal all all trust\n";

/// Maximum time to wait for the server. Recovery after a crash may take minutes; a server that does not accept connections for this long is stuck.
const START_PATIENCE: Duration = Duration::from_secs(300);
const STOP_PATIENCE: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(5);

/// PostgreSQL logs this text if backends of a killed postmaster still exist. They exit without intervention.
const ORPHANS: &str = "pre-existing shared memory block";
const ORPHAN_TRIES: u32 = 20;

/// A running server.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) pid: u32,
    pub(crate) socket_dir: PathBuf,
    pub(crate) binaries: Binaries,
    /// The process, if this process started it.
    child: Option<Child>,
}

impl Server {
    /// Takes over the running server, or starts one. `alone`: the cluster has no other user, so the server may be restarted.
    pub(crate) fn bring_up(home: &Home, settings: &Settings, alone: bool) -> Result<Self, Error> {
        let config = settings.render()?;
        let search = Search {
            environment: &Environment::current(),
            owner: home.owner(),
            packages: Some(home.packages()),
            requested: init::major(home)?,
        };
        let binaries = search.run(&home.data())?;
        if let Some(server) = Self::take_over(home, &binaries, &config, alone)? {
            return Ok(server);
        }
        init::mend(home, &binaries, settings)?;
        init::ensure(home, &binaries, settings.durable)?;
        home.write(CONFIG, &config)?;
        home.write(ACCESS, &access_rules(settings))?;
        Self::launch(home, binaries, settings)
    }

    fn take_over(home: &Home, binaries: &Binaries, config: &str, alone: bool) -> Result<Option<Self>, Error> {
        let began = Instant::now();
        let running = loop {
            match Postmaster::running(home, binaries) {
                None => return Ok(None),
                Some(running) if running.status == Status::Ready => break running,
                Some(_) if began.elapsed() > START_PATIENCE => return Err(stuck(home)),
                Some(_) => sleep(POLL),
            }
        };
        let (pid, socket_dir) = (running.pid, running.socket_dir);
        let server = Self {
            pid,
            socket_dir,
            binaries: binaries.clone(),
            child: None,
        };
        let is_usable = socket::is_private(&server.socket_dir, home) && connects(&server.socket_dir);
        let is_current = fs::read_to_string(home.dir().join(CONFIG)).is_ok_and(|text| text == config);
        match (is_usable && is_current, alone) {
            (true, true) => tracing::info!(pid, "took over the running PostgreSQL server"),
            (true, false) => {}
            (false, true) => {
                tracing::info!(pid, "restarting the PostgreSQL server with changed settings");
                server.take_down(home)?;
                return Ok(None);
            }
            (false, false) => tracing::warn!(
                pid,
                "PostgreSQL server is shared; changed settings take effect at its next start"
            ),
        }
        Ok(Some(server))
    }

    fn launch(home: &Home, binaries: Binaries, settings: &Settings) -> Result<Self, Error> {
        let socket_dir = socket::prepare(home)?;
        for attempt in 1.. {
            clear(home, &socket_dir);
            let child = spawn(home, &binaries, &socket_dir, settings)?;
            let mut server = Self {
                pid: child.id(),
                socket_dir: socket_dir.clone(),
                binaries: binaries.clone(),
                child: Some(child),
            };
            match server.wait_until_ready(home) {
                Ok(()) => {
                    tracing::info!(pid = server.pid, version = %server.binaries.version, dir = %home.dir().display(), "PostgreSQL started");
                    return Ok(server);
                }
                Err(Error::Start { tail, .. }) if tail.contains(ORPHANS) && attempt < ORPHAN_TRIES => {
                    sleep(Duration::from_millis(250));
                }
                Err(error) => return Err(error),
            }
        }
        Err(stuck(home))
    }

    fn wait_until_ready(&mut self, home: &Home) -> Result<(), Error> {
        let began = Instant::now();
        let mut next_note = Duration::from_secs(10);
        loop {
            if let Some(status) = self.child.as_mut().and_then(|child| child.try_wait().ok().flatten()) {
                return Err(not_started(home, format!("ended at its start ({status})")));
            }
            let recorded = Postmaster::recorded(home).filter(|recorded| recorded.pid == self.pid);
            if recorded.is_some_and(|recorded| recorded.status == Status::Ready) && connects(&self.socket_dir) {
                return Ok(());
            }
            if began.elapsed() > next_note {
                tracing::info!(
                    pid = self.pid,
                    "PostgreSQL is still starting, probably recovering from a crash"
                );
                next_note += Duration::from_secs(10);
            }
            if began.elapsed() > START_PATIENCE {
                let _ = self.child.as_mut().map(Child::kill);
                return Err(stuck(home));
            }
            sleep(POLL);
        }
    }

    /// Stops the server: in fast mode, which rolls back open transactions, then in immediate mode.
    pub(crate) fn take_down(mut self, home: &Home) -> Result<(), Error> {
        for mode in ["fast", "immediate"] {
            let mut pg_ctl = home.owner().command(self.binaries.dir.join("pg_ctl"));
            pg_ctl
                .args(["stop", "--no-wait", "--silent", "--mode", mode, "--pgdata"])
                .arg(home.data());
            let asked = pg_ctl.output().is_ok_and(|output| output.status.success());
            if self.ends_within(home, if asked { STOP_PATIENCE } else { Duration::ZERO }) {
                tracing::debug!(pid = self.pid, mode, "PostgreSQL stopped");
                return Ok(());
            }
        }
        if let Some(child) = &mut self.child {
            // Its backends notice this and exit; the next start recovers.
            let ended = child.kill().and_then(|()| child.wait());
            return ended.map(drop).map_err(|_| Error::Stop {
                pid: self.pid,
                log: home.log(),
            });
        }
        Err(Error::Stop {
            pid: self.pid,
            log: home.log(),
        })
    }

    fn ends_within(&mut self, home: &Home, patience: Duration) -> bool {
        let began = Instant::now();
        loop {
            let gone = match &mut self.child {
                Some(child) => !matches!(child.try_wait(), Ok(None)),
                None => !self.is_alive(home),
            };
            if gone || began.elapsed() >= patience {
                return gone;
            }
            sleep(POLL);
        }
    }

    fn is_alive(&self, home: &Home) -> bool {
        let postmaster = Postmaster {
            pid: self.pid,
            socket_dir: PathBuf::new(),
            status: Status::Ready,
        };
        postmaster.is_alive(home, &self.binaries)
    }
}

fn access_rules(settings: &Settings) -> String {
    let further = settings.listener.iter().flat_map(|listener| &listener.rules);
    further.fold(ACCESS_RULES.to_owned(), |text, rule| text + rule + "\n")
}

/// Removes the files of a killed server if another process has its id, which would mislead PostgreSQL.
fn clear(home: &Home, socket_dir: &Path) {
    if Postmaster::recorded(home).is_some_and(|recorded| recorded.number_is_taken()) {
        let _ = fs::remove_file(home.data().join("postmaster.pid"));
    }
    socket::sweep(socket_dir);
    let _ = fs::rename(home.log(), home.dir().join("server.log.1"));
}

fn spawn(home: &Home, binaries: &Binaries, socket_dir: &Path, settings: &Settings) -> Result<Child, Error> {
    let program = binaries.dir.join("postgres");
    let log = home.open(LOG)?;
    let errors = log.try_clone().map_err(failed("open", home.log()))?;
    let setting = |name: &str, value: &Path| {
        let mut text = std::ffi::OsString::from(name);
        text.push("=");
        text.push(value);
        text
    };
    // The value is a list; quotes protect a comma or a space in the path.
    let socket = format!("\"{}\"", socket_dir.to_string_lossy().replace('"', "\"\""));
    let addresses = settings
        .listener
        .as_ref()
        .map(|listener| listener.address.to_string())
        .unwrap_or_default();
    let mut command = home.owner().command(&program);
    command.arg("-D").arg(home.data());
    for (name, value) in [
        ("config_file", home.dir().join(CONFIG)),
        ("hba_file", home.dir().join(ACCESS)),
        ("unix_socket_directories", PathBuf::from(socket)),
        ("unix_socket_permissions", PathBuf::from("0700")),
        ("listen_addresses", PathBuf::from(addresses)),
        ("port", PathBuf::from("5432")),
    ] {
        command.arg("-c").arg(setting(name, &value));
    }
    // Ctrl-C in a terminal is sent to the whole process group; the server must outlive the program, which drains first.
    command
        .process_group(0)
        .stdout(Stdio::from(log))
        .stderr(Stdio::from(errors));
    command.spawn().map_err(failed("run", program))
}

fn connects(socket_dir: &Path) -> bool {
    UnixStream::connect(socket_dir.join(socket::SOCKET)).is_ok()
}

fn stuck(home: &Home) -> Error {
    not_started(
        home,
        format!("did not accept connections within {} s", START_PATIENCE.as_secs()),
    )
}
