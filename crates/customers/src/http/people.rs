//! Endpoints of people.

use backoffice_core::http::Routes;

pub(super) fn routes(_routes: &mut Routes) {}
