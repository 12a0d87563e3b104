//! Kinds of records that a module offers to others: what files may be attached to, and what business rules guard and change.

use diesel_async::AsyncPgConnection;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::acl::Feature;
use crate::context::RequestContext;
use crate::error::Result;
use crate::platform::Platform;
use crate::scope::Scope;

/// A record, as other modules show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundRecord {
    /// The id.
    pub id: Uuid,
    /// The organization.
    pub organization: Uuid,
    /// Text by which users recognize it.
    pub label: String,
}

/// Returns the records with these ids that exist and are visible in this scope, with one statement.
pub type FindRecords =
    for<'a> fn(&'a AsyncPgConnection, &'a Scope, &'a [Uuid]) -> BoxFuture<'a, Result<Vec<FoundRecord>>>;

/// Changes fields of a record by the update command of its module, as the principal of the context.
pub type WriteRecord = for<'a> fn(&'a RequestContext, Uuid, Map<String, Value>) -> BoxFuture<'a, Result<()>>;

/// The type of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldType {
    /// A text.
    Text,
    /// A number.
    Number,
    /// True or false.
    Boolean,
    /// A UUID.
    Id,
    /// A day: `2026-11-20`.
    Date,
    /// An instant: `2026-11-20T08:15:30.123Z`.
    Time,
    /// A list.
    List,
    /// An object.
    Object,
}

impl FieldType {
    /// All types.
    pub const ALL: [Self; 8] = [
        Self::Text,
        Self::Number,
        Self::Boolean,
        Self::Id,
        Self::Date,
        Self::Time,
        Self::List,
        Self::Object,
    ];

    /// Returns the name in the wire format.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Id => "id",
            Self::Date => "date",
            Self::Time => "time",
            Self::List => "list",
            Self::Object => "object",
        }
    }
}

/// A tracked field of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordField {
    /// The name in snapshots and in the API.
    pub path: &'static str,
    /// The type.
    pub field_type: FieldType,
    /// Whether rules may set it, with [`RecordKind::write`].
    pub writable: bool,
}

impl RecordField {
    /// Declares a field that rules may read.
    #[must_use]
    pub const fn new(path: &'static str, field_type: FieldType) -> Self {
        Self {
            path,
            field_type,
            writable: false,
        }
    }

    /// Declares a field that rules may read and set.
    #[must_use]
    pub const fn writable(path: &'static str, field_type: FieldType) -> Self {
        Self {
            path,
            field_type,
            writable: true,
        }
    }
}

/// A kind of records. The module that owns it registers it with [`Registry::extend`](crate::registry::Registry::extend).
#[derive(Debug, Clone, Copy)]
pub struct RecordKind {
    /// `module.entity`, the kind of its entity.
    pub kind: &'static str,
    /// Title shown to users, in English.
    pub title: &'static str,
    /// Features that a caller needs to see what belongs to such a record.
    pub view: &'static [Feature],
    /// Features that a caller needs to change what belongs to such a record.
    pub manage: &'static [Feature],
    /// Finds records.
    pub find: FindRecords,
    /// Whether business rules validate the commands on such records.
    pub guardable: bool,
    /// The tracked fields of the snapshots of a guardable kind.
    pub fields: &'static [RecordField],
    /// Verbs of the events about such a record besides `created`, `updated` and `deleted`.
    pub events: &'static [&'static str],
    /// Sets writable fields; `None` if there are none.
    pub write: Option<WriteRecord>,
}

impl RecordKind {
    /// Returns the field of this name.
    #[must_use]
    pub fn field(&self, path: &str) -> Option<&RecordField> {
        self.fields.iter().find(|field| field.path == path)
    }
}

impl Platform {
    /// Returns the offered kind with this name.
    #[must_use]
    pub fn record_kind(&self, kind: &str) -> Option<&RecordKind> {
        self.extensions::<RecordKind>().find(|offered| offered.kind == kind)
    }
}
