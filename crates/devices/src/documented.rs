//! Schemas of request fields, for the API document, where derived schemas would be too imprecise.

use std::borrow::Cow;

use backoffice_core::input::schema;
use backoffice_core::text_schemas;
use utoipa::openapi::schema::Type;
use utoipa::openapi::{KnownFormat, ObjectBuilder, RefOr, Schema, SchemaFormat};
use utoipa::{PartialSchema, ToSchema};

use crate::commands::{NewDevice, NewDeviceOfUser};
use crate::model::PLATFORMS;

/// Longest name of a device, in characters.
pub(crate) const LONGEST_DEVICE_ID: usize = 255;
/// Longest version, in characters.
pub(crate) const LONGEST_VERSION: usize = 64;
/// Longest language tag, in characters.
pub(crate) const LONGEST_LOCALE: usize = 35;
/// Longest name of a provider, in characters.
pub(crate) const LONGEST_PROVIDER: usize = 32;
/// Longest token, in characters.
pub(crate) const LONGEST_TOKEN: usize = 4096;

text_schemas! {
    /// The name that a client gives to a device.
    DeviceName: schema::line(LONGEST_DEVICE_ID);
    /// Platform of a device.
    DevicePlatform: schema::words(PLATFORMS.iter().copied());
    /// Version of a client or of an operating system; a blank text is treated as null.
    DeviceVersion: schema::optional_line(LONGEST_VERSION);
    /// Language tag; a blank text is treated as null.
    DeviceLocale: schema::optional("Language tag (BCP 47), at most 35 characters.", "[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8})*")
        .max_length(Some(LONGEST_LOCALE));
    /// Provider of push messages; a blank text is treated as null.
    DeviceProvider: schema::optional_line(LONGEST_PROVIDER);
    /// Token for push messages.
    DeviceToken: schema::line(LONGEST_TOKEN);
}

impl PartialSchema for NewDeviceOfUser {
    fn schema() -> RefOr<Schema> {
        let mut schema = NewDevice::schema();
        let user = ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Uuid)))
            .description(Some("The owner: a user of the tenant."));
        if let RefOr::T(Schema::Object(body)) = &mut schema {
            body.properties.insert("userId".to_owned(), user.build().into());
            body.required.push("userId".to_owned());
        }
        schema
    }
}

impl ToSchema for NewDeviceOfUser {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("NewDeviceOfUser")
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        NewDevice::schemas(schemas);
    }
}
