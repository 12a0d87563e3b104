//! Request parts that the checks of credential and selection read, of a request in progress or of a stored copy.

use actix_web::HttpRequest;
use actix_web::cookie::Cookie;
use actix_web::http::Method;
use actix_web::http::header::HeaderMap;

/// The method, headers and cookies of a request.
pub(super) trait RequestParts {
    fn method(&self) -> &Method;
    fn headers(&self) -> &HeaderMap;
    fn cookie(&self, name: &str) -> Option<Cookie<'static>>;
    /// Returns the values of all cookies of this name.
    fn cookies(&self, name: &str) -> Vec<String>;
}

fn values(cookies: &[Cookie<'static>], name: &str) -> Vec<String> {
    let of_name = cookies.iter().filter(|cookie| cookie.name() == name);
    of_name.map(|cookie| cookie.value().to_owned()).collect()
}

impl RequestParts for HttpRequest {
    fn method(&self) -> &Method {
        self.method()
    }

    fn headers(&self) -> &HeaderMap {
        self.headers()
    }

    fn cookie(&self, name: &str) -> Option<Cookie<'static>> {
        self.cookie(name)
    }

    fn cookies(&self, name: &str) -> Vec<String> {
        self.cookies().map(|cookies| values(&cookies, name)).unwrap_or_default()
    }
}

/// A copy that outlives the request and may move to any thread.
#[derive(Debug)]
pub(super) struct OwnedRequestParts {
    method: Method,
    headers: HeaderMap,
    cookies: Vec<Cookie<'static>>,
}

impl OwnedRequestParts {
    pub(super) fn of(request: &HttpRequest) -> Self {
        Self {
            method: request.method().clone(),
            headers: request.headers().clone(),
            cookies: request.cookies().map(|cookies| cookies.clone()).unwrap_or_default(),
        }
    }
}

impl RequestParts for OwnedRequestParts {
    fn method(&self) -> &Method {
        &self.method
    }

    fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    fn cookie(&self, name: &str) -> Option<Cookie<'static>> {
        self.cookies.iter().find(|cookie| cookie.name() == name).cloned()
    }

    fn cookies(&self, name: &str) -> Vec<String> {
        values(&self.cookies, name)
    }
}
