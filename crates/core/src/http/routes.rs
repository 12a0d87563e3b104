//! Declarations of endpoints.

use std::any::Any;
use std::sync::Arc;

use actix_web::http::Method;
use actix_web::{Handler, web};
use futures_util::future::BoxFuture;
use utoipa::ToSchema;
use utoipa::openapi::path::OperationBuilder;
use utoipa::openapi::{RefOr, Schema};

use super::dispatch::{self, Endpoint};
use super::extract::{Describe, Extract};
use super::openapi::Schemas;
use super::response::Response;
use crate::acl::Feature;
use crate::context::Call;
use crate::error::{ErrorShape, Result};
use crate::module::Module;
use crate::platform::Runtime;
use crate::rate_limit::RateLimit;

/// Who may call an endpoint. There is no endpoint without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Everybody.
    Public,
    /// Whoever is signed in.
    Authenticated,
    /// Whoever is signed in and holds all these features.
    Features(&'static [Feature]),
}

/// Access for those who hold all these features.
#[must_use]
pub const fn requires(features: &'static [Feature]) -> Access {
    Access::Features(features)
}

/// What is declared of an endpoint, as data.
#[derive(Debug, Clone)]
pub struct EndpointInfo {
    /// The module that declares it.
    pub module: &'static str,
    /// The module's title.
    pub tag: &'static str,
    /// Its method.
    pub method: Method,
    /// Its path below the API prefix.
    pub path: &'static str,
    /// Who may call it.
    pub access: Access,
    /// Shape of its error bodies.
    pub shape: ErrorShape,
    /// One line of documentation.
    pub summary: &'static str,
    /// Name of the handler, unique in the document.
    pub operation: &'static str,
    /// What a request must be given once its body and its limits have passed.
    pub admission: Option<Admission>,
    /// Limits keyed by the client's address.
    pub limits: Vec<RateLimit>,
    /// Text of the 400 for an input that can't be read.
    pub invalid: &'static str,
    /// Members of the answer that are shown once: stored as null with an `Idempotency-Key`.
    pub one_time: &'static [&'static str],
    /// Whether an `Idempotency-Key` is honoured.
    pub idempotent: bool,
    /// Statuses of refusals beyond those that follow from the access.
    pub rejections: &'static [u16],
    /// Kind of the records whose reads go into the access log.
    pub reads: Option<&'static str>,
    /// Content types of a success whose body is no JSON of a type.
    pub media: &'static [&'static str],
    /// Statuses of successes beside that of its type.
    pub responses: &'static [u16],
    /// Request headers beyond those that follow from the access and the method.
    pub request_headers: &'static [&'static str],
    /// Headers of a success beyond those that follow from the access, the method and the type.
    pub response_headers: &'static [&'static str],
    /// Members of refusals beyond those that every endpoint may give.
    pub error_fields: Vec<ErrorField>,
    /// Whether a super administrator who selected no tenant reaches all of them.
    pub across_tenants: bool,
    /// Whether a selection by cookie that is not the caller's is passed over, though it is no read.
    pub passes_over_selections: bool,
}

/// A member of the body of a refusal.
#[derive(Debug, Clone, Copy)]
pub struct ErrorField {
    /// Status of the refusal.
    pub status: u16,
    /// Name of the member.
    pub name: &'static str,
    pub(crate) schema: fn(&mut Schemas) -> RefOr<Schema>,
}

/// What is reserved for a request, or taken by it; released when dropped.
type Held = Box<dyn Any + Send>;

/// What gives a request something that only so many requests can have at once. Looks at memory only.
#[derive(Debug, Clone, Copy)]
pub struct Admission {
    /// A place among those who wait for it; a refusal when there is none.
    pub reserve: fn(&Call) -> Result<Held>,
    /// Gives it to the holder of that place when it is its turn. From here on no client is waited for.
    pub take: for<'a> fn(&'a Call, Held) -> BoxFuture<'a, Result<Held>>,
}

type Service = Arc<dyn Fn(Arc<EndpointInfo>) -> actix_web::Route + Send + Sync>;
type Describer = fn(OperationBuilder, &mut Schemas) -> OperationBuilder;

#[derive(Clone)]
pub(crate) struct Declared {
    pub(crate) info: EndpointInfo,
    pub(crate) describe: Describer,
    service: Service,
}

/// The endpoints of the enabled modules.
pub struct Routes {
    module: &'static Module,
    declared: Vec<Declared>,
}

impl std::fmt::Debug for Routes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.declared.iter().map(|one| &one.info))
            .finish()
    }
}

/// The endpoint that was just declared, for what else is to be said of it.
#[derive(Debug)]
pub struct Declaration<'a> {
    routes: &'a mut Routes,
}

impl Routes {
    /// The endpoints of these modules.
    #[must_use]
    pub fn of(modules: &[&'static Module]) -> Self {
        static NOBODY: Module = Module::EMPTY;
        let mut routes = Self {
            module: &NOBODY,
            declared: Vec::new(),
        };
        for module in modules {
            routes.module = module;
            (module.routes)(&mut routes);
        }
        routes
    }

    /// Declares `GET path`.
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
        let info = EndpointInfo {
            module: self.module.name,
            tag: self.module.title,
            idempotent: method == Method::POST && access != Access::Public,
            method: method.clone(),
            path,
            access,
            shape: self.module.errors,
            summary: "",
            operation: name.rsplit("::").next().unwrap_or(name),
            admission: None,
            limits: Vec::new(),
            invalid: "Invalid input",
            one_time: &[],
            rejections: &[],
            reads: None,
            media: &[],
            responses: &[],
            request_headers: &[],
            response_headers: &[],
            error_fields: Vec::new(),
            across_tenants: false,
            passes_over_selections: false,
        };
        self.declared.push(Declared {
            info,
            describe: |operation, schemas| T::describe(Args::describe(operation, schemas), schemas),
            service: Arc::new(move |info| {
                let endpoint = Endpoint::new(info, handler.clone());
                web::method(method.clone())
                    .to(move |request, payload| dispatch::run(endpoint.clone(), request, payload))
            }),
        });
        Declaration { routes: self }
    }

    /// The declarations as data.
    #[must_use]
    pub fn into_infos(self) -> Vec<EndpointInfo> {
        self.declared.into_iter().map(|one| one.info).collect()
    }

    pub(crate) fn declared(&self) -> &[Declared] {
        &self.declared
    }

    /// Serves the declared endpoints on this runtime. A known path with another method is not found, like an unknown path.
    pub fn configure(&self, runtime: &Runtime, service: &mut web::ServiceConfig) {
        service.app_data(web::Data::new(runtime.clone()));
        let mut paths: Vec<&'static str> = self.declared.iter().map(|one| one.info.path).collect();
        paths.sort_unstable();
        paths.dedup();
        for path in paths {
            let mut resource = web::resource(path).default_service(web::to(dispatch::not_found));
            for one in self.declared.iter().filter(|one| one.info.path == path) {
                resource = resource.route((one.service)(Arc::new(one.info.clone())));
            }
            service.service(resource);
        }
    }
}

impl Declaration<'_> {
    fn change(self, change: impl FnOnce(&mut EndpointInfo)) -> Self {
        if let Some(last) = self.routes.declared.last_mut() {
            change(&mut last.info);
        }
        self
    }

    /// One line of documentation.
    pub fn about(self, summary: &'static str) -> Self {
        self.change(|info| info.summary = summary)
    }

    /// Error bodies of another shape than the module's.
    pub fn errors(self, shape: ErrorShape) -> Self {
        self.change(|info| info.shape = shape)
    }

    /// Asks for something scarce once the body has arrived, unless the client is known to be over a limit. Without a place to wait for it
    /// nothing is counted, so that a refusal costs next to nothing; with one the limits by address are counted before its turn comes. What
    /// is given is the handler's to take ([`Call::admitted`]), or free again with the request.
    pub fn admitted_by(self, admission: Admission) -> Self {
        self.change(|info| info.admission = Some(admission))
    }

    /// A limit per client address.
    pub fn limit(self, limit: RateLimit) -> Self {
        self.change(|info| info.limits.push(limit))
    }

    /// Text of the 400 for an input that can't be read.
    pub fn invalid(self, text: &'static str) -> Self {
        self.change(|info| info.invalid = text)
    }

    /// Members of the answer that are shown once.
    pub fn one_time(self, members: &'static [&'static str]) -> Self {
        self.change(|info| info.one_time = members)
    }

    /// `Idempotency-Key` is ignored.
    pub fn not_idempotent(self) -> Self {
        self.change(|info| info.idempotent = false)
    }

    /// Kind of the records that it shows and whose reads are recorded; the handler says which with `RequestContext::log_reads`.
    pub fn reads(self, kind: &'static str) -> Self {
        self.change(|info| info.reads = Some(kind))
    }

    /// A super administrator who selected no tenant reaches all of them, not only its own: for what administers tenants, organizations,
    /// users, roles and their rights, and for the logs of it.
    pub fn across_tenants(self) -> Self {
        self.change(|info| info.across_tenants = true)
    }

    /// A selection by cookie that the caller may not make is passed over: what is asked concerns the session itself.
    pub fn passes_over_selections(self) -> Self {
        self.change(|info| info.passes_over_selections = true)
    }

    /// Statuses of refusals, for the API document.
    pub fn rejects(self, statuses: &'static [u16]) -> Self {
        self.change(|info| info.rejections = statuses)
    }

    /// A member of the body of refusals with this status, for the API document.
    pub fn rejects_with<T: ToSchema>(self, status: u16, name: &'static str) -> Self {
        self.change(|info| {
            info.error_fields.push(ErrorField {
                status,
                name,
                schema: |schemas| schemas.inline::<T>(),
            });
        })
    }

    /// Content types of the body, where its type does not say them (`Raw`, `Streamed`), for the API document.
    pub fn produces(self, media: &'static [&'static str]) -> Self {
        self.change(|info| info.media = media)
    }

    /// Statuses of successes beside that of the type, for the API document. 304 brings `ETag` and `If-None-Match`.
    pub fn responses(self, statuses: &'static [u16]) -> Self {
        self.change(|info| info.responses = statuses)
    }

    /// Request headers that the handler looks at, for the API document.
    pub fn takes_headers(self, names: &'static [&'static str]) -> Self {
        self.change(|info| info.request_headers = names)
    }

    /// Headers of a success that the handler sets, for the API document.
    pub fn sends_headers(self, names: &'static [&'static str]) -> Self {
        self.change(|info| info.response_headers = names)
    }
}
