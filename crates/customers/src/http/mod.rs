//! The endpoints.

mod bulk;
mod companies;
mod deals;
mod parties;
mod people;
mod pipelines;
mod stages;

use backoffice_core::http::Routes;

pub(crate) fn routes(routes: &mut Routes) {
    deals::routes(routes);
    bulk::routes(routes);
    pipelines::routes(routes);
    stages::routes(routes);
    companies::routes(routes);
    people::routes(routes);
}
