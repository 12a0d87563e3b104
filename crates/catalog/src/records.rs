//! The records that this module offers to others: files may be attached to them, and business rules guard and change them.

use backoffice_core::command::Entity;
use backoffice_core::crud;
use backoffice_core::db::KeyColumn;
use backoffice_core::records::FieldType::{Boolean, Id, List, Object, Text, Time};
use backoffice_core::records::{FoundRecord, RecordField, RecordKind};
use backoffice_core::{Result, Scope};
use diesel::QueryDsl;
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
    guardable: true,
    fields: FIELDS,
    events: &[],
    write: Some(crud::write::<Product>),
};

const FIELDS: &[RecordField] = &[
    RecordField::new("tenantId", Id),
    RecordField::new("id", Id),
    RecordField::new("organizationId", Id),
    RecordField::writable("title", Text),
    RecordField::writable("subtitle", Text),
    RecordField::writable("description", Text),
    RecordField::writable("sku", Text),
    RecordField::writable("handle", Text),
    RecordField::writable("productType", Text),
    RecordField::writable("isActive", Boolean),
    RecordField::writable("primaryCurrencyCode", Text),
    RecordField::writable("tags", List),
    RecordField::writable("metadata", Object),
    RecordField::writable("categoryIds", List),
    RecordField::new("createdAt", Time),
    RecordField::new("updatedAt", Time),
];

fn find_products<'a>(
    connection: &'a AsyncPgConnection,
    scope: &'a Scope,
    ids: &'a [Uuid],
) -> BoxFuture<'a, Result<Vec<FoundRecord>>> {
    Box::pin(async move {
        let visible = query::products::in_scope(scope).filter(products::id.one_of(ids));
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
