//! The program while it serves or works.

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use backoffice_test_support::TestDatabase;
use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::connection::{Connection, Response};
use crate::support::{Folder, program};

/// A running program; killed when dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) api: SocketAddr,
    pub(crate) admin: SocketAddr,
    log: PathBuf,
}

impl Server {
    pub(crate) fn start(folder: &Folder, database: &TestDatabase) -> Self {
        let url = database.application_url();
        Self::run(folder, "serve", &[("BACKOFFICE__DATABASE__URL", &url)])
    }

    /// Starts `serve` or `worker` with these variables.
    pub(crate) fn run(folder: &Folder, command: &str, variables: &[(&str, &str)]) -> Self {
        let (api, admin) = (free_address(), free_address());
        let log = folder.path(&format!("{command}-{}.log", admin.port()));
        let child = program(folder)
            .arg(command)
            .env("BACKOFFICE__HTTP__LISTEN", api.to_string())
            .env("BACKOFFICE__ADMIN__LISTEN", admin.to_string())
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log).expect("a log in the test's folder"))
            .spawn()
            .expect("the program runs");
        Self { child, api, admin, log }
    }

    pub(crate) async fn wait_for(&self, path: &str, token: &str) {
        self.wait_at(self.api, path, token).await;
    }

    /// Waits until the operators' listener reports that the program is ready.
    pub(crate) async fn wait_until_ready(&self) {
        self.wait_at(self.admin, "/readyz", "").await;
    }

    async fn wait_at(&self, address: SocketAddr, path: &str, token: &str) {
        let started = Instant::now();
        loop {
            let response = Connection::open(address).and_then(|mut one| one.send("GET", path, token, None));
            match response {
                Ok(response) if response.status == 200 => return,
                outcome => assert!(
                    started.elapsed() < Duration::from_secs(30),
                    "{path}: {outcome:?} {}",
                    self.log()
                ),
            }
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// Sends one request on a connection of its own.
    pub(crate) fn send(&self, method: &str, path: &str, token: &str, body: Option<&Value>) -> Response {
        let response = Connection::open(self.api).and_then(|mut one| one.send(method, path, token, body));
        response.unwrap_or_else(|error| panic!("{method} {path}: {error}\n{}", self.log()))
    }

    pub(crate) fn get(&self, path: &str, token: &str) -> Response {
        self.send("GET", path, token, None)
    }

    pub(crate) fn post(&self, path: &str, token: &str, body: &Value) -> Response {
        self.send("POST", path, token, Some(body))
    }

    /// Sends a request to the operators' listener.
    pub(crate) fn operators(&self, path: &str) -> Response {
        let response = Connection::open(self.admin).and_then(|mut one| one.send("GET", path, "", None));
        response.unwrap_or_else(|error| panic!("{path}: {error}\n{}", self.log()))
    }

    /// Returns the log so far.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.log).expect("its log")
    }

    /// Checks that the program runs and that no part of it has panicked.
    pub(crate) fn check_health(&mut self) {
        let ended = self.child.try_wait().expect("the server is ours");
        let log = self.log();
        assert!(ended.is_none(), "{ended:?}\n{log}");
        assert!(!log.contains("panicked"), "{log}");
    }

    /// Ends the program as an operator does.
    pub(crate) fn end(&mut self) -> ExitStatus {
        self.terminate();
        self.child.wait().expect("the server is ours")
    }

    /// Sends the signal with which an operator ends the program.
    pub(crate) fn terminate(&self) {
        signal("TERM", self.child.id());
    }

    /// Returns the status of the program if it ends within this time.
    pub(crate) async fn ends_within(&mut self, patience: Duration) -> Option<ExitStatus> {
        let started = Instant::now();
        loop {
            let ended = self.child.try_wait().expect("the server is ours");
            if ended.is_some() || started.elapsed() >= patience {
                return ended;
            }
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// Suspends the program until it is woken.
    pub(crate) fn freeze(&self) {
        signal("STOP", self.child.id());
    }

    pub(crate) fn wake(&self) {
        signal("CONT", self.child.id());
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("the server was still running");
        self.child.wait().expect("the server is ours");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The process may have ended already.
        let _killed = self.child.kill();
        let _status = self.child.wait();
    }
}

/// Sends a process a signal.
pub(crate) fn signal(name: &str, process: u32) {
    let mut kill = Command::new("kill");
    kill.args([format!("-{name}"), process.to_string()]);
    assert!(kill.status().expect("kill runs").success(), "{name} {process}");
}

/// Returns an address whose port is free. The ports are below those that the system gives to outgoing connections, and differ between test
/// processes, so that no other test takes the port before the program does.
fn free_address() -> SocketAddr {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        let number = std::process::id() % 1000 * 12 + NEXT.fetch_add(1, Ordering::Relaxed) % 12;
        let port = u16::try_from(20_000 + number).expect("a port");
        if let Ok(listener) = TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            return listener.local_addr().expect("a bound listener has an address");
        }
    }
}
