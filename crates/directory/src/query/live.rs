//! The condition that a tenant is not deleted.

use backoffice_core::RequestContext;
use diesel::expression::{AppearsOnTable, Expression, SelectableExpression, ValidGrouping, is_aggregate};
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::result::QueryResult;
use diesel::sql_types::Bool;

/// Predicate "the row belongs to no deleted tenant"; created by [`in_live_tenant`].
#[derive(Debug, Clone, Copy)]
pub struct InLiveTenant<C> {
    column: C,
    is_checked: bool,
}

/// Returns the predicate for rows that belong to no deleted tenant. Rows of the platform fulfil it. It is checked only for super administrators and
/// the platform itself: no other caller can name a deleted tenant.
pub fn in_live_tenant<C>(ctx: &RequestContext, column: C) -> InLiveTenant<C> {
    InLiveTenant {
        column,
        is_checked: ctx.rights().is_super_admin,
    }
}

impl<C: QueryFragment<Pg>> QueryFragment<Pg> for InLiveTenant<C> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        if !self.is_checked {
            out.push_sql("true");
            return Ok(());
        }
        out.push_sql("not exists (select from directory_tenants dt where dt.tenant_id = ");
        self.column.walk_ast(out.reborrow())?;
        out.push_sql(" and dt.deleted_at is not null)");
        Ok(())
    }
}

impl<C: Expression> Expression for InLiveTenant<C> {
    type SqlType = Bool;
}

impl<C, Source> AppearsOnTable<Source> for InLiveTenant<C>
where
    C: AppearsOnTable<Source>,
    Self: Expression,
{
}

impl<C, Source> SelectableExpression<Source> for InLiveTenant<C>
where
    C: SelectableExpression<Source>,
    Self: AppearsOnTable<Source>,
{
}

impl<C, GroupBy> ValidGrouping<GroupBy> for InLiveTenant<C> {
    type IsAggregate = is_aggregate::No;
}

impl<C> QueryId for InLiveTenant<C> {
    type QueryId = ();
    // The text depends on the caller, so the statement cache must look at the text.
    const HAS_STATIC_QUERY_ID: bool = false;
}
