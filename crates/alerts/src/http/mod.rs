//! Endpoints.

mod acknowledgements;
mod items;
mod list;
mod marks;

use backoffice_core::http::Routes;

pub(crate) fn routes(routes: &mut Routes) {
    list::routes(routes);
    marks::routes(routes);
    acknowledgements::routes(routes);
}
