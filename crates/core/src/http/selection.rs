//! Tenant and organization of a request, from its headers and cookies.

use actix_web::http::Method;
use uuid::Uuid;

use super::request_parts::RequestParts;
use super::routes::EndpointInfo;
use crate::context::Call;
use crate::error::Result;
use crate::identity::Identity;
use crate::scope::Scope;
use crate::selection::{self, Choosing, Selected, not_authorized};

/// Returns the value that a header, else a cookie selects.
fn selected(request: &impl RequestParts, header: &str, cookie: &str) -> Selected {
    if let Some(value) = request.headers().get(header) {
        return Selected::Header(value.to_str().unwrap_or("?").trim().to_owned());
    }
    match request.cookie(cookie) {
        Some(value) if !value.value().trim().is_empty() => Selected::Cookie(value.value().trim().to_owned()),
        _ => Selected::Nothing,
    }
}

/// Returns the properties of a request to this endpoint that decide about its scope.
pub(super) fn choosing(info: &EndpointInfo, named: Option<Uuid>) -> Choosing {
    let reads = info.method == Method::GET;
    Choosing {
        lenient: reads || info.passes_over_selections,
        across_tenants: info.across_tenants,
        named,
        reads,
    }
}

/// Returns the scope in which a request is admitted: all organizations in which the caller holds any feature, within their selection.
pub(super) async fn scope(
    call: &Call,
    identity: &Identity,
    request: &impl RequestParts,
    choosing: Choosing,
) -> Result<Scope> {
    let tenant = selected(request, "x-tenant-id", "selected_tenant");
    let tenant = match choosing.named.filter(|_| identity.rights.is_super_admin) {
        Some(_) if tenant.is_malformed_header() => return Err(not_authorized()),
        Some(named) => Selected::Named(named.to_string()),
        None => tenant,
    };
    let organization = selected(request, "x-organization-id", "selected_org");
    selection::scope(call, identity, &tenant, &organization, choosing).await
}
