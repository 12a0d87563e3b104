//! The sign-in.

use std::collections::HashMap;

use actix_web::{HttpResponse, web};
use askama::Template;
use uuid::Uuid;

use super::{Frame, Visit, response};

#[derive(Template)]
#[template(path = "login.html")]
struct LoginPage<'a> {
    frame: Frame<'a>,
    /// Destination after the sign-in, which validates it.
    redirect: Option<String>,
    tenant: Option<Uuid>,
}

pub(super) fn page(visit: &Visit<'_>) -> HttpResponse {
    let query = web::Query::<HashMap<String, String>>::from_query(visit.request.query_string());
    let mut query = query.map(web::Query::into_inner).unwrap_or_default();
    let frame = visit.frame();
    let texts = frame.texts;
    let page = LoginPage {
        frame,
        redirect: query.remove("redirect").filter(|target| !target.is_empty()),
        tenant: query.remove("tenant").and_then(|text| text.parse().ok()),
    };
    response(&page, texts)
}
