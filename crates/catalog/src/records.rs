//! The records that this module offers to others: files may be attached to them.

use backoffice_core::command::Entity;
use backoffice_core::records::{FoundRecord, RecordKind};
use backoffice_core::{Result, Scope};
use diesel::{ExpressionMethods, QueryDsl};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::future::BoxFuture;
use uuid::Uuid;

use crate::model::Product;
use crate::schema::catalog_products as products;
use crate::{acl, query};

/// Products.
pub(crate) const PRODUCTS: RecordKind = RecordKind {
    kind: Product::KIND,
    title: "Product",
    view: &[acl::PRODUCTS_VIEW],
    manage: &[acl::PRODUCTS_MANAGE],
    find: find_products,
};

fn find_products<'a>(
    connection: &'a AsyncPgConnection,
    scope: &'a Scope,
    ids: &'a [Uuid],
) -> BoxFuture<'a, Result<Vec<FoundRecord>>> {
    Box::pin(async move {
        let visible = query::products::in_scope(scope).filter(products::id.eq_any(ids));
        let rows = visible.select((products::id, products::organization_id, products::title));
        let rows: Vec<(Uuid, Uuid, String)> = rows.load(&mut &*connection).await?;
        let record = |(id, organization, label)| FoundRecord {
            id,
            organization,
            label,
        };
        Ok(rows.into_iter().map(record).collect())
    })
}
