//! A PostgreSQL of the test's own, which the test can stop.

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
