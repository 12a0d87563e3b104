//! Deactivation and reactivation of users.

use backoffice_core::http::{Done, Json, Path, Routes, requires};
use backoffice_core::{RequestContext, Result};

use super::UserPath;
use crate::acl;
use crate::commands::{DeactivateUser, ReactivateUser};
use crate::error::found;

pub(super) fn routes(routes: &mut Routes) {
    routes
        .delete(
            "/access/users/{id}",
            requires(&[acl::USERS_MANAGE]),
            deactivate_access_user,
        )
        .about("Deactivate a user: their sessions and links end")
        .rejects(&[400, 404, 409, 422]);
    routes
        .post(
            "/access/users/{id}/reactivate",
            requires(&[acl::USERS_MANAGE]),
            reactivate_access_user,
        )
        .about("Let a deactivated user sign in again")
        .rejects(&[400, 404, 409, 422]);
}

async fn deactivate_access_user(ctx: RequestContext, path: Path<UserPath>) -> Result<Json<Done>> {
    let id = path.0.id()?;
    found(ctx.execute(&DeactivateUser { id }, |()| Json(Done::OK)).await)
}

async fn reactivate_access_user(ctx: RequestContext, path: Path<UserPath>) -> Result<Json<Done>> {
    let id = path.0.id()?;
    found(ctx.execute(&ReactivateUser { id }, |()| Json(Done::OK)).await)
}
