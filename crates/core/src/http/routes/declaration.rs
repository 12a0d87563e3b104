//! What a module declares about an endpoint besides its method, path, access and handler.

use utoipa::ToSchema;

use super::{Admission, EndpointInfo, ErrorField, RejectionPage, Routes, SchemaOf};
use crate::error::ErrorShape;
use crate::rate_limit::RateLimit;

/// The endpoint declared last, for further declarations about it.
#[derive(Debug)]
pub struct Declaration<'a> {
    pub(super) routes: &'a mut Routes,
}

impl Declaration<'_> {
    fn change(self, change: impl FnOnce(&mut EndpointInfo)) -> Self {
        if let Some(last) = self.routes.declared.last_mut() {
            change(&mut last.info);
        }
        self
    }

    /// Sets the summary, one line of documentation.
    pub fn about(self, summary: &'static str) -> Self {
        self.change(|info| info.summary = summary)
    }

    /// Sets a shape of error bodies other than the module's.
    pub fn errors(self, shape: ErrorShape) -> Self {
        self.change(|info| info.shape = shape)
    }

    /// Bounds the concurrency of the endpoint. After the body was read, the request reserves a queue position, unless the client is known to be
    /// over a limit. If the queue is full, nothing is counted, so that the rejection costs almost nothing; otherwise the limits by address are
    /// counted before the request waits for its permit. The handler takes the permit ([`Call::admitted`](crate::context::Call::admitted));
    /// otherwise the end of the request releases it.
    pub fn admitted_by(self, admission: Admission) -> Self {
        self.change(|info| info.admission = Some(admission))
    }

    /// Adds a limit per client address.
    pub fn limit(self, limit: RateLimit) -> Self {
        self.change(|info| info.limits.push(limit))
    }

    /// Sets the text of the 400 for an invalid input.
    pub fn invalid(self, text: &'static str) -> Self {
        self.change(|info| info.invalid = text)
    }

    /// Declares response fields that are shown once.
    pub fn one_time(self, fields: &'static [&'static str]) -> Self {
        self.change(|info| info.one_time = fields)
    }

    /// Declares that the handler runs no command. `Idempotency-Key`, `If-Match` and `X-Expected-Updated-At` are then ignored, and the API document
    /// names neither them nor what only commands respond: 409, 422, and the headers `X-Operation` and `X-Rule-Messages` of a success.
    pub fn without_command(self) -> Self {
        self.change(|info| {
            info.runs_commands = false;
            info.idempotent = false;
        })
    }

    /// Declares that the handler ignores an invalid input ([`Attempt`](crate::http::Attempt)), so that there is no 400.
    pub fn takes_any_input(self) -> Self {
        self.change(|info| info.takes_any_input = true)
    }

    /// Declares the kind of the returned records whose reads are recorded; the handler names the records with `RequestContext::log_reads`.
    pub fn reads(self, kind: &'static str) -> Self {
        self.change(|info| info.reads = Some(kind))
    }

    /// Declares the kinds of all rows that the response shows: the listed rows, and the other rows whose names or counts it contains. The response
    /// then has an `ETag`. Until a row of these kinds changes in the tenant, the response to `If-None-Match` is 304 and a list keeps its
    /// total. Everything that changes the rows must be a command, or call [`events::touch`](crate::events::touch).
    pub fn shows(self, kinds: &'static [&'static str]) -> Self {
        self.change(|info| {
            info.collections = kinds;
            info.responses = &[304];
        })
    }

    /// Declares the kind of the rows of a list to which each read may add one, so that no response is the same as the one before: it carries no
    /// entity tag. The handler counts them with [`RequestContext::count_added`](crate::RequestContext::count_added).
    pub fn counts_added(self, kinds: &'static [&'static str]) -> Self {
        self.change(|info| {
            info.collections = kinds;
            info.is_tagged = false;
        })
    }

    /// Shows all tenants to a super administrator without a selected tenant, not only their own: for the administration of tenants,
    /// organizations, users, roles and rights, and for its logs.
    pub fn across_tenants(self) -> Self {
        self.change(|info| info.across_tenants = true)
    }

    /// Ignores a selection by cookie that the caller may not make, because the request concerns the session itself.
    pub fn passes_over_selections(self) -> Self {
        self.change(|info| info.passes_over_selections = true)
    }

    /// Serves every path below the endpoint's: its last parameter is the rest of the path, which may contain slashes or be empty.
    pub fn takes_rest(self) -> Self {
        self.change(|info| info.takes_rest = true)
    }

    /// Declares statuses of rejections, for the API document.
    pub fn rejects(self, statuses: &'static [u16]) -> Self {
        self.change(|info| info.rejections = statuses)
    }

    /// Declares a field of the body of rejections with this status, for the API document.
    pub fn rejects_with<T: ToSchema>(self, status: u16, name: &'static str) -> Self {
        self.change(|info| {
            info.error_fields.push(ErrorField {
                status,
                name,
                schema: |schemas| schemas.inline::<T>(),
            });
        })
    }

    /// Declares the content types of the body if its type does not (`Raw`, `Streamed`), for the API document.
    pub fn produces(self, media: &'static [&'static str]) -> Self {
        self.change(|info| info.media = media)
    }

    /// Declares that such a body may be JSON, with a value of this type, for the API document.
    pub fn produces_json<T: ToSchema>(self) -> Self {
        let schema: SchemaOf = |schemas| schemas.inline::<T>();
        self.change(|info| info.json = Some(schema))
    }

    /// Declares that the response is a page if the client accepts HTML ([`OrPage`](crate::http::OrPage)); `rejections` writes the rejections of such
    /// clients, those before the handler included.
    pub fn or_page(self, rejections: RejectionPage) -> Self {
        self.change(|info| info.page = Some(rejections))
    }

    /// Declares that rejections, those before the handler included, are pages if the client accepts HTML; a success, for example a file, is the same for
    /// every client.
    pub fn rejects_as_page(self, rejections: RejectionPage) -> Self {
        self.change(|info| {
            info.page = Some(rejections);
            info.only_rejections_as_page = true;
        })
    }

    /// Leaves the body to the handler, which reads it while it arrives ([`Multipart`](crate::http::Multipart)). All checks before the handler take
    /// place before the first byte of the body is read. If the handler does not read the body to its end, the connection is closed after the
    /// response.
    pub fn streaming(self) -> Self {
        self.change(|info| info.streaming = true)
    }

    /// Declares that clients may keep the response and ask whether it has changed: it and its 304 have `Cache-Control: private, no-cache` instead
    /// of `no-store`.
    pub fn kept(self) -> Self {
        self.change(|info| info.is_kept = true)
    }

    /// Declares that the response is a file of one of these content types, with the conditions and ranges that
    /// [`Conditions`](crate::http::Conditions) evaluates.
    pub fn downloads(self, media: &'static [&'static str]) -> Self {
        self.change(|info| {
            info.downloads = true;
            info.media = media;
            info.responses = &[206, 304];
        })
    }

    /// Declares that the file has no entity tag: clients compare its time only.
    pub fn without_tag(self) -> Self {
        self.change(|info| info.is_tagged = false)
    }

    /// Declares statuses of successes besides that of the response type, for the API document. 304 adds `ETag` and `If-None-Match`.
    pub fn responses(self, statuses: &'static [u16]) -> Self {
        self.change(|info| info.responses = statuses)
    }

    /// Declares request headers that the handler reads, for the API document.
    pub fn takes_headers(self, names: &'static [&'static str]) -> Self {
        self.change(|info| info.request_headers = names)
    }

    /// Declares headers of a success that the handler sets, for the API document.
    pub fn sends_headers(self, names: &'static [&'static str]) -> Self {
        self.change(|info| info.response_headers = names)
    }
}
