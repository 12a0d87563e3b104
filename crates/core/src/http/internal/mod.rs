//! Internal requests: the API, called by the platform itself and without a socket.
//!
//! A thread of its own serves the endpoints once more. A request reaches it through a bounded channel, with a principal in place of a
//! credential; everything after the authentication is as for any request. The principal travels as a value of a type that only this module
//! creates, among the extensions of the request, so that no request from outside can have one.

mod caller;
mod service;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use actix_web::http::Method;
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::time::timeout;
use uuid::Uuid;

pub use caller::InternalCaller;
pub(super) use caller::caller_of;

use crate::error::{Error, Result};
use crate::platform::{Platform, Runtime};
use crate::shares::{Share, Shares};

/// Longest time of a request, its wait for a slot included. The request is then dropped and its transaction rolled back.
pub const LONGEST: Duration = Duration::from_secs(10);
/// Maximum number of requests under way.
const AT_ONCE: usize = 4;
/// Maximum number of requests of one tenant that are under way.
const AT_ONCE_OF_TENANT: usize = 2;
/// Maximum number of requests that wait.
const MOST_WAITING: usize = 64;
/// Maximum number of requests of one tenant that wait, so that it leaves queue positions to others.
const MOST_WAITING_OF_TENANT: usize = 16;
/// Maximum number of connections to the database that the thread opens.
pub const CONNECTIONS: usize = 4;

/// An internal request.
#[derive(Debug)]
pub struct InternalRequest {
    /// The method.
    pub method: Method,
    /// The path below the API prefix, with the query.
    pub target: String,
    /// The JSON body.
    pub body: Option<Value>,
    /// Further headers, with names in lower case.
    pub headers: Vec<(&'static str, String)>,
    /// The principal that acts, with its scope and its cause.
    pub caller: InternalCaller,
}

/// The response to an internal request.
#[derive(Debug, Clone, PartialEq)]
pub struct InternalResponse {
    /// The status.
    pub status: u16,
    /// The JSON body; `None` if the body is empty, is not JSON, or has more than 8 MiB.
    pub body: Option<Value>,
}

impl InternalResponse {
    /// Whether the status is that of a success.
    #[must_use]
    pub const fn is_success(&self) -> bool {
        200 <= self.status && self.status < 300
    }
}

/// A request on its way to the thread. The sender no longer waits when the receiver of `response` is dropped.
struct PendingRequest {
    request: InternalRequest,
    response: oneshot::Sender<Result<InternalResponse>>,
    position: InternalPosition,
}

/// The position of a request that waits or is under way, among those of its tenant and of the process; released when dropped.
struct InternalPosition {
    _of_tenant: Share<Uuid>,
    _of_process: OwnedSemaphorePermit,
}

/// The thread that serves internal requests. The first request starts it.
#[derive(Debug)]
pub(crate) struct InternalRequests {
    state: Mutex<State>,
    of_tenants: Shares<Uuid>,
    of_process: Arc<Semaphore>,
}

impl Default for InternalRequests {
    fn default() -> Self {
        Self {
            state: Mutex::default(),
            of_tenants: Shares::default(),
            of_process: Arc::new(Semaphore::new(AT_ONCE + MOST_WAITING)),
        }
    }
}

#[derive(Default)]
enum State {
    #[default]
    Idle,
    Running {
        requests: mpsc::UnboundedSender<PendingRequest>,
        thread: JoinHandle<()>,
    },
    Closed,
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Idle => "Idle",
            Self::Running { .. } => "Running",
            Self::Closed => "Closed",
        })
    }
}

impl InternalRequests {
    /// Takes a queue position for a request of this tenant.
    fn position(&self, tenant: Uuid) -> Result<InternalPosition> {
        let of_tenant = self.of_tenants.take(tenant, AT_ONCE_OF_TENANT + MOST_WAITING_OF_TENANT);
        let of_process = Arc::clone(&self.of_process).try_acquire_owned().ok();
        match of_tenant.zip(of_process) {
            Some((of_tenant, of_process)) => Ok(InternalPosition {
                _of_tenant: of_tenant,
                _of_process: of_process,
            }),
            None => Err(Error::Unavailable("too many internal requests wait".into())),
        }
    }

    /// Returns the channel to the thread; starts the thread if it does not run. The queue positions bound what is in the channel.
    fn channel(&self, runtime: &Runtime) -> Result<mpsc::UnboundedSender<PendingRequest>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match &*state {
            State::Running { requests, .. } if !requests.is_closed() => return Ok(requests.clone()),
            State::Closed => return Err(Error::Unavailable("internal requests have ended".into())),
            State::Running { .. } | State::Idle => {}
        }
        let (requests, pending) = mpsc::unbounded_channel();
        let runtime = Runtime {
            platform: runtime.platform.clone(),
            database: runtime.database.for_worker(CONNECTIONS),
        };
        let thread = service::start(runtime, pending)?;
        *state = State::Running {
            requests: requests.clone(),
            thread,
        };
        Ok(requests)
    }

    fn close(&self) -> Option<JoinHandle<()>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(&mut *state, State::Closed) {
            State::Running { thread, .. } => Some(thread),
            State::Idle | State::Closed => None,
        }
    }
}

impl Platform {
    /// Ends internal requests: accepts no further ones and returns the thread, if it was started, which ends after those under way. Without this
    /// call the thread and its connections live as long as the process.
    #[must_use = "the thread ends after the requests under way"]
    pub fn close_internal_requests(&self) -> Option<JoinHandle<()>> {
        self.services::<InternalRequests>().close()
    }
}

impl Runtime {
    /// Sends an internal request and returns the response, whatever its status; `None` after 10 s. The request is then dropped and its
    /// transaction rolled back, as it is when this future is dropped.
    ///
    /// # Errors
    /// Unavailable when too many requests of the caller's tenant or of all tenants wait, or internal requests have ended; internal when the path or a
    /// header is invalid.
    pub async fn request(&self, request: InternalRequest) -> Result<Option<InternalResponse>> {
        let internal = self.platform.services::<InternalRequests>();
        let position = internal.position(request.caller.tenant())?;
        let requests = internal.channel(self)?;
        let (response, received) = oneshot::channel();
        let pending = PendingRequest {
            request,
            response,
            position,
        };
        requests
            .send(pending)
            .map_err(|_| Error::Unavailable("internal requests have ended".into()))?;
        drop(requests);
        match timeout(LONGEST, received).await {
            Ok(Ok(response)) => response.map(Some),
            Ok(Err(_)) => Err(Error::Unavailable("an internal request was cut off".into())),
            Err(_) => Ok(None),
        }
    }
}
