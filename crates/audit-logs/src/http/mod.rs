//! The endpoints.

mod access;
mod actions;
mod export;
mod history;
mod words;

use std::marker::PhantomData;

use backoffice_core::db::Connection;
use backoffice_core::http::{Describe, Extract, Incoming, Query, Routes, Schemas};
use backoffice_core::{Rejection, Result, Violations};
use utoipa::IntoParams;
use utoipa::openapi::path::OperationBuilder;
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

/// Parameters of an endpoint.
trait Filters {
    /// Validates a query.
    ///
    /// # Errors
    /// 400 with all violations.
    fn check(pairs: &[(String, String)]) -> Result<()>;
}

/// The query as pairs, because a parameter may be repeated and each has its own rules. `P` describes the parameters in the API document.
#[derive(Debug)]
struct QueryPairs<P> {
    pairs: Vec<(String, String)>,
    parameters: PhantomData<fn() -> P>,
}

impl<P: Filters> Extract for QueryPairs<P> {
    fn extract(incoming: &Incoming<'_>) -> Result<Self> {
        let Query(pairs) = Extract::extract(incoming)?;
        let parameters = PhantomData;
        Ok(Self { pairs, parameters })
    }

    fn report(&self, _incoming: &Incoming<'_>, violations: &mut Violations) {
        if let Err(error) = P::check(&self.pairs) {
            violations.note(error);
        }
    }
}

impl<P: IntoParams> Describe for QueryPairs<P> {
    fn describe(operation: OperationBuilder, schemas: &mut Schemas) -> OperationBuilder {
        Query::<P>::describe(operation, schemas)
    }
}
