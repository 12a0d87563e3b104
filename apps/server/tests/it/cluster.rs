//! A PostgreSQL of the test's own, which the test can stop.

use std::process::Command;

use backoffice_local_postgres::{LocalPostgres, Settings};
use tokio_postgres::{NoTls, SimpleQueryMessage};

use crate::office::Office;
use crate::server::signal;
use crate::support::Folder;

const APPLICATION: &str = "backoffice_app";
const OWNER: &str = "postgres";

pub(crate) struct Cluster {
    running: Option<LocalPostgres>,
    settings: Settings,
    owner_url: String,
    _folder: Folder,
}

/// The suspended processes of a server; woken when dropped.
pub(crate) struct Frozen(Vec<u32>);

impl Drop for Frozen {
    fn drop(&mut self) {
        for process in &self.0 {
            // A process may have ended already.
            let _woken = Command::new("kill").args(["-CONT", &process.to_string()]).status();
        }
    }
}

impl Cluster {
    /// Starts a durable server: committed data survives an immediate stop.
    pub(crate) fn start() -> Self {
        let folder = Folder::new();
        let settings = Settings::new(folder.path("postgres"));
        let running = LocalPostgres::start(&settings).expect("PostgreSQL starts");
        Self {
            owner_url: running.url(OWNER, OWNER),
            running: Some(running),
            settings,
            _folder: folder,
        }
    }

    fn running(&self) -> &LocalPostgres {
        self.running.as_ref().expect("PostgreSQL runs")
    }

    /// Creates an installation on this server.
    pub(crate) fn office(&self) -> Office {
        Office::migrated(self.running().url(APPLICATION, OWNER), &self.owner_url)
    }

    /// Runs statements as the owner. Returns the number of affected rows.
    pub(crate) async fn sql(&self, sql: &str) -> u64 {
        let (client, connection) = tokio_postgres::connect(&self.owner_url, NoTls)
            .await
            .expect("a connection");
        tokio::spawn(connection);
        let messages = client.simple_query(sql).await.expect("a statement that fits");
        let counted = messages.iter().map(|message| match message {
            SimpleQueryMessage::CommandComplete(rows) => *rows,
            _ => 0,
        });
        counted.sum()
    }

    /// Suspends the server and the processes of its connections until the result is dropped.
    pub(crate) async fn freeze(&self) -> Frozen {
        let (client, connection) = tokio_postgres::connect(&self.owner_url, NoTls)
            .await
            .expect("a connection");
        tokio::spawn(connection);
        let query =
            "select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()";
        let backends = client.query(query, &[]).await.expect("the processes");
        let backends = backends.iter().map(|row| row.get::<_, i32>(0).unsigned_abs());
        let frozen = Frozen(backends.chain([self.running().pid()]).collect());
        for process in &frozen.0 {
            signal("STOP", *process);
        }
        frozen
    }

    /// Stops the server as an operator does: open transactions are rolled back and clients are notified.
    pub(crate) fn stop(&mut self) {
        let running = self.running.take().expect("PostgreSQL runs");
        running.stop().expect("PostgreSQL stops");
    }

    /// Stops the server as a crash does.
    pub(crate) fn stop_immediately(&mut self) {
        signal("QUIT", self.running().pid());
        self.stop();
    }

    /// Starts the server again and waits until it accepts connections.
    pub(crate) fn start_again(&mut self) {
        self.running = Some(LocalPostgres::start(&self.settings).expect("PostgreSQL starts again"));
    }
}
