//! The owner of the sidebar settings in a request.

use serde::{Deserialize, Serialize};
use utoipa::openapi::schema::{SchemaType, Type};
use utoipa::openapi::{KnownFormat, ObjectBuilder, OneOfBuilder, RefOr, Schema, SchemaFormat};
use utoipa::{PartialSchema, ToSchema};
use uuid::Uuid;

/// The kind of owner of settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum ScopeType {
    User,
    Role,
}

/// The caller, or a role.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct PreferenceScope {
    pub(super) r#type: ScopeType,
    /// The role; absent for the caller.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) role_id: Option<Uuid>,
}

impl PreferenceScope {
    pub(super) const OWN: Self = Self {
        r#type: ScopeType::User,
        role_id: None,
    };

    pub(super) fn role(id: Uuid) -> Self {
        Self {
            r#type: ScopeType::Role,
            role_id: Some(id),
        }
    }
}

/// Schema of a [`PreferenceScope`] in a request: `roleId` is required for a role.
#[derive(Debug)]
pub(super) struct RequestedScope;

impl PartialSchema for RequestedScope {
    fn schema() -> RefOr<Schema> {
        let variant = |scope: &str, role_id: SchemaType| {
            let scope = ObjectBuilder::new()
                .schema_type(Type::String)
                .enum_values(Some([scope]));
            let role_id = ObjectBuilder::new()
                .schema_type(role_id)
                .format(Some(SchemaFormat::KnownFormat(KnownFormat::Uuid)));
            ObjectBuilder::new()
                .property("type", scope)
                .property("roleId", role_id)
                .required("type")
        };
        let user = variant("user", SchemaType::from_iter([Type::Null, Type::String]));
        let role = variant("role", Type::String.into()).required("roleId");
        RefOr::T(Schema::OneOf(OneOfBuilder::new().item(user).item(role).build()))
    }
}

impl ToSchema for RequestedScope {}
