//! Declarations of endpoints.

use std::any::Any;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};

use actix_web::dev::{ServiceRequest, ServiceResponse, fn_service};
use actix_web::http::Method;
use actix_web::{FromRequest, Handler, HttpRequest, web};
use futures_util::future::BoxFuture;
use utoipa::openapi::path::OperationBuilder;
use utoipa::openapi::{RefOr, Schema};

use super::dispatch::{self, AnyHandler, Endpoint};
use super::extract::{Describe, Extract};
use super::openapi::Schemas;
use super::response::{Raw, Response};
use super::router::Router;
use crate::acl::Feature;
use crate::context::Call;
use crate::error::{ErrorShape, Rejection, Result};
use crate::platform::Runtime;
use crate::rate_limit::RateLimit;

mod declaration;

pub use declaration::Declaration;

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
    /// Whether the handler runs a command, whose response may have `X-Operation`. Otherwise `If-Match` and `X-Expected-Updated-At` are ignored.
    pub runs_commands: bool,
    /// Whether an `Idempotency-Key` is honoured.
    pub idempotent: bool,
    /// Whether the handler ignores an invalid input.
    pub takes_any_input: bool,
    /// Statuses of rejections beyond those that follow from the access rule.
    pub rejections: &'static [u16],
    /// Kind of the records whose reads are recorded in the access log.
    pub reads: Option<&'static str>,
    /// Kinds of the rows that a read shows, by whose versions its response is tagged.
    pub collections: &'static [&'static str],
    /// Whether the response carries an entity tag, if it has collections or is a file.
    pub is_tagged: bool,
    /// Content types of a success whose body is not typed JSON.
    pub media: &'static [&'static str],
    /// The schema of such a body that is JSON.
    pub(crate) json: Option<SchemaOf>,
    /// Adds the input and the responses to the API document.
    pub(crate) describe: Describer,
    /// See [`EndpointInfo::form`].
    pub(super) form: OnceLock<[u8; 32]>,
    /// Writes rejections as pages, if the endpoint responds to clients that accept HTML with a page.
    pub page: Option<RejectionPage>,
    /// Whether only rejections are pages, and successes never.
    pub only_rejections_as_page: bool,
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
    /// Whether clients may keep the response and ask whether it has changed.
    pub is_kept: bool,
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
    pub(crate) schema: SchemaOf,
}

/// Returns the schema of a type.
pub(crate) type SchemaOf = fn(&mut Schemas) -> RefOr<Schema>;

/// Writes a rejection as a page, with the status of the rejection; `None` for a client that does not accept HTML.
pub type RejectionPage = fn(&Call, &HttpRequest, &Rejection) -> Option<Raw>;

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

    /// Declares `PATCH path`: fields that the body does not have stay unchanged.
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
            runs_commands: method != Method::GET,
            idempotent: method == Method::POST && !access.serves_visitors(),
            takes_any_input: false,
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
            json: None,
            describe,
            form: OnceLock::new(),
            page: None,
            only_rejections_as_page: false,
            responses: &[],
            request_headers: &[],
            response_headers: &[],
            error_fields: Vec::new(),
            streaming: false,
            is_kept: false,
            downloads: false,
            across_tenants: false,
            passes_over_selections: false,
            takes_rest: false,
        };
        self.declared.push(Declared { info, handler });
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
