//! Reads of series.

use backoffice_core::scope::{Owned, Within};
use backoffice_core::{Result, Scope};
use diesel::dsl::Filter;
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl, SelectableHelper};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

use crate::model::SeriesRow;
use crate::schema::calendar_series as series;

type InScope = Filter<Filter<series::table, Owned<series::tenant_id>>, Within<series::organization_id>>;

/// Returns the series that are visible to the caller.
pub(crate) fn in_scope(scope: &Scope) -> InScope {
    series::table
        .filter(scope.owns(series::tenant_id))
        .filter(scope.within(series::organization_id))
}

/// Returns the series with this id, if it is visible.
pub(crate) async fn find(connection: &AsyncPgConnection, scope: &Scope, id: Uuid) -> Result<Option<SeriesRow>> {
    let found = in_scope(scope).filter(series::id.eq(id)).select(SeriesRow::as_select());
    Ok(found.first(&mut &*connection).await.optional()?)
}
