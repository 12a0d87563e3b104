//! The way of a request: one declaration per endpoint feeds the router, the access check, the rate limits, the API document and the
//! generated tests.

mod answer;
mod body;
mod budget;
mod credential;
mod dispatch;
mod extract;
mod head;
mod openapi;
mod origin;
mod pages;
mod routes;
mod selection;
mod standing;
mod tenant_parameter;

pub use answer::{AUTH_COOKIE, Answer, Cookies, Created, Json, Raw, Redirect, SESSION_COOKIE, Streamed, clear_cookies};
pub(crate) use body::BodyMemory;
pub(crate) use budget::Budgets;
pub use dispatch::not_found;
pub use extract::{Describe, Extract, Form, Incoming, Path, Query, given, present};
pub(crate) use openapi::check as check_document;
pub use openapi::{Schemas, document};
pub(crate) use origin::network;
pub use origin::safe_local_path;
pub use pages::{PageInfo, Pages};
pub use routes::{Access, Admission, Declaration, EndpointInfo, ErrorMember, Routes, requires};
pub(crate) use selection::of_stored as scope_of_stored;
pub use selection::wire_tenant;
pub use standing::Standing;
