//! Statements that a connection prepares once and keeps.

use diesel::QueryResult;
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};

/// A statement that a connection prepares once for each form of its text and keeps. diesel does so by itself only if the text follows from the
/// statement's type; it prepares `sql_query`, SQL fragments and updates each time, which costs a round trip and a plan. A connection with too
/// many prepared statements drops all of them when it is returned (`usage.rs`), so a list may have more forms than can be kept; a text that
/// contains values never occurs again and must not be wrapped.
#[derive(Debug, Clone, Copy)]
pub struct Prepared<Q>(pub Q);

impl<Q> QueryId for Prepared<Q> {
    type QueryId = ();

    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<Q: Query> Query for Prepared<Q> {
    type SqlType = Q::SqlType;
}

impl<Q: QueryFragment<Pg>> QueryFragment<Pg> for Prepared<Q> {
    fn walk_ast<'b>(&'b self, pass: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        self.0.walk_ast(pass)
    }

    fn is_safe_to_cache_prepared(&self, _backend: &Pg) -> QueryResult<bool> {
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use diesel::sql_query;
    use diesel::sql_types::Integer;

    use super::*;

    #[test]
    fn a_statement_is_kept_that_diesel_would_prepare_each_time() {
        let plain = sql_query("select $1").bind::<Integer, _>(1);
        assert!(matches!(plain.is_safe_to_cache_prepared(&Pg), Ok(false)));

        assert!(matches!(Prepared(plain).is_safe_to_cache_prepared(&Pg), Ok(true)));
    }
}
