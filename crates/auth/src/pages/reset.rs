//! Setting a password with the link of a mail, and asking for such a link. The token stands in the fragment, which browsers do not send: what
//! is shown is decided by the script.

use actix_web::{HttpRequest, HttpResponse};
use askama::Template;

use super::{Frame, Site, response};

#[derive(Template)]
#[template(path = "reset.html")]
struct ResetPage<'a> {
    frame: Frame<'a>,
}

pub(super) fn page(site: &Site, request: &HttpRequest) -> HttpResponse {
    let frame = site.frame(request);
    let texts = frame.texts;
    response(&ResetPage { frame }, texts)
}
