//! Endpoints.

mod assignments;
mod bodies;
mod bulk;
mod check;
mod interval;
mod job_sites;
mod resources;

use backoffice_core::http::Routes;

pub(crate) fn routes(routes: &mut Routes) {
    job_sites::routes(routes);
    resources::routes(routes);
    assignments::routes(routes);
    check::routes(routes);
    bulk::routes(routes);
}
