//! The records that files are attached to.

use std::collections::{BTreeMap, HashSet};

use backoffice_core::records::{FoundRecord, RecordKind};
use backoffice_core::{Feature, Platform, Rejection, RequestContext, Result, Scope, Timestamp};
use diesel_async::AsyncPgConnection;
use uuid::Uuid;

use crate::model::{ATTACHMENT, Attachment, DEFAULT_PRIVATE, DEFAULT_PUBLIC, Field, PARTITION};
use crate::query::attachments::Stored;

/// The kind of a file without a record.
pub(crate) const LIBRARY: &str = "attachments.library";

/// The kinds on which the list of the files of a record depends: the files are shown as long as the record is. Kinds of modules that are not enabled
/// never change. The list for a kind of another module has no entity tag.
pub(crate) const SHOWN: &[&str] = &[
    ATTACHMENT,
    PARTITION,
    "calendar.window",
    "catalog.product",
    "customers.company",
    "customers.deal",
    "customers.person",
    "customers.pipeline",
    "customers.pipeline_stage",
    "directory.organization",
    "dispatch.assignment",
    "dispatch.job_site",
    "dispatch.resource",
];

/// What a module says about the files of its records, beside the [`RecordKind`] that it offers. It registers this with
/// [`Registry::extend`](backoffice_core::registry::Registry::extend).
#[derive(Debug, Clone, Copy)]
pub struct Host {
    /// The kind of records, `module.entity`.
    pub kind: &'static str,
    /// Whether files without a partition of their own are public.
    pub is_public: bool,
    /// Constraints of the fields. A tenant replaces those of a field by its own.
    pub fields: &'static [DeclaredField],
}

/// The constraints of a field that a module declares.
#[derive(Debug, Clone, Copy)]
pub struct DeclaredField {
    /// Key of the field, 1 to 255 characters, or [`ALL_FIELDS`](crate::model::ALL_FIELDS) for all files of the kind, with or without a field.
    pub key: &'static str,
    /// Extensions, lower-case, without dots; `None` for all.
    pub accept_extensions: Option<&'static [&'static str]>,
    /// Most bytes of a file.
    pub max_bytes: Option<u32>,
    /// Most files of a field of a record.
    pub max_count: Option<u16>,
}

fn hosts(platform: &Platform) -> impl Iterator<Item = &Host> {
    platform.extensions::<Host>()
}

/// Returns the code of the partition for files of this kind of records.
pub(crate) fn default_partition(platform: &Platform, kind: &str) -> &'static str {
    let is_public = match hosts(platform).find(|host| host.kind == kind) {
        Some(host) => host.is_public,
        None => kind == "catalog.product",
    };
    if is_public { DEFAULT_PUBLIC } else { DEFAULT_PRIVATE }
}

/// Returns the constraints that modules declare for the fields of a kind of records, or of all kinds, as rows of this tenant.
pub(crate) fn declared_fields(platform: &Platform, tenant: Uuid, kind: Option<&str>) -> Vec<Field> {
    let of_kind = hosts(platform).filter(|host| kind.is_none_or(|kind| host.kind == kind));
    let fields = of_kind.flat_map(|host| host.fields.iter().map(|field| (host.kind, field)));
    let since = Timestamp::UNIX_EPOCH;
    fields
        .map(|(kind, field)| Field {
            tenant_id: tenant,
            id: Field::id_of(tenant, kind, field.key),
            entity_id: kind.to_owned(),
            field_key: field.key.to_owned(),
            accept_extensions: field
                .accept_extensions
                .map(|extensions| extensions.iter().map(|one| (*one).to_owned()).collect()),
            max_bytes: field.max_bytes.map(i64::from),
            max_count: field.max_count.map(i32::from),
            partition_tenant_id: None,
            partition_id: None,
            created_at: since,
            updated_at: since,
        })
        .collect()
}

/// Returns the request limited to the organizations in which the caller may see records of this kind.
///
/// # Errors
/// 403 that names the features of the kind.
pub(crate) fn viewer(ctx: &RequestContext, kind: &str) -> Result<RequestContext> {
    match ctx.platform().record_kind(kind) {
        Some(offered) => ctx.for_features(offered.view),
        None => Ok(ctx.clone()),
    }
}

/// Returns the request limited to the organizations in which the caller may change records of this kind.
///
/// # Errors
/// 403 that names the features of the kind.
pub(crate) fn manager(ctx: &RequestContext, kind: &str) -> Result<RequestContext> {
    match ctx.platform().record_kind(kind) {
        Some(offered) => ctx.for_features(offered.manage),
        None => Ok(ctx.clone()),
    }
}

/// Checks that the caller may see the record of a file.
///
/// # Errors
/// 403 that names the features of its kind.
pub(crate) fn require_view(ctx: &RequestContext, file: &Attachment) -> Result<()> {
    match ctx.platform().record_kind(&file.entity_id) {
        Some(offered) => require(ctx, offered.view, file.organization_id),
        None => Ok(()),
    }
}

/// Checks that the caller may change the record of a file.
///
/// # Errors
/// 403 that names the features of its kind.
pub(crate) fn require_manage(ctx: &RequestContext, file: &Attachment) -> Result<()> {
    match ctx.platform().record_kind(&file.entity_id) {
        Some(offered) => require(ctx, offered.manage, file.organization_id),
        None => Ok(()),
    }
}

/// Checks that the caller holds features in an organization.
///
/// # Errors
/// 403 that names the features.
pub(crate) fn require(ctx: &RequestContext, features: &[Feature], organization: Uuid) -> Result<()> {
    if features
        .iter()
        .all(|feature| ctx.holds_in(*feature, Some(organization)))
    {
        return Ok(());
    }
    let names: Vec<&str> = features.iter().map(|feature| feature.id).collect();
    Err(Rejection::missing_features(&names).into())
}

/// Checks that the caller holds the features of the request in the whole tenant: partitions and the constraints of fields hold for the files of all of
/// its organizations. A selected organization is no limit, because it takes no right away.
///
/// # Errors
/// 403 for a caller whose rights are limited to organizations.
pub(crate) fn require_whole_tenant(scope: &Scope) -> Result<()> {
    match scope.allowed {
        None => Ok(()),
        Some(_) => Err(Rejection::organization_out_of_scope().into()),
    }
}

/// A kind of records that the caller may not see everywhere in the scope of the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Restricted {
    pub(crate) kind: &'static str,
    /// Organizations in which the caller may see such records.
    pub(crate) visible_in: Vec<Uuid>,
}

/// Returns the offered kinds whose features the caller does not hold in the whole scope of the request: a list of all files leaves theirs out.
pub(crate) fn restricted(ctx: &RequestContext) -> Vec<Restricted> {
    let mut restricted = Vec::new();
    for offered in ctx.platform().extensions::<RecordKind>() {
        let visible_in = match ctx.for_features(offered.view) {
            Err(_) => Vec::new(),
            Ok(limited) if limited.scope().organizations == ctx.scope().organizations => continue,
            Ok(limited) => match limited.scope().organizations.clone() {
                Some(organizations) => organizations,
                None => continue,
            },
        };
        restricted.push(Restricted {
            kind: offered.kind,
            visible_in,
        });
    }
    restricted
}

/// Returns the id of a record as files name it. A UUID has several spellings, and files are found by the text: the ids of records of offered kinds are
/// lower-case, with hyphens. Others stay as they are.
pub(crate) fn normal_id(platform: &Platform, kind: &str, record: &str) -> String {
    let id = platform.record_kind(kind).and_then(|_| record.parse::<Uuid>().ok());
    id.map_or_else(|| record.to_owned(), |id| id.to_string())
}

/// Returns a visible record; `None` if it does not exist or is not visible, which look alike.
///
/// # Errors
/// When the database can't be reached.
pub(crate) async fn find(
    ctx: &RequestContext,
    connection: &AsyncPgConnection,
    kind: &str,
    record: &str,
) -> Result<Option<FoundRecord>> {
    let (Some(offered), Ok(id)) = (ctx.platform().record_kind(kind), record.parse::<Uuid>()) else {
        return Ok(None);
    };
    let found = (offered.find)(connection, ctx.scope(), &[id]).await?;
    Ok(found.into_iter().next())
}

/// Returns whether files of a record may be shown: its kind is not offered by any module, or it is visible.
///
/// # Errors
/// When the database can't be reached.
pub(crate) async fn shows(
    ctx: &RequestContext,
    connection: &AsyncPgConnection,
    kind: &str,
    record: &str,
) -> Result<bool> {
    if ctx.platform().record_kind(kind).is_none() {
        return Ok(true);
    }
    if !SHOWN.contains(&kind) {
        ctx.omit_entity_tag();
    }
    // The tag of the response counts the files before the record is looked up.
    ctx.read_version_first(connection).await?;
    Ok(find(ctx, connection, kind, record).await?.is_some())
}

/// Returns whether the bytes of a file are sent only while its record exists: it is private, and its kind of records is offered by a module. Public
/// files are in the caches of browsers anyway.
pub(crate) fn depends_on_record(platform: &Platform, file: &Attachment, is_public: bool) -> bool {
    !is_public && platform.record_kind(&file.entity_id).is_some()
}

/// Leaves out the files of a tenant that depend on a record that does not exist: one statement for each kind of such records.
///
/// # Errors
/// When the database can't be reached.
pub(crate) async fn with_records(
    platform: &Platform,
    connection: &AsyncPgConnection,
    tenant: &Scope,
    mut files: Vec<Stored>,
) -> Result<Vec<Stored>> {
    let record = |file: &Stored| file.row.record_id.parse::<Uuid>().ok();
    let mut needed: BTreeMap<&'static str, (&RecordKind, HashSet<Uuid>)> = BTreeMap::new();
    for file in &files {
        if depends_on_record(platform, &file.row, file.is_public)
            && let Some(offered) = platform.record_kind(&file.row.entity_id)
        {
            let (_, ids) = needed.entry(offered.kind).or_insert((offered, HashSet::new()));
            ids.extend(record(file));
        }
    }
    let mut existing = HashSet::new();
    for (kind, (offered, ids)) in needed {
        let ids: Vec<Uuid> = ids.into_iter().collect();
        let found = (offered.find)(connection, tenant, &ids).await?;
        existing.extend(found.into_iter().map(|found| (kind, found.id)));
    }
    files.retain(|file| {
        !depends_on_record(platform, &file.row, file.is_public)
            || record(file).is_some_and(|id| existing.contains(&(file.row.entity_id.as_str(), id)))
    });
    Ok(files)
}
