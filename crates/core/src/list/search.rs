//! Searches through the index of texts (`docs/decisions/0034-searches-use-an-index-of-texts.md`).
//!
//! A migration makes a table searchable with `app_search_table`. A list first asks the index for the ids of the rows that may match, and then
//! reads only these rows, with the same conditions as without the index.

use diesel::sql_types::{Array, Integer, Nullable, Text, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::future::try_join;
use uuid::Uuid;

use crate::context::RequestContext;
use crate::db::Prepared;
use crate::error::Result;
use crate::scope::VisibleTenants;

/// Most ids that are taken from the index. A text that more rows have is frequent enough that a page of them is found sooner in the order of the
/// list.
const MOST_FOUND: u16 = 1000;
/// The index knows groups of so many characters.
const GROUP: usize = 3;

/// `$1` is the tenant, `$2` the kind, `$3` the searched text, `$4` the same in lower case, `$5` the most ids to return. One more than can be used
/// means that there are more.
const FIND: &str = "select app_find_texts($1, $2, $3, $4, $5) as ids";

#[derive(QueryableByName)]
struct Found {
    #[diesel(sql_type = Nullable<Array<SqlUuid>>)]
    ids: Option<Vec<Uuid>>,
}

/// Returns the ids of the rows of a kind that may match the pattern of a search, a superset of those that do; `None` when the list must compare
/// all its rows: without a pattern, for a text of less than three characters, for a caller of all tenants, or when more than 1,000 rows may match.
///
/// # Errors
/// When the database can't be reached.
pub async fn find_texts(
    ctx: &RequestContext,
    connection: &AsyncPgConnection,
    kind: &str,
    pattern: Option<&str>,
) -> Result<Option<Vec<Uuid>>> {
    find_with(ctx, connection, FIND, kind, pattern).await
}

/// As [`find_texts`], with a statement that returns the column `ids`, an array, or null when there are too many. Its parameters are the tenant,
/// the kind, the searched text, the same in lower case, and the most ids that it asks the index for: the index has found too many when it returns
/// that many.
///
/// # Errors
/// When the database can't be reached.
pub async fn find_with(
    ctx: &RequestContext,
    connection: &AsyncPgConnection,
    sql: &'static str,
    kind: &str,
    pattern: Option<&str>,
) -> Result<Option<Vec<Uuid>>> {
    let (VisibleTenants::Tenant(tenant), Some(text)) = (ctx.scope().visible_tenants, pattern.map(searched_text)) else {
        return Ok(None);
    };
    if text.chars().count() < GROUP {
        return Ok(None);
    }
    let statement = sql_query(sql)
        .bind::<SqlUuid, _>(tenant)
        .bind::<Text, _>(kind)
        .bind::<Text, _>(&text)
        .bind::<Text, _>(text.to_lowercase())
        .bind::<Integer, _>(i32::from(MOST_FOUND) + 1);
    let find = async { Ok(Prepared(statement).get_result::<Found>(&mut &*connection).await?) };
    // The version comes first: rows that change after it make a tag too old, not a page.
    let ((), found) = try_join(ctx.read_version_first(connection), find).await?;
    Ok(found.ids.filter(|ids| ids.len() <= usize::from(MOST_FOUND)))
}

/// Returns the text that a pattern was created from: without its first and last wildcard, and without escapes.
fn searched_text(pattern: &str) -> String {
    let escaped = pattern.strip_prefix('%').unwrap_or(pattern);
    let escaped = escaped.strip_suffix('%').unwrap_or(escaped);
    let mut is_escaped = false;
    let kept = escaped.chars().filter(|c| {
        is_escaped = *c == '\\' && !is_escaped;
        !is_escaped
    });
    kept.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::search_pattern;

    #[test]
    fn a_pattern_is_turned_back_into_its_text() {
        for text in ["abc", "100%", "%%", "a\\b", "\\\\", "_a_", "\\%"] {
            let pattern = search_pattern("search", Some(text)).expect("short").expect("not blank");
            assert_eq!(searched_text(&pattern), text, "{pattern}");
        }
    }
}
