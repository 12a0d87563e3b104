//! Notifications between nodes: a commit on this node is announced to the others by `NOTIFY`, and theirs wake the waiters of this node. Polling
//! once a second makes up for lost notifications.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::poll_fn;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_postgres::AsyncMessage;

use crate::backoff::Backoff;
use crate::error::{Error, Result};
use crate::platform::Runtime;

const CHANNEL: &str = "backoffice_outbox";
/// Commits within this time are announced together: each notification locks the whole cluster for a moment, though in no command's transaction.
const GATHER: Duration = Duration::from_millis(20);
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Announces commits to the other nodes and receives theirs, over a dedicated connection. It survives outages of the database, and never ends.
pub async fn wake_each_other(runtime: Runtime) {
    let mut backoff = Backoff::new(PAUSE, LONGEST_PAUSE);
    loop {
        let mut reached = false;
        match exchange(&runtime, &mut reached).await {
            // Warned once; the next attempts fail alike.
            Err(error) if reached => {
                tracing::warn!(%error, "connection for notifications of other nodes ended; reconnecting");
            }
            Err(error) => tracing::debug!(%error, "could not connect for notifications of other nodes"),
            Ok(()) => {}
        }
        match reached {
            true => backoff.succeeded(),
            false => backoff.failed(),
        }
        sleep(backoff.wait()).await;
    }
}

/// Exchanges notifications until the connection ends.
async fn exchange(runtime: &Runtime, reached: &mut bool) -> Result<()> {
    let notifier = runtime.platform.commit_notifier();
    let mut commits = notifier.listen_here();
    let name = runtime
        .platform
        .ids()
        .at(runtime.platform.clock().now())
        .simple()
        .to_string();
    let (client, mut connection) = runtime.database.listener().await?;
    // The task ends with this function, and the connection with it.
    let mut receiver = JoinSet::new();
    let (own_name, platform) = (name.clone(), runtime.platform.clone());
    receiver.spawn(async move {
        let mut messages = poll_fn(|context| connection.poll_message(context));
        while let Some(Ok(message)) = messages.next().await {
            if matches!(&message, AsyncMessage::Notification(notice) if notice.payload() != own_name) {
                platform.commit_notifier().notify_remote();
            }
        }
    });
    send(&client, &format!("listen {CHANNEL}")).await?;
    *reached = true;
    // Notifications may have been lost before the connection listened.
    notifier.notify_remote();
    loop {
        tokio::select! {
            _ended = receiver.join_next() => return Err(Error::Unavailable("the connection ended".into())),
            () = commits.notified() => {
                sleep(GATHER).await;
                send(&client, &format!("notify {CHANNEL}, '{name}'")).await?;
            }
        }
    }
}

async fn send(client: &tokio_postgres::Client, statement: &str) -> Result<()> {
    Ok(client.batch_execute(statement).await?)
}
