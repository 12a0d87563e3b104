//! Reads the JSON documents of the rows of a page, as far as they fit into a response.

use diesel::sql_types::{Array, BigInt, Integer, Nullable, Text, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

use super::Prepared;
use crate::error::Result;

/// Up to three documents of a row, as JSON texts.
pub type DocumentTexts = [Option<String>; 3];

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
pub async fn read_documents(
    connection: &AsyncPgConnection,
    table: &'static str,
    columns: &[&'static str],
    keys: &[(Uuid, Uuid)],
    budget: usize,
) -> Result<Vec<Option<DocumentTexts>>> {
    let mut texts: Vec<Option<DocumentTexts>> = keys.iter().map(|_| None).collect();
    if keys.is_empty() {
        return Ok(texts);
    }
    let (tenants, ids): (Vec<Uuid>, Vec<Uuid>) = keys.iter().copied().unzip();
    let statement = sql_query(statement(table, columns))
        .bind::<Array<SqlUuid>, _>(tenants)
        .bind::<Array<SqlUuid>, _>(ids)
        .bind::<Integer, _>(i32::try_from(keys.len()).unwrap_or(i32::MAX))
        .bind::<BigInt, _>(i64::try_from(budget).unwrap_or(i64::MAX));
    let rows: Vec<Read> = Prepared(statement).load(&mut &*connection).await?;
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
    use super::*;

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
