//! Totals of tables to which rows are only added.

use time::Duration;

use crate::collections::{Counted, Version};
use crate::context::RequestContext;
use crate::error::Result;
use crate::time::Timestamp;

/// Milliseconds of an hour.
const HOUR: i64 = 3600 * 1000;

/// The rows of a list to count, by the time at which they were added.
#[derive(Debug, Clone, Copy)]
pub struct Added {
    /// Only rows that were added at this time or later.
    pub from: Option<Timestamp>,
    /// Divides them.
    pub split: Timestamp,
}

/// What a statement has counted.
#[derive(Debug, Clone, Copy)]
pub struct AddedRows {
    /// Number of rows that were added before the split.
    pub before: i64,
    /// Number of rows that were added later.
    pub since: i64,
    /// Version of the collections.
    pub version: Version,
}

impl RequestContext {
    /// Returns the total of a list of a table to which rows are only added, each in a transaction that ends within an hour, and of which rows are
    /// only removed or changed with a new version of the collections: the number that this process has counted for the same filter, plus the
    /// rows that were added since. Other lists have totals that are valid until a row changes; here each read may add one. `count` counts with one
    /// statement; a second one follows if the version has changed. For callers of all tenants every row is counted.
    ///
    /// # Errors
    /// When the database can't be reached.
    pub async fn count_added(&self, count: impl AsyncFn(Added) -> Result<AddedRows>) -> Result<i64> {
        // Rows that were added before the last full hour but one are committed.
        let now = self.now();
        let split = now.before(Duration::milliseconds(HOUR + now.unix_millis().rem_euclid(HOUR)));
        let of_one_tenant = self.scope().visible_tenants.one().is_some();
        let Some(reading) = self.read_collections().filter(|_| of_one_tenant) else {
            let rows = count(Added { from: None, split }).await?;
            return Ok(rows.before + rows.since);
        };
        let counted = self.platform().counted_rows();
        let known = counted.latest(&reading.filter);
        let known = known.filter(|(_, known)| known.until <= split);
        let from = known.map(|(_, known)| known.until);
        let mut rows = count(Added { from, split }).await?;
        let mut earlier = known.map_or(0, |(_, known)| known.rows);
        if known.is_some_and(|(version, _)| version != rows.version) {
            rows = count(Added { from: None, split }).await?;
            earlier = 0;
        }
        let settled = Counted {
            until: split,
            rows: earlier + rows.before,
        };
        counted.keep(reading.filter, rows.version, settled);
        Ok(settled.rows + rows.since)
    }
}
