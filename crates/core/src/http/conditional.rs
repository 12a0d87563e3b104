//! Conditional reads: entity tags from the versions of the collections that a response shows, and 304 without running the handler.

use actix_web::http::header::{ACCEPT_LANGUAGE, ETAG, HeaderValue, IF_NONE_MATCH};
use actix_web::http::{Method, StatusCode};
use actix_web::{HttpRequest, HttpResponse};
use sha2::{Digest, Sha256};

use super::routes::EndpointInfo;
use crate::collections::{self, Version};
use crate::context::{ReadCollections, RequestContext};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::identity::Identity;
use crate::scope::Scope;
use crate::text::hex;

/// Parameters that select a part of a list; all others select its rows.
const PAGING: [&str; 4] = ["page", "pageSize", "sortField", "sortDir"];

/// Returns the collections that the response will show; `None` if the endpoint declares none.
pub(super) fn read_collections(
    request: &HttpRequest,
    info: &EndpointInfo,
    identity: &Identity,
    scope: &Scope,
) -> Option<ReadCollections> {
    if info.method != Method::GET || info.collections.is_empty() {
        return None;
    }
    let mut fingerprint = Fingerprint::default();
    // What a caller sees depends on the principal, its rights and its scope.
    fingerprint.bytes(identity.kind.as_str().as_bytes());
    fingerprint.id(identity.id);
    fingerprint.id(Some(identity.tenant));
    identity.rights.identify(&mut fingerprint);
    scope.identify(&mut fingerprint);
    fingerprint.bytes(request.path().as_bytes());
    let is_filter = |pair: &&str| !PAGING.contains(&pair.split('=').next().unwrap_or_default());
    let mut filters: Vec<&str> = request.query_string().split('&').filter(is_filter).collect();
    filters.sort_unstable();
    for filter in filters {
        fingerprint.bytes(filter.as_bytes());
    }
    Some(ReadCollections::new(
        info.collections,
        fingerprint.finish(),
        info.is_tagged,
    ))
}

/// Reads the version now if the client has an entity tag, or if the response is not a list: a list reads it together with its page. Returns 304 if
/// the tag is current, which shows that the same request was valid before. `*` is ignored: whether there is a response, only the handler knows.
pub(super) async fn not_modified(
    request: &HttpRequest,
    info: &EndpointInfo,
    context: &RequestContext,
) -> Result<Option<HttpResponse>> {
    let Some(reading) = context.read_collections().filter(|_| info.is_tagged) else {
        return Ok(None);
    };
    let mut tags = request.headers().get_all(IF_NONE_MATCH).peekable();
    let is_list = !info.path.contains('{');
    if is_list && tags.peek().is_none() {
        return Ok(None);
    }
    let version = context.shared_collection_version(reading).await?;
    let current = entity_tag(request, info, reading, version);
    let names = |tags: &HeaderValue| {
        let tags = tags.to_str().unwrap_or_default().split(',').map(str::trim);
        tags.into_iter().any(|tag| opaque(tag) == opaque(&current))
    };
    if !tags.any(names) {
        return Ok(None);
    }
    let mut response = HttpResponse::build(StatusCode::NOT_MODIFIED);
    Ok(Some(response.insert_header((ETAG, current)).finish()))
}

/// Returns a tag without the mark of weak tags: the comparison of `If-None-Match` ignores it (RFC 9110, 13.1.2).
fn opaque(tag: &str) -> &str {
    tag.strip_prefix("W/").unwrap_or(tag)
}

/// Adds the entity tag to the response of a handler that read the version.
pub(super) fn tag(request: &HttpRequest, info: &EndpointInfo, context: &RequestContext, response: &mut HttpResponse) {
    let Some(reading) = context.read_collections() else {
        return;
    };
    if let Some(version) = reading.version()
        && reading.are_complete()
        && response.status() == StatusCode::OK
        && let Ok(tag) = HeaderValue::from_str(&entity_tag(request, info, reading, version))
    {
        response.headers_mut().insert(ETAG, tag);
    }
}

/// Returns the weak entity tag of the response to this request at this version.
fn entity_tag(request: &HttpRequest, info: &EndpointInfo, reading: &ReadCollections, version: Version) -> String {
    let mut hash = Sha256::new();
    hash.update(info.form());
    hash.update(reading.filter);
    hash.update(request.query_string());
    hash.update([0]);
    if let Some(languages) = request.headers().get(ACCEPT_LANGUAGE) {
        hash.update(languages.as_bytes());
    }
    hash.update(version.bytes());
    let digest: [u8; 32] = hash.finalize().into();
    format!("W/\"{}\"", hex(&digest[..16]))
}

impl RequestContext {
    /// Returns the version of the collections that the response shows. The first call reads it; it must come before the rows are read.
    pub(crate) async fn collection_version(
        &self,
        reading: &ReadCollections,
        connection: &diesel_async::AsyncPgConnection,
    ) -> diesel::QueryResult<Version> {
        if let Some(version) = reading.version() {
            return Ok(version);
        }
        let own = self.identity().tenant;
        let version = collections::version(connection, self.scope(), own, reading.kinds).await?;
        Ok(reading.keep(version))
    }

    /// Returns the same, before any other statement of the request: together with the reads of other requests.
    async fn shared_collection_version(&self, reading: &ReadCollections) -> Result<Version> {
        if let Some(version) = reading.version() {
            return Ok(version);
        }
        let (own, shared) = (self.identity().tenant, self.platform().shared_versions());
        let version = shared.find(self.database(), self.scope(), own, reading.kinds).await?;
        Ok(reading.keep(version))
    }
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;
    use crate::http::{Access, Json, Routes};

    /// The resource as an earlier release shows it.
    mod earlier {
        use super::*;

        #[derive(serde::Serialize, utoipa::ToSchema)]
        pub(super) struct Note {
            text: String,
        }

        pub(super) async fn list_notes(_context: RequestContext) -> Result<Json<Note>> {
            let text = String::new();
            Ok(Json(Note { text }))
        }
    }

    mod present {
        use super::*;

        #[derive(serde::Serialize, utoipa::ToSchema)]
        pub(super) struct Note {
            text: String,
            color: Option<String>,
        }

        pub(super) async fn list_notes(_context: RequestContext) -> Result<Json<Note>> {
            let (text, color) = (String::new(), None);
            Ok(Json(Note { text, color }))
        }
    }

    /// Returns the tag of the endpoint's response to one request at one version.
    fn tag_of(declare: impl FnOnce(&mut Routes)) -> String {
        let mut routes = Routes::default();
        declare(&mut routes);
        let info = routes.into_infos().remove(0);
        let request = TestRequest::get().uri("/notes").to_http_request();
        let reading = ReadCollections::new(&["notes.note"], [0; 32], true);
        entity_tag(&request, &info, &reading, Version::new(1, 0))
    }

    #[test]
    fn a_tag_depends_on_the_form_of_the_response() {
        let earlier = |routes: &mut Routes| {
            routes.get("/notes", Access::Authenticated, earlier::list_notes);
        };
        let present = |routes: &mut Routes| {
            routes.get("/notes", Access::Authenticated, present::list_notes);
        };

        assert_eq!(tag_of(present), tag_of(present));
        assert_ne!(tag_of(present), tag_of(earlier));
    }
}
