//! Booleans as forms send them.

use serde::Deserialize;
use utoipa::openapi::schema::Type;
use utoipa::openapi::{ObjectBuilder, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// A boolean of a form.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(untagged)]
pub(super) enum Flag {
    Bool(bool),
    Number(FlagNumber),
    Word(FlagText),
}

/// 1 or 0.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(try_from = "u8")]
#[schema(value_type = u8, minimum = 0, maximum = 1)]
pub(super) struct FlagNumber(bool);

impl TryFrom<u8> for FlagNumber {
    type Error = &'static str;

    fn try_from(number: u8) -> Result<Self, Self::Error> {
        match number {
            0 => Ok(Self(false)),
            1 => Ok(Self(true)),
            _ => Err("must be 0 or 1"),
        }
    }
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum FlagText {
    #[serde(alias = "1", alias = "yes", alias = "on")]
    True,
    #[serde(alias = "0", alias = "no", alias = "off", alias = "")]
    False,
}

/// A derived schema would leave out the aliases.
impl PartialSchema for FlagText {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .enum_values(Some(["true", "1", "yes", "on", "false", "0", "no", "off", ""]))
            .build()
            .into()
    }
}

impl ToSchema for FlagText {}

impl Flag {
    pub(super) fn is_set(self) -> bool {
        matches!(
            self,
            Self::Bool(true) | Self::Number(FlagNumber(true)) | Self::Word(FlagText::True)
        )
    }
}
