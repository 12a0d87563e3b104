//! The endpoints.

use backoffice_core::http::Routes;

pub(crate) fn routes(_routes: &mut Routes) {}
