//! Changes the tags, assignments, custom fields and name of a file.

use actix_web::http::StatusCode;
use backoffice_core::command::{Class, Command, Entity, Target, Tx};
use backoffice_core::db::Prepared;
use backoffice_core::input::{Input, Validator};
use backoffice_core::{Error as CoreError, Feature, Patch, Platform, Rejection, Result};
use diesel::{ExpressionMethods, QueryDsl, update};
use diesel_async::RunQueryDsl;
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::documented::{AttachmentCustomFields, AttachmentFileName, AttachmentTag};
use crate::error::Error;
use crate::model::{Assignment, Attachment};
use crate::schema::attachments_attachments as attachments;
use crate::upload::{check_name, clean_name, extension};
use crate::values::FIELD_PREFIX;
use crate::{acl, hosts, values};

/// The changes of a file: absent fields keep their values. Fields named `cf_…` change one custom field each.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
#[schema(as = AttachmentChanges)]
pub struct AttachmentChanges {
    /// The whole list: at most 50 different tags of 1 to 64 characters, in this order.
    #[schema(value_type = Vec<AttachmentTag>, max_items = 50)]
    pub tags: Patch<Vec<String>>,
    /// The whole list: at most 50 records, each once.
    #[schema(value_type = Vec<Assignment>, max_items = 50)]
    pub assignments: Patch<Vec<Assignment>>,
    /// Fields to change, by names of `a-z 0-9 _`: texts, numbers, booleans, or lists of these; null removes a field. The file keeps at most 50
    /// fields, of 16 KiB together. Null instead of the object removes all.
    #[schema(value_type = Option<AttachmentCustomFields>)]
    pub custom_fields: Patch<Map<String, Value>>,
    /// Another name with the same extension.
    #[schema(value_type = AttachmentFileName)]
    pub file_name: Patch<String>,
    /// Custom fields to change, each as a field `cf_<name>`.
    #[serde(flatten)]
    #[schema(ignore)]
    pub others: Map<String, Value>,
}

impl AttachmentChanges {
    /// Returns the changes of fields; `None` if no field changes.
    fn of_fields(&self) -> Option<Map<String, Value>> {
        let mut changes = match &self.custom_fields {
            Patch::Set(changes) => changes.clone(),
            _ => Map::new(),
        };
        for (name, value) in &self.others {
            if let Some(name) = name.strip_prefix(FIELD_PREFIX) {
                changes.insert(name.to_owned(), value.clone());
            }
        }
        (!changes.is_empty()).then_some(changes)
    }
}

impl Input for AttachmentChanges {
    fn validate(&self, validator: &mut Validator) {
        for (name, is_null) in [
            ("tags", self.tags.is_clear()),
            ("assignments", self.assignments.is_clear()),
        ] {
            if is_null {
                validator.reject(name, "must not be null", "required");
            }
        }
        if let Patch::Set(tags) = &self.tags
            && let Err(rule) = values::tags(tags)
        {
            validator.reject("tags", rule, "invalid_value");
        }
        if let Patch::Set(assignments) = &self.assignments
            && let Err(rule) = values::assignments(assignments, |_, id| id.to_owned())
        {
            validator.reject("assignments", rule, "invalid_value");
        }
        if let Some(changes) = self.of_fields()
            && let Err(rule) = values::change_fields(&mut Map::new(), &changes)
        {
            let code = if rule == values::TOO_LARGE {
                "too_long"
            } else {
                "invalid_value"
            };
            validator.reject("customFields", rule, code);
        }
        match &self.file_name {
            Patch::Clear => validator.reject("fileName", "must not be null", "required"),
            Patch::Set(name) if name.trim().is_empty() => validator.reject("fileName", "is required", "required"),
            _ => {}
        }
    }
}

/// Logs why a file could not be saved, and gives the error the text that clients expect. Returns other errors unchanged.
pub(crate) fn not_saved(error: CoreError) -> CoreError {
    match error {
        CoreError::Internal(cause) => {
            tracing::error!(%cause, "could not save a file");
            let text = "Failed to save attachment attributes.";
            Rejection::new(StatusCode::INTERNAL_SERVER_ERROR, text).into()
        }
        other => other,
    }
}

/// The values after a change.
#[derive(Debug, Clone, PartialEq)]
pub struct Changed {
    /// The tags.
    pub tags: Vec<String>,
    /// The assignments.
    pub assignments: Value,
    /// The fields.
    pub custom_fields: Value,
}

/// Changes tags, assignments, fields and the name of a file.
#[derive(Debug, Clone)]
pub struct UpdateAttachment {
    id: Uuid,
    changes: AttachmentChanges,
}

impl UpdateAttachment {
    /// Validates the changes, as far as possible without the stored row.
    ///
    /// # Errors
    /// 400 for invalid fields.
    pub fn new(id: Uuid, changes: AttachmentChanges) -> Result<Self> {
        let mut validator = Validator::default();
        changes.validate(&mut validator);
        validator.check()?;
        Ok(Self { id, changes })
    }

    /// Writes the changes into a row.
    fn fill(&self, platform: &Platform, row: &mut Attachment) -> Result<()> {
        let invalid =
            |path: &'static str| move |rule: &'static str| Rejection::invalid_field(path, rule, "invalid_value");
        if let Patch::Set(tags) = &self.changes.tags {
            row.tags = values::tags(tags).map_err(invalid("tags"))?;
        }
        if let Patch::Set(assignments) = &self.changes.assignments {
            let normal_id = |kind: &str, id: &str| hosts::normal_id(platform, kind, id);
            let assignments = values::assignments(assignments, normal_id).map_err(invalid("assignments"))?;
            row.assignments = serde_json::to_value(assignments)?;
        }
        if self.changes.custom_fields.is_clear() {
            row.custom_fields = Value::Object(Map::new());
        }
        if let (Some(changes), Value::Object(fields)) = (self.changes.of_fields(), &mut row.custom_fields) {
            values::change_fields(fields, &changes).map_err(invalid("customFields"))?;
        }
        if let Patch::Set(name) = &self.changes.file_name {
            let name = clean_name(name);
            check_name(&name)?;
            if extension(&name) != extension(&row.file_name) {
                return Err(Error::ExtensionFixed.into());
            }
            row.file_name = name;
        }
        Ok(())
    }
}

impl Command for UpdateAttachment {
    const ID: &'static str = "attachments.attachment.update";
    const CLASS: Class = Class::Edit;
    const LABEL: &'static str = "Change file";
    const FEATURES: &'static [Feature] = &[acl::MANAGE];
    type Entity = Attachment;
    type Output = Changed;

    fn target(&self) -> Target {
        Target::Existing(self.id)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<Changed> {
        let before = Attachment::read(tx, &[self.id]).await?.pop();
        let before = before.ok_or_else(|| Rejection::not_found(Attachment::NOT_FOUND))?;
        hosts::require_manage(tx.context(), &before)?;
        let mut row = before.clone();
        self.fill(tx.context().platform(), &mut row)?;
        if row != before {
            let (tenant, now) = (tx.tenant(), tx.now());
            let own = attachments::table
                .filter(attachments::tenant_id.eq(tenant))
                .filter(attachments::id.eq(self.id));
            let statement = update(own).set((
                attachments::tags.eq(&row.tags),
                attachments::assignments.eq(&row.assignments),
                attachments::custom_fields.eq(&row.custom_fields),
                attachments::file_name.eq(&row.file_name),
                attachments::updated_at.eq(now),
            ));
            Prepared(statement).execute(tx.conn()).await?;
        }
        Ok(Changed {
            tags: row.tags,
            assignments: row.assignments,
            custom_fields: row.custom_fields,
        })
    }
}
