//! The parts of an upload.

use backoffice_core::{Platform, Rejection, Result};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::documented::AttachmentRecordText;
use crate::error::Error;
use crate::hosts;
use crate::model::Assignment;
use crate::values::{self, FIELD_PREFIX};

/// The parts of an upload, in any order; fields named `cf_…` besides.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "describes the body")]
pub(crate) struct UploadForm {
    /// Kind of the record: `module.entity`, or `attachments.library` for a file without a record. 1 to 255 characters.
    #[schema(value_type = AttachmentRecordText)]
    entity_id: String,
    /// Id of the record, 1 to 255 characters.
    #[schema(value_type = AttachmentRecordText)]
    record_id: String,
    /// The file.
    #[schema(format = Binary, min_length = 1)]
    file: String,
    /// The field of the record for which the file is uploaded.
    #[schema(value_type = AttachmentRecordText, required = false)]
    field_key: Option<String>,
    /// Code of the partition.
    #[schema(value_type = AttachmentRecordText, required = false)]
    partition_code: Option<String>,
    /// A JSON array of texts, or texts joined by commas.
    #[schema(value_type = String, required = false)]
    tags: Option<String>,
    /// A JSON array of assignments; at most 50 with the one to the record, which is added.
    #[schema(value_type = String, required = false)]
    assignments: Option<String>,
    /// A JSON object.
    #[schema(value_type = String, required = false)]
    custom_fields: Option<String>,
}

/// The parts that are not the file, as they arrive.
#[derive(Debug, Default)]
pub(crate) struct Form {
    entity_id: Option<String>,
    record_id: Option<String>,
    pub(crate) field_key: Option<String>,
    pub(crate) partition_code: Option<String>,
    tags: Option<String>,
    assignments: Option<String>,
    custom_fields: Option<String>,
    fields: Map<String, Value>,
}

/// What the client says about a file.
#[derive(Debug)]
pub(crate) struct Described {
    pub(crate) entity_id: String,
    pub(crate) record_id: String,
    pub(crate) field_key: Option<String>,
    pub(crate) partition_code: Option<String>,
    pub(crate) tags: Vec<String>,
    /// With the record itself.
    pub(crate) assignments: Vec<Assignment>,
    pub(crate) custom_fields: Map<String, Value>,
}

impl Form {
    /// Takes a part; the last one of a name counts. Unknown parts are ignored.
    pub(crate) fn take(&mut self, name: &str, text: String) {
        let place = match name {
            "entityId" => &mut self.entity_id,
            "recordId" => &mut self.record_id,
            "fieldKey" => &mut self.field_key,
            "partitionCode" => &mut self.partition_code,
            "tags" => &mut self.tags,
            "assignments" => &mut self.assignments,
            "customFields" => &mut self.custom_fields,
            _ => {
                if let Some(field) = name.strip_prefix(FIELD_PREFIX) {
                    self.fields.insert(field.to_owned(), Value::String(text));
                }
                return;
            }
        };
        *place = Some(text);
    }

    /// Validates the parts.
    ///
    /// # Errors
    /// 400 `missing_field` or `invalid_field` for the first part that is missing or invalid.
    pub(crate) fn describe(self, platform: &Platform) -> Result<Described> {
        let normal_id = |kind: &str, id: &str| hosts::normal_id(platform, kind, id);
        let entity_id = values::normal_kind(&required(self.entity_id.as_deref(), "entityId")?);
        let record_id = normal_id(&entity_id, &required(self.record_id.as_deref(), "recordId")?);
        for (name, text) in [("fieldKey", &self.field_key), ("partitionCode", &self.partition_code)] {
            if text.as_deref().is_some_and(|text| !values::is_id(text)) {
                return Err(Error::InvalidField(name).into());
            }
        }
        let tags = values::tags(&self.tags()?).map_err(|rule| invalid("tags", rule))?;
        let assignments = match self.assignments.as_deref() {
            None => Vec::new(),
            Some(text) => serde_json::from_str(text).map_err(|_| Error::InvalidField("assignments"))?,
        };
        let assignments = values::assignments(&assignments, normal_id);
        let mut assignments = assignments.map_err(|rule| invalid("assignments", rule))?;
        if entity_id != hosts::LIBRARY {
            let assigned = values::assign(&mut assignments, &entity_id, &record_id);
            assigned.map_err(|rule| invalid("assignments", rule))?;
        }
        let mut changes = match self.custom_fields.as_deref() {
            None => Map::new(),
            Some(text) => serde_json::from_str(text).map_err(|_| Error::InvalidField("customFields"))?,
        };
        changes.extend(self.fields);
        let mut custom_fields = Map::new();
        values::change_fields(&mut custom_fields, &changes).map_err(|rule| invalid("customFields", rule))?;
        Ok(Described {
            entity_id,
            record_id,
            field_key: self.field_key,
            partition_code: self.partition_code,
            tags,
            assignments,
            custom_fields,
        })
    }

    fn tags(&self) -> Result<Vec<String>, Error> {
        let text = self.tags.as_deref().unwrap_or_default().trim();
        if text.starts_with('[') {
            return serde_json::from_str(text).map_err(|_| Error::InvalidField("tags"));
        }
        let tags = text.split(',').map(str::trim).filter(|tag| !tag.is_empty());
        Ok(tags.map(str::to_owned).collect())
    }
}

fn required(text: Option<&str>, name: &'static str) -> Result<String, Error> {
    let text = text.filter(|text| !text.is_empty()).ok_or(Error::MissingField(name))?;
    match values::is_id(text) {
        true => Ok(text.to_owned()),
        false => Err(Error::InvalidField(name)),
    }
}

fn invalid(name: &'static str, rule: &str) -> Rejection {
    Rejection::bad_request(format!("part `{name}` {rule}")).code("invalid_field")
}
