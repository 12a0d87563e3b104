//! Endpoints of roles, access control lists and features.

mod features;
mod role_acl;
mod roles;
mod user_acl;

use backoffice_core::http::Routes;

pub(crate) fn routes(routes: &mut Routes) {
    features::routes(routes);
    roles::routes(routes);
    role_acl::routes(routes);
    user_acl::routes(routes);
}
