//! Creates and deletes feeds of the caller.

use backoffice_core::command::{Class, Command, Entity, Target, Tx};
use backoffice_core::db::Recurring;
use backoffice_core::{Feature, Rejection, Result};
use diesel::dsl::count_star;
use diesel::sql_types::{Text, Uuid as SqlUuid};
use diesel::{ExpressionMethods, QueryDsl, insert_into, sql_query};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use crate::acl;
use crate::model::Feed;
use crate::schema::calendar_feeds as feeds;
use crate::token::FeedToken;

/// Maximum number of feeds of a user.
const MOST_FEEDS: i64 = 20;

/// Creates a feed of the caller.
#[derive(Debug, Clone)]
pub struct CreateFeed {
    pub(crate) feed: Feed,
    pub(crate) token: FeedToken,
}

impl Command for CreateFeed {
    const ID: &'static str = "calendar.feed.create";
    const CLASS: Class = Class::Create;
    const LABEL: &'static str = "Create calendar feed";
    const FEATURES: &'static [Feature] = &[acl::VIEW];
    const UNDOABLE: bool = false;
    type Entity = Feed;
    type Output = ();

    fn target(&self) -> Target {
        Target::New {
            tenant: self.feed.tenant_id,
            id: self.feed.id,
        }
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        backoffice_core::Placement::lock(tx, self.feed.organization_id).await?;
        let (tenant, user) = (self.feed.tenant_id, self.feed.user_id);
        // Concurrent requests of the user are counted one after the other.
        sql_query("select pg_advisory_xact_lock(hashtextextended($2 || $1::text, 0))")
            .bind::<SqlUuid, _>(user)
            .bind::<Text, _>("calendar.feeds:")
            .prepared()
            .execute(tx.conn())
            .await?;
        let own = feeds::table
            .filter(feeds::tenant_id.eq(tenant))
            .filter(feeds::user_id.eq(user));
        let count: i64 = own.select(count_star()).get_result(tx.conn()).await?;
        if count >= MOST_FEEDS {
            let message = format!("A user has at most {MOST_FEEDS} feeds; delete one first");
            return Err(Rejection::bad_request(message).code("too_many_feeds").into());
        }
        insert_into(feeds::table)
            .values((&self.feed, feeds::token_hash.eq(&self.token.hash)))
            .prepared()
            .execute(tx.conn())
            .await?;
        tx.wrote_secret("tokenHash");
        Ok(())
    }
}

/// Deletes a feed of the caller. Its address stops working at once.
#[derive(Debug, Clone, Copy)]
pub struct DeleteFeed {
    id: Uuid,
}

impl DeleteFeed {
    /// Creates the command.
    #[must_use]
    pub const fn new(id: Uuid) -> Self {
        Self { id }
    }
}

impl Command for DeleteFeed {
    const ID: &'static str = "calendar.feed.delete";
    const CLASS: Class = Class::Delete;
    const LABEL: &'static str = "Delete calendar feed";
    const FEATURES: &'static [Feature] = &[acl::VIEW];
    const UNDOABLE: bool = false;
    type Entity = Feed;
    type Output = ();

    fn target(&self) -> Target {
        Target::Existing(self.id)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        Feed::remove(tx, &[self.id]).await
    }
}
