//! Bodies of several parts (`multipart/form-data`, RFC 7578), read while they arrive.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use actix_multipart::{Field, MultipartError};
use actix_web::error::PayloadError;
use actix_web::http::StatusCode;
use actix_web::http::header::{CONTENT_DISPOSITION, CONTENT_LENGTH, ContentDisposition, DispositionParam, HeaderValue};
use actix_web::web::{Bytes, BytesMut};
use actix_web::{HttpMessage, HttpRequest, dev};
use futures_util::future::{Either, select};
use futures_util::{Stream, StreamExt};
use sha2::{Digest, Sha256};
use utoipa::ToSchema;
use utoipa::openapi::path::OperationBuilder;

use super::extract::{Describe, Extract, Incoming, describe_body};
use super::openapi::Schemas;
use super::routes::EndpointInfo;
use super::{live_caller, tenant_parameter};
use crate::context::{Call, RequestContext};
use crate::error::{Error, Rejection, Result};

/// Time for which a client may send nothing.
const SILENT: Duration = Duration::from_secs(30);
/// Time that a body may take, whatever its length.
const GRACE: time::Duration = time::Duration::seconds(60);
/// Bytes each second that a client must send after that, on average: a request holds its slot until its body has arrived.
const SLOWEST: u64 = 16 * 1024;
/// Time that a body may take without a new check of its caller: as long as any other request may take between the check and its command.
const CHECKED_FOR: time::Duration = time::Duration::seconds(1);
/// Most parts of a body.
pub const MAX_PARTS: usize = 64;
/// Most bytes of a part that is not a file.
pub const MAX_FIELD_BYTES: usize = 64 * 1024;
/// Most bytes of all parts that are not files.
pub const MAX_FIELDS_BYTES: usize = 1024 * 1024;

/// Bytes after the last part that are read. If there are more, the connection is closed.
const MAX_EPILOGUE_BYTES: usize = 64 * 1024;

/// The body of a streaming request: the extractor reads it, and the dispatcher keeps what is left of it.
#[derive(Clone, Default)]
pub(super) struct SharedBody(Rc<RefCell<Option<dev::Payload>>>, Rc<Cell<u64>>);

impl std::fmt::Debug for SharedBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedBody").finish_non_exhaustive()
    }
}

impl SharedBody {
    pub(super) fn new(payload: Option<dev::Payload>) -> Self {
        Self(Rc::new(RefCell::new(payload)), Rc::default())
    }

    /// Returns the number of bytes that were read.
    fn received(&self) -> u64 {
        self.1.get()
    }

    /// Takes back what was not read.
    pub(super) fn unread(&self) -> Option<dev::Payload> {
        self.0.take()
    }
}

impl Stream for SharedBody {
    type Item = Result<Bytes, PayloadError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut body = self.0.borrow_mut();
        let Some(payload) = &mut *body else {
            return Poll::Ready(None);
        };
        let next = Pin::new(payload).poll_next(context);
        match &next {
            Poll::Ready(None) => *body = None,
            Poll::Ready(Some(Ok(bytes))) => self.1.set(self.1.get() + bytes.len() as u64),
            _ => {}
        }
        next
    }
}

/// The parts of a body, for endpoints declared with [`streaming`](super::Declaration::streaming); `T` describes them in the API document. The parts
/// arrive in the order in which the client sends them, and each must be read to its end before the next one.
///
/// A body has at most 64 parts. The handler must read all of them before it runs a command, in the context that [`context`](Self::context) returns
/// then: an `Idempotency-Key` stands for the name, file name
/// and content of every part, so that a repeat with another boundary is the same request.
pub struct Multipart<T> {
    call: Arc<Call>,
    request: HttpRequest,
    info: Arc<EndpointInfo>,
    context: Option<RequestContext>,
    parts: actix_multipart::Multipart,
    body: SharedBody,
    declared_length: Option<u64>,
    /// Path, query and the parts so far.
    hash: Sha256,
    count: usize,
    field_bytes: usize,
    described: PhantomData<fn() -> T>,
}

impl<T> std::fmt::Debug for Multipart<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Multipart")
            .field("count", &self.count)
            .finish_non_exhaustive()
    }
}

impl<T> Extract for Multipart<T> {
    fn extract(incoming: &Incoming<'_>) -> Result<Self> {
        let kind = incoming.request.mime_type().ok().flatten();
        if kind.is_none_or(|kind| kind.essence_str() != "multipart/form-data") {
            let text = "the body must be multipart/form-data";
            return Err(Rejection::bad_request(text).code("invalid_multipart").into());
        }
        let mut hash = Sha256::new();
        for part in [incoming.request.path(), incoming.request.query_string()] {
            hash.update(part);
            hash.update([0]);
        }
        Ok(Self {
            call: Arc::clone(incoming.call),
            request: incoming.request.clone(),
            info: Arc::clone(incoming.info),
            context: incoming.context.cloned(),
            parts: actix_multipart::Multipart::new(incoming.request.headers(), incoming.streamed.clone()),
            body: incoming.streamed.clone(),
            declared_length: content_length(incoming.request),
            hash,
            count: 0,
            field_bytes: 0,
            described: PhantomData,
        })
    }
}

impl<T: ToSchema> Describe for Multipart<T> {
    fn describe(operation: OperationBuilder, schemas: &mut Schemas) -> OperationBuilder {
        describe_body::<T>(operation, schemas, &["multipart/form-data"])
    }
}

impl<T> Multipart<T> {
    /// Returns the length of the whole body that the client declared, in bytes; `None` for a body of unknown length.
    #[must_use]
    pub const fn declared_length(&self) -> Option<u64> {
        self.declared_length
    }

    /// Returns the next part; `None` at the end of the body.
    ///
    /// # Errors
    /// 400 `invalid_multipart` for a body that is not of this type, is malformed or ends early, `too_many_parts` for more than 64 parts, 408 when
    /// nothing arrives for 30 seconds, or after a minute less than 16 KiB each second on average.
    pub async fn next(&mut self) -> Result<Option<Part<'_, T>>> {
        let Some(field) = in_time(&self.call, self.parts.next()).await? else {
            self.pass_epilogue().await?;
            if let Some(context) = &self.context {
                context.identify_body(self.hash.clone().finalize().into());
            }
            return Ok(None);
        };
        let field = field.map_err(|error| malformed(&error))?;
        self.keep_pace()?;
        self.count += 1;
        if self.count > MAX_PARTS {
            let text = format!("at most {MAX_PARTS} parts are accepted");
            return Err(Rejection::bad_request(text).code("too_many_parts").into());
        }
        let file_name = file_name(&field);
        let name = field.name().unwrap_or_default().to_owned();
        for text in [Some(&name), file_name.as_ref()] {
            self.hash.update(text.map_or("", |text| text.as_str()));
            self.hash.update([0, u8::from(text.is_some())]);
        }
        Ok(Some(Part {
            content_type: field.content_type().map(|kind| kind.essence_str().to_owned()),
            name,
            file_name,
            content: Sha256::new(),
            digest: None,
            field,
            body: self,
        }))
    }

    /// Returns the context in which the command runs once the body has arrived. A body may take minutes: after more than a second the caller is
    /// authenticated and authorized again, so that nothing is written for one whose session or rights have ended meanwhile, and the context has the
    /// present time.
    ///
    /// # Errors
    /// 401, 403 and the other rejections of a new request; 500 on an endpoint without a signed-in caller.
    pub async fn context(&self) -> Result<RequestContext> {
        let context = self.context.as_ref();
        let context = context.ok_or_else(|| Error::internal("the endpoint is public"))?;
        if self.elapsed() <= CHECKED_FOR {
            return Ok(context.clone());
        }
        live_caller::renewed(context, &self.info, &self.request).await
    }

    /// Returns the time since the request began.
    fn elapsed(&self) -> time::Duration {
        self.call.platform().clock().now().get() - self.call.now.get()
    }

    /// Rejects a client that sends so slowly that others would wait for its slot.
    fn keep_pace(&self) -> Result<()> {
        let seconds = i64::try_from(self.body.received() / SLOWEST).unwrap_or(i64::MAX);
        if self.elapsed() <= GRACE.saturating_add(time::Duration::seconds(seconds)) {
            return Ok(());
        }
        let text = "Request timeout: the body arrives too slowly";
        Err(Rejection::new(StatusCode::REQUEST_TIMEOUT, text).into())
    }

    /// Reads and drops what follows the last part, so that the connection can be used again.
    async fn pass_epilogue(&mut self) -> Result<()> {
        let mut passed = 0;
        while passed < MAX_EPILOGUE_BYTES
            && let Some(Ok(bytes)) = in_time(&self.call, self.body.next()).await?
        {
            passed += bytes.len();
        }
        Ok(())
    }
}

/// A part of a body.
pub struct Part<'a, T> {
    /// The name of the part.
    pub name: String,
    /// The name of the file, as the client sent it, with its backslashes: not safe as a path.
    pub file_name: Option<String>,
    /// The media type that the client claims, without parameters.
    pub content_type: Option<String>,
    field: Field,
    content: Sha256,
    digest: Option<[u8; 32]>,
    body: &'a mut Multipart<T>,
}

impl<T> std::fmt::Debug for Part<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Part").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<T> Part<'_, T> {
    /// Returns the next piece of the content; `None` at its end. For files; there is no bound but the handler's.
    ///
    /// # Errors
    /// As [`Multipart::next`].
    pub async fn chunk(&mut self) -> Result<Option<Bytes>> {
        let Some(chunk) = in_time(&self.body.call, self.field.next()).await? else {
            if self.digest.is_none() {
                let digest: [u8; 32] = std::mem::take(&mut self.content).finalize().into();
                self.body.hash.update(digest);
                self.digest = Some(digest);
            }
            return Ok(None);
        };
        let chunk = chunk.map_err(|error| malformed(&error))?;
        self.body.keep_pace()?;
        self.content.update(&chunk);
        Ok(Some(chunk))
    }

    /// Returns the SHA-256 of the content, once it was read to its end.
    #[must_use]
    pub fn sha256(&self) -> Option<[u8; 32]> {
        self.digest
    }

    /// Returns the content of a part that is not a file. A part `tenantId` must name the caller's tenant, like the field of any other body.
    ///
    /// # Errors
    /// As [`Multipart::next`]; 400 `field_too_large` for more than 64 KiB, or more than 1 MiB of all such parts; 400 or 403 for the tenant.
    pub async fn text(mut self) -> Result<String> {
        let mut content = BytesMut::new();
        while let Some(chunk) = self.chunk().await? {
            self.body.field_bytes += chunk.len();
            content.extend_from_slice(&chunk);
            if content.len() > MAX_FIELD_BYTES || self.body.field_bytes > MAX_FIELDS_BYTES {
                let text = "a part that is not a file has at most 64 KiB, and all of them 1 MiB";
                return Err(Rejection::bad_request(text).code("field_too_large").into());
            }
        }
        let text = String::from_utf8(content.into()).map_err(|_| {
            let text = format!("part `{}` is not UTF-8", self.name);
            Error::from(Rejection::bad_request(text).code("invalid_multipart"))
        })?;
        if let Some(context) = self
            .body
            .context
            .as_ref()
            .filter(|_| self.name == tenant_parameter::NAME)
        {
            tenant_parameter::check_value(&text, context.identity())?;
        }
        Ok(text)
    }
}

fn content_length(request: &HttpRequest) -> Option<u64> {
    request.headers().get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Waits for the client, but not longer than it may be silent.
async fn in_time<F: Future>(call: &Call, next: F) -> Result<F::Output> {
    match select(pin!(next), call.platform().clock().sleep(SILENT)).await {
        Either::Left((next, _)) => Ok(next),
        Either::Right(_) => Err(Rejection::new(StatusCode::REQUEST_TIMEOUT, "Request timeout").into()),
    }
}

/// Returns the name of the file of a part; the last one, if the part has several.
fn file_name(field: &Field) -> Option<String> {
    let sent = field.headers().get(CONTENT_DISPOSITION)?;
    let escaped = HeaderValue::from_bytes(&with_backslashes(sent.as_bytes())).ok()?;
    let disposition = ContentDisposition::from_raw(&escaped).ok()?;
    let mut names = disposition
        .parameters
        .into_iter()
        .filter_map(|parameter| match parameter {
            DispositionParam::Filename(name) => Some(name),
            DispositionParam::FilenameExt(name) => String::from_utf8(name.value).ok(),
            _ => None,
        });
    names.next_back()
}

/// Doubles the backslashes of a header that escape neither a quotation mark nor a backslash. Browsers send the backslashes of a name as they are, and the
/// parser of quoted texts would take them for escapes and leave them out, so that folders become a part of the name.
fn with_backslashes(header: &[u8]) -> Vec<u8> {
    let mut escaped = Vec::with_capacity(header.len() + 16);
    let mut bytes = header.iter().copied();
    while let Some(byte) = bytes.next() {
        escaped.push(byte);
        if byte == b'\\'
            && let Some(next) = bytes.next()
        {
            if !matches!(next, b'"' | b'\\') {
                escaped.push(b'\\');
            }
            escaped.push(next);
        }
    }
    escaped
}

/// Rejects a malformed body in words of our own: those of the parser are only logged.
fn malformed(error: &MultipartError) -> Error {
    tracing::debug!(?error, "rejected a malformed multipart body");
    let reason = match error {
        MultipartError::ContentTypeMissing
        | MultipartError::ContentTypeParse
        | MultipartError::ContentTypeIncompatible
        | MultipartError::BoundaryMissing => {
            ": the Content-Type must name a boundary, and the boundary must separate the parts"
        }
        MultipartError::ContentDispositionMissing | MultipartError::ContentDispositionNameMissing => {
            ": each part must have a Content-Disposition that is form-data and has a name"
        }
        MultipartError::Nested => ": a part must not consist of parts",
        MultipartError::Incomplete | MultipartError::Payload(PayloadError::Incomplete(_) | PayloadError::Io(_)) => {
            ": it must end with the boundary, and the Content-Length of a part must be its length"
        }
        MultipartError::Payload(PayloadError::Overflow) => ": the headers of a part must not be longer than 64 KiB",
        MultipartError::Parse(_) => ": the headers of a part are not valid",
        _ => "",
    };
    let text = format!("the body is not valid multipart/form-data{reason}");
    Rejection::bad_request(text).code("invalid_multipart").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_quotation_marks_and_backslashes_are_escaped() {
        for (sent, escaped) in [
            (r#"filename="a.txt""#, r#"filename="a.txt""#),
            (r#"filename="C:\temp\x.txt""#, r#"filename="C:\\temp\\x.txt""#),
            (r#"filename="C:\\temp\\x.txt""#, r#"filename="C:\\temp\\x.txt""#),
            (r#"filename="a\"b\c""#, r#"filename="a\"b\\c""#),
            (r#"filename="\\"; x="\""#, r#"filename="\\"; x="\""#),
            ("\\", "\\"),
        ] {
            assert_eq!(with_backslashes(sent.as_bytes()), escaped.as_bytes(), "{sent}");
        }
    }
}
