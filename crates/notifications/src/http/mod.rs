//! The endpoints. None needs a feature: every user has notifications of their own.

mod list;
mod marks;
mod preferences;

use actix_web::HttpRequest;
use backoffice_core::http::Routes;
use backoffice_core::{RequestContext, Result};

pub(crate) fn routes(routes: &mut Routes) {
    list::routes(routes);
    marks::routes(routes);
    preferences::routes(routes);
}

/// Returns the locale in which the caller reads.
async fn locale(ctx: &RequestContext, request: &HttpRequest) -> Result<String> {
    backoffice_auth::locale_of(ctx, request).await
}
