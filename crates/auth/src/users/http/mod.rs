//! Endpoints of users.

mod invitations;
mod passwords;
mod profile;
mod reset;
mod users;

use backoffice_core::http::Routes;

pub(crate) use invitations::{INVITE_BY_ACTOR, RESEND_BY_TARGET};
pub(crate) use reset::{
    CONFIRM_BY_IP, CONFIRM_BY_TOKEN, RESET_BY_ACCOUNT, RESET_BY_IP, VALIDATE_BY_IP, VALIDATE_BY_TOKEN,
};

pub(crate) fn routes(routes: &mut Routes) {
    reset::routes(routes);
    invitations::routes(routes);
    profile::routes(routes);
    users::routes(routes);
}
