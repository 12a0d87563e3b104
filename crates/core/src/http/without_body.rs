//! Responses to HEAD: the head of the response to GET, with the length of its body.

use std::pin::Pin;
use std::task::{Context, Poll};

use actix_web::HttpResponse;
use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::http::Method;
use actix_web::web::Bytes;

/// A body that is not sent.
struct WithoutBody(BodySize);

impl MessageBody for WithoutBody {
    type Error = std::convert::Infallible;

    fn size(&self) -> BodySize {
        self.0
    }

    fn poll_next(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Self::Error>>> {
        Poll::Ready(None)
    }
}

/// Removes the body of the response to HEAD, and keeps its length. A body that would be produced while it is sent is dropped, and its source with it.
pub(super) fn head_only(response: HttpResponse, method: &Method) -> HttpResponse {
    if *method != Method::HEAD {
        return response;
    }
    response.map_body(|_, body| BoxBody::new(WithoutBody(body.size())))
}
