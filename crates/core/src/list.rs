//! Bounded pages and lists of values (section 7 of the conventions).

mod added;
mod beside;
mod by_id;
mod comma;
mod limited;
pub mod parameters;
mod query;
mod range;
mod references;
mod schema;
mod search;
mod start;

use std::future::Future;

use diesel::QueryResult;
use diesel::dsl::sql;
use diesel::expression::SqlLiteral;
use diesel::sql_types::Text;
use diesel_async::AsyncPgConnection;
use futures_util::future::try_join;
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

pub use added::{Added, AddedRows};
pub use beside::{Beside, BesideKey};
pub use by_id::ById;
pub use comma::{CommaList, MOST_VALUES};
pub use limited::Limited;
pub(crate) use query::report_common;
pub use query::{ListQuery, ListRequest, SortField, Sortable};
pub use range::instant;
pub use references::{Fragment, References};
pub use schema::{IdList, IdsOrNone, InstantOrDate};
pub use search::{find_texts, find_with};
pub use start::{Keys, KnownRow, Start};

use crate::collections::Version;
use crate::context::{ReadCollections, RequestContext};
use crate::error::{Detail, Rejection, Result};

/// Maximum number of rows of a page.
pub const MAX_PAGE_SIZE: u32 = 100;
/// Maximum page number.
pub const MAX_PAGE: u32 = i32::MAX as u32;
/// Number of rows of a page by default.
pub const DEFAULT_PAGE_SIZE: u32 = 50;
/// Longest `search`, in characters.
pub const MAX_SEARCH_LENGTH: usize = 200;

/// The query parameters `page` and `pageSize`.
#[derive(Debug, Clone, Copy, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct PageQuery {
    /// Page number from 1.
    #[param(minimum = 1, maximum = 2_147_483_647, default = 1)]
    pub page: Option<u32>,
    /// Rows of a page.
    #[param(minimum = 1, maximum = 100, default = 50)]
    pub page_size: Option<u32>,
}

impl PageQuery {
    /// Creates it from fields of a query.
    #[must_use]
    pub fn new(page: Option<u32>, page_size: Option<u32>) -> Self {
        Self { page, page_size }
    }

    /// Returns the window of rows.
    ///
    /// # Errors
    /// 400 when a value is out of range.
    pub fn window(self) -> Result<Window> {
        let (page, size) = (self.page.unwrap_or(1), self.page_size.unwrap_or(DEFAULT_PAGE_SIZE));
        let mut details = Vec::new();
        if page == 0 || page > MAX_PAGE {
            let message = format!("must be between 1 and {MAX_PAGE}");
            details.push(Detail::new("page", message, "out_of_range"));
        }
        if size == 0 || size > MAX_PAGE_SIZE {
            details.push(Detail::new("pageSize", "must be between 1 and 100", "out_of_range"));
        }
        if !details.is_empty() {
            return Err(Rejection::invalid(details).into());
        }
        Ok(Window { page, size })
    }
}

/// A validated page number and size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Page number from 1.
    pub page: u32,
    /// Rows of a page.
    pub size: u32,
}

impl Default for Window {
    fn default() -> Self {
        Self {
            page: 1,
            size: DEFAULT_PAGE_SIZE,
        }
    }
}

impl Window {
    /// Returns the number of rows to skip.
    #[must_use]
    pub fn offset(self) -> i64 {
        i64::from(self.page - 1) * i64::from(self.size)
    }

    /// Adds the limit and the offset of the page to a query.
    pub fn limited<Q>(self, query: Q) -> Limited<Q> {
        Limited::new(query, self.limit(), self.offset())
    }

    /// Returns the limit, if it can be part of the text of a statement for this page, which has no offset then.
    #[must_use]
    pub fn constant_limit(self) -> Option<i64> {
        Some(self.limit()).filter(|limit| self.page == 1 && limited::usual(*limit))
    }

    /// Returns the number of rows to take.
    #[must_use]
    pub fn limit(self) -> i64 {
        i64::from(self.size)
    }

    /// Reads the rows together with the version of their collections, and the total only if it is not known: from the page itself, if it is the
    /// last one, or from an earlier request with the same filters at the same version. `total` creates its future only then: a connection with a
    /// statement that was created and never sent counts as busy, and would not be used again.
    ///
    /// # Errors
    /// When the database can't be reached.
    pub async fn fetch<T, F: Future<Output = QueryResult<i64>>>(
        self,
        ctx: &RequestContext,
        connection: &AsyncPgConnection,
        rows: impl Future<Output = QueryResult<Vec<T>>>,
        total: impl FnOnce() -> F,
    ) -> Result<Page<T>> {
        let Some(reading) = ctx.read_collections() else {
            let (items, total) = try_join(rows, total()).await?;
            return Ok(self.page(items, total));
        };
        // The version comes first: rows that change after it make a tag too old, not a page.
        let (version, items) = try_join(ctx.collection_version(reading, connection), rows).await?;
        self.complete(ctx, reading, version, items, total).await
    }

    /// Returns the page with its total, which is counted if it is not known.
    async fn complete<T, F: Future<Output = QueryResult<i64>>>(
        self,
        ctx: &RequestContext,
        reading: &ReadCollections,
        version: Version,
        items: Vec<T>,
        total: impl FnOnce() -> F,
    ) -> Result<Page<T>> {
        if let Some(total) = self.total_of(items.len()) {
            return Ok(self.page(items, total));
        }
        let totals = ctx.platform().totals();
        let total = if let Some(total) = totals.find(&reading.filter, version) {
            total
        } else {
            let total = total().await?;
            totals.keep(reading.filter, version, total);
            total
        };
        Ok(self.page(items, total))
    }

    /// Returns the total, if this page with `rows` rows is the last one.
    fn total_of(self, rows: usize) -> Option<i64> {
        let rows = i64::try_from(rows).ok()?;
        let is_last = rows < self.limit() && (rows > 0 || self.page == 1);
        is_last.then(|| self.offset() + rows)
    }

    /// Returns the page with these items.
    #[must_use]
    pub fn page<T>(self, items: Vec<T>, total: i64) -> Page<T> {
        let size = i64::from(self.size);
        Page {
            items,
            total,
            page: self.page,
            page_size: self.size,
            total_pages: ((total + size - 1) / size).max(1),
        }
    }
}

impl RequestContext {
    /// Reads the version of the collections that the response shows. For handlers that read rows before their page: the version must come first.
    ///
    /// # Errors
    /// When the database can't be reached.
    pub async fn read_version_first(&self, connection: &AsyncPgConnection) -> Result<()> {
        if let Some(reading) = self.read_collections() {
            self.collection_version(reading, connection).await?;
        }
        Ok(())
    }
}

impl RequestContext {
    /// Returns the version of the collections that the response shows, once it was read.
    #[must_use]
    pub fn shown_version(&self) -> Option<Version> {
        self.read_collections()?.version()
    }
}

/// For lists that read their version in the statement of their rows.
impl RequestContext {
    /// Returns the total that was counted last for a list with these filters, with its version.
    #[must_use]
    pub fn latest_total(&self) -> Option<(Version, i64)> {
        self.platform().totals().latest(&self.read_collections()?.filter)
    }

    /// Keeps the version and, if it was counted, the total of a list that was read by one statement.
    pub fn keep_version(&self, version: Version, total: Option<i64>) {
        let Some(reading) = self.read_collections() else {
            return;
        };
        let version = reading.keep(version);
        if let Some(total) = total {
            self.platform().totals().keep(reading.filter, version, total);
        }
    }
}

/// One page of a list.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Page<T> {
    /// The rows.
    pub items: Vec<T>,
    /// Rows of all pages.
    pub total: i64,
    /// Page number from 1.
    pub page: u32,
    /// Rows of a page at most.
    pub page_size: u32,
    /// Number of pages, at least 1.
    pub total_pages: i64,
}

impl<T> Page<T> {
    /// Converts the items of the page.
    pub fn map<U>(self, change: impl FnMut(T) -> U) -> Page<U> {
        Page {
            items: self.items.into_iter().map(change).collect(),
            total: self.total,
            page: self.page,
            page_size: self.page_size,
            total_pages: self.total_pages,
        }
    }

    /// Converts all items of the page together.
    pub fn map_items<U>(self, change: impl FnOnce(Vec<T>) -> Vec<U>) -> Page<U> {
        Page {
            items: change(self.items),
            total: self.total,
            page: self.page,
            page_size: self.page_size,
            total_pages: self.total_pages,
        }
    }

    /// Converts the items of the page, unless one of them fails.
    ///
    /// # Errors
    /// The first failure.
    pub fn try_map<U>(self, change: impl FnMut(T) -> Result<U>) -> Result<Page<U>> {
        Ok(Page {
            items: self.items.into_iter().map(change).collect::<Result<_>>()?,
            total: self.total,
            page: self.page,
            page_size: self.page_size,
            total_pages: self.total_pages,
        })
    }
}

/// The order of a list. Rows without a value come last in both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    /// The column, with its table.
    pub column: &'static str,
    /// Whether the column can be null; such rows come last.
    pub nullable: bool,
    /// Whether the largest values come first.
    pub descending: bool,
}

impl Order {
    /// Returns the keys of the list: this column, then the id.
    #[must_use]
    pub const fn then(self, id: &'static str) -> Keys {
        Keys { order: self, id }
    }

    /// Returns the order, with the row's id as the last key.
    pub fn by(self, id: &str) -> SqlLiteral<Text> {
        let direction = if self.descending { "desc" } else { "asc" };
        let nulls = if self.nullable { " nulls last" } else { "" };
        sql::<Text>(&format!("{} {direction}{nulls}, {id} {direction}", self.column))
    }
}

/// Returns the pattern for `ilike` that finds `search` as a substring, with literal wildcards; `None` for an absent or blank search. `path` is the
/// parameter or field that has the search.
///
/// # Errors
/// 400 when the search is too long.
pub fn search_pattern(path: &str, search: Option<&str>) -> Result<Option<String>> {
    let Some(search) = search.map(str::trim).filter(|search| !search.is_empty()) else {
        return Ok(None);
    };
    if search.chars().count() > MAX_SEARCH_LENGTH {
        return Err(Rejection::invalid(vec![Detail::new(path, "must be at most 200 characters", "too_long")]).into());
    }
    let mut pattern = String::with_capacity(search.len() + 2);
    pattern.push('%');
    for c in search.chars() {
        if matches!(c, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern.push('%');
    Ok(Some(pattern))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_list_has_one_page() {
        let page = PageQuery::default()
            .window()
            .expect("defaults")
            .page::<()>(Vec::new(), 0);

        assert_eq!((page.total_pages, page.page_size), (1, 50));
    }

    #[test]
    fn values_out_of_range_are_rejected() {
        for (page, page_size) in [(Some(0), None), (None, Some(0)), (None, Some(101))] {
            assert!(PageQuery { page, page_size }.window().is_err());
        }
    }

    #[test]
    fn wildcards_in_a_search_are_literal() {
        assert_eq!(
            search_pattern("search", Some(" 5%_\\ ")).expect("short"),
            Some("%5\\%\\_\\\\%".to_owned())
        );
    }
}
