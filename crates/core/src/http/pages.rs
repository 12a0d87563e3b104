//! Pages for browsers that follow a link or a redirect. They are outside of the API prefix.

use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{CONTENT_SECURITY_POLICY, HeaderValue};
use actix_web::middleware::{DefaultHeaders, Next, from_fn};
use actix_web::{FromRequest, Handler, Resource, Responder, guard, web};

use super::{dispatch, headers};
use crate::config::ConfigError;
use crate::platform::{API_PREFIX, Platform, Runtime};

/// Allows only the site's own files: no inline code, no frame around the page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The declaration of a page, as data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageInfo {
    /// The declaring module.
    pub module: &'static str,
    /// The path, in the syntax of actix-web's router.
    pub path: String,
}

type Route = Box<dyn Fn() -> actix_web::Route>;

/// The pages of the enabled modules. They are read with `GET`, are public, and are not part of the API document.
pub struct Pages<'a> {
    platform: &'a Platform,
    module: &'static str,
    declared: Vec<(PageInfo, Route)>,
}

impl std::fmt::Debug for Pages<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.declared.iter().map(|(info, _)| info))
            .finish()
    }
}

impl<'a> Pages<'a> {
    pub(crate) fn new(platform: &'a Platform) -> Self {
        Self {
            platform,
            module: "",
            declared: Vec::new(),
        }
    }

    /// Begins the declarations of a module.
    pub(crate) fn begin(&mut self, module: &'static str) {
        self.module = module;
    }

    /// Returns the platform, for properties that a module's configuration decides: paths, for example.
    #[must_use]
    pub fn platform(&self) -> &'a Platform {
        self.platform
    }

    /// Declares the page at a path. The handler is an actix-web handler and may extract `web::Data<Runtime>`. The response gets the headers of
    /// every page, unless it sets its own.
    pub fn get<F, Args>(&mut self, path: impl Into<String>, handler: F) -> &mut Self
    where
        F: Handler<Args>,
        Args: FromRequest + 'static,
        F::Output: Responder + 'static,
    {
        let info = PageInfo {
            module: self.module,
            path: path.into(),
        };
        // As for any resource, HEAD is GET without the body.
        let reading = || guard::Any(guard::Get()).or(guard::Head());
        let route: Route = Box::new(move || web::route().guard(reading()).to(handler.clone()));
        self.declared.push((info, route));
        self
    }

    /// Returns the declarations as data.
    #[must_use]
    pub fn into_infos(self) -> Vec<PageInfo> {
        self.declared.into_iter().map(|(info, _)| info).collect()
    }

    /// Rejects a path that is declared twice, and a path of the API.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        for (index, (page, _)) in self.declared.iter().enumerate() {
            let path = page.path.as_str();
            let rejected = |what: String| {
                let module = page.module;
                Err(ConfigError::new(format!("page {path} of module {module}"), what))
            };
            if !path.starts_with('/') || path == API_PREFIX || path.starts_with(&format!("{API_PREFIX}/")) {
                return rejected(format!("must begin with / and be outside of {API_PREFIX}"));
            }
            if let Some((other, _)) = self.declared[..index].iter().find(|(other, _)| other.path == path) {
                return rejected(format!("already declared by module {}", other.module));
            }
        }
        Ok(())
    }

    /// Serves the declared pages on this runtime. A known path with another method is not found, like an unknown path.
    pub fn configure(&self, runtime: &Runtime, service: &mut web::ServiceConfig) {
        for (page, route) in &self.declared {
            let headers = DefaultHeaders::new().add((CONTENT_SECURITY_POLICY, POLICY));
            let resource = Resource::new(page.path.as_str())
                .app_data(web::Data::new(runtime.clone()))
                .route(route())
                .default_service(web::to(dispatch::not_found));
            let runtime = runtime.clone();
            let identified = from_fn(move |request, next| identify(runtime.clone(), request, next));
            service.service(resource.wrap(headers).wrap(identified));
        }
    }
}

/// Adds the request's id and the common headers, which every response carries.
async fn identify(
    runtime: Runtime,
    request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> actix_web::Result<ServiceResponse<impl MessageBody>> {
    let id = dispatch::request_id(request.headers(), Some(&runtime));
    let mut response = next.call(request).await?;
    headers::complete(response.headers_mut(), Some(&runtime.platform));
    if let Ok(id) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(dispatch::REQUEST_ID, id);
    }
    Ok(response)
}
