//! Files as responses, with the conditions and ranges of RFC 9110, sections 13 and 14.

use std::ops::Range;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use actix_web::HttpResponse;
use actix_web::body::SizedStream;
use actix_web::http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderName, HeaderValue, HttpDate, IF_MATCH,
    IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE, LAST_MODIFIED, RANGE, VARY,
};
use actix_web::http::{Method, StatusCode};
use actix_web::web::Bytes;
use futures_util::future::{BoxFuture, Either, select};
use futures_util::stream::{self, BoxStream};
use futures_util::{StreamExt, TryStreamExt};
use serde_json::Value;
use tokio::sync::mpsc;
use utoipa::openapi::ResponseBuilder;
use utoipa::openapi::path::OperationBuilder;

use super::extract::{Describe, Extract, Incoming};
use super::openapi::Schemas;
use super::response::Response;
use crate::context::Call;
use crate::error::{Error, Rejection, Result};
use crate::time::Timestamp;

/// Time for which a client may leave a piece of a file unread. After that the source is closed, and so is the connection.
const STALLED: Duration = Duration::from_secs(60);

/// The bytes of a file, piece by piece. A piece should have at most 64 KiB: a response holds three of them.
pub type Pieces = BoxStream<'static, Result<Bytes>>;
/// Opens a file at a part of it.
pub type Open = Box<dyn FnOnce(Range<u64>) -> BoxFuture<'static, Result<Pieces>> + Send>;

/// The bytes of a file: in memory, or in a source that is opened at a part of it.
pub enum Contents {
    /// All bytes, at most 64 KiB: a slow client holds them as long as it reads.
    Bytes(Bytes),
    /// Opens the file; not called when no byte of it is sent.
    Stream(Open),
}

impl Contents {
    /// Opens the file at a part of it.
    ///
    /// # Errors
    /// When the source can't be opened.
    pub async fn open(self, range: Range<u64>) -> Result<Pieces> {
        match self {
            Self::Bytes(bytes) => {
                let part = slice(&bytes, range)?;
                Ok(stream::once(async move { Ok(part) }).boxed())
            }
            Self::Stream(open) => open(range).await,
        }
    }
}

impl std::fmt::Debug for Contents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bytes(bytes) => f.debug_tuple("Bytes").field(&bytes.len()).finish(),
            Self::Stream(_) => f.debug_tuple("Stream").finish_non_exhaustive(),
        }
    }
}

/// Returns a part of the bytes.
fn slice(bytes: &Bytes, range: Range<u64>) -> Result<Bytes> {
    let position = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
    let (start, end) = (position(range.start), position(range.end));
    if start > end || (end - start) as u64 != range.end - range.start {
        return Err(Error::internal("a file has fewer bytes than its length says"));
    }
    Ok(bytes.slice(start..end))
}

/// A file that may be sent.
pub struct Download {
    /// The length in bytes.
    pub length: u64,
    /// Identifies the bytes: the strong entity tag, without quotes, of visible ASCII characters other than the quote. `None`: no tag is sent, and none
    /// equals it.
    pub etag: Option<String>,
    /// Time of the last change.
    pub modified: Timestamp,
    /// Value of `Content-Type`.
    pub content_type: HeaderValue,
    /// Further headers. A 304 repeats `Cache-Control` and `Vary`.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// The bytes.
    pub contents: Contents,
}

impl std::fmt::Debug for Download {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Download")
            .field("length", &self.length)
            .field("etag", &self.etag)
            .finish_non_exhaustive()
    }
}

/// The conditions and the range of a request, for endpoints declared with [`downloads`](super::Declaration::downloads).
#[derive(Debug, Clone)]
pub struct Conditions {
    call: Arc<Call>,
    is_head: bool,
    has_ranges: bool,
    if_match: Option<String>,
    if_none_match: Option<String>,
    if_modified_since: Option<String>,
    if_unmodified_since: Option<String>,
    if_range: Option<String>,
    range: Option<String>,
}

impl Extract for Conditions {
    fn extract(incoming: &Incoming<'_>) -> Result<Self> {
        let header = |name: HeaderName| {
            let values = incoming.request.headers().get_all(name);
            let values: Vec<&str> = values.map(|value| value.to_str().unwrap_or("?")).collect();
            (!values.is_empty()).then(|| values.join(", "))
        };
        Ok(Self {
            call: Arc::clone(incoming.call),
            is_head: *incoming.request.method() == Method::HEAD,
            has_ranges: true,
            if_match: header(IF_MATCH),
            if_none_match: header(IF_NONE_MATCH),
            if_modified_since: header(IF_MODIFIED_SINCE),
            if_unmodified_since: header(IF_UNMODIFIED_SINCE),
            if_range: header(IF_RANGE),
            range: header(RANGE),
        })
    }
}

impl Describe for Conditions {
    fn describe(operation: OperationBuilder, _schemas: &mut Schemas) -> OperationBuilder {
        operation
    }
}

/// What is sent of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Whole,
    Of(Range<u64>),
    /// No byte of the requested range exists.
    None,
}

impl Conditions {
    /// Returns whether the request asks for the headers only.
    #[must_use]
    pub const fn is_head(&self) -> bool {
        self.is_head
    }

    /// Ignores the requested range: for files of which no parts are sent.
    #[must_use]
    pub fn without_ranges(self) -> Self {
        Self {
            has_ranges: false,
            range: None,
            ..self
        }
    }

    /// Returns the response to this request for a file: 200 with the whole file, 206 with the requested range, or 304. Conditions are evaluated
    /// before the range; several ranges, other units and malformed ranges are ignored. HEAD has the headers of the whole file.
    ///
    /// # Errors
    /// 412 when `If-Match` or `If-Unmodified-Since` fails, 416 when the file has no byte of the range, and the error of opening the file.
    pub async fn respond(self, download: Download) -> Result<FileResponse> {
        let modified = http_date(download.modified);
        let etag = download.etag.map(|tag| format!("\"{tag}\""));
        self.check_preconditions(etag.as_deref(), modified)?;
        let mut headers = vec![(LAST_MODIFIED, header_value(&modified.to_string())?)];
        if let Some(etag) = &etag {
            headers.push((ETAG, header_value(etag)?));
        }
        if self.is_unmodified(etag.as_deref(), modified) {
            let kept = download.headers.into_iter();
            headers.extend(kept.filter(|(name, _)| [CACHE_CONTROL, VARY].contains(name)));
            return Ok(FileResponse {
                status: StatusCode::NOT_MODIFIED,
                headers,
                body: None,
            });
        }
        if self.has_ranges {
            headers.push((ACCEPT_RANGES, HeaderValue::from_static("bytes")));
        }
        headers.push((CONTENT_TYPE, download.content_type));
        headers.extend(download.headers);
        let (status, range) = match self.part(etag.as_deref(), modified, download.length) {
            Part::Whole => (StatusCode::OK, 0..download.length),
            Part::None => return Err(unsatisfiable(download.length)),
            Part::Of(range) => {
                let text = format!("bytes {}-{}/{}", range.start, range.end - 1, download.length);
                headers.push((CONTENT_RANGE, header_value(&text)?));
                (StatusCode::PARTIAL_CONTENT, range)
            }
        };
        let length = range.end - range.start;
        let body = match download.contents {
            _ if self.is_head => FileBody::Stream(length, stream::empty().boxed()),
            Contents::Bytes(bytes) => FileBody::Bytes(slice(&bytes, range)?),
            Contents::Stream(open) => FileBody::Stream(length, handed_over(open(range).await?, self.call)),
        };
        Ok(FileResponse {
            status,
            headers,
            body: Some(body),
        })
    }

    /// Checks the conditions under which nothing may be done (RFC 9110, section 13.2.2, steps 1 and 2).
    fn check_preconditions(&self, etag: Option<&str>, modified: HttpDate) -> Result<()> {
        let holds = match (&self.if_match, &self.if_unmodified_since) {
            (Some(tags), _) => tags.trim() == "*" || entity_tags(tags).any(|tag| Some(tag) == etag),
            (None, Some(since)) => parse_date(since).is_none_or(|since| modified <= since),
            (None, None) => true,
        };
        if holds {
            return Ok(());
        }
        Err(Rejection::new(StatusCode::PRECONDITION_FAILED, "Precondition failed").into())
    }

    /// Returns whether the client has the file already (steps 3 and 4).
    fn is_unmodified(&self, etag: Option<&str>, modified: HttpDate) -> bool {
        match (&self.if_none_match, &self.if_modified_since) {
            (Some(tags), _) => {
                let is_current = |tag: &str| Some(tag.strip_prefix("W/").unwrap_or(tag)) == etag;
                tags.trim() == "*" || entity_tags(tags).any(is_current)
            }
            (None, Some(since)) => parse_date(since).is_some_and(|since| modified <= since),
            (None, None) => false,
        }
    }

    /// Returns the part that the client requests of a file of this length (step 5).
    fn part(&self, etag: Option<&str>, modified: HttpDate, length: u64) -> Part {
        let Some(range) = self.range.as_deref().filter(|_| !self.is_head) else {
            return Part::Whole;
        };
        let is_same = self.if_range.as_deref().is_none_or(|validator| {
            let validator = validator.trim();
            Some(validator) == etag || parse_date(validator).is_some_and(|date| date == modified)
        });
        if is_same { requested(range, length) } else { Part::Whole }
    }
}

/// Returns the part of a file of this length that a value of `Range` requests.
fn requested(range: &str, length: u64) -> Part {
    let Some((unit, set)) = range.split_once('=') else {
        return Part::Whole;
    };
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return Part::Whole;
    }
    let Some((first, last)) = set.trim().split_once('-') else {
        return Part::Whole;
    };
    // Positions beyond any file are larger than every length; anything else than digits, such as a second range, is malformed.
    let position = |text: &str| {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse().unwrap_or(u64::MAX))
    };
    match (first, position(first), last, position(last)) {
        ("", _, _, Some(suffix)) => match length.min(suffix) {
            0 => Part::None,
            suffix => Part::Of(length - suffix..length),
        },
        (_, Some(first), "", _) if first < length => Part::Of(first..length),
        (_, Some(_), "", _) => Part::None,
        (_, Some(first), _, Some(last)) if first > last => Part::Whole,
        (_, Some(first), _, Some(last)) if first < length => Part::Of(first..last.saturating_add(1).min(length)),
        (_, Some(_), _, Some(_)) => Part::None,
        _ => Part::Whole,
    }
}

fn unsatisfiable(length: u64) -> Error {
    let mut rejection = Rejection::new(StatusCode::RANGE_NOT_SATISFIABLE, "Range not satisfiable");
    rejection.content_range = Some(format!("bytes */{length}"));
    rejection.into()
}

/// Returns the tags of a list; a tag with a comma is cut, and equals none of ours.
fn entity_tags(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim)
}

/// Returns the time in the precision of HTTP, seconds.
fn http_date(time: Timestamp) -> HttpDate {
    let seconds = u64::try_from(time.unix_millis() / 1000).unwrap_or(0);
    HttpDate::from(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
}

fn parse_date(text: &str) -> Option<HttpDate> {
    text.trim().parse().ok()
}

fn header_value(text: &str) -> Result<HeaderValue> {
    HeaderValue::from_str(text).map_err(|error| Error::internal(error.to_string()))
}

/// Reads the source in a task of its own, so that it is closed as soon as the client has left a piece unread for too long, or has gone.
fn handed_over(mut source: Pieces, call: Arc<Call>) -> Pieces {
    let (sender, receiver) = mpsc::channel::<Result<Option<Bytes>>>(1);
    tokio::spawn(async move {
        loop {
            let next = tokio::select! {
                next = source.next() => next.transpose(),
                () = sender.closed() => return,
            };
            let is_last = !matches!(next, Ok(Some(_)));
            let sending = pin!(sender.send(next));
            let taken = select(sending, call.platform().clock().sleep(STALLED)).await;
            if is_last || !matches!(taken, Either::Left((Ok(()), _))) {
                return;
            }
        }
    });
    stream::try_unfold(receiver, |mut receiver| async move {
        match receiver.recv().await {
            Some(piece) => Ok(piece?.map(|piece| (piece, receiver))),
            None => Err(Error::internal("client did not read a part of the file in time")),
        }
    })
    .boxed()
}

/// The response with a file, or without it.
pub struct FileResponse {
    status: StatusCode,
    headers: Vec<(HeaderName, HeaderValue)>,
    body: Option<FileBody>,
}

/// The bytes of a response.
enum FileBody {
    /// Written together with the headers.
    Bytes(Bytes),
    /// The number of bytes, and the bytes.
    Stream(u64, Pieces),
}

impl std::fmt::Debug for FileResponse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileResponse")
            .field("status", &self.status)
            .field("headers", &self.headers)
            .finish_non_exhaustive()
    }
}

impl Response for FileResponse {
    fn status(&self) -> StatusCode {
        self.status
    }

    fn to_value(&self) -> Result<Value> {
        Ok(Value::Null)
    }

    fn into_response(self) -> HttpResponse {
        let mut response = HttpResponse::build(self.status);
        for (name, value) in self.headers {
            response.insert_header((name, value));
        }
        match self.body {
            None => response.finish(),
            Some(FileBody::Bytes(bytes)) => response.body(bytes),
            Some(FileBody::Stream(length, pieces)) => {
                let pieces = pieces.map_err(|error| {
                    tracing::warn!(%error, "file response ended early");
                    std::io::Error::other("the file response ended early")
                });
                response.body(SizedStream::new(length, pieces))
            }
        }
    }

    fn describe(operation: OperationBuilder, _schemas: &mut Schemas) -> OperationBuilder {
        operation.response("200", ResponseBuilder::new().description("Success").build())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn att_15_ranges_are_cut_to_the_file_and_malformed_ones_ignored() {
        for (range, expected) in [
            ("bytes=0-99", Part::Of(0..100)),
            ("bytes=-10", Part::Of(990..1000)),
            ("bytes=-5000", Part::Of(0..1000)),
            ("bytes=990-5000", Part::Of(990..1000)),
            ("bytes=990-", Part::Of(990..1000)),
            ("BYTES = 0-0", Part::Of(0..1)),
            ("bytes=999-99999999999999999999999", Part::Of(999..1000)),
            ("bytes=1000-", Part::None),
            ("bytes=1000-1001", Part::None),
            ("bytes=-0", Part::None),
            ("bytes=99999999999999999999999-", Part::None),
            ("bytes=0-1,5-6", Part::Whole),
            ("bytes=5-4", Part::Whole),
            ("bytes=a-b", Part::Whole),
            ("bytes=-", Part::Whole),
            ("bytes=--1", Part::Whole),
            ("bytes=+1-2", Part::Whole),
            ("bytes=1", Part::Whole),
            ("lines=0-1", Part::Whole),
            ("", Part::Whole),
        ] {
            assert_eq!(requested(range, 1000), expected, "{range}");
        }
        assert_eq!(requested("bytes=-1", 0), Part::None);
    }
}
