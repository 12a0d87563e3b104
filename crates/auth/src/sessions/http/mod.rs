//! Endpoints of sessions.

mod browser;
mod cookies;
mod flag;
mod locale;
mod session;
mod typed;
pub(crate) mod visitor;

use backoffice_core::http::Routes;

pub(crate) use browser::AUTOLOGIN_BY_IP;
pub(crate) use locale::locale_cookie;
pub(crate) use session::{
    LOGIN_BY_ACCOUNT, LOGIN_BY_ACCOUNT_AND_IP, LOGIN_BY_IP, REFRESH_BY_IP, REFRESH_BY_TOKEN, count_attempt,
    forgive_attempts,
};
pub(crate) use typed::has_typed_length;

pub(crate) fn routes(routes: &mut Routes) {
    session::routes(routes);
    browser::routes(routes);
    locale::routes(routes);
}
