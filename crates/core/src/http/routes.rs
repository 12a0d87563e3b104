//! Declarations of endpoints.

use std::any::Any;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use actix_web::dev::{ServiceRequest, ServiceResponse, fn_service};
use actix_web::http::Method;
use actix_web::{FromRequest, Handler, web};
use futures_util::future::BoxFuture;
use utoipa::ToSchema;
use utoipa::openapi::path::OperationBuilder;
use utoipa::openapi::{RefOr, Schema};

use super::dispatch::{self, AnyHandler, Endpoint};
use super::extract::{Describe, Extract};
use super::openapi::Schemas;
use super::response::Response;
use super::router::Router;
use crate::acl::Feature;
use crate::context::Call;
use crate::error::{ErrorShape, Result};
use crate::platform::Runtime;
use crate::rate_limit::RateLimit;

/// The access rule of an endpoint. Every endpoint has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Every caller, signed in or not.
    Public,
    /// Every caller. The handler takes a [`Caller`](super::Caller): a signed-in one, or a visitor. An invalid credential counts as none.
    Optional,
    /// Signed-in callers.
    Authenticated,
    /// Signed-in callers that hold all these features.
    Features(&'static [Feature]),
}

impl Access {
    /// Returns whether the endpoint also serves callers that are not signed in.
    #[must_use]
    pub const fn serves_visitors(self) -> bool {
        matches!(self, Self::Public | Self::Optional)
    }
}

/// Returns the access rule for callers that hold all these features.
#[must_use]
pub const fn requires(features: &'static [Feature]) -> Access {
    Access::Features(features)
}

/// The declaration of an endpoint, as data.
#[derive(Debug, Clone)]
pub struct EndpointInfo {
    /// The declaring module.
    pub module: &'static str,
    /// Title of the module.
    pub tag: &'static str,
    /// The method.
    pub method: Method,
    /// The path below the API prefix.
    pub path: &'static str,
    /// The access rule.
    pub access: Access,
    /// Shape of the error bodies.
    pub shape: ErrorShape,
    /// One line of documentation.
    pub summary: &'static str,
    /// Name of the handler, unique in the API document.
    pub operation: &'static str,
    /// Scarce capacity that a request acquires after its body was read.
    pub admission: Option<Admission>,
    /// Limits per client address.
    pub limits: Vec<RateLimit>,
    /// Text of the 400 for an invalid input.
    pub invalid: &'static str,
    /// Response fields that are shown once: stored as null with an `Idempotency-Key`.
    pub one_time: &'static [&'static str],
    /// Whether an `Idempotency-Key` is honoured.
    pub idempotent: bool,
    /// Statuses of rejections beyond those that follow from the access rule.
    pub rejections: &'static [u16],
    /// Kind of the records whose reads are recorded in the access log.
    pub reads: Option<&'static str>,
    /// Kinds of the rows that a read shows, by whose versions its response is tagged.
    pub collections: &'static [&'static str],
    /// Whether the response carries an entity tag, if it has collections.
    pub is_tagged: bool,
    /// Content types of a success whose body is not typed JSON.
    pub media: &'static [&'static str],
    /// Whether the success, and a 400, is a page if the client accepts HTML.
    pub or_page: bool,
    /// Statuses of successes besides that of the response type.
    pub responses: &'static [u16],
    /// Request headers besides those that follow from the access rule and the method.
    pub request_headers: &'static [&'static str],
    /// Headers of a success besides those that follow from the access rule, the method and the response type.
    pub response_headers: &'static [&'static str],
    /// Fields of rejections besides those of every endpoint.
    pub error_fields: Vec<ErrorField>,
    /// Whether the handler reads the body while it arrives.
    pub streaming: bool,
    /// Whether the response is a file with conditions and ranges.
    pub downloads: bool,
    /// Whether a super administrator without a selected tenant sees all tenants.
    pub across_tenants: bool,
    /// Whether a selection by cookie that the caller may not make is ignored, even for writes.
    pub passes_over_selections: bool,
    /// Whether the last parameter of the path is the rest of the path, which may contain slashes or be empty.
    pub takes_rest: bool,
}

/// A field of the body of a rejection.
#[derive(Debug, Clone, Copy)]
pub struct ErrorField {
    /// Status of the rejection.
    pub status: u16,
    /// Name of the field.
    pub name: &'static str,
    pub(crate) schema: fn(&mut Schemas) -> RefOr<Schema>,
}

/// A queue position or a permit of a request; released when dropped.
type Held = Box<dyn Any + Send>;

/// Bounds the concurrency of an endpoint. Both steps look at memory only.
#[derive(Debug, Clone, Copy)]
pub struct Admission {
    /// Reserves a queue position; returns a rejection if the queue is full.
    pub reserve: fn(&Call) -> Result<Held>,
    /// Waits for a permit and exchanges the queue position for it. After this step the request does not wait for its client.
    pub take: for<'a> fn(&'a Call, Held) -> BoxFuture<'a, Result<Held>>,
}

/// Adds what an endpoint takes and returns to the API document.
type Describer = fn(OperationBuilder, &mut Schemas) -> OperationBuilder;

#[derive(Clone)]
pub(crate) struct Declared {
    pub(crate) info: EndpointInfo,
    pub(crate) describe: Describer,
    handler: Arc<AnyHandler>,
}

impl Declared {
    fn endpoint(&self) -> Endpoint {
        Endpoint::new(Arc::new(self.info.clone()), Arc::clone(&self.handler))
    }
}

/// The endpoints of the enabled modules.
#[derive(Default)]
pub struct Routes {
    modules: Vec<DeclaringModule>,
    declared: Vec<Declared>,
}

/// The properties of a module that its endpoints have in common.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DeclaringModule {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) errors: ErrorShape,
}

impl DeclaringModule {
    const NONE: Self = Self {
        name: "",
        title: "",
        errors: ErrorShape::Error,
    };
}

impl std::fmt::Debug for Routes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.declared.iter().map(|one| &one.info))
            .finish()
    }
}

/// The endpoint declared last, for further declarations about it.
#[derive(Debug)]
pub struct Declaration<'a> {
    routes: &'a mut Routes,
}

impl Routes {
    /// Begins the declarations of a module.
    pub(crate) fn begin(&mut self, module: DeclaringModule) {
        self.modules.push(module);
    }

    /// Declares `GET path`. `HEAD path` has the same checks and headers, without a body.
    pub fn get<F, Args, T>(&mut self, path: &'static str, access: Access, handler: F) -> Declaration<'_>
    where
        F: Handler<Args, Output = Result<T>> + Send + Sync,
        Args: Extract + Describe + 'static,
        T: Response + 'static,
    {
        self.declare(Method::GET, path, access, handler)
    }

    /// Declares `POST path`.
    pub fn post<F, Args, T>(&mut self, path: &'static str, access: Access, handler: F) -> Declaration<'_>
    where
        F: Handler<Args, Output = Result<T>> + Send + Sync,
        Args: Extract + Describe + 'static,
        T: Response + 'static,
    {
        self.declare(Method::POST, path, access, handler)
    }

    /// Declares `PUT path`.
    pub fn put<F, Args, T>(&mut self, path: &'static str, access: Access, handler: F) -> Declaration<'_>
    where
        F: Handler<Args, Output = Result<T>> + Send + Sync,
        Args: Extract + Describe + 'static,
        T: Response + 'static,
    {
        self.declare(Method::PUT, path, access, handler)
    }

    /// Declares `PATCH path`: members that the body does not have stay unchanged.
    pub fn patch<F, Args, T>(&mut self, path: &'static str, access: Access, handler: F) -> Declaration<'_>
    where
        F: Handler<Args, Output = Result<T>> + Send + Sync,
        Args: Extract + Describe + 'static,
        T: Response + 'static,
    {
        self.declare(Method::PATCH, path, access, handler)
    }

    /// Declares `DELETE path`.
    pub fn delete<F, Args, T>(&mut self, path: &'static str, access: Access, handler: F) -> Declaration<'_>
    where
        F: Handler<Args, Output = Result<T>> + Send + Sync,
        Args: Extract + Describe + 'static,
        T: Response + 'static,
    {
        self.declare(Method::DELETE, path, access, handler)
    }

    fn declare<F, Args, T>(&mut self, method: Method, path: &'static str, access: Access, handler: F) -> Declaration<'_>
    where
        F: Handler<Args, Output = Result<T>> + Send + Sync,
        Args: Extract + Describe + 'static,
        T: Response + 'static,
    {
        let name = std::any::type_name::<F>();
        let describe: Describer = |operation, schemas| T::describe(Args::describe(operation, schemas), schemas);
        self.add(method, path, access, name, describe, dispatch::any_handler(handler))
    }

    fn add(
        &mut self,
        method: Method,
        path: &'static str,
        access: Access,
        name: &'static str,
        describe: Describer,
        handler: Arc<AnyHandler>,
    ) -> Declaration<'_> {
        let module = self.modules.last().copied().unwrap_or(DeclaringModule::NONE);
        let info = EndpointInfo {
            module: module.name,
            tag: module.title,
            idempotent: method == Method::POST && !access.serves_visitors(),
            method,
            path,
            access,
            shape: module.errors,
            summary: "",
            operation: name.rsplit("::").next().unwrap_or(name),
            admission: None,
            limits: Vec::new(),
            invalid: "Invalid input",
            one_time: &[],
            rejections: &[],
            reads: None,
            collections: &[],
            is_tagged: true,
            media: &[],
            or_page: false,
            responses: &[],
            request_headers: &[],
            response_headers: &[],
            error_fields: Vec::new(),
            streaming: false,
            downloads: false,
            across_tenants: false,
            passes_over_selections: false,
            takes_rest: false,
        };
        self.declared.push(Declared {
            info,
            describe,
            handler,
        });
        Declaration { routes: self }
    }

    /// Returns the declarations as data.
    #[must_use]
    pub fn into_infos(self) -> Vec<EndpointInfo> {
        self.declared.into_iter().map(|one| one.info).collect()
    }

    pub(super) fn modules(&self) -> &[DeclaringModule] {
        &self.modules
    }

    pub(super) fn declared(&self) -> &[Declared] {
        &self.declared
    }

    /// Returns the declarations by their paths.
    pub(super) fn by_path(&self) -> BTreeMap<&'static str, Vec<&Declared>> {
        let mut paths: BTreeMap<&'static str, Vec<&Declared>> = BTreeMap::new();
        for one in &self.declared {
            paths.entry(one.info.path).or_default().push(one);
        }
        paths
    }

    /// Serves the declared endpoints on this runtime, and with 404 every other path: services that are added after it are not reached. A known
    /// path with an undeclared method is not found, like an unknown path.
    pub fn configure(&self, runtime: &Runtime, service: &mut web::ServiceConfig) {
        service.app_data(web::Data::new(runtime.clone()));
        let endpoints = Rc::new(self.endpoints());
        // The router of actix compares a request with one path after the other; paths with parameters are regular expressions.
        let every_path = web::scope("").default_service(fn_service(move |request| {
            let endpoints = Rc::clone(&endpoints);
            async move { serve(&endpoints, request).await }
        }));
        service.service(every_path);
    }

    fn endpoints(&self) -> Router<Rc<[Endpoint]>> {
        let mut router = Router::default();
        for (path, declared) in self.by_path() {
            let takes_rest = declared.iter().any(|one| one.info.takes_rest);
            let endpoints = declared.iter().map(|one| one.endpoint()).collect();
            if let Err(error) = router.insert(path, takes_rest, endpoints) {
                // `cargo xtask tidy` finds it for the modules of the workspace.
                tracing::error!(http.path = path, %error, "a path is not served");
            }
        }
        router
    }
}

/// Responds to a request of any path.
async fn serve(endpoints: &Router<Rc<[Endpoint]>>, mut request: ServiceRequest) -> actix_web::Result<ServiceResponse> {
    let mut endpoint = None;
    if let Some(found) = endpoints.find(request.match_info().unprocessed()) {
        endpoint = found.value.iter().find(|one| one.serves(request.method())).cloned();
        for (name, value) in found.parameters {
            request.match_info_mut().add_static(name, value);
        }
    }
    let (request, mut payload) = request.into_parts();
    let payload = web::Payload::from_request(&request, &mut payload).await?;
    let response = match endpoint {
        Some(endpoint) => dispatch::run(endpoint, request.clone(), payload).await,
        None => dispatch::not_found(request.clone(), payload).await,
    };
    Ok(ServiceResponse::new(request, response))
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
    /// over a limit. If the queue is full, nothing is counted, so that the rejection costs next to nothing; otherwise the limits by address are
    /// counted before the request waits for its permit. The handler takes the permit ([`Call::admitted`]); otherwise the end of the request
    /// releases it.
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

    /// Ignores `Idempotency-Key`.
    pub fn not_idempotent(self) -> Self {
        self.change(|info| info.idempotent = false)
    }

    /// Declares the kind of the returned records whose reads are recorded; the handler names the records with `RequestContext::log_reads`.
    pub fn reads(self, kind: &'static str) -> Self {
        self.change(|info| info.reads = Some(kind))
    }

    /// Declares the kinds of all rows that the response shows: the listed rows, and those whose names or numbers stand beside them. The response
    /// then carries an `ETag`, the response to `If-None-Match` is 304 while no row of these kinds has changed in the tenant, and a list keeps its
    /// total for so long. Everything that changes the rows must be a command, or call [`events::touch`](crate::events::touch).
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

    /// Declares that the response, and a 400, is a page if the client accepts HTML ([`OrPage`](super::OrPage)).
    pub fn or_page(self) -> Self {
        self.change(|info| info.or_page = true)
    }

    /// Leaves the body to the handler, which reads it while it arrives ([`Multipart`](super::Multipart)). All checks before the handler take
    /// place before the first byte of the body is read. If the handler does not read the body to its end, the connection is closed after the
    /// response.
    pub fn streaming(self) -> Self {
        self.change(|info| info.streaming = true)
    }

    /// Declares that the response is a file of one of these content types, with the conditions and ranges that
    /// [`Conditions`](super::Conditions) evaluates.
    pub fn downloads(self, media: &'static [&'static str]) -> Self {
        self.change(|info| {
            info.downloads = true;
            info.media = media;
            info.responses = &[206, 304];
        })
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
