//! Endpoints.

mod fields;
mod file;
mod image;
mod items;
mod library;
mod link_page;
mod links;
mod partitions;
mod reading;
mod records;
mod space;
mod store;
mod transfer;
mod upload;
mod usage;

pub(crate) use image::RENDERS;
pub(crate) use links::SHARED;
pub(crate) use partitions::TESTS;
pub(crate) use upload::UPLOADS;

use backoffice_core::http::Routes;

pub(crate) fn routes(routes: &mut Routes) {
    records::routes(routes);
    upload::routes(routes);
    file::routes(routes);
    image::routes(routes);
    library::routes(routes);
    transfer::routes(routes);
    partitions::routes(routes);
    fields::routes(routes);
    usage::routes(routes);
    links::routes(routes);
}
