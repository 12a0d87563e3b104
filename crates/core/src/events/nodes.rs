//! Nodes wake each other: after a commit here the others are told by `NOTIFY`, and what they tell rings the bell here. What is lost on the
//! way is found by looking once a second.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::poll_fn;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_postgres::AsyncMessage;

use crate::error::{Error, Result};
use crate::platform::Runtime;

const CHANNEL: &str = "backoffice_outbox";
/// Commits of this long are told together: each notice takes a lock of the whole cluster for a moment, though in no command's transaction.
const GATHER: Duration = Duration::from_millis(20);
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Tells other nodes of commits and hears of theirs, over a connection of its own. It outlives the database's absence, and never ends.
pub async fn wake_each_other(runtime: Runtime) {
    let mut pause = PAUSE;
    loop {
        let mut reached = false;
        match exchange(&runtime, &mut reached).await {
            // Said once; the attempts that follow fail alike.
            Err(error) if reached => {
                tracing::warn!(%error, "the connection on which other nodes are heard has ended; it is made again")
            }
            Err(error) => tracing::debug!(%error, "other nodes can't be heard"),
            Ok(()) => {}
        }
        pause = if reached { PAUSE } else { (pause * 2).min(LONGEST_PAUSE) };
        sleep(pause).await;
    }
}

/// Goes on until the connection ends.
async fn exchange(runtime: &Runtime, reached: &mut bool) -> Result<()> {
    let notifier = runtime.platform.commit_notifier();
    let mut commits = notifier.listen_here();
    let name = runtime
        .platform
        .ids()
        .at(runtime.platform.clock().now())
        .simple()
        .to_string();
    let (client, mut connection) = runtime.database.notified().await?;
    // Ends with this function, and the connection with it.
    let mut hearing = JoinSet::new();
    let (own_name, platform) = (name.clone(), runtime.platform.clone());
    hearing.spawn(async move {
        let mut messages = poll_fn(|context| connection.poll_message(context));
        while let Some(Ok(message)) = messages.next().await {
            if matches!(&message, AsyncMessage::Notification(notice) if notice.payload() != own_name) {
                platform.commit_notifier().notify_remote();
            }
        }
    });
    send(&client, &format!("listen {CHANNEL}")).await?;
    *reached = true;
    // While nobody listened, something may have been said.
    notifier.notify_remote();
    loop {
        tokio::select! {
            _ended = hearing.join_next() => return Err(Error::Unavailable("the connection ended".into())),
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
