//! The files of one record.

use backoffice_core::http::{CheckedQuery, Done, Id, Json, Query, QueryInput, Routes, requires};
use backoffice_core::list::{ListQuery, Page};
use backoffice_core::{Detail, RequestContext, Result, Violations};
use serde::Deserialize;
use utoipa::IntoParams;
use uuid::Uuid;

use super::items::FileItem;
use super::space;
use crate::commands::DeleteAttachment;
use crate::documented::AttachmentRecordText;
use crate::query::library::{FilesOfRecord, LibraryFilter};
use crate::stores::remove_now;
use crate::{acl, hosts, query, values};

const PATH: &str = "/attachments";

pub(super) fn routes(routes: &mut Routes) {
    routes
        .get(PATH, requires(&[acl::VIEW]), list_attachments)
        .shows(hosts::SHOWN)
        .about("List the files of a record");
    routes
        .delete(PATH, requires(&[acl::MANAGE]), delete_attachment)
        .about("Delete a file")
        .rejects(&[404, 422]);
}

/// The record.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct RecordQuery {
    /// Kind of the record: `module.entity` or `module:entity`.
    #[param(value_type = AttachmentRecordText, required = true, inline)]
    entity_id: Option<String>,
    /// Id of the record.
    #[param(value_type = AttachmentRecordText, required = true, inline)]
    record_id: Option<String>,
}

impl RecordQuery {
    /// Returns the kind and the id of the record; records violations.
    fn record(&self, violations: &mut Violations) -> (String, String) {
        let entity = required("entityId", self.entity_id.as_ref(), violations);
        let record = required("recordId", self.record_id.as_ref(), violations);
        (values::normal_kind(&entity), record)
    }
}

impl QueryInput for RecordQuery {
    fn validate(&self, violations: &mut Violations) {
        self.record(violations);
    }
}

/// Returns a required text of 1 to 255 characters; records a violation.
fn required(name: &str, text: Option<&String>, violations: &mut Violations) -> String {
    let text = text.map(String::as_str).unwrap_or_default();
    if text.is_empty() {
        violations.add(Detail::new(name, "is required", "required"));
    } else if !values::is_id(text) {
        violations.add(Detail::new(name, "must be at most 255 characters", "too_long"));
    }
    text.to_owned()
}

async fn list_attachments(
    ctx: RequestContext,
    list: ListQuery<FilesOfRecord>,
    query: CheckedQuery<RecordQuery>,
) -> Result<Json<Page<FileItem>>> {
    let mut violations = Violations::default();
    let request = list.validate_with(&mut violations);
    let (entity, record) = query.0.record(&mut violations);
    violations.check()?;
    let record = hosts::normal_id(ctx.platform(), &entity, &record);
    let ctx = hosts::viewer(&ctx, &entity)?;
    let connection = ctx.read().await?;
    if !hosts::shows(&ctx, &connection, &entity, &record).await? {
        return Ok(Json(request.window.page(Vec::new(), 0)));
    }
    let filter = LibraryFilter {
        entity_id: Some(entity),
        record_id: Some(record),
        ..LibraryFilter::default()
    };
    let files = query::library::page(&connection, &ctx, &filter, &request).await?;
    let mut files = files.map(FileItem::of_record);
    space::leave_out(files.items.iter_mut());
    Ok(Json(files))
}

async fn delete_attachment(ctx: RequestContext, query: Query<Id>) -> Result<Json<Done>> {
    delete(&ctx, query.0.id).await
}

/// Deletes a file, and then its object.
pub(super) async fn delete(ctx: &RequestContext, id: Uuid) -> Result<Json<Done>> {
    let deleted = ctx.execute(&DeleteAttachment { id }, |()| Json(Done::OK)).await?;
    if let Some(tenant) = ctx.scope().tenant {
        remove_now(ctx.call(), tenant, id).await;
    }
    Ok(deleted)
}
