//! Kinds of records that a module offers to others: what files may be attached to.

use diesel_async::AsyncPgConnection;
use futures_util::future::BoxFuture;
use uuid::Uuid;

use crate::acl::Feature;
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
}

impl Platform {
    /// Returns the offered kind with this name.
    #[must_use]
    pub fn record_kind(&self, kind: &str) -> Option<&RecordKind> {
        self.extensions::<RecordKind>().find(|offered| offered.kind == kind)
    }
}
