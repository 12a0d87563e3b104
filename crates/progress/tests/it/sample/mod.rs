//! A module with things that have a number, and a bulk operation that sets it.

mod bulk;
mod interceptors;
mod recount;
mod set_number;
mod thing;

use backoffice_core::http::requires;
use backoffice_core::registry::Registry;
use backoffice_core::{Feature, Module};

pub(crate) use bulk::{ALL, BULK};
pub(crate) use thing::TABLE;

/// Allows reading and numbering things.
pub(crate) const MANAGE: Feature = Feature::new("sample.thing.manage", "Number things");

pub(crate) static MODULE: Module = Module {
    name: "sample",
    title: "Sample",
    requires: &["progress"],
    features: &[MANAGE],
    routes: |routes| {
        routes.post(BULK, requires(&[MANAGE]), bulk::number_things);
        routes
            .post(ALL, requires(&[MANAGE]), bulk::number_matching_things)
            .rejects_with::<i64>(400, "matched");
        routes.put("/sample/things", requires(&[MANAGE]), set_number::update_thing);
    },
    register,
    ..Module::EMPTY
};

fn register(registry: &mut Registry) {
    registry
        .entity::<thing::Thing>()
        .command::<set_number::SetNumber>()
        .interceptor(interceptors::BY_NAME)
        .deferred_work::<recount::Numbered>(|tx, numbered| Box::pin(recount::recount(tx, numbered)));
    backoffice_progress::bulk::register::<bulk::NumberThings>(registry);
}
