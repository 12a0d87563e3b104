//! The checks before a handler, in the order of the conventions, and the response after it.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use actix_web::http::header::{CONTENT_RANGE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER, USER_AGENT};
use actix_web::http::{Method, StatusCode};
use actix_web::web::{self, Bytes};
use actix_web::{Handler, HttpRequest, HttpResponse};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use utoipa::openapi::path::OperationBuilder;

use super::body::{Body, Unread};
use super::cookies::clear_cookies;
use super::extract::{Describe, Extract, Incoming};
use super::openapi::Schemas;
use super::response::{Response, failure, json_response};
use super::routes::{Access, EndpointInfo};
use super::without_body::head_only;
use super::{conditional, credential, headers, internal, origin, rejection_log, selection, tenant_parameter};
use crate::context::{Admitted, Call, ReadPolicy, RequestContext, Sender};
use crate::error::{Error, ErrorShape, Rejection, Result, Violations};
use crate::identity::{Authenticated, Identity};
use crate::platform::{Platform, Runtime};
use crate::rate_limit::RateLimit;
use crate::scope::Scope;
use crate::time::Timestamp;

mod idempotency;

pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const OPERATION: HeaderName = HeaderName::from_static("x-operation");

/// A handler without its types: it takes its arguments from the request, and its future returns the response. Everything before and after it is
/// compiled once, not for each handler.
pub(crate) type AnyHandler =
    dyn Fn(&Incoming<'_>) -> Result<LocalBoxFuture<'static, Result<HttpResponse>>> + Send + Sync;

/// Hides the types of a handler.
pub(crate) fn any_handler<F, Args, T>(handler: F) -> Arc<AnyHandler>
where
    F: Handler<Args, Output = Result<T>> + Send + Sync,
    Args: Extract + Describe + 'static,
    T: Response + 'static,
{
    Arc::new(move |incoming| {
        let response = handler.call(arguments::<Args>(incoming)?);
        Ok(Box::pin(async { Ok(response.await?.into_response()) }))
    })
}

/// Describes the arguments of a handler in the API document.
pub(crate) type DescribeArguments = fn(OperationBuilder, &mut Schemas) -> OperationBuilder;

/// Records the violated rules of the parameters that lists have in common. `list` validates them, which comes after this module.
pub(crate) struct CommonParameters(pub(crate) fn(&Incoming<'_>, DescribeArguments, &mut Violations));

/// Extracts the arguments of a handler. If a part of the request is invalid, the handler is not called, and the rejection reports everything that is
/// wrong: the faults before the arguments, those of the arguments, and the rules that the handler would have validated.
fn arguments<A: Extract + Describe>(incoming: &Incoming<'_>) -> Result<A> {
    let mut violations = Violations::default();
    match A::extract(incoming) {
        Ok(arguments) if incoming.faults.is_empty() => return Ok(arguments),
        Ok(arguments) => {
            violations.extend(incoming.faults.iter().cloned());
            arguments.report(incoming, &mut violations);
        }
        Err(error) => violations.note(error),
    }
    Err(with_other_faults(incoming, violations, A::describe))
}

/// Returns the rejection of a request with these violations. A field whose type is wrong for its argument is not reported again.
fn with_other_faults(incoming: &Incoming<'_>, mut violations: Violations, describe: DescribeArguments) -> Error {
    for fault in &incoming.faults {
        violations.add_unless_known(fault.clone());
    }
    let CommonParameters(report) = incoming.call.platform().services();
    report(incoming, describe, &mut violations);
    let rejected = violations.check();
    rejected
        .err()
        .unwrap_or_else(|| Error::internal("an invalid request has no fault"))
}

#[derive(Clone)]
pub(crate) struct Endpoint {
    info: Arc<EndpointInfo>,
    handler: Arc<AnyHandler>,
    seconds: metrics::Histogram,
}

impl Endpoint {
    pub(crate) fn new(info: Arc<EndpointInfo>, handler: Arc<AnyHandler>) -> Self {
        let seconds = metrics::histogram!(
            "http_request_duration_seconds",
            "method" => info.method.as_str().to_owned(),
            "path" => info.path
        );
        Self { info, handler, seconds }
    }

    /// Whether the endpoint serves requests with this method: `HEAD` is served as `GET`.
    pub(super) fn serves(&self, method: &Method) -> bool {
        self.info.method == method || (method == Method::HEAD && self.info.method == Method::GET)
    }
}

/// Responds to requests that match no route. The body is not read; the connection is closed if a body is still to come.
pub async fn not_found(request: HttpRequest, payload: web::Payload) -> HttpResponse {
    let runtime = request.app_data::<web::Data<Runtime>>().map(|runtime| &***runtime);
    let id = request_id(request.headers(), runtime);
    let response = json_response(StatusCode::NOT_FOUND, &serde_json::json!({"error": "Not Found"}));
    let response = finish(response, &id, runtime.map(|runtime| &*runtime.platform));
    head_only(Unread::new(payload).keep_with(response), request.method())
}

pub(crate) async fn run(endpoint: Endpoint, request: HttpRequest, payload: web::Payload) -> HttpResponse {
    let started = started();
    let Some(runtime) = request.app_data::<web::Data<Runtime>>() else {
        return HttpResponse::InternalServerError().finish();
    };
    let call = Arc::new(make_call(runtime, &request));
    call.platform().throttle().request(call.now);
    let info = Arc::clone(&endpoint.info);
    let mut unread = Unread::new(payload);
    let work = AssertUnwindSafe(handle(&endpoint, &request, &mut unread, &call)).catch_unwind();
    let outcome = work
        .await
        .unwrap_or_else(|_panic| Err(Error::internal("a handler panicked")));
    let response = match outcome {
        Ok(mut response) => {
            headers::follow_declaration(&mut response, &info, request.version());
            response
        }
        Err(Error::Replayed(stored)) => idempotency::replay(&stored),
        Err(error) => reject(&error, &info, &call, &request),
    };
    let response = finish(response, &call.request_id, Some(call.platform()));
    let response = head_only(unread.keep_with(response), request.method());
    let elapsed = started.elapsed();
    endpoint.seconds.record(elapsed.as_secs_f64());
    let millis = f64::from(u32::try_from(elapsed.as_micros()).unwrap_or(u32::MAX)) / 1000.0;
    // Rejections are logged separately, with a limit on the number of lines.
    if info.method == Method::GET || rejection_log::is_rejection(response.status()) {
        tracing::debug!(http.method = %info.method, http.path = info.path, http.status = response.status().as_u16(),
            duration_ms = millis, request.id = %call.request_id, "request");
    } else {
        tracing::info!(http.method = %info.method, http.path = info.path, http.status = response.status().as_u16(),
            duration_ms = millis, request.id = %call.request_id, "request");
    }
    response
}

#[expect(clippy::disallowed_methods, reason = "measures a duration; no business code sees it")]
fn started() -> Instant {
    Instant::now()
}

async fn handle(
    endpoint: &Endpoint,
    request: &HttpRequest,
    unread: &mut Unread,
    call: &Arc<Call>,
) -> Result<HttpResponse> {
    let info = &*endpoint.info;
    let internal = internal::caller_of(request);
    // Internal requests have no address by which they could be limited.
    let limits = if internal.is_some() { &[][..] } else { &info.limits };
    if let Err(rejected) = rejected_from_memory(limits, call) {
        if info.streaming {
            return Err(rejected);
        }
        // Drains the body so that the client can retry on this connection.
        unread.discard(request.method(), call).await;
        return Err(rejected);
    }
    // Nothing is held while the client sends. A streamed body is the handler's, after all checks.
    let body = match info.streaming {
        true => Ok(Body::default()),
        false => unread.read(request.method(), call).await?,
    };
    check_limits(info, limits, call).await?;
    let mut has_invalid_credential = false;
    let identity = match (info.access, &internal) {
        (Access::Public, _) => None,
        (_, Some(internal)) => {
            call.sender.is(internal.identity());
            Some(Arc::clone(internal.identity()))
        }
        (Access::Optional, None) => {
            let authenticated = credential::authenticate(call, request).await;
            has_invalid_credential =
                matches!(&authenticated, Err(Error::Rejected(rejection)) if rejection.clears_cookies);
            optional(authenticated)?
        }
        (Access::Authenticated | Access::Features(_), None) => {
            Some(credential::authenticate(call, request).await?.identity)
        }
    };
    if let Some(identity) = &identity {
        call.platform().budgets().spend(identity, call.now)?;
    }
    let mut faults = Violations::default();
    let scope = match &identity {
        None => None,
        Some(identity) => {
            let body = body.as_ref().ok().map(|body| &body.bytes);
            Some(admit(call, info, request, body, identity, &mut faults).await?)
        }
    };
    let body = body.map_err(|error| error.worded(info.invalid))?;
    let context = match identity.zip(scope) {
        None => None,
        Some((identity, scope)) => {
            let read_collections = conditional::read_collections(request, info, &identity, &scope);
            let context = RequestContext::with_conditions(
                Arc::clone(call),
                identity,
                scope,
                faults.keep(expected_updated_at(request, info)),
                faults.keep(idempotency::key(request, info, &body.bytes)),
                read_policy(request, info),
                read_collections.map(Arc::new),
            );
            Some(match &internal {
                Some(caller) => caller.caused(&context),
                None => context,
            })
        }
    };
    if faults.is_empty()
        && let Some(context) = &context
        && let Some(response) = conditional::not_modified(request, info, context).await?
    {
        return Ok(response);
    }
    let streamed = unread.share(info.streaming);
    let incoming = Incoming {
        request,
        info: &endpoint.info,
        body: &body.bytes,
        streamed: &streamed,
        call,
        context: context.as_ref(),
        invalid: info.invalid,
        faults: faults.into_details(),
    };
    let responded = respond(endpoint, &incoming).await;
    let mut response = responded.map_err(|error| match has_invalid_credential {
        true => clearing_cookies(error),
        false => error,
    })?;
    if let Some(context) = &context {
        conditional::tag(request, info, context, &mut response);
    }
    Ok(response)
}

/// Calls the handler, and adds the headers that its commands have set.
async fn respond(endpoint: &Endpoint, incoming: &Incoming<'_>) -> Result<HttpResponse> {
    let mut response = (endpoint.handler)(incoming)?.await?;
    if let Some(error) = failure(&response) {
        return Err(error);
    }
    if let Some(operation) = incoming.context.and_then(RequestContext::take_operation)
        && let Ok(value) = HeaderValue::from_str(&operation.to_header())
    {
        response.headers_mut().insert(OPERATION, value);
    }
    for (name, value) in incoming.context.into_iter().flat_map(RequestContext::take_headers) {
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().insert(HeaderName::from_static(name), value);
        }
    }
    Ok(response)
}

/// Returns the principal of a request that needs none: `None` for a missing or invalid credential.
fn optional(authenticated: Result<Authenticated>) -> Result<Option<Arc<Identity>>> {
    match authenticated {
        Ok(authenticated) => Ok(Some(authenticated.identity)),
        Err(Error::Rejected(rejection)) if rejection.status == StatusCode::UNAUTHORIZED => Ok(None),
        Err(error) => Err(error),
    }
}

/// Lets a 401 clear the cookies: the request had a credential, but an invalid one.
fn clearing_cookies(error: Error) -> Error {
    match error {
        Error::Rejected(mut rejection) if rejection.status == StatusCode::UNAUTHORIZED => {
            rejection.clears_cookies = true;
            Error::Rejected(rejection)
        }
        other => other,
    }
}

/// Checks the limits that the client is known to exceed: the rejection costs no statement, no queue position and no memory for a body.
fn rejected_from_memory(of_address: &[RateLimit], call: &Call) -> Result<()> {
    if of_address.is_empty() {
        return Ok(());
    }
    let limits = call.platform().rate_limits();
    let network = call.network();
    of_address
        .iter()
        .try_for_each(|limit| limits.check(call, *limit, &network))
}

/// Checks the limits of the endpoint and reserves its scarce capacity, once the body was read. If the queue is full, nothing is counted.
/// Requests of one network pass one after the other until they are counted, so that a client over its limit takes one queue position for a
/// moment, and not all of them.
async fn check_limits(info: &EndpointInfo, of_address: &[RateLimit], call: &Call) -> Result<()> {
    if of_address.is_empty() && info.admission.is_none() {
        return Ok(());
    }
    let limits = call.platform().rate_limits();
    let network = call.network();
    let Some(admission) = info.admission else {
        return limits.count_all(call, of_address, &network).await;
    };
    let turn = limits.turn(&network).await?;
    rejected_from_memory(of_address, call)?;
    let reserved = (admission.reserve)(call)?;
    limits.count_all(call, of_address, &network).await?;
    drop(turn);
    call.admitted.hold((admission.take)(call, reserved).await?);
    Ok(())
}

/// Authorizes an identified caller before its input is validated: the named tenant, the selected tenant, the endpoint's features. A malformed
/// `tenantId` is recorded among the faults of the input.
pub(super) async fn admit(
    call: &Call,
    info: &EndpointInfo,
    request: &HttpRequest,
    body: Option<&Bytes>,
    identity: &Identity,
    faults: &mut Violations,
) -> Result<Scope> {
    let named = match tenant_parameter::check(request, body, identity) {
        Err(error) if error.to_rejection().status == StatusCode::FORBIDDEN => return Err(error),
        named => faults.keep(named),
    };
    let choosing = selection::choosing(info, named);
    let mut scope = selection::scope(call, identity, request, choosing).await?;
    if let Access::Features(features) = info.access {
        scope = scope.for_features(features, call.platform().catalogue())?;
    }
    Ok(scope)
}

fn make_call(runtime: &Runtime, request: &HttpRequest) -> Call {
    let depth = runtime.platform.http().proxy_depth;
    Call {
        now: runtime.platform.clock().now(),
        request_id: request_id(request.headers(), Some(runtime)),
        runtime: runtime.clone(),
        ip: origin::client_ip(request, depth),
        user_agent: request
            .headers()
            .get(USER_AGENT)
            .and_then(|value| value.to_str().ok())
            .map(|value| value.get(..512).unwrap_or(value).to_owned()),
        origin: origin::request_origin(request, runtime.platform.app().public_url.as_deref()),
        sender: Sender::default(),
        admitted: Admitted::default(),
        job: None,
        collector: None,
    }
}

/// Returns the client's request id if it is a valid token, else a new one.
pub(super) fn request_id(headers: &HeaderMap, runtime: Option<&Runtime>) -> String {
    let given = headers.get(REQUEST_ID).and_then(|value| value.to_str().ok());
    match (given, runtime) {
        (Some(id), _) if is_token(id) => id.to_owned(),
        (_, Some(runtime)) => runtime.platform.ids().at(runtime.platform.clock().now()).to_string(),
        (_, None) => String::from("unknown"),
    }
}

fn is_token(text: &str) -> bool {
    (1..=128).contains(&text.len())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

fn expected_updated_at(request: &HttpRequest, info: &EndpointInfo) -> Result<Option<Timestamp>> {
    if !info.runs_commands || matches!(*request.method(), Method::GET | Method::HEAD | Method::POST) {
        return Ok(None);
    }
    let header = |name: &str| request.headers().get(name).map(|value| value.to_str().unwrap_or("?"));
    let (name, given) = match header("if-match") {
        Some("*") | None => ("X-Expected-Updated-At", header("x-expected-updated-at")),
        Some(tag) => ("If-Match", Some(tag.trim_matches('"'))),
    };
    let rule = "must be the updatedAt that was read";
    let parsed = given
        .map(|text| Timestamp::parse(text).map_err(|_| Rejection::invalid_field(name, rule, "invalid_value").into()));
    parsed.transpose()
}

/// Returns what the access log records of the request: names of parameters, not their values.
fn read_policy(request: &HttpRequest, info: &EndpointInfo) -> Option<ReadPolicy> {
    let keys = request
        .query_string()
        .split('&')
        .filter_map(|pair| pair.split('=').next());
    let names = keys.filter(|key| (1..=100).contains(&key.len())).take(50);
    Some(ReadPolicy {
        kind: info.reads?,
        path: info.path,
        query_keys: names.map(str::to_owned).collect(),
    })
}

/// Returns the code for an invalid input of requests with this method: reads and deletions have their input in the query.
fn input_of(method: &Method) -> &'static str {
    match *method {
        Method::GET | Method::HEAD | Method::DELETE => "invalid_query",
        _ => "invalid_body",
    }
}

fn reject(error: &Error, info: &EndpointInfo, call: &Call, request: &HttpRequest) -> HttpResponse {
    match error {
        Error::Internal(cause) => {
            tracing::error!(%cause, http.path = info.path, request.id = %call.request_id, "request failed");
        }
        Error::Unavailable(cause) | Error::Collision(cause) => {
            tracing::warn!(%cause, http.path = info.path, request.id = %call.request_id, "request rejected as unavailable");
        }
        Error::Rejected(_) | Error::Replayed(_) => {}
    }
    let rejection = match info.shape {
        ErrorShape::Code => error.to_rejection().with_code_of_input(input_of(&info.method)),
        ErrorShape::Error | ErrorShape::OkFalse => error.to_rejection(),
    };
    rejection_log::record(&rejection, info, call);
    // These rejections have one form for all endpoints of a module, whatever shape the endpoints declare.
    let is_cross_cutting =
        rejection.status == StatusCode::SERVICE_UNAVAILABLE || rejection.fields.contains_key("requiredFeatures");
    let shape = if is_cross_cutting && info.shape == ErrorShape::OkFalse {
        ErrorShape::Error
    } else {
        info.shape
    };
    let page = info.page.and_then(|page| page(call, request, &rejection));
    let mut response = match page {
        Some(page) => page.into_response(),
        None => json_response(rejection.status, &rejection.to_body(shape, &call.request_id)),
    };
    let headers = response.headers_mut();
    if let Some(seconds) = rejection.retry_after {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    if let Some(range) = &rejection.content_range
        && let Ok(value) = HeaderValue::from_str(range)
    {
        headers.insert(CONTENT_RANGE, value);
    }
    if let Some((policy, state)) = &rejection.rate_limit {
        for (name, value) in [("ratelimit-policy", policy), ("ratelimit", state)] {
            if let Ok(value) = HeaderValue::from_str(value) {
                headers.insert(HeaderName::from_static(name), value);
            }
        }
    }
    if rejection.clears_cookies {
        for cookie in clear_cookies(call.platform().insecure_cookies()) {
            // Constant cookies are valid header values.
            let _rejected = response.add_cookie(&cookie);
        }
    }
    response
}

fn finish(mut response: HttpResponse, request_id: &str, platform: Option<&Platform>) -> HttpResponse {
    headers::complete(response.headers_mut(), platform);
    if let Ok(value) = HeaderValue::from_str(request_id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    response
}
