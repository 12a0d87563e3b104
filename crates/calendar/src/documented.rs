//! Schemas of values for the API document.

use backoffice_core::input::schema;
use utoipa::openapi::{RefOr, Schema};

use crate::model::FEED_CONTENTS;
use crate::reasons::{self, CODE_LENGTH};
use crate::subject::ResourceType;

backoffice_core::text_schemas! {
    /// Type of a resource.
    CalendarResourceType: schema::words(ResourceType::WORDS);
    /// Code of a reason.
    CalendarReasonCode: schema::pattern("Code of a reason.", format!("^[a-z][a-z0-9_]{{0,{}}}$", CODE_LENGTH - 1));
    /// Codes of reasons, joined by commas.
    CalendarReasonCodes: schema::joined_words("Codes of reasons, joined by commas.", &reasons::codes());
    /// A kind of events.
    CalendarFeedContent: schema::words(FEED_CONTENTS);
    /// A weekday.
    CalendarWeekday: schema::words(crate::weekdays::WORDS);
}

/// Declares a body around the fields that several bodies share; the names in `required` are required.
macro_rules! body {
    ($(#[$about:meta])* $name:ident($fields:ident) requires $required:expr, without $without:expr; $($rule:ident),*) => {
        $(#[$about])*
        #[derive(Debug, Clone, Default, serde::Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $fields);

        impl backoffice_core::input::Input for $name {
            $(fn $rule(&self, validator: &mut backoffice_core::input::Validator) {
                backoffice_core::input::Input::$rule(&self.0, validator);
            })*
        }

        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                let schema = <$fields as utoipa::PartialSchema>::schema();
                $crate::documented::adapted(schema, &$required, &$without)
            }
        }

        impl utoipa::ToSchema for $name {
            fn schemas(schemas: &mut Vec<(String, utoipa::openapi::RefOr<utoipa::openapi::Schema>)>) {
                <$fields as utoipa::ToSchema>::schemas(schemas);
            }
        }
    };
}
pub(crate) use body;

/// Returns the schema of an object with these required fields, without others.
pub(crate) fn adapted(mut schema: RefOr<Schema>, required: &[&str], without: &[&str]) -> RefOr<Schema> {
    if let RefOr::T(Schema::Object(object)) = &mut schema {
        object.required.extend(required.iter().map(|name| (*name).to_owned()));
        for name in without {
            object.properties.remove(*name);
        }
    }
    schema
}
