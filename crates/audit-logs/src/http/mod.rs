//! The endpoints.

mod access;
mod actions;
mod export;
mod history;
mod words;

use backoffice_core::db::Connection;
use backoffice_core::http::Routes;
use backoffice_core::{Rejection, Result};
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn};
use uuid::Uuid;

use crate::query;
use crate::visibility::Viewer;

pub(crate) fn routes(routes: &mut Routes) {
    access::routes(routes);
    actions::routes(routes);
    export::routes(routes);
    history::routes(routes);
}

/// Rejects an organization that is not visible to the caller. Responses with entries of the organization do not need this check.
async fn check_organization(connection: &mut Connection, viewer: Viewer<'_>, organization: Option<Uuid>) -> Result<()> {
    let Some(organization) = organization else {
        return Ok(());
    };
    let known = match &viewer.ctx.scope().organizations {
        Some(list) => list.contains(&organization),
        None => query::knows_organization(connection, viewer, organization).await?,
    };
    if known {
        return Ok(());
    }
    Err(Rejection::forbidden("Organization scope violation").into())
}

/// Returns the parameters of `P`, all of them optional, because handlers parse them.
fn documented<P: IntoParams>(parameter_in_provider: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
    P::into_params(parameter_in_provider)
}
