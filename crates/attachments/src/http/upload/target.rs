//! Where a file is stored, and to what it is attached.

use backoffice_core::{Placement, RequestContext, Result, Timestamp};
use diesel_async::AsyncPgConnection;
use time::Duration;
use uuid::Uuid;

use super::inspect::Inspected;
use crate::error::Error;
use crate::model::{Field, Partition};
use crate::query::fields;
use crate::query::partitions::{visible, with_code};
use crate::upload::{Candidate, Constraints, Described, extension};
use crate::{acl, hosts};

/// Time after which the object of an upload that did not complete is removed.
const STAGED: Duration = Duration::hours(2);

/// Where a file is stored and to what it belongs.
pub(super) struct UploadTarget {
    pub(super) id: Uuid,
    pub(super) placement: Placement,
    pub(super) partition: Partition,
    pub(super) expires_at: Timestamp,
    pub(super) is_limited: bool,
    /// Whether the caller may store the file for everybody to read.
    pub(super) may_be_public: bool,
}

/// Checks the record, the constraints of its fields, and the partition of an upload.
pub(super) async fn target(
    ctx: &RequestContext,
    placement: Placement,
    described: &Described,
    file: &Inspected,
) -> Result<UploadTarget> {
    let kind = &described.entity_id;
    let manager = hosts::manager(ctx, kind)?;
    let connection = ctx.read().await?;
    let record = hosts::find(&manager, &connection, kind, &described.record_id).await?;
    if record.is_none() && ctx.platform().record_kind(kind).is_some() {
        return Err(Error::RecordNotFound.into());
    }
    let of_kind = fields::applying(ctx, &connection, Some(kind)).await?;
    let of_kind: Vec<Field> = of_kind.into_iter().map(|(field, _)| field).collect();
    let constraints = Constraints::of(&of_kind, described.field_key.as_deref())?;
    constraints.check(Candidate {
        extension: &extension(&file.name),
        mime_type: &file.content_type.mime_type,
        length: file.spool.length(),
    })?;
    let placement = Placement {
        organization: record.map_or(placement.organization, |record| record.organization),
        ..placement
    };
    let (partition, may_be_public) = partition(
        ctx,
        &connection,
        described.partition_code.as_deref(),
        kind,
        constraints.partition(),
        placement.organization,
    )
    .await?;
    Ok(UploadTarget {
        id: ctx.new_id(),
        placement,
        is_limited: constraints.limits_count(),
        partition,
        may_be_public,
        expires_at: ctx.now().after(STAGED),
    })
}

/// Returns the named partition, or that of the field, or the default one of the kind of records. A public partition that is neither of these needs the
/// right to manage partitions in the organization of the file. Also returns whether the partition may be public.
async fn partition(
    ctx: &RequestContext,
    connection: &AsyncPgConnection,
    named: Option<&str>,
    kind: &str,
    of_field: Option<Uuid>,
    organization: Uuid,
) -> Result<(Partition, bool)> {
    let default = hosts::default_partition(ctx.platform(), kind);
    let partitions = visible(connection, ctx.scope()).await?;
    let found = match (named, of_field) {
        (Some(code), _) => with_code(&partitions, code),
        (None, Some(id)) => partitions.iter().find(|partition| partition.id == id),
        (None, None) => with_code(&partitions, default),
    };
    let found = found.ok_or(Error::UnknownPartition)?;
    let is_expected = found.code.eq_ignore_ascii_case(default) || of_field == Some(found.id);
    let may_be_public = is_expected || ctx.holds_in(acl::PARTITIONS_MANAGE, Some(organization));
    if found.is_public && !may_be_public {
        return Err(Error::PublicPartition.into());
    }
    Ok((found.clone(), may_be_public))
}
