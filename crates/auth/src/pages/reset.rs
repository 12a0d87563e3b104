//! Setting a password with the link of a mail, and requesting such a link. The token is in the fragment, which browsers do not send, so the
//! script decides what to show.

use actix_web::HttpResponse;
use askama::Template;

use super::{Frame, Visit, response};

#[derive(Template)]
#[template(path = "reset.html")]
struct ResetPage<'a> {
    frame: Frame<'a>,
}

pub(super) fn page(visit: &Visit<'_>) -> HttpResponse {
    let frame = visit.frame();
    let texts = frame.texts;
    response(&ResetPage { frame }, texts)
}
