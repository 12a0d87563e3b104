//! Commands on people.

use backoffice_core::registry::Registry;

pub(crate) fn register(_registry: &mut Registry) {}
