//! Reads of files.

use std::collections::{BTreeSet, HashSet};

use backoffice_core::db::{KeyColumn, Recurring};
use backoffice_core::scope::{Owned, Within};
use backoffice_core::{Result, Scope};
use diesel::dsl::Filter;
use diesel::{
    BoolExpressionMethods, ExpressionMethods, JoinOnDsl, OptionalExtension, QueryDsl, Queryable, SelectableHelper,
};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

use crate::model::{Attachment, STORE_SETTINGS, StoreSettings};
use crate::schema::{
    attachments_attachments as attachments, attachments_partitions as partitions, attachments_stores as stores,
};

type InScope = Filter<Filter<attachments::table, Owned<attachments::tenant_id>>, Within<attachments::organization_id>>;

/// Returns the files that are visible to the caller.
pub(crate) fn in_scope(scope: &Scope) -> InScope {
    attachments::table
        .filter(scope.owns(attachments::tenant_id))
        .filter(scope.within(attachments::organization_id))
}

/// A file with the beginning of its text.
#[derive(Debug, Clone, PartialEq, Eq, Queryable)]
pub struct Listed {
    /// The row.
    #[diesel(embed)]
    pub row: Attachment,
    /// The first 20,000 characters of its text.
    pub content: Option<String>,
    /// Whether the text is longer.
    pub is_truncated: bool,
    /// Code of its partition.
    pub partition_code: Option<String>,
    /// Title of its partition.
    pub partition_title: Option<String>,
}

/// The columns of [`Listed`].
macro_rules! listed {
    () => {
        (
            crate::model::Attachment::as_select(),
            attachments::content,
            attachments::content_rest.is_not_null(),
            diesel::dsl::sql::<diesel::sql_types::Nullable<diesel::sql_types::Text>>(
                "(select p.code from attachments_partitions p where p.tenant_id = attachments_attachments.partition_tenant_id \
                 and p.id = attachments_attachments.partition_id)",
            ),
            diesel::dsl::sql::<diesel::sql_types::Nullable<diesel::sql_types::Text>>(
                "(select p.title from attachments_partitions p where p.tenant_id = attachments_attachments.partition_tenant_id \
                 and p.id = attachments_attachments.partition_id)",
            ),
        )
    };
}
pub(super) use listed;

/// A file with its whole text.
#[derive(Debug, Clone, PartialEq, Eq, Queryable)]
pub struct Detailed {
    /// The row.
    #[diesel(embed)]
    pub row: Attachment,
    /// The first characters of its text.
    pub content: Option<String>,
    /// The other characters.
    pub content_rest: Option<String>,
}

/// Returns a file, if it is visible.
///
/// # Errors
/// When the database can't be reached.
pub async fn find(connection: &AsyncPgConnection, scope: &Scope, id: Uuid) -> Result<Option<Detailed>> {
    let found = in_scope(scope).filter(attachments::id.eq(id)).select((
        Attachment::as_select(),
        attachments::content,
        attachments::content_rest,
    ));
    Ok(found
        .limit(1)
        .prepared()
        .get_result(&mut &*connection)
        .await
        .optional()?)
}

/// Where a file belongs, and whether everybody may read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Queryable)]
pub struct Location {
    /// The tenant.
    pub tenant: Uuid,
    /// The organization.
    pub organization: Uuid,
    /// Whether its partition is public.
    pub is_public: bool,
}

/// Returns the location of the file with this id in any tenant: the address of a file names nothing else. Nothing else of the file is read here.
///
/// # Errors
/// When the database can't be reached.
pub async fn locate(connection: &AsyncPgConnection, id: Uuid) -> Result<Option<Location>> {
    let found = attachments::table
        .inner_join(
            partitions::table.on(partitions::tenant_id
                .eq(attachments::partition_tenant_id)
                .and(partitions::id.eq(attachments::partition_id))),
        )
        .filter(attachments::id.eq(id))
        .select((
            attachments::tenant_id,
            attachments::organization_id,
            partitions::is_public,
        ));
    Ok(found
        .limit(1)
        .prepared()
        .get_result(&mut &*connection)
        .await
        .optional()?)
}

/// What is needed to send the bytes of a file.
#[derive(Debug, Clone, PartialEq, Eq, Queryable)]
pub(crate) struct Stored {
    /// The file.
    #[diesel(embed)]
    pub(crate) row: Attachment,
    /// Whether its partition is public.
    pub(crate) is_public: bool,
    /// Its store.
    pub(crate) store: StoreSettings,
}

/// Returns the files of the scope's tenant with these ids, in any organization.
///
/// # Errors
/// When the database can't be reached.
pub(crate) async fn stored(connection: &AsyncPgConnection, scope: &Scope, ids: Vec<Uuid>) -> Result<Vec<Stored>> {
    let found = attachments::table
        .inner_join(
            partitions::table.on(partitions::tenant_id
                .eq(attachments::partition_tenant_id)
                .and(partitions::id.eq(attachments::partition_id))),
        )
        .inner_join(
            stores::table.on(stores::tenant_id
                .eq(attachments::partition_tenant_id)
                .and(stores::id.eq(attachments::store_id))),
        )
        .filter(scope.owns(attachments::tenant_id))
        .filter(attachments::id.one_of(ids))
        .select((Attachment::as_select(), partitions::is_public, STORE_SETTINGS));
    Ok(found.prepared().load(&mut &*connection).await?)
}

/// Returns those of these files that exist, in any tenant, with their tenants.
///
/// # Errors
/// When the database can't be reached.
pub(crate) async fn existing(connection: &AsyncPgConnection, ids: Vec<Uuid>) -> Result<HashSet<(Uuid, Uuid)>> {
    let found = attachments::table
        .filter(attachments::id.one_of(ids))
        .select((attachments::tenant_id, attachments::id));
    let found: Vec<(Uuid, Uuid)> = found.prepared().load(&mut &*connection).await?;
    Ok(found.into_iter().collect())
}

/// Returns the ids of those visible files that are attached to records of this kind, and to the record `from` if it is given, in ascending order.
///
/// # Errors
/// When the database can't be reached.
pub async fn movable(
    connection: &AsyncPgConnection,
    scope: &Scope,
    ids: &BTreeSet<Uuid>,
    entity: &str,
    from: Option<&str>,
) -> Result<Vec<Uuid>> {
    let mut files = in_scope(scope)
        .filter(attachments::id.one_of(ids.iter().copied().collect::<Vec<Uuid>>()))
        .filter(attachments::entity_id.eq(entity))
        .into_boxed();
    if let Some(from) = from {
        files = files.filter(attachments::record_id.eq(from));
    }
    let found = files.order(attachments::id).select(attachments::id);
    Ok(found.prepared().load(&mut &*connection).await?)
}
