//! JSON documents that clients store (`metadata`, settings, filters): their maximum size, and the number of them that fits into a response.

use std::io::{self, Write};

use diesel::sql_types::{Array, BigInt, Integer, Nullable, Text, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use crate::error::{Detail, Result};

mod transcode;

pub use transcode::StoredJson;

/// Longest document that a client may store, in bytes of its JSON text without white space.
pub const MOST_BYTES: usize = 64 * 1024;
/// Deepest nesting of such a document; a plain value has depth 0.
pub const DEEPEST: usize = 16;
/// Longest response, in bytes.
pub const MOST_RESPONSE_BYTES: usize = 8 * 1024 * 1024;

/// Checks a document that a client wants to store.
///
/// # Errors
/// `too_long` for a document of more than [`MOST_BYTES`], `invalid_value` for one that is nested deeper than [`DEEPEST`].
pub fn check(path: &str, document: &Value) -> Result<(), Detail> {
    check_size(path, document)?;
    if depth_exceeds(document, DEEPEST) {
        let message = format!("must not be nested deeper than {DEEPEST} levels");
        return Err(Detail::new(path, message, "invalid_value"));
    }
    Ok(())
}

/// Checks only the size of a document, for documents whose type bounds the depth.
///
/// # Errors
/// `too_long` for a document of more than [`MOST_BYTES`].
pub fn check_size(path: &str, document: &impl Serialize) -> Result<(), Detail> {
    // Writing fails only at the limit.
    if serde_json::to_writer(Bounded(MOST_BYTES), document).is_ok() {
        return Ok(());
    }
    let message = format!("must be at most {} KiB of JSON", MOST_BYTES / 1024);
    Err(Detail::new(path, message, "too_long"))
}

fn depth_exceeds(document: &Value, levels: usize) -> bool {
    let deeper = |inner: &Value| match levels.checked_sub(1) {
        Some(left) => depth_exceeds(inner, left),
        None => true,
    };
    match document {
        Value::Array(items) => levels == 0 || items.iter().any(deeper),
        Value::Object(fields) => levels == 0 || fields.values().any(deeper),
        _ => false,
    }
}

/// Accepts this many bytes, and fails after that.
struct Bounded(usize);

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self
            .0
            .checked_sub(bytes.len())
            .ok_or_else(|| io::Error::from(io::ErrorKind::FileTooLarge))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Up to three documents of a row, as JSON texts.
pub type Texts = [Option<String>; 3];

#[derive(QueryableByName)]
struct Read {
    #[diesel(sql_type = Integer)]
    n: i32,
    #[diesel(sql_type = Nullable<Text>)]
    first: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    second: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    third: Option<String>,
}

/// Reads the documents of the rows of a page, in the order of `keys` (tenant and id), up to `budget` bytes in total. Rows whose documents do
/// not fit are `None`. One statement, in which PostgreSQL reads no document after the first that does not fit.
///
/// `table` and its jsonb `columns` (one to three) are constants of the module.
///
/// # Errors
/// When the database can't be reached.
pub async fn read_within(
    connection: &AsyncPgConnection,
    table: &'static str,
    columns: &[&'static str],
    keys: &[(Uuid, Uuid)],
    budget: usize,
) -> Result<Vec<Option<Texts>>> {
    let mut texts: Vec<Option<Texts>> = keys.iter().map(|_| None).collect();
    if keys.is_empty() {
        return Ok(texts);
    }
    let (tenants, ids): (Vec<Uuid>, Vec<Uuid>) = keys.iter().copied().unzip();
    let rows: Vec<Read> = sql_query(statement(table, columns))
        .bind::<Array<SqlUuid>, _>(tenants)
        .bind::<Array<SqlUuid>, _>(ids)
        .bind::<Integer, _>(i32::try_from(keys.len()).unwrap_or(i32::MAX))
        .bind::<BigInt, _>(i64::try_from(budget).unwrap_or(i64::MAX))
        .load(&mut &*connection)
        .await?;
    for row in rows {
        let slot = usize::try_from(row.n - 1).ok().and_then(|index| texts.get_mut(index));
        if let Some(slot) = slot {
            *slot = Some([row.first, row.second, row.third]);
        }
    }
    Ok(texts)
}

/// Returns the recursive statement over the keys: each step reads the documents of one row, and the recursion ends when the budget
/// is spent.
///
/// The index of the next key is a column of its own. Row-level security lets only leakproof functions use an index: a subscript is leakproof,
/// the sum in `($2)[w.n + 1]` is not, and each step would read the whole table.
fn statement(table: &str, columns: &[&str]) -> String {
    let column = |index: usize| columns.get(index).map(|name| format!("d.{name}::text"));
    let or_null = |index: usize| column(index).unwrap_or_else(|| "null::text".to_owned());
    let (first, second, third) = (or_null(0), or_null(1), or_null(2));
    format!(
        "with recursive walk (n, next, spent, first, second, third) as ( \
            select 0, 1, 0::bigint, null::text, null::text, null::text \
            union all \
            select w.next, w.next + 1, w.spent + coalesce(octet_length(r.first), 0) + coalesce(octet_length(r.second), 0) \
                + coalesce(octet_length(r.third), 0), r.first, r.second, r.third \
            from walk w \
            left join lateral (select {first} as first, {second} as second, {third} as third from {table} d \
                where d.tenant_id = ($1)[w.next] and d.id = ($2)[w.next]) r on true \
            where w.n < $3 and w.spent < $4) \
        select n, first, second, third from walk where n > 0 and spent <= $4"
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn nested(levels: usize) -> Value {
        (0..levels).fold(json!(1), |inner, level| {
            if level % 2 == 0 {
                json!([inner])
            } else {
                json!({"a": inner})
            }
        })
    }

    #[test]
    fn f3_a_document_has_a_largest_size() {
        let of_bytes = |bytes: usize| json!("x".repeat(bytes - 2));
        let code = |document: &Value| check("metadata", document).map_err(|detail| detail.code.into_owned());

        assert_eq!(code(&of_bytes(MOST_BYTES)), Ok(()));
        assert_eq!(code(&of_bytes(MOST_BYTES + 1)), Err("too_long".to_owned()));
    }

    #[test]
    fn f3_a_document_has_a_deepest_level() {
        let code = |document: &Value| check("metadata", document).map_err(|detail| detail.code.into_owned());

        assert_eq!(code(&nested(DEEPEST)), Ok(()));
        assert_eq!(code(&nested(DEEPEST + 1)), Err("invalid_value".to_owned()));
    }

    #[test]
    fn keys_are_found_by_leakproof_expressions() {
        let text = statement("logs", &["before"]);

        assert!(
            text.contains("d.tenant_id = ($1)[w.next] and d.id = ($2)[w.next])"),
            "{text}"
        );
    }

    #[test]
    fn columns_that_are_not_there_are_null() {
        let text = statement("logs", &["before"]);

        assert!(text.contains("select d.before::text as first, null::text as second, null::text as third from logs d"));
    }
}
