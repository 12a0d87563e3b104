//! Request bodies. A body is read within its deadline, before the request takes any scarce capacity, so that a client that sends slowly or not
//! at all holds only its connection.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use actix_web::HttpResponse;
use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::Payload;
use actix_web::http::{Method, StatusCode};
use actix_web::web::{self, Bytes, BytesMut};
use futures_util::StreamExt;
use futures_util::future::{Either, select};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::multipart::SharedBody;
use crate::context::Call;
use crate::error::{Detail, Error, Rejection, Result};

/// Number of bytes of a body that need no permit.
const SMALL: usize = 16 * 1024;
/// Number of bodies of the maximum length for which a process has memory at once.
const LONGEST_AT_ONCE: usize = 64;
/// A body that is too long is read up to this many times its limit, so that the client receives the response and not a closed connection.
const READ_ON: usize = 8;

/// Memory for bodies that are not small, in KiB: the bound of what clients can fill.
#[derive(Debug)]
pub(crate) struct BodyMemory(Arc<Semaphore>);

impl BodyMemory {
    /// Creates the memory for bodies up to this limit.
    pub(crate) fn new(body_limit: usize) -> Self {
        let kib = body_limit.div_ceil(1024).saturating_mul(LONGEST_AT_ONCE);
        Self(Arc::new(Semaphore::new(kib.min(Semaphore::MAX_PERMITS))))
    }

    /// Reserves this many bytes; `None` when that many are not free.
    fn take(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let kib = u32::try_from(bytes.div_ceil(1024)).ok()?;
        Arc::clone(&self.0).try_acquire_many_owned(kib).ok()
    }
}

/// A complete body with the memory permit that it holds.
#[derive(Debug, Default)]
pub(super) struct Body {
    pub(super) bytes: Bytes,
    _permit: Option<OwnedSemaphorePermit>,
}

/// The reason why a complete body is not a valid input.
#[derive(Debug)]
pub(super) struct Unreadable(&'static str);

impl Unreadable {
    /// Creates the 400 of an endpoint with this text.
    pub(super) fn worded(self, text: &'static str) -> Error {
        Rejection::bad_request(text)
            .detail(Detail::new("", self.0, "invalid_value"))
            .into()
    }
}

/// The part of a body that the client has not sent yet.
#[derive(Default)]
pub(super) struct Unread {
    rest: Option<Payload>,
    /// The body that a handler reads by itself.
    shared: Option<SharedBody>,
}

impl Unread {
    pub(super) fn new(payload: web::Payload) -> Self {
        match payload.into_inner() {
            Payload::None => Self::default(),
            payload => Self {
                rest: Some(payload),
                shared: None,
            },
        }
    }

    /// Returns the body for the handler of a streaming endpoint, and otherwise nothing.
    pub(super) fn share(&mut self, is_streaming: bool) -> SharedBody {
        if !is_streaming {
            return SharedBody::default();
        }
        let shared = SharedBody::new(self.rest.take());
        self.shared = Some(shared.clone());
        shared
    }

    /// Keeps the unread rest of a request until the last byte of its response is produced, which makes the server close the connection. If a
    /// chunked body were dropped before, the server would wait for its end as long as the client likes.
    pub(super) fn keep_with(self, response: HttpResponse) -> HttpResponse {
        let shared = self.shared.and_then(|shared| shared.unread());
        match self.rest.or(shared) {
            None => response,
            Some(rest) => response.map_body(|_, body| BoxBody::new(BesideRest { body, _rest: rest })),
        }
    }

    /// Reads the body. The outer error ends the request: 408 when the body is late, 503 when there is no memory for it; both close the
    /// connection. The inner error is a 400 that is reported later, in the order of the checks.
    pub(super) async fn read(&mut self, method: &Method, call: &Call) -> Result<Result<Body, Unreadable>> {
        if matches!(*method, Method::GET | Method::HEAD) {
            return Ok(Ok(Body::default()));
        }
        let platform = call.platform();
        let arriving = pin!(self.collect(platform.http().body_limit, platform.body_memory()));
        match select(arriving, platform.clock().sleep(platform.http().body_timeout)).await {
            Either::Left((arrived, _)) => arrived,
            Either::Right(_) => Err(Rejection::new(StatusCode::REQUEST_TIMEOUT, "Request timeout").into()),
        }
    }

    /// Reads and drops the body, so that a client whose request is rejected keeps its connection. A client that sends too slowly loses it.
    pub(super) async fn discard(&mut self, method: &Method, call: &Call) {
        if matches!(*method, Method::GET | Method::HEAD) {
            return;
        }
        let http = call.platform().http();
        let passing = pin!(self.pass(http.body_limit));
        // The response closes the connection of a client that is late.
        let _late = select(passing, call.platform().clock().sleep(http.body_timeout)).await;
    }

    async fn collect(&mut self, limit: usize, memory: &BodyMemory) -> Result<Result<Body, Unreadable>> {
        let mut body = BytesMut::new();
        let mut permit: Option<OwnedSemaphorePermit> = None;
        let mut held = SMALL;
        let mut read = 0_usize;
        while let Some(payload) = &mut self.rest {
            let Some(chunk) = payload.next().await else {
                self.rest = None;
                break;
            };
            let Ok(chunk) = chunk else {
                return Ok(Err(Unreadable("the body could not be read")));
            };
            read += chunk.len();
            if read > limit.saturating_mul(READ_ON) {
                break;
            }
            if read > limit {
                (body, permit) = (BytesMut::new(), None);
                continue;
            }
            if read > held {
                let Some(more) = memory.take(read - held) else {
                    return Err(Rejection::unavailable().into());
                };
                held += more.num_permits() * 1024;
                match &mut permit {
                    Some(permit) => permit.merge(more),
                    None => permit = Some(more),
                }
            }
            body.extend_from_slice(&chunk);
        }
        Ok(if read > limit {
            Err(Unreadable("the body is too large"))
        } else {
            Ok(Body {
                bytes: body.freeze(),
                _permit: permit,
            })
        })
    }

    async fn pass(&mut self, limit: usize) {
        let mut read = 0_usize;
        while let Some(payload) = &mut self.rest
            && read <= limit.saturating_mul(READ_ON)
        {
            match payload.next().await {
                Some(Ok(chunk)) => read += chunk.len(),
                Some(Err(_)) => return,
                None => self.rest = None,
            }
        }
    }
}

/// The body of a response together with the unread rest of its request.
struct BesideRest {
    body: BoxBody,
    _rest: Payload,
}

impl MessageBody for BesideRest {
    type Error = <BoxBody as MessageBody>::Error;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Self::Error>>> {
        Pin::new(&mut self.body).poll_next(context)
    }
}

#[cfg(test)]
mod tests {
    use actix_web::error::PayloadError;
    use futures_util::stream;

    use super::*;

    fn sent(chunks: &[&'static [u8]]) -> Unread {
        let chunks: Vec<Result<Bytes, PayloadError>> =
            chunks.iter().map(|chunk| Ok(Bytes::from_static(chunk))).collect();
        Unread {
            rest: Some(Payload::Stream {
                payload: Box::pin(stream::iter(chunks)),
            }),
            shared: None,
        }
    }

    #[tokio::test]
    async fn a_small_body_needs_no_room_and_a_longer_one_gives_it_back() {
        let memory = BodyMemory(Arc::new(Semaphore::new(1)));
        static SMALL_ONE: [u8; SMALL] = [b'x'; SMALL];
        static KIB: [u8; 1024] = [b'x'; 1024];
        let limit = 4 * SMALL;

        let longer = sent(&[&SMALL_ONE, &KIB]).collect(limit, &memory).await;
        let longer = longer.expect("there is room").expect("it is readable");
        assert_eq!((longer.bytes.len(), memory.0.available_permits()), (SMALL + 1024, 0));
        let small = sent(&[&SMALL_ONE]).collect(limit, &memory).await;
        assert!(matches!(small, Ok(Ok(_))), "{small:?}");
        let rejected = sent(&[&SMALL_ONE, &KIB]).collect(limit, &memory).await;
        let rejected = rejected.expect_err("there is no room").to_rejection();
        assert_eq!((rejected.status.as_u16(), rejected.retry_after), (503, Some(1)));

        drop(longer);
        let again = sent(&[&SMALL_ONE, &KIB]).collect(limit, &memory).await;
        assert!(matches!(again, Ok(Ok(_))), "{again:?}");
    }

    #[tokio::test]
    async fn a_body_that_is_too_long_is_drained_without_being_kept() {
        let memory = BodyMemory::new(1024);
        let kib: &'static [u8] = &[b'x'; 1024];
        let mut long = sent(&[kib; 2]);
        let mut endless = sent(&[kib; 20]);

        assert!(matches!(long.collect(1024, &memory).await, Ok(Err(_))));
        assert!(long.rest.is_none(), "read to its end");
        assert!(matches!(endless.collect(1024, &memory).await, Ok(Err(_))));
        assert!(endless.rest.is_some(), "the connection is closed");
    }
}
