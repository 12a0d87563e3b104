//! Snapshots of resources.

use std::collections::BTreeMap;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::error::{Error, Result};
use crate::time::Timestamp;

/// Reserved field: rows that are created and deleted with the resource, by kind.
pub const CHILDREN: &str = "_children";
/// Reserved field: references of other rows that the deletion clears.
pub const LINKS: &str = "_links";

/// Snapshots by id; an absent resource has none.
pub type Snapshots = BTreeMap<Uuid, Snapshot>;

/// A flat JSON object with one field per tracked column, named and formatted as in the API.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot(Map<String, Value>);

impl Snapshot {
    /// Creates the snapshot of a row.
    ///
    /// # Errors
    /// When the row does not serialize to an object.
    pub fn of(row: &impl Serialize) -> Result<Self> {
        Self::from_value(serde_json::to_value(row)?)
    }

    /// Parses a snapshot from a JSON value.
    ///
    /// # Errors
    /// When the value is not an object.
    pub fn from_value(value: Value) -> Result<Self> {
        match value {
            Value::Object(fields) => Ok(Self(fields)),
            _ => Err(Error::internal("a snapshot must be an object")),
        }
    }

    /// Sets a field.
    #[must_use]
    pub fn with_field(mut self, name: &str, value: Value) -> Self {
        self.0.insert(name.to_owned(), value);
        self
    }

    /// Sets `organizationId`, which every snapshot has.
    #[must_use]
    pub fn with_organization(self, organization: Option<Uuid>) -> Self {
        self.with_field("organizationId", serde_json::json!(organization))
    }

    /// Gives fields their present names: pairs of a former name and the present one.
    #[must_use]
    pub(super) fn renamed(mut self, names: &[(&str, &str)]) -> Self {
        for (former, present) in names {
            if let Some(value) = self.0.remove(*former) {
                self.0.insert((*present).to_owned(), value);
            }
        }
        self
    }

    /// Parses the row of this snapshot.
    ///
    /// # Errors
    /// When fields are missing.
    pub fn row<T: DeserializeOwned>(&self) -> Result<T> {
        Ok(serde_json::from_value(Value::Object(self.0.clone()))?)
    }

    /// Adds the rows of one kind that are created and deleted with the resource, ordered by id.
    ///
    /// # Errors
    /// When a row can't be serialized to JSON.
    pub fn with_children(mut self, kind: &str, rows: &impl Serialize) -> Result<Self> {
        let rows = serde_json::to_value(rows)?;
        let children = self.0.entry(CHILDREN).or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(children) = children {
            children.insert(kind.to_owned(), rows);
        }
        Ok(self)
    }

    /// Parses the child rows of this kind; none when the snapshot does not cover them.
    ///
    /// # Errors
    /// When fields are missing.
    pub fn children<T: DeserializeOwned>(&self, kind: &str) -> Result<Option<Vec<T>>> {
        match self.0.get(CHILDREN).and_then(|children| children.get(kind)) {
            Some(rows) => Ok(Some(serde_json::from_value(rows.clone())?)),
            None => Ok(None),
        }
    }

    /// Returns kind and id of each child row, as far as the snapshot covers them.
    pub(crate) fn child_ids(&self) -> impl Iterator<Item = (&str, &str)> {
        let kinds = self.0.get(CHILDREN).and_then(Value::as_object).into_iter().flatten();
        kinds.flat_map(|(kind, rows)| {
            let rows = rows.as_array().into_iter().flatten();
            rows.filter_map(move |row| Some((kind.as_str(), row.get("id")?.as_str()?)))
        })
    }

    /// Returns the kinds of the child rows, whether there are any or not.
    pub(crate) fn child_kinds(&self) -> impl Iterator<Item = &str> {
        let kinds = self.0.get(CHILDREN).and_then(Value::as_object).into_iter().flatten();
        kinds.map(|(kind, _)| kind.as_str())
    }

    /// Returns a field.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// Returns all fields.
    #[must_use]
    pub fn fields(&self) -> &Map<String, Value> {
        &self.0
    }

    /// Returns the whole snapshot as a JSON value.
    #[must_use]
    pub fn to_value(&self) -> Value {
        Value::Object(self.0.clone())
    }

    /// Returns the snapshot as a JSON value, without the child rows.
    pub(crate) fn to_value_without_children(&self) -> Value {
        let own = self.0.iter().filter(|(name, _)| *name != CHILDREN);
        Value::Object(own.map(|(name, value)| (name.clone(), value.clone())).collect())
    }

    pub(crate) fn updated_at(&self) -> Option<Timestamp> {
        self.get("updatedAt")
            .and_then(Value::as_str)
            .and_then(|text| Timestamp::parse(text).ok())
    }

    pub(crate) fn organization(&self) -> Option<Uuid> {
        self.get("organizationId")
            .and_then(Value::as_str)
            .and_then(|text| text.parse().ok())
    }
}
