//! Limits of requests per window, counted in the database so that all replicas share them. Requests over a limit are rejected from memory until
//! the window ends; if the limit may be lifted earlier (by a sign-in), for one second before the database is queried again.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use diesel::sql_types::{BigInt, Binary, Bool, Integer, Timestamptz};
use diesel::{QueryableByName, sql_query};
use diesel_async::RunQueryDsl;
use sha2::{Digest, Sha256};
use time::Duration;

use crate::config::{ConfigError, RateLimitConfig};
use crate::context::Call;
use crate::db::{ASYNC_COMMIT, Prepared};
use crate::error::{Error, Rejection, Result};
use crate::jobs::Work;
use crate::platform::Platform;
use crate::scope::Scope;
use crate::time::Timestamp;
use crate::turns::{Turn, Turns};

/// A declared limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// Name in the configuration: `auth.login.ip`.
    pub name: &'static str,
    /// Number of requests that a window allows.
    pub points: i32,
    /// Length of a window in seconds.
    pub seconds: i32,
    /// Seconds for which a key stays blocked after it exceeded the limit, and at least until the window ends; 0 = until the window ends.
    pub block_seconds: i32,
}

impl RateLimit {
    /// Declares a limit of `points` requests in `seconds`.
    #[must_use]
    pub const fn new(name: &'static str, points: i32, seconds: i32) -> Self {
        Self {
            name,
            points,
            seconds,
            block_seconds: 0,
        }
    }

    /// Blocks the key for at least this long after it exceeded the limit. Such a limit may be lifted earlier ([`RateLimits::reset`]).
    #[must_use]
    pub const fn blocking(mut self, seconds: i32) -> Self {
        self.block_seconds = seconds;
        self
    }

    /// Returns a time that no window lasts, with a minute for clocks that differ. A window that would end later was written while a clock was ahead, and
    /// counts as ended.
    fn longer_than_any(self) -> Duration {
        Duration::seconds(i64::from(self.seconds) + i64::from(self.block_seconds)) + Duration::MINUTE
    }
}

/// The limits in force.
#[derive(Debug)]
pub struct RateLimits {
    enabled: bool,
    declared: BTreeSet<&'static str>,
    changed: BTreeMap<String, (i32, i32)>,
    exceeded: Exceeded,
    turns: Turns<String>,
}

/// Time for which a node rejects from memory before it queries the database again, if another node may have lifted the limit.
const REMEMBERED: Duration = Duration::seconds(1);
/// Maximum number of remembered keys.
const REMEMBERED_KEYS: usize = 10_000;

/// Longest wait for the preceding requests of a network.
const TURN_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(5);

/// Keys that are over their limit, so that a flood of requests costs one statement and not one for each request.
#[derive(Debug, Default)]
struct Exceeded(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    keys: HashMap<Vec<u8>, Over>,
    /// Time of the last removal of ended windows, which happens when the map is full.
    swept_at: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy)]
struct Over {
    /// When the database reported it.
    since: Timestamp,
    /// Whether the limit may be lifted before its window ends.
    may_be_lifted: bool,
    window_ends_at: Timestamp,
}

impl Over {
    /// Returns whether the entry is still valid.
    fn holds(&self, now: Timestamp) -> bool {
        let is_fresh = !self.may_be_lifted || now < self.since.after(REMEMBERED);
        self.since <= now && now < self.window_ends_at && is_fresh
    }
}

impl Exceeded {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the end of the key's window, if the key is known to be over its limit.
    fn find(&self, key: &[u8], now: Timestamp) -> Option<Timestamp> {
        let over = *self.known().keys.get(key)?;
        over.holds(now).then_some(over.window_ends_at)
    }

    fn remember(&self, key: Vec<u8>, over: Over) {
        let (now, mut known) = (over.since, self.known());
        // At most once a second: with that many clients over their limits, each request would go through all keys.
        let may_sweep = known.swept_at.is_none_or(|at| now < at || now >= at.after(REMEMBERED));
        if known.keys.len() >= REMEMBERED_KEYS && may_sweep {
            known.keys.retain(|_, known| known.holds(now));
            known.swept_at = Some(now);
        }
        if known.keys.len() < REMEMBERED_KEYS {
            known.keys.insert(key, over);
        }
    }

    fn forget(&self, key: &[u8]) {
        self.known().keys.remove(key);
    }
}

#[derive(QueryableByName)]
struct Counted {
    #[diesel(sql_type = Integer)]
    points: i32,
    #[diesel(sql_type = Timestamptz)]
    window_ends_at: Timestamp,
}

impl Platform {
    /// Returns the limits in force.
    #[must_use]
    pub fn rate_limits(&self) -> &RateLimits {
        self.services()
    }
}

impl RateLimits {
    /// Creates the limits from their section of the configuration, which may name every declared limit.
    ///
    /// # Errors
    /// When the section names an unknown limit, or a limit is not of the form `points/seconds`.
    pub fn new(
        config: &RateLimitConfig,
        declared: impl IntoIterator<Item = &'static RateLimit>,
    ) -> Result<Self, ConfigError> {
        let declared: BTreeSet<&'static str> = declared.into_iter().map(|limit| limit.name).collect();
        let mut changed = BTreeMap::new();
        for (name, value) in &config.limits {
            if !declared.contains(name.as_str()) {
                let known: Vec<&str> = declared.iter().copied().collect();
                return Err(ConfigError::new(
                    format!("rate_limits.limits.{name}"),
                    format!("unknown limit; known limits: {}", known.join(", ")),
                ));
            }
            let parsed = value.split_once('/').and_then(|(points, seconds)| {
                let (points, seconds) = (points.trim().parse::<i32>().ok()?, seconds.trim().parse::<i32>().ok()?);
                (points > 0 && seconds > 0).then_some((points, seconds))
            });
            let Some(parsed) = parsed else {
                let key = format!("rate_limits.limits.{name}");
                return Err(ConfigError::new(key, "must be `points/seconds`, for example `20/60`"));
            };
            changed.insert(name.clone(), parsed);
        }
        Ok(Self {
            enabled: config.enabled,
            declared,
            changed,
            exceeded: Exceeded::default(),
            turns: Turns::new(1),
        })
    }

    fn in_force(&self, limit: RateLimit) -> RateLimit {
        debug_assert!(
            self.declared.contains(limit.name),
            "no module declares the limit {}",
            limit.name
        );
        match self.changed.get(limit.name) {
            Some(&(points, seconds)) => RateLimit {
                points,
                seconds,
                ..limit
            },
            None => limit,
        }
    }

    fn key(limit: RateLimit, subject: &str) -> Vec<u8> {
        let mut hash = Sha256::new();
        hash.update(limit.name.as_bytes());
        hash.update([0]);
        hash.update(subject.as_bytes());
        hash.finalize().to_vec()
    }

    /// Rejects a subject that this process knows to be over the limit. Neither counts nor sends a statement.
    ///
    /// # Errors
    /// As [`RateLimits::count`].
    pub fn check(&self, call: &Call, limit: RateLimit, subject: &str) -> Result<()> {
        if !self.enabled {
            return Ok(());
        }
        let limit = self.in_force(limit);
        match self.exceeded.find(&Self::key(limit, subject), call.now) {
            Some(end) => Err(too_many(limit, call.now, end)),
            None => Ok(()),
        }
    }

    /// Waits until the preceding requests of this network have been counted; ends when the guard is dropped. Returns at once if limits are
    /// disabled.
    ///
    /// # Errors
    /// 503 when the preceding requests take too long.
    pub(crate) async fn turn(&self, network: &str) -> Result<Option<Turn<'_, String>>> {
        if !self.enabled {
            return Ok(None);
        }
        let taken = self.turns.take(network.to_owned(), TURN_TIMEOUT).await;
        taken
            .map(Some)
            .ok_or_else(|| Error::Unavailable("the limits are counted too slowly".into()))
    }

    /// Counts one request of this subject against each of these limits.
    pub(crate) async fn count_all(&self, call: &Call, limits: &[RateLimit], subject: &str) -> Result<()> {
        for limit in limits {
            self.count(call, *limit, subject).await?;
        }
        Ok(())
    }

    /// Counts one request of this subject against the limit.
    ///
    /// # Errors
    /// 429 with `Retry-After`, `RateLimit-Policy` and `RateLimit` when the limit is exceeded.
    pub async fn count(&self, call: &Call, limit: RateLimit, subject: &str) -> Result<()> {
        if !self.enabled {
            return Ok(());
        }
        let limit = self.in_force(limit);
        let key = Self::key(limit, subject);
        if let Some(end) = self.exceeded.find(&key, call.now) {
            return Err(too_many(limit, call.now, end));
        }
        let mut connection = call.database().unlogged(&Scope::system()).await?;
        let statement = sql_query(format!(
            "insert into core_rate_limits as l (key, points, window_ends_at) \
             select $1, 1, $2 + make_interval(secs => $3) from (select {ASYNC_COMMIT}) hasty \
             on conflict (key) do update set \
               points = case when l.window_ends_at <= $2 or l.window_ends_at > $7 then 1 else least(l.points, 1000000) + 1 end, \
               window_ends_at = case \
                 when l.window_ends_at <= $2 or l.window_ends_at > $7 then $2 + make_interval(secs => $3) \
                 when $6 and l.points = $4 then greatest(l.window_ends_at, $2 + make_interval(secs => $5)) \
                 else l.window_ends_at end \
             returning points, window_ends_at"
        ))
        .bind::<Binary, _>(&key)
        .bind::<Timestamptz, _>(call.now)
        .bind::<Integer, _>(limit.seconds)
        .bind::<Integer, _>(limit.points)
        .bind::<Integer, _>(limit.block_seconds)
        .bind::<Bool, _>(limit.block_seconds > 0)
        .bind::<Timestamptz, _>(call.now.after(limit.longer_than_any()));
        let counted: Counted = Prepared(statement).get_result(&mut *connection).await?;
        if counted.points <= limit.points {
            return Ok(());
        }
        let over = Over {
            since: call.now,
            may_be_lifted: limit.block_seconds > 0,
            window_ends_at: counted.window_ends_at,
        };
        self.exceeded.remember(key, over);
        Err(too_many(limit, call.now, counted.window_ends_at))
    }

    /// Counts an effect of a job, such as a mail, by a subject of the job's tenant. Returns false if it is over the limit: the job continues without
    /// the effect, and the node logs a warning for the first such effect of a window. Only the first attempt counts it, because attempts that send
    /// nothing must not use up the limit.
    ///
    /// # Errors
    /// When the database can't be reached.
    pub async fn allows_effect(&self, work: &Work<'_>, limit: RateLimit, subject: &str) -> Result<bool> {
        if work.attempt() > 1 {
            return Ok(true);
        }
        let (call, tenant) = (work.call(), work.tenant());
        let subject = format!("{tenant} {subject}");
        let is_reported = self.check(call, limit, &subject).is_err();
        match self.count(call, limit, &subject).await {
            Err(Error::Rejected(_)) if is_reported => Ok(false),
            Err(Error::Rejected(_)) => {
                tracing::warn!(tenant.id = %tenant, limit.name = limit.name, "effects of jobs over their limit dropped");
                Ok(false)
            }
            counted => counted.map(|()| true),
        }
    }

    /// Resets the count of this subject (after a successful sign-in).
    ///
    /// # Errors
    /// When the database can't be reached.
    pub async fn reset(&self, call: &Call, limit: RateLimit, subject: &str) -> Result<()> {
        if !self.enabled {
            return Ok(());
        }
        debug_assert!(
            limit.block_seconds > 0,
            "a limit without a block can't be lifted, because other nodes remember it: {}",
            limit.name
        );
        let key = Self::key(limit, subject);
        let mut connection = call.database().unlogged(&Scope::system()).await?;
        self.exceeded.forget(&key);
        let statement = sql_query(format!(
            "delete from core_rate_limits using (select {ASYNC_COMMIT}) hasty where key = $1"
        ))
        .bind::<Binary, _>(&key);
        Prepared(statement).execute(&mut *connection).await?;
        Ok(())
    }
}

/// Rows that one statement of [`sweep`] deletes.
const SWEPT: i64 = 5000;

/// Removes ended windows and expired idempotency keys, 5000 rows at a time; called by the host from time to time. Any number of nodes may call it:
/// each skips the rows that another one is deleting.
///
/// # Errors
/// When the database can't be reached.
pub async fn sweep(call: &Call) -> Result<()> {
    let mut connection = call.database().unlogged(&Scope::system()).await?;
    for statement in [SWEEP_WINDOWS, SWEEP_KEYS] {
        loop {
            let removed = sql_query(statement)
                .bind::<Timestamptz, _>(call.now)
                .bind::<BigInt, _>(SWEPT)
                .execute(&mut *connection)
                .await?;
            if i64::try_from(removed).unwrap_or(SWEPT) < SWEPT {
                break;
            }
        }
    }
    Ok(())
}

const SWEEP_WINDOWS: &str = "\
delete from core_rate_limits l using (
    select key from core_rate_limits where window_ends_at < $1
    order by window_ends_at limit $2 for update skip locked
) ended where l.key = ended.key";

const SWEEP_KEYS: &str = "\
delete from core_idempotency_keys k using (
    select tenant_id, id from core_idempotency_keys where expires_at < $1
    order by expires_at limit $2 for update skip locked
) expired where k.tenant_id = expired.tenant_id and k.id = expired.id";

fn too_many(limit: RateLimit, now: Timestamp, window_ends_at: Timestamp) -> Error {
    let wait_ms = (window_ends_at.unix_millis() - now.unix_millis()).max(0);
    let wait = u64::try_from(wait_ms).unwrap_or(0).div_ceil(1000).max(1);
    rejection(
        limit.name,
        limit.points.unsigned_abs(),
        limit.seconds.unsigned_abs(),
        wait,
    )
}

/// Creates the 429 of a limit of `points` in `seconds`, with the seconds to wait.
pub(crate) fn rejection(name: &str, points: u32, seconds: u32, wait: u64) -> Error {
    let rejection = Rejection {
        retry_after: Some(wait),
        rate_limit: Some((
            format!("\"{name}\";q={points};w={seconds}"),
            format!("\"{name}\";r=0;t={wait}"),
        )),
        ..Rejection::new(actix_web::http::StatusCode::TOO_MANY_REQUESTS, "Too many requests")
    };
    rejection.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    static DECLARED: [RateLimit; 2] = [RateLimit::new("one.ip", 20, 60), RateLimit::new("one.account", 5, 60)];

    fn limits(name: &str, value: &str) -> Result<RateLimits, ConfigError> {
        let config = RateLimitConfig {
            limits: BTreeMap::from([(name.to_owned(), value.to_owned())]),
            ..RateLimitConfig::default()
        };
        RateLimits::new(&config, &DECLARED)
    }

    #[test]
    fn a_limit_that_no_module_has_is_rejected_with_those_that_there_are() {
        let changed = limits("one.ip", "3/10").expect("known");
        let in_force = changed.in_force(DECLARED[0]);
        assert_eq!((in_force.points, in_force.seconds), (3, 10));

        let rejected = limits("one.ipp", "3/10").expect_err("a slip").to_string();

        assert!(rejected.contains("rate_limits.limits.one.ipp"), "{rejected}");
        assert!(rejected.contains("one.account, one.ip"), "{rejected}");
    }

    #[test]
    fn points_and_seconds_are_above_zero() {
        for value in ["", "3", "3/0", "0/10", "-1/10", "a/b", "3/10/1"] {
            assert!(limits("one.ip", value).is_err(), "{value}");
        }
    }
}
