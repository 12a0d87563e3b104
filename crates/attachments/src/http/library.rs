//! The library: all files of a tenant.

use backoffice_core::access_log::AccessType;
use backoffice_core::http::{CheckedQuery, Conditions, Created, Done, Id, Json, Path, QueryInput, Routes, requires};
use backoffice_core::input::{Input, Validator};
use backoffice_core::list::{CommaList, InstantOrDate, ListQuery, instant};
use backoffice_core::{Detail, Rejection, RequestContext, Result, Violations};
use backoffice_progress::bulk::{Started, checked_ids, start, validate_ids};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::items::{FileDetail, LibraryItem};
use super::space;
use crate::bulk::BulkDelete;
use crate::commands::{AttachmentChanges, Changed, UpdateAttachment, not_saved};
use crate::documented::{AttachmentMediaRange, Confirmation};
use crate::error::Error;
use crate::model::{ATTACHMENT, Assignment, Attachment, PARTITION};
use crate::query::library::LibraryFilter;
use crate::{acl, hosts, query};

const LIBRARY: &str = "/attachments/library";
/// Text of the 400 for an invalid query.
const INVALID: &str = "Invalid query";
const BULK_DELETE: &str = "/attachments/library/bulk-delete";
const ONE: &str = "/attachments/library/{id}";

pub(super) fn routes(routes: &mut Routes) {
    routes
        .get(LIBRARY, requires(&[acl::VIEW]), list_attachment_library)
        .shows(&[ATTACHMENT, PARTITION])
        .invalid(INVALID)
        .about("List all files");
    routes
        .get(ONE, requires(&[acl::VIEW]), get_attachment)
        .shows(&[ATTACHMENT, PARTITION])
        .reads(ATTACHMENT)
        .about("A file")
        .rejects(&[404]);
    routes
        .patch(ONE, requires(&[acl::MANAGE]), update_attachment)
        .about("Change tags, assignments, fields or the name of a file")
        .rejects(&[404, 422]);
    routes
        .delete(ONE, requires(&[acl::MANAGE]), delete_library_attachment)
        .about("Delete a file")
        .rejects(&[404, 422]);
    routes
        .post(BULK_DELETE, requires(&[acl::MANAGE]), bulk_delete_attachments)
        .about("Delete many files, in the background")
        .rejects(&[409, 422]);
}

/// Filters of the library.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct LibraryQuery {
    /// Code of a partition, regardless of case.
    #[param(max_length = 255)]
    partition: Option<String>,
    /// Tags joined by commas, at most 20: all of them must be present. Without any, no file matches.
    tags: Option<String>,
    /// Kind of the record.
    #[param(max_length = 255)]
    entity_id: Option<String>,
    /// A media type, or all of a kind: `image/*`.
    #[param(value_type = Option<AttachmentMediaRange>, inline)]
    mime_type: Option<String>,
    /// Uploaded at this time or later.
    #[param(value_type = Option<InstantOrDate>, inline)]
    created_from: Option<String>,
    /// Uploaded at this time or earlier.
    #[param(value_type = Option<InstantOrDate>, inline)]
    created_to: Option<String>,
}

/// Most tags of a filter.
const MOST_TAGS: usize = 20;

impl LibraryQuery {
    /// Validates the filters and records invalid ones.
    fn filter(&self, violations: &mut Violations) -> LibraryFilter {
        let tags = self.tags.as_deref();
        let tags = tags.map(|text| CommaList::new("tags").at_most(MOST_TAGS).texts([text]));
        let kind = self.mime_type.as_deref().map(str::to_ascii_lowercase);
        let prefix = kind.as_deref().and_then(|kind| kind.strip_suffix('*'));
        for (name, text, most) in [
            ("partition", &self.partition, 255),
            ("entityId", &self.entity_id, 255),
            ("mimeType", &self.mime_type, 127),
        ] {
            if text.as_deref().is_some_and(|text| text.chars().count() > most) {
                violations.add(Detail::new(
                    name,
                    format!("must be at most {most} characters"),
                    "too_long",
                ));
            }
        }
        if prefix.is_some_and(|prefix| !prefix.ends_with('/')) {
            violations.add(Detail::new(
                "mimeType",
                "must be a media type, or one like image/*",
                "invalid_value",
            ));
        }
        LibraryFilter {
            partition: self.partition.clone(),
            tags: violations.keep(tags.transpose()),
            entity_id: self.entity_id.as_deref().map(crate::values::normal_kind),
            record_id: None,
            mime_prefix: prefix.map(str::to_owned),
            mime_type: kind.filter(|kind| !kind.ends_with('*')),
            created_from: violations.keep(instant("createdFrom", self.created_from.as_deref(), false)),
            created_to: violations.keep(instant("createdTo", self.created_to.as_deref(), true)),
        }
    }
}

impl QueryInput for LibraryQuery {
    fn validate(&self, violations: &mut Violations) {
        self.filter(violations);
    }
}

/// A page of the library.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AttachmentLibraryPage)]
struct LibraryPage {
    items: Vec<LibraryItem>,
    total: i64,
    page: u32,
    page_size: u32,
    total_pages: i64,
    /// The tags in use, sorted, at most 500.
    available_tags: Vec<String>,
    partitions: Vec<PartitionOfLibrary>,
}

/// A partition in which files of the library may be.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AttachmentLibraryPartition)]
struct PartitionOfLibrary {
    code: String,
    title: String,
    description: Option<String>,
    is_public: bool,
}

async fn list_attachment_library(
    ctx: RequestContext,
    list: ListQuery<Attachment>,
    query: CheckedQuery<LibraryQuery>,
) -> Result<Json<LibraryPage>> {
    let mut violations = Violations::default();
    let request = list.validate_with(&mut violations);
    let filter = query.0.filter(&mut violations);
    violations.check().map_err(|error| Rejection {
        message: INVALID.into(),
        ..error.to_rejection()
    })?;
    let connection = ctx.read().await?;
    let library = query::library::list(&connection, &ctx, &filter, &request).await?;
    let mut page = library.files.map(LibraryItem::of);
    space::leave_out(page.items.iter_mut().map(|item| &mut item.file));
    let partitions = library.partitions.into_iter().map(|partition| PartitionOfLibrary {
        code: partition.code,
        title: partition.title,
        description: partition.description,
        is_public: partition.is_public,
    });
    Ok(Json(LibraryPage {
        items: page.items,
        total: page.total,
        page: page.page,
        page_size: page.page_size,
        total_pages: page.total_pages,
        available_tags: library.available_tags,
        partitions: partitions.collect(),
    }))
}

/// A file.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AttachmentDetailResponse)]
struct DetailResponse {
    item: FileDetail,
}

async fn get_attachment(ctx: RequestContext, path: Path<Id>, conditions: Conditions) -> Result<Json<DetailResponse>> {
    let connection = ctx.read().await?;
    ctx.read_version_first(&connection).await?;
    let found = query::attachments::find(&connection, ctx.scope(), path.0.id).await?;
    let found = found.ok_or(Error::NotFound)?;
    hosts::require_view(&ctx, &found.row)?;
    let partitions = query::partitions::visible(&connection, ctx.scope()).await?;
    let item = FileDetail::of(found, &partitions);
    // HEAD shows nothing of the file.
    if !conditions.is_head() {
        let shown = std::slice::from_ref(&item);
        ctx.log_reads(&connection, AccessType::Item, shown, FileDetail::record)
            .await?;
    }
    Ok(Json(DetailResponse { item }))
}

/// The result of a change.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AttachmentChanged)]
struct ChangedResponse {
    /// Always true.
    ok: bool,
    item: ChangedItem,
}

/// The values after a change.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AttachmentChangedItem)]
struct ChangedItem {
    id: Uuid,
    tags: Vec<String>,
    #[schema(value_type = Vec<Assignment>)]
    assignments: Value,
    #[schema(value_type = Object)]
    custom_fields: Value,
}

async fn update_attachment(
    ctx: RequestContext,
    path: Path<Id>,
    body: Json<AttachmentChanges>,
) -> Result<Json<ChangedResponse>> {
    let id = path.0.id;
    let command = UpdateAttachment::new(id, body.0)?;
    let response = |changed: Changed| {
        Json(ChangedResponse {
            ok: true,
            item: ChangedItem {
                id,
                tags: changed.tags,
                assignments: changed.assignments,
                custom_fields: changed.custom_fields,
            },
        })
    };
    ctx.execute(&command, response).await.map_err(not_saved)
}

async fn delete_library_attachment(ctx: RequestContext, path: Path<Id>) -> Result<Json<Done>> {
    super::records::delete(&ctx, path.0.id).await
}

/// Files to delete.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = AttachmentBulkDelete)]
struct BulkDeletion {
    /// 1 to 10000 files; repeated ids count once.
    #[schema(min_items = 1, max_items = 10000)]
    ids: Vec<Uuid>,
    /// Must be true, to confirm the deletion.
    #[schema(value_type = Confirmation)]
    confirm: Value,
}

impl Input for BulkDeletion {
    fn validate(&self, validator: &mut Validator) {
        validate_ids(&self.ids, validator);
        if self.confirm != Value::Bool(true) {
            validator.reject("confirm", "must be true", "invalid_value");
        }
    }
}

async fn bulk_delete_attachments(ctx: RequestContext, body: Json<BulkDeletion>) -> Result<Created<Started>> {
    let mut validator = Validator::default();
    body.0.validate(&mut validator);
    validator.check()?;
    start(&ctx, BulkDelete {}, checked_ids(body.0.ids)?).await
}
