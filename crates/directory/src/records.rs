//! The records that this module offers to others: files may be attached to them, and business rules guard and change them.

use backoffice_core::command::Entity;
use backoffice_core::crud;
use backoffice_core::db::KeyColumn;
use backoffice_core::records::FieldType::{Boolean, Id, Text, Time};
use backoffice_core::records::{FoundRecord, RecordField, RecordKind};
use backoffice_core::{Result, Scope};
use diesel::QueryDsl;
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::future::BoxFuture;
use uuid::Uuid;

use crate::model::Organization;
use crate::schema::directory_organizations as organizations;
use crate::{acl, query};

/// Organizations.
pub(crate) const ORGANIZATIONS: RecordKind = RecordKind {
    kind: Organization::KIND,
    title: "Organization",
    view: &[acl::ORGANIZATIONS_VIEW],
    manage: &[acl::ORGANIZATIONS_MANAGE],
    find: find_organizations,
    guardable: true,
    fields: FIELDS,
    events: &[],
    write: Some(crud::write::<Organization>),
};

const FIELDS: &[RecordField] = &[
    RecordField::new("tenantId", Id),
    RecordField::new("id", Id),
    RecordField::new("organizationId", Id),
    RecordField::writable("name", Text),
    RecordField::new("slug", Text),
    RecordField::new("parentId", Id),
    RecordField::writable("logoUrl", Text),
    RecordField::new("isActive", Boolean),
    RecordField::new("createdAt", Time),
    RecordField::new("updatedAt", Time),
];

fn find_organizations<'a>(
    connection: &'a AsyncPgConnection,
    scope: &'a Scope,
    ids: &'a [Uuid],
) -> BoxFuture<'a, Result<Vec<FoundRecord>>> {
    Box::pin(async move {
        let visible = query::organizations_in_scope(scope)
            .filter(scope.within(organizations::id))
            .filter(organizations::id.one_of(ids));
        let rows = visible.select((organizations::id, organizations::name));
        let rows: Vec<(Uuid, String)> = rows.load(&mut &*connection).await?;
        let record = |(id, label)| FoundRecord {
            id,
            organization: id,
            label,
        };
        Ok(rows.into_iter().map(record).collect())
    })
}
