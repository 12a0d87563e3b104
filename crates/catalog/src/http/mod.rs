//! The endpoints: the same five calls for each kind.

mod bulk_delete;
mod categories;
mod prices;
mod products;
mod variants;

use backoffice_core::http::Routes;

pub(crate) fn routes(routes: &mut Routes) {
    products::routes(routes);
    bulk_delete::routes(routes);
    variants::routes(routes);
    prices::routes(routes);
    categories::routes(routes);
}
