//! Statements with a limit that PostgreSQL need not plan for each execution.

use diesel::QueryResult;
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::BigInt;

/// Page sizes that are part of a statement's text. Few, because each is a statement of its own that a connection prepares and keeps.
const USUAL_SIZES: [i64; 5] = [10, 20, 25, 50, 100];

/// A query with the limit and the offset of a page, which a connection prepares once and keeps.
///
/// A usual limit is part of the text, and there is no offset for the first rows. PostgreSQL plans a statement with parameters for the limit and
/// the offset at each execution, because its plan for any values expects a tenth of all rows: for a page of an index that costs more than the
/// rows.
#[derive(Debug, Clone, Copy)]
pub struct Limited<Q> {
    query: Q,
    limit: i64,
    offset: i64,
}

impl<Q> Limited<Q> {
    /// Adds the clauses to a query that has neither.
    #[must_use]
    pub fn new(query: Q, limit: i64, offset: i64) -> Self {
        Self { query, limit, offset }
    }
}

impl<Q> QueryId for Limited<Q> {
    type QueryId = ();

    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<Q: Query> Query for Limited<Q> {
    type SqlType = Q::SqlType;
}

impl<Q: QueryFragment<Pg>> QueryFragment<Pg> for Limited<Q> {
    fn walk_ast<'b>(&'b self, mut pass: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        self.query.walk_ast(pass.reborrow())?;
        pass.push_sql(" LIMIT ");
        match usual(self.limit) {
            true => pass.push_sql(&self.limit.to_string()),
            false => pass.push_bind_param::<BigInt, _>(&self.limit)?,
        }
        match self.offset {
            0 => {}
            // The page after a known row.
            1 => pass.push_sql(" OFFSET 1"),
            _ => {
                pass.push_sql(" OFFSET ");
                pass.push_bind_param::<BigInt, _>(&self.offset)?;
            }
        }
        Ok(())
    }

    fn is_safe_to_cache_prepared(&self, _backend: &Pg) -> QueryResult<bool> {
        Ok(true)
    }
}

/// Returns whether a limit is part of the text of statements.
pub(super) fn usual(limit: i64) -> bool {
    USUAL_SIZES.contains(&limit)
}

#[cfg(test)]
mod tests {
    use diesel::{debug_query, sql_query};

    use super::*;

    #[test]
    fn first_pages_of_usual_sizes_have_no_parameters() {
        let text = |limit, offset| {
            let statement = Limited::new(sql_query("select 1"), limit, offset);
            debug_query::<Pg, _>(&statement).to_string()
        };

        assert!(text(50, 0).starts_with("select 1 LIMIT 50 "));
        assert!(text(50, 1).starts_with("select 1 LIMIT 50 OFFSET 1 "));
        assert!(text(50, 150).starts_with("select 1 LIMIT 50 OFFSET $1 "));
        assert!(text(7, 7).starts_with("select 1 LIMIT $1 OFFSET $2 "));
    }
}
