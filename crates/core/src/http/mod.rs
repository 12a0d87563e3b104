//! HTTP: one declaration per endpoint feeds the router, the access check, the rate limits, the API document and the generated tests.

mod body;
mod budget;
mod cookies;
mod credential;
mod dispatch;
mod extract;
mod faults;
mod head;
mod headers;
mod live_caller;
mod openapi;
mod origin;
mod pages;
mod rejection_log;
mod response;
mod routes;
mod selection;
mod services;
mod tenant_parameter;

pub use crate::context::{RequestOrigin, SignInAttempt};
pub use crate::ids::wire_tenant;
pub use cookies::{AUTH_COOKIE, SESSION_COOKIE, clear_cookies, clear_selection, credential_cookies, presented_cookie};
pub use dispatch::not_found;
pub use extract::{Describe, Extract, Form, Incoming, Path, Query, given, given_object, present};
pub use headers::COMMON as COMMON_HEADERS;
pub use live_caller::LiveCaller;
pub use openapi::Schemas;
pub(crate) use openapi::{check as check_document, document};
pub use origin::safe_local_path;
pub use pages::{PageInfo, Pages};
pub use response::{Cookies, Created, Json, Raw, Redirect, Response, Streamed};
pub(crate) use routes::DeclaringModule;
pub use routes::{Access, Admission, Declaration, EndpointInfo, ErrorField, Routes, requires};
pub(crate) use services::HttpServices;
