//! The thread that serves internal requests. The services of actix-web can't move between threads, so that it has a runtime of its own.

use std::io;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use actix_http::Request;
use actix_service::{IntoServiceFactory, Service, ServiceFactory};
use actix_web::body::{MessageBody, to_bytes_limited};
use actix_web::dev::{AppConfig, Payload, ServiceResponse};
use actix_web::http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use actix_web::http::{Uri, header};
use actix_web::web::Bytes;
use actix_web::{App, HttpMessage, rt, web};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::timeout;
use uuid::Uuid;

use super::{AT_ONCE, AT_ONCE_OF_TENANT, InternalRequest, InternalResponse, LONGEST, PendingRequest};
use crate::error::{Error, Result};
use crate::http::{Routes, not_found};
use crate::platform::{API_PREFIX, Runtime};
use crate::turns::Turns;

/// Time after which a request is dropped although its sender, whose runtime may be blocked, has not stopped waiting.
const MARGIN: Duration = Duration::from_secs(2);
/// Largest body of a response that is returned, in bytes.
const LARGEST_BODY: usize = 8 * 1024 * 1024;
/// The header by which a request selects its organization.
const ORGANIZATION: HeaderName = HeaderName::from_static("x-organization-id");

/// Starts the thread. It ends when the channel is closed and empty.
pub(super) fn start(runtime: Runtime, pending: UnboundedReceiver<PendingRequest>) -> Result<JoinHandle<()>> {
    let thread = thread::Builder::new().name("internal-requests".to_owned());
    let thread = thread.spawn(move || rt::System::new().block_on(serve(runtime, pending)));
    thread.map_err(|error: io::Error| Error::Unavailable(error.into()))
}

/// The slots of requests under way. A request waits for those of its own tenant first and holds no slot of the thread meanwhile, so that a tenant with many
/// requests does not delay the others.
struct ThreadSlots {
    of_tenants: Turns<Uuid>,
    of_thread: Semaphore,
}

async fn serve(runtime: Runtime, mut pending: UnboundedReceiver<PendingRequest>) {
    let app = App::new().configure(|service| {
        let routes = Routes::of(runtime.platform.modules());
        let api = web::scope(API_PREFIX)
            .configure(|service| routes.configure(&runtime, service))
            .default_service(web::to(not_found));
        service
            .app_data(web::Data::new(runtime.clone()))
            .service(api)
            .default_service(web::to(not_found));
    });
    let Ok(service) = app.into_factory().new_service(AppConfig::default()).await else {
        tracing::error!("could not serve internal requests");
        return;
    };
    let slots = ThreadSlots {
        of_tenants: Turns::new(AT_ONCE_OF_TENANT),
        of_thread: Semaphore::new(AT_ONCE),
    };
    let mut running = FuturesUnordered::new();
    loop {
        tokio::select! {
            Some(()) = running.next() => {}
            next = pending.recv() => match next {
                Some(next) => running.push(respond(&service, &slots, next)),
                None => break,
            },
        }
    }
    while running.next().await.is_some() {}
}

/// Waits for a slot and responds to a request, unless its sender stops waiting before: then the request is dropped.
async fn respond<S, B>(service: &S, slots: &ThreadSlots, pending: PendingRequest)
where
    S: Service<Request, Response = ServiceResponse<B>, Error = actix_web::Error>,
    B: MessageBody,
{
    let PendingRequest {
        request,
        mut response,
        position: _position,
    } = pending;
    if response.is_closed() {
        return;
    }
    let responded = async {
        let _of_tenant = slots.of_tenants.take(request.caller.tenant(), LONGEST).await?;
        let _of_thread = slots.of_thread.acquire().await.ok()?;
        Some(call(service, request).await)
    };
    let outcome = tokio::select! {
        biased;
        () = response.closed() => return,
        outcome = timeout(LONGEST + MARGIN, responded) => outcome,
    };
    let Ok(Some(outcome)) = outcome else { return };
    // The sender may have stopped waiting in this instant.
    let _unread = response.send(outcome);
}

async fn call<S, B>(service: &S, request: InternalRequest) -> Result<InternalResponse>
where
    S: Service<Request, Response = ServiceResponse<B>, Error = actix_web::Error>,
    B: MessageBody,
{
    let request = to_http(request)?;
    let response = match service.call(request).await {
        Ok(response) => response,
        Err(error) => {
            return Ok(InternalResponse {
                status: error.as_response_error().status_code().as_u16(),
                body: None,
            });
        }
    };
    let status = response.status().as_u16();
    let bytes = match to_bytes_limited(response.into_body(), LARGEST_BODY).await {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(_)) => return Err(Error::internal("the body of a response could not be read")),
        Err(_) => Bytes::new(),
    };
    Ok(InternalResponse {
        status,
        body: serde_json::from_slice(&bytes).ok(),
    })
}

fn to_http(request: InternalRequest) -> Result<Request> {
    let invalid = || Error::internal("an internal request has an invalid path or header");
    let mut http = Request::new();
    let head = http.head_mut();
    head.method = request.method;
    head.uri = format!("{API_PREFIX}{}", request.target)
        .parse::<Uri>()
        .map_err(|_| invalid())?;
    for (name, value) in request.headers {
        let value = HeaderValue::from_str(&value).map_err(|_| invalid())?;
        head.headers.insert(HeaderName::from_static(name), value);
    }
    if let Some(organization) = request.caller.organization() {
        let value = HeaderValue::from_str(&organization.to_string()).map_err(|_| invalid())?;
        head.headers.insert(ORGANIZATION, value);
    }
    http.extensions_mut().insert(request.caller);
    let Some(body) = request.body else {
        return Ok(http);
    };
    let body = Bytes::from(serde_json::to_vec(&body)?);
    let headers = http.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
    Ok(http.replace_payload(Payload::from(body)).0)
}
