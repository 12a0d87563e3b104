//! Moves files to another record.

use std::collections::BTreeSet;

use backoffice_core::http::{Json, Routes, given, requires};
use backoffice_core::input::{Input, Validator};
use backoffice_core::{RequestContext, Result};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::commands::TransferAttachments;
use crate::documented::AttachmentRecordText;
use crate::error::Error;
use crate::{acl, hosts, query, values};

/// Most files that are moved at once.
const MOST_FILES: usize = 500;

pub(super) fn routes(routes: &mut Routes) {
    routes
        .post("/attachments/transfer", requires(&[acl::MANAGE]), transfer_attachments)
        .about("Move files to another record of the same kind")
        .rejects(&[404, 422]);
}

/// The files and the records.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AttachmentTransfer)]
struct TransferBody {
    /// Kind of both records.
    #[schema(value_type = AttachmentRecordText)]
    entity_id: String,
    /// At least one file, at most 500.
    #[schema(min_items = 1, max_items = 500)]
    attachment_ids: Vec<Uuid>,
    /// Id of the record to which the files are moved.
    #[schema(value_type = AttachmentRecordText)]
    to_record_id: String,
    /// Only files of this record.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<AttachmentRecordText>, nullable = false)]
    from_record_id: Option<String>,
}

impl Input for TransferBody {
    fn validate(&self, validator: &mut Validator) {
        for (name, text) in [
            ("entityId", Some(&self.entity_id)),
            ("toRecordId", Some(&self.to_record_id)),
            ("fromRecordId", self.from_record_id.as_ref()),
        ] {
            if text.is_some_and(|text| !values::is_id(text)) {
                validator.reject(
                    name,
                    "must be 1 to 255 characters without control characters",
                    "invalid_value",
                );
            }
        }
        if self.attachment_ids.is_empty() || self.attachment_ids.len() > MOST_FILES {
            let text = format!("must be 1 to {MOST_FILES} ids");
            validator.reject("attachmentIds", text, "out_of_range");
        }
    }
}

/// The result of a move.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AttachmentsTransferred)]
struct Transferred {
    /// Always true.
    ok: bool,
    /// Number of moved files.
    updated: usize,
}

async fn transfer_attachments(ctx: RequestContext, body: Json<TransferBody>) -> Result<Json<Transferred>> {
    let body = body.0;
    let mut validator = Validator::default();
    body.validate(&mut validator);
    validator.check()?;
    // The files of a repeated request are no longer at their old record.
    ctx.reject_repeat().await?;
    let entity = values::normal_kind(&body.entity_id);
    let ctx = hosts::manager(&ctx, &entity)?;
    let normal_id = |record: &str| hosts::normal_id(ctx.platform(), &entity, record);
    let (to, from) = (
        normal_id(&body.to_record_id),
        body.from_record_id.as_deref().map(normal_id),
    );
    let ids: BTreeSet<Uuid> = body.attachment_ids.into_iter().collect();
    let (ids, organization) = {
        let connection = ctx.read().await?;
        let record = hosts::find(&ctx, &connection, &entity, &to).await?;
        if record.is_none() && ctx.platform().record_kind(&entity).is_some() {
            return Err(Error::NotFound.into());
        }
        let ids = query::attachments::movable(&connection, ctx.scope(), &ids, &entity, from.as_deref()).await?;
        (ids, record.map(|record| record.organization))
    };
    if ids.is_empty() {
        return Err(Error::NotFound.into());
    }
    let command = TransferAttachments {
        ids,
        entity_id: entity,
        from_record_id: from,
        record_id: to,
        organization,
    };
    ctx.execute(&command, |updated| Json(Transferred { ok: true, updated }))
        .await
}
