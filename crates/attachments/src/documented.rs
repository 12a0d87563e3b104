//! Schemas of request fields, for the API document, where derived schemas would be too imprecise.

use std::borrow::Cow;

use backoffice_core::input::schema::{self, LINE_CHARACTER, SPACE, VISIBLE_CHARACTER};
use backoffice_core::text_schemas;
use utoipa::openapi::schema::{AdditionalProperties, AnyOfBuilder, SchemaType, Type};
use utoipa::openapi::{ArrayBuilder, ObjectBuilder, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::commands::DRIVERS;

text_schemas! {
    /// Kind or id of a record, or key of a field.
    AttachmentRecordText: schema::pattern(
        "1 to 255 characters without control characters.",
        format!("^{LINE_CHARACTER}{{1,255}}$"),
    );
    /// Text shown for a record.
    AttachmentLabel: schema::pattern(
        "At most 255 characters, without control characters.",
        format!("^{LINE_CHARACTER}{{0,255}}$"),
    );
    /// Address of a record.
    AttachmentHref: schema::pattern(
        "A path of this site that begins with one `/`, or an https URL.",
        format!("^(/|/{}/\\\\]{VISIBLE_CHARACTER}*|https://{VISIBLE_CHARACTER}+)$", VISIBLE_CHARACTER.trim_end_matches(']')),
    )
    .max_length(Some(2048));
    /// Tag of a file.
    AttachmentTag: schema::line(64);
    /// Name of a file.
    AttachmentFileName: schema::pattern(
        "Not blank. Folders and invisible characters are removed, and it is shortened to 255 bytes.",
        SPACE.trim_end_matches('*').replacen('[', "[^", 1),
    );
    /// A media type, or all of a kind: `image/*`.
    AttachmentMediaRange: schema::pattern("A media type, or all of a kind: `image/*`.", r"^([\s\S]*([^*]|/\*))?$".to_owned())
        .max_length(Some(127));
    /// Code of a partition.
    PartitionCode: schema::pattern("2 to 60 of `A-Z a-z 0-9 _ -`.", "^[A-Za-z0-9_-]{2,60}$".to_owned());
    /// Title of a partition.
    PartitionTitle: schema::line(120);
    /// Name of a model; a blank text is treated as null.
    PartitionModel: schema::optional_line(50);
    /// Settings of the driver `local`, which has none.
    LocalSettings: ObjectBuilder::new().max_properties(Some(0));
    /// Extension of a name.
    AttachmentExtension: schema::pattern(
        "1 to 20 letters and digits, with or without a dot before.",
        format!("^{SPACE}\\.?[A-Za-z0-9]{{1,20}}{SPACE}$"),
    );
    /// A confirmation.
    Confirmation: ObjectBuilder::new().schema_type(Type::Boolean).enum_values(Some([true]));
    /// Driver of a store.
    StorageDriver: schema::words(DRIVERS.iter().copied());
}

/// Fields of a file, by their names.
pub(crate) enum AttachmentCustomFields {}

impl PartialSchema for AttachmentCustomFields {
    fn schema() -> RefOr<Schema> {
        let scalar = || {
            let types = vec![Type::String, Type::Number, Type::Boolean, Type::Null];
            ObjectBuilder::new().schema_type(SchemaType::Array(types)).build()
        };
        let value = AnyOfBuilder::new()
            .item(scalar())
            .item(ArrayBuilder::new().items(scalar()));
        let name = ObjectBuilder::new()
            .schema_type(Type::String)
            .pattern(Some("^[a-z][a-z0-9_]{0,99}$"));
        ObjectBuilder::new()
            .description(Some(
                "Texts, numbers, booleans or lists of these, 16 KiB together; null removes a field.",
            ))
            .property_names(Some(name.build()))
            .additional_properties(Some(AdditionalProperties::RefOr(RefOr::T(value.build().into()))))
            .max_properties(Some(50))
            .into()
    }
}

impl ToSchema for AttachmentCustomFields {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("AttachmentCustomFields")
    }
}
