//! HTTP: one declaration per endpoint feeds the router, the access check, the rate limits, the API document and the generated tests.

mod accept;
mod bodies;
mod body;
mod budget;
mod conditional;
mod cookies;
mod credential;
mod dispatch;
mod download;
mod extract;
mod faults;
mod headers;
pub mod internal;
mod live_caller;
mod multipart;
mod openapi;
mod origin;
mod page_or_data;
mod pages;
mod rejection_log;
mod request_parts;
mod response;
mod router;
mod routes;
mod selection;
mod services;
mod tenant_parameter;
mod without_body;

pub use crate::context::{RequestOrigin, SignInAttempt};
pub use crate::ids::wire_tenant;
pub use accept::{AcceptedRange, accepted_ranges};
pub use bodies::{CreatedId, Done, Id, Identified, PathId, Updated};
pub use cookies::{AUTH_COOKIE, SESSION_COOKIE, clear_cookies, clear_selection, credential_cookies, presented_cookie};
pub use dispatch::not_found;
pub(crate) use dispatch::{CommonParameters, DescribeArguments};
pub use download::{Conditions, Contents, Download, FileResponse, Open, Pieces};
pub(crate) use extract::query_with_rules;
pub use extract::{
    Attempt, Caller, CheckedQuery, Describe, Extract, Form, Incoming, Path, Query, QueryInput, given, given_object,
};
pub use headers::COMMON as COMMON_HEADERS;
pub use live_caller::LiveCaller;
pub use multipart::{MAX_FIELD_BYTES, MAX_FIELDS_BYTES, MAX_PARTS, Multipart, Part};
pub use openapi::Schemas;
pub(crate) use openapi::{DAY, TIME, document};
pub use origin::safe_local_path;
pub use page_or_data::{PageNotice, SiteFrame, WriteRejection, protected, rejection_page, wants_page};
pub use pages::{PageInfo, Pages};
pub use response::{Cookies, Created, Json, OrPage, Raw, Redirect, Response, Streamed};
pub use router::Paths;
pub(crate) use routes::DeclaringModule;
pub use routes::{Access, Admission, Declaration, EndpointInfo, ErrorField, RejectionPage, Routes, requires};
pub(crate) use services::HttpServices;
