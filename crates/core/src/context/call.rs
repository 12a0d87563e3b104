//! The properties of a request, whether its caller is signed in or not.

use std::any::Any;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use uuid::Uuid;

use super::sender::{RequestOrigin, Sender, SignInAttempt, network};
use crate::db::Database;
use crate::error::{Error, Result};
use crate::platform::{Platform, Runtime};
use crate::time::Timestamp;

/// The properties of every request, signed in or not.
#[derive(Debug, Clone)]
pub struct Call {
    /// The platform and this thread's pool.
    pub runtime: Runtime,
    /// The instant at which the request was read.
    pub now: Timestamp,
    /// `X-Request-Id`.
    pub request_id: String,
    /// The client's address, in its canonical form.
    pub ip: Option<IpAddr>,
    /// `User-Agent`, cut to 512 bytes.
    pub user_agent: Option<String>,
    /// Relation of the site that sent the request to this one.
    pub origin: RequestOrigin,
    /// The sender, as far as known; for the log of rejections.
    pub(crate) sender: Sender,
    /// The permit of this request, if its endpoint bounds concurrency.
    pub(crate) admitted: Admitted,
    /// The job in which this is a call.
    pub(crate) job: Option<Uuid>,
    /// What the handlers of a delivery write last; a value of [`events`](crate::events).
    pub(crate) collector: Option<Arc<dyn Any + Send + Sync>>,
}

/// A value that is held for a request until its handler takes it or the request ends.
#[derive(Debug, Clone, Default)]
pub(crate) struct Admitted(Arc<Mutex<Option<Box<dyn Any + Send>>>>);

impl Admitted {
    pub(crate) fn hold(&self, taken: Box<dyn Any + Send>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(taken);
    }
}

impl Call {
    /// Takes the value that the endpoint's admission acquired for this request, if it has this type.
    #[must_use]
    pub fn admitted<T: Any>(&self) -> Option<T> {
        let held = self.admitted.0.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        held.downcast().ok().map(|held| *held)
    }

    /// Records the account whose password the request tries, for the log line of its rejection.
    pub fn attempts_sign_in(&self, attempt: SignInAttempt) {
        self.sender.attempts(attempt);
    }

    /// Returns the network by which limits count the client: its IPv4 address, or the /64 network of its IPv6 address; empty if the address is
    /// unknown.
    #[must_use]
    pub fn network(&self) -> String {
        self.ip.map(network).unwrap_or_default()
    }

    /// Creates a call without an HTTP request: for the command line, a test or a worker.
    #[must_use]
    pub fn internal(runtime: &Runtime) -> Self {
        let now = runtime.platform.clock().now();
        Self {
            now,
            request_id: format!("internal-{}", runtime.platform.ids().at(now)),
            runtime: runtime.clone(),
            ip: None,
            user_agent: None,
            origin: RequestOrigin::Same,
            sender: Sender::default(),
            admitted: Admitted::default(),
            job: None,
            collector: None,
        }
    }

    /// Returns the job of which this call is a step; `None` if a client waits for it.
    #[must_use]
    pub fn job(&self) -> Option<Uuid> {
        self.job
    }

    /// Returns the composed platform.
    #[must_use]
    pub fn platform(&self) -> &Platform {
        &self.runtime.platform
    }

    /// Returns this thread's pool.
    #[must_use]
    pub fn database(&self) -> &Database {
        &self.runtime.database
    }

    /// Returns the value that a module provided under this type.
    ///
    /// # Errors
    /// When no module provided it: the requesting module does not declare the requirement.
    pub fn provided<T: Send + Sync + 'static>(&self) -> Result<Arc<T>> {
        self.platform()
            .provided()
            .get::<T>()
            .ok_or_else(|| Error::internal(format!("no provider registered for {}", std::any::type_name::<T>())))
    }
}

/// The context of a public endpoint, without a signed-in caller.
#[derive(Debug, Clone)]
pub struct Visitor(pub Arc<Call>);

impl std::ops::Deref for Visitor {
    type Target = Call;

    fn deref(&self) -> &Call {
        &self.0
    }
}
