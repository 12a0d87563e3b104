//! The endpoints.

mod bulk;
mod companies;
mod deals;
mod parties;
mod people;
mod pipelines;
mod stages;

use backoffice_core::http::Routes;

/// The kinds on which responses with pipelines or stages depend. The tree of organizations decides which of them a caller sees: also those of the
/// organizations above the caller's.
const WITH_PIPELINES: &[&str] = &[
    "customers.pipeline",
    "customers.pipeline_stage",
    "directory.organization",
];

pub(crate) fn routes(routes: &mut Routes) {
    deals::routes(routes);
    bulk::routes(routes);
    pipelines::routes(routes);
    stages::routes(routes);
    companies::routes(routes);
    people::routes(routes);
}
