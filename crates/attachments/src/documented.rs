//! Schemas of request fields, for the API document, where derived schemas would be too imprecise.

use std::borrow::Cow;

use backoffice_core::input::schema::{self, LINE_CHARACTER, SPACE, VISIBLE_CHARACTER};
use backoffice_core::text_schemas;
use serde_json::json;
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
                "Texts, numbers, booleans or lists of these; null removes a field. The file keeps at most 50 fields, of 16 KiB together.",
            ))
            .property_names(Some(name.build()))
            .additional_properties(Some(AdditionalProperties::RefOr(RefOr::T(value.build().into()))))
            .into()
    }
}

impl ToSchema for AttachmentCustomFields {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("AttachmentCustomFields")
    }
}

/// Settings of a store. `local` has none, `s3` needs at least a bucket.
pub(crate) enum StoreConfigSchema {}

impl PartialSchema for StoreConfigSchema {
    fn schema() -> RefOr<Schema> {
        let text = |about: &str, pattern: &str| {
            schema::pattern(about, pattern.to_owned()).schema_type(SchemaType::Array(vec![Type::String, Type::Null]))
        };
        let credential = || {
            let about = "Never returned: `[redacted]` stands for a stored one, and keeps it when it is sent back. Null removes it.";
            text(about, "^[!-~]{1,4096}$")
        };
        let flag = ObjectBuilder::new().schema_type(SchemaType::Array(vec![Type::Boolean, Type::Null]));
        let modes = ObjectBuilder::new()
            .schema_type(SchemaType::Array(vec![Type::String, Type::Null]))
            .description(Some(
                "Default `access_keys`. `ambient` (credentials of the server) only by super administrators.",
            ))
            .enum_values(Some([json!("access_keys"), json!("ambient"), json!(null)]));
        ObjectBuilder::new()
            .description(Some("None for `local`. For `s3`, `bucket` is required."))
            .property(
                "bucket",
                schema::pattern(
                    "Name of the bucket.",
                    "^[a-z0-9]([.]?[a-z0-9-]){1,61}[a-z0-9]$".to_owned(),
                )
                .max_length(Some(63)),
            )
            .property("region", text("Default `us-east-1`.", "^[a-z0-9-]{1,40}$"))
            .property(
                "endpoint",
                text(
                    "Origin of a server other than that of AWS, with a public address.",
                    "^https://[a-z0-9.-]+(:[0-9]+)?/?$",
                )
                .max_length(Some(2048)),
            )
            .property(
                "pathPrefix",
                text("Beginning of all keys.", "^[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*/?$").max_length(Some(200)),
            )
            .property("forcePathStyle", flag)
            .property("authMode", modes)
            .property("accessKeyId", credential())
            .property("secretAccessKey", credential())
            .property("sessionToken", credential())
            .additional_properties(Some(AdditionalProperties::FreeForm(false)))
            .into()
    }
}

impl ToSchema for StoreConfigSchema {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("AttachmentStoreConfig")
    }
}
