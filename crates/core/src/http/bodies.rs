//! Bodies that many endpoints share.

use std::borrow::Cow;
use std::marker::PhantomData;

use serde::{Deserialize, Deserializer, Serialize};
use utoipa::openapi::path::OperationBuilder;
use utoipa::openapi::schema::{SchemaType, Type};
use utoipa::openapi::{KnownFormat, ObjectBuilder, RefOr, Schema, SchemaFormat};
use utoipa::{IntoParams, PartialSchema, ToSchema};
use uuid::Uuid;

use super::extract::{Describe, Extract, Incoming, identified};
use super::openapi::Schemas;
use super::response::Json;
use crate::error::{Result, Violations};
use crate::input::{Input, Validator};
use crate::time::Timestamp;

/// The id in a path, a query or a body.
#[derive(Debug, Clone, Copy, Deserialize, IntoParams, ToSchema)]
pub struct Id {
    /// The id.
    pub id: Uuid,
}

/// The id in a path. A malformed id is read as the nil UUID, which no record has: the response is the 404 of an unknown id.
#[derive(Debug, Clone, Copy, Deserialize, IntoParams)]
pub struct PathId {
    /// The id.
    #[serde(deserialize_with = "or_nil")]
    pub id: Uuid,
}

fn or_nil<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Uuid, D::Error> {
    let text = String::deserialize(deserializer)?;
    Ok(text.parse().unwrap_or_else(|_| Uuid::nil()))
}

/// The id of a created record.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct CreatedId {
    /// The id.
    pub id: Uuid,
}

/// A successful update.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Updated {
    /// Always true.
    ok: bool,
    /// Time of the last change; an update without changes keeps it.
    updated_at: Timestamp,
}

impl Updated {
    /// Creates the response to an update.
    #[must_use]
    pub fn at(updated_at: Timestamp) -> Self {
        Self { ok: true, updated_at }
    }
}

/// A success without data.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Done {
    /// Always true.
    ok: bool,
}

impl Done {
    /// `{"ok": true}`.
    pub const OK: Self = Self { ok: true };
}

/// A body with the id of a record and the fields to update: absent fields keep their values, null clears. `S` describes the fields in the API
/// document, if not `T` itself.
#[derive(Debug)]
pub struct Identified<T, S = T> {
    /// The id.
    pub id: Uuid,
    /// The other fields.
    pub fields: T,
    schema: PhantomData<fn() -> S>,
}

impl<T: Input, S> Extract for Identified<T, S> {
    fn extract(incoming: &Incoming<'_>) -> Result<Self> {
        let (id, fields) = identified(incoming)?;
        let schema = PhantomData;
        Ok(Self { id, fields, schema })
    }

    fn report(&self, _incoming: &Incoming<'_>, violations: &mut Violations) {
        let mut validator = Validator::default();
        self.fields.validate_update(&mut validator);
        violations.extend(validator.into_details());
    }
}

impl<T: Input, S: ToSchema> Describe for Identified<T, S> {
    fn describe(operation: OperationBuilder, schemas: &mut Schemas) -> OperationBuilder {
        Json::<IdentifiedSchema<T, S>>::describe(operation, schemas)
    }
}

/// The schema of [`Identified`]: only the id is required. A derived schema would be shared by all types `S` and show the fields of one of them.
struct IdentifiedSchema<T, S>(PhantomData<(T, S)>);

impl<T: Input, S: ToSchema> PartialSchema for IdentifiedSchema<T, S> {
    fn schema() -> RefOr<Schema> {
        let mut schema = S::schema();
        if let RefOr::T(Schema::Object(body)) = &mut schema {
            body.properties
                .insert("id".to_owned(), uuid(Type::String.into(), "The record to change."));
            body.required = vec!["id".to_owned()];
            if body.properties.contains_key("organizationId") {
                let organization = match T::MAY_HAVE_NO_ORGANIZATION {
                    false => uuid(
                        Type::String.into(),
                        "The organization of the record; cannot be changed.",
                    ),
                    true => uuid(
                        SchemaType::from_iter([Type::String, Type::Null]),
                        "The organization of the record, null for one of the whole tenant; cannot be changed.",
                    ),
                };
                body.properties.insert("organizationId".to_owned(), organization);
            }
        }
        schema
    }
}

fn uuid(schema_type: SchemaType, about: &str) -> RefOr<Schema> {
    ObjectBuilder::new()
        .schema_type(schema_type)
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::Uuid)))
        .description(Some(about))
        .build()
        .into()
}

impl<T: Input, S: ToSchema> ToSchema for IdentifiedSchema<T, S> {
    fn name() -> Cow<'static, str> {
        Cow::Owned(format!("Identified{}", S::name()))
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        S::schemas(schemas);
    }
}
