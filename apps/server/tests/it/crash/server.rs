//! The program that is killed.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use backoffice_core::ids::Ids;
use backoffice_test_support::TestDatabase;
use tokio::time::{Instant, sleep};

use super::client::Client;
use super::connection::Connection;
use crate::support::Folder;

pub(crate) struct Server {
    child: Child,
    pub(super) api: SocketAddr,
}

impl Server {
    pub(crate) fn start(folder: &Folder, database: &TestDatabase) -> Self {
        let (api, admin) = (free_address(), free_address());
        let mut program = Command::new(env!("CARGO_BIN_EXE_backoffice"));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("BACKOFFICE") {
                program.env_remove(name);
            }
        }
        let child = program
            .arg("serve")
            .current_dir(folder.path(""))
            .env("BACKOFFICE__DATABASE__URL", database.application_url())
            .env("BACKOFFICE__HTTP__LISTEN", api.to_string())
            .env("BACKOFFICE__ADMIN__LISTEN", admin.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program runs");
        Self { child, api }
    }

    pub(crate) async fn wait_for(&self, path: &str, token: &str) {
        let started = Instant::now();
        loop {
            let answer = Connection::open(self.api).and_then(|mut one| one.send("GET", path, token, None));
            match answer {
                Ok(answer) if answer.status == 200 => return,
                outcome => assert!(started.elapsed() < Duration::from_secs(30), "{path}: {outcome:?}"),
            }
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// Lets the clients write and kills the server at a moment that they do not know.
    pub(super) async fn kill_under_load(mut self, clients: Vec<Client>, round: usize) -> Vec<Client> {
        let api = self.api;
        let writing: Vec<_> = clients
            .into_iter()
            .map(|client| thread::spawn(move || client.write_until_killed(api, round)))
            .collect();
        let [moment] = Ids::default().random::<1>();
        sleep(Duration::from_millis(100 + u64::from(moment) * 2)).await;
        self.child.kill().expect("the server was still running");
        self.child.wait().expect("the server is ours");
        writing
            .into_iter()
            .map(|client| client.join().expect("every other answer is a success"))
            .collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may be dead already.
        let _killed = self.child.kill();
        let _status = self.child.wait();
    }
}

fn free_address() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    listener.local_addr().expect("a bound listener has an address")
}
