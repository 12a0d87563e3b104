//! Schemas of values for the API document.

use backoffice_core::input::schema;
use utoipa::openapi::{RefOr, Schema};

use crate::values::{ADDRESS_LENGTH, ASSIGNMENT_STATUSES, CODE_LENGTH, NAME_LENGTH, RESOURCE_TYPES, SITE_STATUSES};

fn words(words: &'static [&'static str]) -> utoipa::openapi::ObjectBuilder {
    schema::words(words.iter().copied())
}

backoffice_core::text_schemas! {
    /// A name.
    DispatchName: schema::line(NAME_LENGTH);
    /// A code.
    DispatchCode: schema::optional_line(CODE_LENGTH);
    /// An address.
    DispatchAddress: schema::optional_line(ADDRESS_LENGTH);
    /// Status of a job site.
    JobSiteStatus: words(SITE_STATUSES);
    /// Status of an assignment.
    AssignmentStatus: words(ASSIGNMENT_STATUSES);
    /// Statuses of assignments, joined by commas.
    AssignmentStatuses: schema::joined_words("Statuses of assignments, joined by commas.", ASSIGNMENT_STATUSES);
    /// Type of a resource.
    ResourceTypeName: words(RESOURCE_TYPES);
}

/// Declares the bodies of a creation and of an update: the same fields, some of which a creation requires.
macro_rules! bodies {
    ($fields:ident: $new:ident requires $required:expr, $changes:ident) => {
        #[doc = concat!("The body of a creation: [`", stringify!($fields), "`].")]
        #[derive(Debug, Clone, Default, serde::Deserialize)]
        #[serde(transparent)]
        pub struct $new(pub $fields);

        #[doc = concat!("The body of an update: [`", stringify!($fields), "`].")]
        #[derive(Debug, Clone, Default, serde::Deserialize)]
        #[serde(transparent)]
        pub struct $changes(pub $fields);

        impl backoffice_core::input::Input for $new {
            fn require(&self, validator: &mut backoffice_core::input::Validator) {
                self.0.require(validator);
            }

            fn validate(&self, validator: &mut backoffice_core::input::Validator) {
                self.0.validate(validator);
            }
        }

        impl backoffice_core::input::Input for $changes {
            fn validate(&self, validator: &mut backoffice_core::input::Validator) {
                self.0.validate(validator);
            }
        }

        $crate::documented::bodies!(@schema $fields, $new, $required);
        $crate::documented::bodies!(@schema $fields, $changes, []);
    };
    (@schema $fields:ident, $name:ident, $required:expr) => {
        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                let required: &[&str] = &$required;
                $crate::documented::with_required(<$fields as utoipa::PartialSchema>::schema(), required)
            }
        }

        impl utoipa::ToSchema for $name {
            fn schemas(schemas: &mut Vec<(String, utoipa::openapi::RefOr<utoipa::openapi::Schema>)>) {
                <$fields as utoipa::ToSchema>::schemas(schemas);
            }
        }
    };
}
pub(crate) use bodies;

/// Returns the schema of an object with required fields.
pub(crate) fn with_required(mut schema: RefOr<Schema>, names: &[&str]) -> RefOr<Schema> {
    if let RefOr::T(Schema::Object(object)) = &mut schema {
        object.required.extend(names.iter().map(|name| (*name).to_owned()));
    }
    schema
}
