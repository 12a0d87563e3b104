//! Delays of the relays.

use diesel::sql_types::{Array, Double, Text, Timestamptz};
use diesel::{QueryableByName, sql_query};
use diesel_async::RunQueryDsl;

use super::Relay;
use crate::context::Call;
use crate::error::Result;
use crate::scope::Scope;

#[derive(QueryableByName)]
struct Delay {
    #[diesel(sql_type = Text)]
    subscriber: String,
    #[diesel(sql_type = Double)]
    seconds: f64,
}

impl Relay {
    /// Returns for each subscriber how long the oldest event of any tenant has waited, in seconds; 0 when none waits. One statement.
    ///
    /// # Errors
    /// When the database can't be reached.
    pub async fn delays(call: &Call) -> Result<Vec<(String, f64)>> {
        let mut connection = call.database().unlogged(&Scope::system()).await?;
        let delays: Vec<Delay> = sql_query(
            "select c.subscriber, coalesce(max(extract(epoch from $1 - e.occurred_at)), 0)::float8 as seconds
             from core_event_cursors c
             left join core_event_streams s on s.tenant_id = c.tenant_id and s.name = 'log' and s.last_seq > c.last_seq
             left join lateral (
                 select o.occurred_at from core_outbox_events o
                 where o.tenant_id = s.tenant_id and o.seq > c.last_seq order by o.seq limit 1
             ) e on true
             where c.subscriber = any($2)
             group by c.subscriber order by c.subscriber",
        )
        .bind::<Timestamptz, _>(call.now)
        .bind::<Array<Text>, _>(call.platform().subscribers().names())
        .load(&mut *connection)
        .await?;
        Ok(delays.into_iter().map(|one| (one.subscriber, one.seconds)).collect())
    }
}
