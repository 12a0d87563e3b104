//! The endpoints.

mod create;
mod keys;

use backoffice_core::http::{Routes, requires};
use backoffice_core::ids::PLATFORM_TENANT;
use backoffice_core::{Rejection, RequestContext, Result};
use uuid::Uuid;

use crate::{acl, usage};

const KEYS: &str = "/api_keys/keys";

pub(crate) fn routes(routes: &mut Routes) {
    routes
        .get(KEYS, requires(&[acl::VIEW]), keys::list_api_keys)
        .shows(&[
            "api_keys.key",
            usage::USAGE,
            "auth.role",
            "directory.organization",
            "directory.tenant",
        ])
        .about("List the API keys of a tenant; a caller of the platform must select one")
        .reads("api_keys.key");
    routes
        .post(KEYS, requires(&[acl::CREATE]), create::create_api_key)
        .about("Create an API key; no later response shows it")
        .one_time(&["secret"])
        .rejects(&[409, 422]);
    routes
        .delete(KEYS, requires(&[acl::DELETE]), keys::delete_api_key)
        .about("Delete an API key; requests with it are rejected")
        .rejects(&[404, 409, 422]);
}

/// Returns the tenant whose keys the request concerns; rejects the platform, which has no keys.
fn tenant(ctx: &RequestContext) -> Result<Uuid> {
    match ctx.tenant()? {
        PLATFORM_TENANT => Err(Rejection::tenant_required().into()),
        tenant => Ok(tenant),
    }
}
