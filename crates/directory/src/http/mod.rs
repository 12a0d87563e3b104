//! The endpoints.

mod lookups;
mod organizations;
mod switcher;
mod tenants;

use backoffice_core::http::Routes;
use backoffice_core::rate_limit::RateLimit;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

/// The rate limits of the endpoints.
pub(crate) const RATE_LIMITS: &[RateLimit] = &[lookups::LIMIT];

pub(crate) fn routes(routes: &mut Routes) {
    lookups::routes(routes);
    tenants::routes(routes);
    organizations::routes(routes);
    switcher::routes(routes);
}

/// The resource to delete.
#[derive(Debug, Deserialize, IntoParams)]
struct Id {
    /// The id. It must not be the caller's own tenant, or the last organization of a tenant.
    id: Uuid,
}

/// The id of the created organization.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CreatedOrganization)]
struct CreatedId {
    id: Uuid,
}

/// Confirmation of a change.
#[derive(Debug, Serialize, ToSchema)]
struct Ok {
    ok: bool,
}

impl Ok {
    const YES: Self = Self { ok: true };
}
