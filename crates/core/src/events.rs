//! What commands announce. Events are rows of the outbox, written in the command's transaction.

use serde_json::{Map, Value};
use uuid::Uuid;

/// One event: `<module>.<entity>.<past verb>` and its payload (without secrets).
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Its name.
    pub name: String,
    /// Members beside `id`, `tenantId` and `organizationId`, which the bus adds.
    pub payload: Map<String, Value>,
    /// The resource that it is about.
    pub id: String,
}

impl Event {
    /// An event about a resource.
    #[must_use]
    pub fn new(name: impl Into<String>, id: Uuid) -> Self {
        Self { name: name.into(), payload: Map::new(), id: id.to_string() }
    }

    /// Adds a member.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.payload.insert(name.to_owned(), value.into());
        self
    }
}
