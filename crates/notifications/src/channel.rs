//! Channels that other modules add.

use backoffice_core::{Call, Result};
use diesel::QueryableByName;
use diesel::sql_types::{Bool, Integer, Text, Uuid as SqlUuid};
use diesel_async::AsyncPgConnection;
use futures_util::future::BoxFuture;
use uuid::Uuid;

use crate::send::New;

/// A channel of push messages. A module offers it with `registry.extend::<&'static dyn Channel>(&CHANNEL)`.
pub trait Channel: Send + Sync {
    /// Delivers notifications that were just written, at most 1000 of one tenant: those whose recipients get push messages of their type. Runs in
    /// the transaction that wrote them and must not wait for a remote system: it stores what is to be sent, and enqueues a job on the connection.
    /// An error rolls the transaction back.
    fn deliver<'a>(
        &'a self,
        connection: &'a mut AsyncPgConnection,
        call: &'a Call,
        tenant: Uuid,
        notifications: &'a [Delivered<'a>],
    ) -> BoxFuture<'a, Result<()>>;
}

/// A written notification for a channel.
#[derive(Debug, Clone, Copy)]
pub struct Delivered<'a> {
    /// The id. A repeat of a group has the id of the row that it refreshed.
    pub id: Uuid,
    /// What was sent, with its recipient.
    pub new: &'a New,
}

/// A row of a notification that was written or refreshed.
#[derive(Debug, Clone, QueryableByName)]
pub(crate) struct Written {
    #[diesel(sql_type = SqlUuid)]
    pub(crate) id: Uuid,
    #[diesel(sql_type = SqlUuid)]
    pub(crate) recipient: Uuid,
    #[diesel(sql_type = Text)]
    pub(crate) type_id: String,
    #[diesel(sql_type = Bool)]
    pub(crate) by_mail: bool,
    #[diesel(sql_type = Bool)]
    by_push: bool,
    /// Its index in the given notifications.
    #[diesel(sql_type = Integer)]
    index: i32,
}

/// Gives the written notifications that are pushed to the channels of the enabled modules. Returns whether there was such a notification and such
/// a channel.
pub(crate) async fn deliver(
    connection: &mut AsyncPgConnection,
    call: &Call,
    tenant: Uuid,
    new: &[New],
    written: &[Written],
) -> Result<bool> {
    let pushed = written.iter().filter(|one| one.by_push);
    let found = |one: &Written| usize::try_from(one.index).ok().and_then(|index| new.get(index));
    let delivered: Vec<Delivered<'_>> = pushed
        .filter_map(|one| found(one).map(|new| Delivered { id: one.id, new }))
        .collect();
    if delivered.is_empty() {
        return Ok(false);
    }
    let channels: Vec<&'static dyn Channel> = call.platform().extensions().copied().collect();
    for channel in &channels {
        channel.deliver(connection, call, tenant, &delivered).await?;
    }
    Ok(!channels.is_empty())
}
