//! Files as clients read them.

use backoffice_core::access_log::Record;
use backoffice_core::slug::SlugForm;
use backoffice_core::text::hex;
use backoffice_core::{API_PREFIX, Timestamp};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::model::{Assignment, Attachment, Partition};
use crate::query::attachments::{Detailed, Listed};

/// Side of the image in lists of files, in pixels.
pub(super) const THUMBNAIL: u32 = 320;
/// Side of the image in the library, in pixels.
const LIBRARY_THUMBNAIL: u32 = 200;

/// The last part of the address of an image, for human readers only.
const SLUG: SlugForm = SlugForm {
    longest: 60,
    fallback: "image",
};

/// A file of a record.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AttachmentItem)]
pub(super) struct FileItem {
    pub(super) id: Uuid,
    /// Where the bytes are, relative to the site.
    pub(super) url: String,
    pub(super) file_name: String,
    /// In bytes.
    pub(super) file_size: i64,
    /// Media type; the set is open.
    pub(super) mime_type: String,
    /// The first 20,000 characters of the text of the file.
    pub(super) content: Option<String>,
    /// Whether the text is longer.
    pub(super) content_truncated: bool,
    /// True if the text, or the assignments too, did not fit into the response; the file by itself has them. Else absent.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) truncated: bool,
    pub(super) partition_code: Option<String>,
    /// A small image, for files that can be rendered.
    pub(super) thumbnail_url: Option<String>,
    pub(super) tags: Vec<String>,
    #[schema(value_type = Vec<Assignment>)]
    pub(super) assignments: Value,
    pub(super) field_key: Option<String>,
    pub(super) created_at: Timestamp,
    #[serde(skip)]
    record: Option<Record>,
}

/// A file of the library.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AttachmentLibraryItem)]
pub(super) struct LibraryItem {
    #[serde(flatten)]
    pub(super) file: FileItem,
    pub(super) partition_title: Option<String>,
    /// Kind of the record.
    pub(super) entity_id: String,
    /// Id of the record.
    pub(super) record_id: String,
    pub(super) organization_id: Uuid,
}

/// A file with everything that clients may know.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AttachmentDetail)]
pub(super) struct FileDetail {
    #[serde(flatten)]
    pub(super) item: LibraryItem,
    /// Values that users store with the file; null if there are none.
    #[schema(value_type = Option<Object>)]
    pub(super) custom_fields: Option<Value>,
    /// SHA-256 of the bytes, hexadecimal.
    pub(super) sha256: String,
    /// The user who uploaded it; null for an API key.
    pub(super) uploaded_by: Option<Uuid>,
    pub(super) updated_at: Timestamp,
}

/// Returns the address of the bytes of a file.
pub(super) fn url(id: Uuid) -> String {
    format!("{API_PREFIX}/attachments/file/{id}")
}

/// Returns the address of a small image of a file, if it can be rendered.
pub(super) fn thumbnail_url(id: Uuid, image_format: Option<&str>, file_name: &str, side: u32) -> Option<String> {
    image_format?;
    let slug = SLUG.derive(file_name);
    Some(format!(
        "{API_PREFIX}/attachments/image/{id}/{slug}?width={side}&height={side}"
    ))
}

impl FileItem {
    pub(super) fn of(listed: Listed, side: u32) -> Self {
        let Listed {
            row,
            content,
            is_truncated,
            partition_code,
            ..
        } = listed;
        let record = Some(record_of(&row));
        Self {
            url: url(row.id),
            thumbnail_url: thumbnail_url(row.id, row.image_format.as_deref(), &row.file_name, side),
            partition_code,
            id: row.id,
            file_name: row.file_name,
            file_size: row.file_size,
            mime_type: row.mime_type,
            content,
            content_truncated: is_truncated,
            truncated: false,
            tags: row.tags,
            assignments: row.assignments,
            field_key: row.field_key,
            created_at: row.created_at,
            record,
        }
    }

    /// Creates the item of a list of the files of a record.
    pub(super) fn of_record(listed: Listed) -> Self {
        Self::of(listed, THUMBNAIL)
    }
}

impl LibraryItem {
    pub(super) fn of(listed: Listed) -> Self {
        Self {
            partition_title: listed.partition_title.clone(),
            entity_id: listed.row.entity_id.clone(),
            record_id: listed.row.record_id.clone(),
            organization_id: listed.row.organization_id,
            file: FileItem::of(listed, LIBRARY_THUMBNAIL),
        }
    }
}

impl FileDetail {
    pub(super) fn of(detailed: Detailed, partitions: &[Partition]) -> Self {
        let Detailed {
            row,
            content,
            content_rest,
        } = detailed;
        let partition = partitions.iter().find(|partition| partition.id == row.partition_id);
        let content = content.map(|first| first + content_rest.as_deref().unwrap_or_default());
        let is_empty = row.custom_fields.as_object().is_none_or(serde_json::Map::is_empty);
        Self {
            custom_fields: (!is_empty).then(|| row.custom_fields.clone()),
            sha256: hex(&row.sha256),
            uploaded_by: row.uploaded_by,
            updated_at: row.updated_at,
            item: LibraryItem::of(Listed {
                row,
                content,
                is_truncated: false,
                partition_code: partition.map(|partition| partition.code.clone()),
                partition_title: partition.map(|partition| partition.title.clone()),
            }),
        }
    }

    /// Returns the record of the access log.
    pub(super) fn record(&self) -> Record {
        let unknown = || Record::new(self.item.file.id, None);
        self.item.file.record.clone().unwrap_or_else(unknown)
    }
}

/// Returns the record of the access log for a file.
pub(super) fn record_of(row: &Attachment) -> Record {
    Record::new(row.id, Some(row.tenant_id)).of(Some(row.organization_id))
}
