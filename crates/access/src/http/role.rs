//! The role of a user.

use backoffice_core::http::{Done, Json, Path, Routes, requires};
use backoffice_core::input::{Input, Validator};
use backoffice_core::{Patch, RequestContext, Result};
use serde::Deserialize;
use utoipa::ToSchema;

use super::UserPath;
use crate::acl;
use crate::commands::ChangeRole;
use crate::error::{Error, found};
use crate::values::{self, AccessRole};

pub(super) fn routes(routes: &mut Routes) {
    routes
        .put(
            "/access/users/{id}",
            requires(&[acl::USERS_MANAGE]),
            change_access_user_role,
        )
        .about("Replace the role of the team that a user holds; other roles stay")
        .rejects(&[404, 409, 422]);
}

/// The role of a user.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
struct NewAccessRole {
    /// The role. The caller must hold all of its features.
    #[schema(value_type = AccessRole, required = true)]
    role: Patch<String>,
}

impl Input for NewAccessRole {
    fn validate(&self, validator: &mut Validator) {
        validator.accept("role", values::role(&self.role));
    }
}

async fn change_access_user_role(
    ctx: RequestContext,
    path: Path<UserPath>,
    body: Json<NewAccessRole>,
) -> Result<Json<Done>> {
    let mut validator = Validator::default();
    let Some(role) = validator.accept("role", values::role(&body.0.role)) else {
        return Err(validator.check().err().unwrap_or_else(|| Error::RoleMissing.into()));
    };
    let id = path.0.id()?;
    found(ctx.execute(&ChangeRole { id, role }, |()| Json(Done::OK)).await)
}
