//! Pages after the first one: they begin at a row whose position is known.

use std::future::Future;

use diesel::QueryResult;
use diesel::dsl::sql;
use diesel::expression::SqlLiteral;
use diesel::query_dsl::methods::FilterDsl;
use diesel::sql_types::{Bool, Text, Uuid as SqlUuid};
use diesel_async::AsyncPgConnection;
use futures_util::future::try_join;
use uuid::Uuid;

use super::{Fragment, Limited, Order, Page, Window};
use crate::collections::{self, Mark, MarkKey, Version};
use crate::context::RequestContext;
use crate::error::Result;
use crate::fingerprint::Fingerprint;

/// The columns by which a list is sorted: one, then the id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keys {
    /// The first column.
    pub order: Order,
    /// The id, with its table, which also has the first column and a `tenant_id`.
    pub id: &'static str,
}

impl Keys {
    /// The smallest values of a column without nulls come first, then the smallest ids.
    #[must_use]
    pub const fn ascending(column: &'static str, id: &'static str) -> Self {
        let order = Order {
            column,
            nullable: false,
            descending: false,
        };
        Self { order, id }
    }

    /// Returns the expression to sort by.
    pub fn expression(self) -> SqlLiteral<Text> {
        self.order.by(self.id)
    }

    /// Identifies the position `offset` of a list with this order.
    fn position(self, filter: [u8; 32], offset: i64) -> MarkKey {
        let mut fingerprint = Fingerprint::default();
        fingerprint.bytes(&filter);
        fingerprint.bytes(self.order.column.as_bytes());
        fingerprint.bytes(&[u8::from(self.order.descending)]);
        fingerprint.bytes(&offset.to_be_bytes());
        fingerprint.finish()
    }
}

/// Where a page begins: after a number of rows, or at a row whose position is known.
#[derive(Debug, Clone, Copy)]
pub struct Start {
    keys: Keys,
    window: Window,
    mark: Option<Mark>,
}

impl Start {
    /// Excludes the rows before the known one from a boxed query on the table `T`.
    #[must_use]
    pub fn of<T: 'static, Q: FilterDsl<Fragment<T, Bool>, Output = Q>>(&self, query: Q) -> Q {
        match self.mark {
            Some(mark) => query.filter(self.condition(mark)),
            None => query,
        }
    }

    fn condition<T: 'static>(&self, mark: Mark) -> Fragment<T, Bool> {
        let Keys { order, id } = self.keys;
        let table = id.split('.').next().unwrap_or_default();
        let columns = format!("{}, {id}", order.column);
        let relation = if order.descending { "<=" } else { ">=" };
        let text = format!("({columns}) {relation} (select {columns} from {table} where {table}.tenant_id = ");
        Box::new(
            sql::<Bool>(&text)
                .bind::<SqlUuid, _>(mark.tenant)
                .sql(&format!(" and {id} = "))
                .bind::<SqlUuid, _>(mark.id)
                .sql(")"),
        )
    }

    /// Returns whether the statement skips at most one row. A statement that skips more should find the ids of its rows first, and select names
    /// and counts for these rows only: PostgreSQL computes every selected expression for the skipped rows too.
    #[must_use]
    pub fn is_near(&self) -> bool {
        self.offset() <= 1
    }

    /// Returns the number of rows to skip among those that fulfil the condition.
    #[must_use]
    pub fn offset(&self) -> i64 {
        self.mark.map_or(self.window.offset(), |mark| i64::from(mark.is_before))
    }

    /// Adds the limit and the offset to the query.
    pub fn limited<Q>(&self, query: Q) -> Limited<Q> {
        Limited::new(query, self.window.limit(), self.offset())
    }
}

impl Window {
    /// [`Window::fetch`] for a list of any number of rows: `rows` runs the statement for the rows from a start. A page after the first one begins at
    /// a row of which an earlier request has found the position, at the same version of the collections: a client that reads one page after the
    /// other, or the same page again, does not make PostgreSQL skip the rows before it each time. `id` returns the tenant and the id of a row.
    ///
    /// # Errors
    /// When the database can't be reached.
    pub async fn fetch_from<T, F>(
        self,
        ctx: &RequestContext,
        connection: &AsyncPgConnection,
        keys: Keys,
        id: impl Fn(&T) -> (Uuid, Uuid),
        rows: impl AsyncFn(Start) -> QueryResult<Vec<T>>,
        total: impl FnOnce() -> F,
    ) -> Result<Page<T>>
    where
        F: Future<Output = QueryResult<i64>>,
    {
        let start = |mark| Start {
            keys,
            window: self,
            mark,
        };
        let range = (self.offset(), self.limit());
        let Some(reading) = ctx.read_collections().filter(|_| !keys.order.nullable) else {
            return self.fetch(ctx, connection, rows(start(None)), total).await;
        };
        let marks = ctx.platform().marks();
        let known = Some(keys.position(reading.filter, self.offset())).filter(|_| self.page > 1);
        if let Some((version, mark)) = known.and_then(|position| marks.latest(&position))
            && reading.version().is_none_or(|read| read == version)
        {
            // The version comes last: if it is still that of the mark, then no row has changed since, and the page is exact.
            let (own, kinds) = (ctx.identity().tenant, reading.kinds);
            let last = collections::version(connection, ctx.scope(), own, kinds);
            let (items, last) = try_join(rows(start(Some(mark))), last).await?;
            if last == version {
                let version = reading.keep(version);
                ctx.keep_rows(keys, range, &items, id);
                return self.complete(ctx, reading, version, items, total).await;
            }
        }
        let page = self.fetch(ctx, connection, rows(start(None)), total).await?;
        ctx.keep_rows(keys, range, &page.items, id);
        Ok(page)
    }
}

/// For lists that read their version in the statement of their rows.
impl RequestContext {
    /// Returns the row at which the page after `offset` rows begins, if an earlier request has found it.
    #[must_use]
    pub fn known_row(&self, keys: Keys, offset: i64) -> Option<KnownRow> {
        let reading = self.read_collections().filter(|_| offset > 0)?;
        let (version, mark) = self.platform().marks().latest(&keys.position(reading.filter, offset))?;
        Some(KnownRow {
            version,
            id: mark.id,
            skipped: i64::from(mark.is_before),
        })
    }

    /// Keeps the positions of the first row of a page and of the one after its last row, at the version that was read before or with them. The page
    /// begins after `offset` rows; with fewer than `limit` rows it is the last one. `id` returns the tenant and the id of a row.
    pub fn keep_rows<T>(&self, keys: Keys, (offset, limit): (i64, i64), page: &[T], id: impl Fn(&T) -> (Uuid, Uuid)) {
        let Some(reading) = self.read_collections() else {
            return;
        };
        let Some(version) = reading.version() else {
            return;
        };
        let keep = |row: Option<&T>, offset, is_before| {
            if let Some((tenant, id)) = row.map(&id) {
                let mark = Mark { tenant, id, is_before };
                let position = keys.position(reading.filter, offset);
                self.platform().marks().keep(position, version, mark);
            }
        };
        if offset > 0 {
            keep(page.first(), offset, false);
        }
        if i64::try_from(page.len()) == Ok(limit) {
            keep(page.last(), offset + limit, true);
        }
    }
}

/// A row of a list whose position is known.
#[derive(Debug, Clone, Copy)]
pub struct KnownRow {
    /// The version at which it has the position.
    pub version: Version,
    /// The row.
    pub id: Uuid,
    /// Number of rows, from this one on, before the page.
    pub skipped: i64,
}
