//! Moves cursors past events that their subscribers do not want, all of them with one statement.
//!
//! Most commits announce events without a subscriber. Delivering those to each cursor would cost a claim and a transaction for each
//! subscriber of the tenant.

use diesel::sql_types::{Array, BigInt, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use super::Subscriber;
use super::claim::LONGEST_DELAY;
use crate::db::Prepared;
use crate::error::Result;
use crate::platform::Runtime;
use crate::scope::Scope;
use crate::time::Timestamp;

/// Events that one statement passes at most for a cursor, so that one that is far behind does not make it long.
const MOST: i64 = 10_000;

/// Tenants that one statement returns at most.
pub(super) const MOST_DUE: usize = 100;

#[derive(QueryableByName)]
struct Due {
    #[diesel(sql_type = SqlUuid)]
    tenant_id: Uuid,
}

/// Moves every cursor that waits for its first attempt to the event before the first one that its subscriber wants, or to the end: those of all tenants, or
/// of these. Cursors that another relay locks, delivers or repeats stay where they are. Returns tenants with deliveries that are due afterwards, at most
/// [`MOST_DUE`] if it has looked at all.
pub(super) async fn skip_unwanted(runtime: &Runtime, now: Timestamp, tenants: Option<&[Uuid]>) -> Result<Vec<Uuid>> {
    let (names, patterns) = runtime.platform.subscribers().patterns();
    let mut connection = runtime.database.unlogged(&Scope::system()).await?;
    // Numbers are assigned under a lock that is held until the commit, so a snapshot with the end of a stream has all events before it.
    let (condition, most) = match tenants {
        None => ("$5 is null", MOST_DUE),
        // Like the subscribers, as a list of unknown length: the statement is planned once (decision 51).
        Some(tenants) => ("c.tenant_id = any(array(select unnest($5)))", tenants.len()),
    };
    let statement = sql_query(format!(
        "with wanted as (
            select * from unnest($2, $3) as w (subscriber, pattern)
        ), behind as (
            select c.tenant_id, c.id, c.subscriber, c.last_seq, least(s.last_seq, c.last_seq + $4) as end_seq, s.last_seq as stream_seq
            from core_event_cursors c
            join core_event_streams s on s.tenant_id = c.tenant_id and s.name = 'log'
            where c.subscriber = any(array(select unnest($2))) and c.last_seq < s.last_seq and c.attempt = 0 and {condition}
            order by c.tenant_id, c.id
            for update of c skip locked
        ), reached as (
            select b.tenant_id, b.id, b.stream_seq, coalesce(
                (select min(e.seq) - 1 from core_outbox_events e
                 where e.tenant_id = b.tenant_id and e.seq > b.last_seq and e.seq <= b.end_seq
                   and exists (select from wanted w where w.subscriber = b.subscriber and e.name like w.pattern)),
                b.end_seq) as seq
            from behind b
        ), moved as (
            update core_event_cursors c set last_seq = r.seq, updated_at = $1
            from reached r where c.tenant_id = r.tenant_id and c.id = r.id and r.seq > c.last_seq
        )
        select tenant_id from reached where seq < stream_seq
        union
        select c.tenant_id from core_event_cursors c
        where c.subscriber = any(array(select unnest($2))) and c.attempt > 0 and (c.next_at <= $1 or c.next_at > $7)
          and (c.lease_until is null or c.lease_until < $1 or c.lease_until > $7) and {condition}
        limit $6"
    ))
    .bind::<Timestamptz, _>(now)
    .bind::<Array<Text>, _>(names)
    .bind::<Array<Text>, _>(patterns)
    .bind::<BigInt, _>(MOST)
    .bind::<Nullable<Array<SqlUuid>>, _>(tenants)
    .bind::<BigInt, _>(i64::try_from(most).unwrap_or(i64::MAX))
    .bind::<Timestamptz, _>(now.after(LONGEST_DELAY));
    let found: Vec<Due> = Prepared(statement).load(&mut *connection).await?;
    Ok(found.into_iter().map(|due| due.tenant_id).collect())
}

impl Subscriber {
    /// Returns its patterns in the form of `like`.
    pub(super) fn like_patterns(&self) -> impl Iterator<Item = String> {
        let escaped = |text: &str| text.replace('\\', r"\\").replace('%', r"\%").replace('_', r"\_");
        self.patterns
            .iter()
            .flat_map(move |pattern| match pattern.strip_suffix('*') {
                None => vec![escaped(pattern)],
                Some(prefix) => {
                    let itself = prefix.strip_suffix('.').map(escaped);
                    let below = format!("{}%", escaped(prefix));
                    itself.into_iter().chain([below]).collect()
                }
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_the_same_names_as_those_of_subscribers() {
        let subscriber = Subscriber {
            id: "sample.one",
            patterns: &["auth.user.deleted", "api_keys.*", "*"],
            handler: |_, _, _| Box::pin(async { Ok(()) }),
            replay: false,
        };

        let patterns: Vec<String> = subscriber.like_patterns().collect();

        assert_eq!(patterns, ["auth.user.deleted", r"api\_keys", r"api\_keys.%", "%"]);
    }
}
