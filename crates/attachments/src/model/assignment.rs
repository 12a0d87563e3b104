//! Records to which a file is assigned.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::documented::{AttachmentHref, AttachmentLabel, AttachmentRecordText};

/// A record to which a file is assigned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = AttachmentAssignment)]
pub struct Assignment {
    /// Kind of the record: `module.entity`, 1 to 255 characters.
    #[serde(rename = "type")]
    #[schema(value_type = AttachmentRecordText)]
    pub kind: String,
    /// Id of the record, 1 to 255 characters.
    #[schema(value_type = AttachmentRecordText)]
    pub id: String,
    /// Text shown to users, at most 255 characters; absent from a response if there is none.
    #[schema(value_type = Option<AttachmentLabel>)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// A path of this site that begins with one `/`, or an https URL; absent from a response if there is none.
    #[schema(value_type = Option<AttachmentHref>)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub href: Option<String>,
}
