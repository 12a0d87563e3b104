//! Requests from inside: the API, called by the platform itself and without a socket.
//!
//! A thread of its own serves the endpoints once more. A request reaches it through a bounded channel, with a principal in place of a
//! credential; everything after the authentication is as for any request. The principal travels as a value of a type that only this module
//! creates, among the extensions of the request, so that no request from outside can have one.

mod caller;
mod service;

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use actix_web::http::Method;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

pub use caller::InternalCaller;
pub(super) use caller::caller_of;

use crate::error::{Error, Result};
use crate::platform::{Platform, Runtime};

/// Longest time of a request, its wait for a slot included. The request is then dropped and its transaction rolled back.
pub const LONGEST: Duration = Duration::from_secs(10);
/// Maximum number of requests that wait for a slot.
const MOST_WAITING: usize = 64;
/// Maximum number of connections to the database that the thread opens.
pub const CONNECTIONS: usize = 4;

/// A request from inside.
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

/// The response to a request from inside.
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
}

/// The thread that serves requests from inside. The first request starts it.
#[derive(Debug, Default)]
pub(crate) struct InternalRequests(Mutex<State>);

#[derive(Default)]
enum State {
    #[default]
    Idle,
    Running {
        requests: mpsc::Sender<PendingRequest>,
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
    /// Returns the channel to the thread; starts the thread if it does not run.
    fn channel(&self, runtime: &Runtime) -> Result<mpsc::Sender<PendingRequest>> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*state {
            State::Running { requests, .. } if !requests.is_closed() => return Ok(requests.clone()),
            State::Closed => return Err(Error::Unavailable("requests from inside have ended".into())),
            State::Running { .. } | State::Idle => {}
        }
        let (requests, pending) = mpsc::channel(MOST_WAITING);
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
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(&mut *state, State::Closed) {
            State::Running { thread, .. } => Some(thread),
            State::Idle | State::Closed => None,
        }
    }
}

impl Platform {
    /// Ends requests from inside: accepts no further ones and returns the thread, if it was started, which ends after those under way. Without this
    /// call the thread and its connections live as long as the process.
    #[must_use = "the thread ends after the requests under way"]
    pub fn close_internal_requests(&self) -> Option<JoinHandle<()>> {
        self.services::<InternalRequests>().close()
    }
}

impl Runtime {
    /// Sends a request from inside and returns the response, whatever its status; `None` after 10 s. The request is then dropped and its
    /// transaction rolled back, as it is when this future is dropped.
    ///
    /// # Errors
    /// Unavailable when too many requests wait, or requests from inside have ended; internal when the path or a header is invalid.
    pub async fn request(&self, request: InternalRequest) -> Result<Option<InternalResponse>> {
        let requests = self.platform.services::<InternalRequests>().channel(self)?;
        let (response, received) = oneshot::channel();
        requests
            .try_send(PendingRequest { request, response })
            .map_err(|_| Error::Unavailable("too many requests from inside wait".into()))?;
        drop(requests);
        match timeout(LONGEST, received).await {
            Ok(Ok(response)) => response.map(Some),
            Ok(Err(_)) => Err(Error::Unavailable("a request from inside was cut off".into())),
            Err(_) => Ok(None),
        }
    }
}
