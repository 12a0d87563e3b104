//! The schema of a change.

use std::borrow::Cow;
use std::marker::PhantomData;

use utoipa::openapi::schema::Type;
use utoipa::openapi::{KnownFormat, ObjectBuilder, RefOr, Schema, SchemaFormat};
use utoipa::{PartialSchema, ToSchema};

/// A body with the id of a record and the fields to update, for the API document: only the id is required, and the organization may not be null.
/// A derived schema would be shared by all types `T` and show the fields of only one of them.
pub(super) struct Identified<T>(PhantomData<T>);

impl<T: ToSchema> PartialSchema for Identified<T> {
    fn schema() -> RefOr<Schema> {
        let mut schema = T::schema();
        if let RefOr::T(Schema::Object(body)) = &mut schema {
            let uuid = ObjectBuilder::new()
                .schema_type(Type::String)
                .format(Some(SchemaFormat::KnownFormat(KnownFormat::Uuid)))
                .description(Some("The record to change."));
            body.properties.insert("id".to_owned(), uuid.build().into());
            body.required = vec!["id".to_owned()];
            if let Some(RefOr::T(Schema::Object(organization))) = body.properties.get_mut("organizationId") {
                organization.schema_type = Type::String.into();
            }
        }
        schema
    }
}

impl<T: ToSchema> ToSchema for Identified<T> {
    fn name() -> Cow<'static, str> {
        Cow::Owned(format!("Identified{}", T::name()))
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        T::schemas(schemas);
    }
}
