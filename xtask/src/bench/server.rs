//! The server process.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::database::Database;
use super::http::Client;
use super::pause;
use crate::Result;

/// The setting of a server whose clients send more requests than a limit allows.
pub(crate) const WITHOUT_LIMITS: (&str, &str) = ("BACKOFFICE__RATE_LIMITS__ENABLED", "false");
const PATIENCE: Duration = Duration::from_secs(30);

/// A running server; killed when dropped.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    api: SocketAddr,
    admin: SocketAddr,
    ready_after: Duration,
}

impl Server {
    /// Starts the server on free ports and waits until it is ready.
    pub(super) fn start(program: &Path, work: &Path, database: &Database) -> Result<Self> {
        Self::start_with(program, work, database, &[])
    }

    /// Starts the server with further environment variables.
    pub(super) fn start_with(
        program: &Path,
        work: &Path,
        database: &Database,
        settings: &[(&str, &str)],
    ) -> Result<Self> {
        let mut command = Command::new(program);
        database.configure(&mut command);
        command
            // A single client sends as many requests as it can.
            .env("BACKOFFICE__HTTP__PRINCIPAL_RATE", "0")
            .envs(settings.iter().copied());
        Self::run(command, work, PATIENCE)
    }

    /// Starts the server by this command, on free ports, and waits until it is ready. Its log is `server.log` in the directory.
    pub(crate) fn run(mut command: Command, work: &Path, patience: Duration) -> Result<Self> {
        let (api, admin) = (free_address()?, free_address()?);
        let log = File::create(work.join("server.log"))?;
        command
            .arg("serve")
            .env("BACKOFFICE__HTTP__LISTEN", api.to_string())
            .env("BACKOFFICE__ADMIN__LISTEN", admin.to_string())
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        let started = Instant::now();
        let child = command.spawn()?;
        let mut server = Self {
            child,
            api,
            admin,
            ready_after: Duration::ZERO,
        };
        let request = format!("GET /readyz HTTP/1.1\r\nhost: {admin}\r\n\r\n");
        while !is_ready(admin, request.as_bytes()) {
            if started.elapsed() > patience || server.child.try_wait()?.is_some() {
                let log = std::fs::read_to_string(work.join("server.log"))?;
                return Err(format!("the server did not get ready: {log}").into());
            }
            pause(Duration::from_millis(1));
        }
        server.ready_after = started.elapsed();
        Ok(server)
    }

    /// Whether the process still runs.
    pub(crate) fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Returns the address of the API.
    pub(crate) fn api(&self) -> SocketAddr {
        self.api
    }

    /// Returns the address of the operators' listener.
    pub(crate) fn admin(&self) -> SocketAddr {
        self.admin
    }

    /// Time from the start of the process to the first 200 of `/readyz`.
    pub(crate) fn ready_after(&self) -> Duration {
        self.ready_after
    }

    /// Resident memory, where the system reports it (Linux).
    pub(crate) fn resident_kib(&self) -> Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .unwrap_or_default();
        Ok(line.trim().trim_end_matches("kB").trim().parse()?)
    }

    /// Processor time used so far, where the system reports it (Linux, in hundredths of a second).
    pub(crate) fn processor_time(&self) -> Result<Duration> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let ticks = after_name.split_whitespace().skip(11).take(2).map(str::parse::<u64>);
        Ok(Duration::from_millis(ticks.sum::<Result<u64, _>>()? * 10))
    }

    /// Signs in and returns an access token.
    pub(crate) fn log_in(&self, email: &str, password: &str) -> Result<String> {
        let body = json!({"email": email, "password": password}).to_string();
        let request = format!(
            "POST /api/auth/login HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.api,
            body.len()
        );
        let (status, response) = Client::connect(self.api)?.send(request.as_bytes())?;
        let response: Value = serde_json::from_slice(&response)?;
        match response["token"].as_str() {
            Some(token) => Ok(token.to_owned()),
            None => Err(format!("unexpected response {status} to the sign-in: {response}").into()),
        }
    }

    /// Lets the server end by itself, and with it a PostgreSQL that it has started.
    pub(crate) fn stop(mut self) -> Result<()> {
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            kill_process(pid, Signal::TERM)?;
        }
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }
}

fn is_ready(admin: SocketAddr, request: &[u8]) -> bool {
    Client::connect(admin)
        .and_then(|mut client| client.send(request))
        .is_ok_and(|(status, _)| status == 200)
}

fn free_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}
