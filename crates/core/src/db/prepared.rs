//! Statements that a connection prepares once and keeps.

use diesel::pg::Pg;
use diesel::query_builder::{AstPass, BoxedSqlQuery, Query, QueryFragment, QueryId, SqlQuery};
use diesel::serialize::ToSql;
use diesel::sql_types::HasSqlType;
use diesel::{QueryResult, QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::future::BoxFuture;

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

/// A prepared statement of constant text whose values are owned, so that its future has a type without parameters.
pub(crate) struct PreparedSql(Prepared<BoxedSqlQuery<'static, Pg, SqlQuery>>);

impl PreparedSql {
    /// Creates the statement without its values.
    pub(crate) fn new(sql: &'static str) -> Self {
        Self(Prepared(sql_query(sql).into_boxed()))
    }

    /// Adds the next value.
    pub(crate) fn bind<T, V>(self, value: V) -> Self
    where
        Pg: HasSqlType<T>,
        V: ToSql<T, Pg> + Send + 'static,
        T: Send + 'static,
    {
        Self(Prepared(self.0.0.bind::<T, V>(value)))
    }

    /// Runs the statement, which returns one row.
    pub(crate) fn run<T>(self, mut connection: &AsyncPgConnection) -> BoxFuture<'_, QueryResult<T>>
    where
        T: QueryableByName<Pg> + Send + 'static,
    {
        Box::pin(async move { self.0.get_result(&mut connection).await })
    }
}

/// [`Prepared`], if the condition holds; otherwise the statement is prepared each time. For statements over any number of rows, whose text depends
/// on that number: the one for a single row recurs, the others hardly do.
#[derive(Debug, Clone, Copy)]
pub struct PreparedIf<Q>(pub Q, pub bool);

impl<Q> QueryId for PreparedIf<Q> {
    type QueryId = ();

    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<Q: Query> Query for PreparedIf<Q> {
    type SqlType = Q::SqlType;
}

impl<Q: QueryFragment<Pg>> QueryFragment<Pg> for PreparedIf<Q> {
    fn walk_ast<'b>(&'b self, pass: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        self.0.walk_ast(pass)
    }

    fn is_safe_to_cache_prepared(&self, _backend: &Pg) -> QueryResult<bool> {
        Ok(self.1)
    }
}

/// Wraps statements at the end of their construction: `update(…).set(…).prepared().execute(…)`.
pub trait Recurring: Sized {
    /// Returns the statement as [`Prepared`].
    fn prepared(self) -> Prepared<Self> {
        Prepared(self)
    }

    /// Returns the statement as [`PreparedIf`] the condition holds.
    fn prepared_if(self, condition: bool) -> PreparedIf<Self> {
        PreparedIf(self, condition)
    }
}

impl<Q: QueryFragment<Pg>> Recurring for Q {}

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
