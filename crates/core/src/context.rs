//! Who calls, for which scope, at which instant: the first argument of everything.

use std::any::Any;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use uuid::Uuid;

use crate::access_log::ReadPolicy;
use crate::acl::{Feature, Pairs, Rights};
use crate::command::{self, Command, HistoryOutcome, Operation, Response};
use crate::db::{Connection, Database};
use crate::error::{Error, Rejection, Result};
use crate::http::{RequestOrigin, Sender, SignInAttempt};
use crate::identity::{ActorKind, Identity};
use crate::ids::Ids;
use crate::platform::{Platform, Runtime};
use crate::scope::Scope;
use crate::time::Timestamp;

/// What every request has, signed in or not.
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
    /// What the request says about the site that sent it.
    pub origin: RequestOrigin,
    /// Who sent it, as far as is known; for the log of rejections.
    pub(crate) sender: Sender,
    /// What the endpoint's admission took for this request.
    pub(crate) admitted: Admitted,
}

/// Something that is held for a request until its handler takes it or the request ends.
#[derive(Debug, Clone, Default)]
pub(crate) struct Admitted(Arc<Mutex<Option<Box<dyn Any + Send>>>>);

impl Admitted {
    pub(crate) fn hold(&self, taken: Box<dyn Any + Send>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(taken);
    }
}

impl Call {
    /// What the endpoint's admission took for this request, if it is of this type: from now on the caller's.
    #[must_use]
    pub fn admitted<T: Any>(&self) -> Option<T> {
        let held = self.admitted.0.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        held.downcast().ok().map(|held| *held)
    }

    /// Notes whose password the request tries, for the log line of its rejection.
    pub fn attempts_sign_in(&self, attempt: SignInAttempt) {
        self.sender.attempts(attempt);
    }

    /// What limits count the client by: its IPv4 address, or the /64 network of its IPv6 address; empty when nobody knows it.
    #[must_use]
    pub fn network(&self) -> String {
        self.ip.map(crate::http::network).unwrap_or_default()
    }

    /// A call that no HTTP request stands behind: the command line, a test, a worker.
    #[must_use]
    pub fn internal(runtime: &Runtime) -> Self {
        Self {
            now: runtime.platform.clock().now(),
            request_id: format!("internal-{}", runtime.platform.ids().at(runtime.platform.clock().now())),
            runtime: runtime.clone(),
            ip: None,
            user_agent: None,
            origin: RequestOrigin::Same,
            sender: Sender::default(),
            admitted: Admitted::default(),
        }
    }

    /// The composed platform.
    #[must_use]
    pub fn platform(&self) -> &Platform {
        &self.runtime.platform
    }

    /// This thread's pool.
    #[must_use]
    pub fn database(&self) -> &Database {
        &self.runtime.database
    }

    /// What a module provided under this type.
    ///
    /// # Errors
    /// When no module did: the module that asks lacks a requirement.
    pub fn provided<T: Send + Sync + 'static>(&self) -> Result<Arc<T>> {
        self.platform()
            .provided()
            .get::<T>()
            .ok_or_else(|| Error::internal(format!("nobody provides {}", std::any::type_name::<T>())))
    }
}

/// An `Idempotency-Key` with what makes it unique.
#[derive(Debug, Clone)]
pub struct IdempotencyKey {
    /// The header's value.
    pub key: String,
    /// Method and path of the endpoint.
    pub route: String,
    /// SHA-256 of the path, the query and the body.
    pub body_hash: [u8; 32],
    /// Members of the answer that are shown once.
    pub one_time: &'static [&'static str],
}

/// The context of a signed-in request. Cheap to clone.
#[derive(Debug, Clone)]
pub struct RequestContext(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    call: Arc<Call>,
    identity: Arc<Identity>,
    scope: Scope,
    pairs: Arc<Pairs>,
    expected_updated_at: Option<Timestamp>,
    idempotency: Option<IdempotencyKey>,
    read_policy: Option<Arc<ReadPolicy>>,
    operation: Arc<Mutex<Option<Operation>>>,
    job: Option<JobOrigin>,
}

/// What was placed with the scope; a principal that acts in another one holds what needs no tree.
fn pairs(scope: &Scope, identity: &Identity) -> Arc<Pairs> {
    let placed = scope.pairs().cloned();
    placed.unwrap_or_else(|| Arc::new(Pairs::without_tree(&identity.rights)))
}

/// The job in which a principal acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobOrigin {
    /// The job that people watch.
    pub progress_job: Option<Uuid>,
}

impl RequestContext {
    /// A context for this principal and scope.
    #[must_use]
    pub fn new(call: Call, identity: Arc<Identity>, scope: Scope) -> Self {
        Self::with_conditions(Arc::new(call), identity, scope, None, None, None)
    }

    pub(crate) fn with_conditions(
        call: Arc<Call>,
        identity: Arc<Identity>,
        scope: Scope,
        expected_updated_at: Option<Timestamp>,
        idempotency: Option<IdempotencyKey>,
        read_policy: Option<ReadPolicy>,
    ) -> Self {
        let scope = if call.database().writes_predicates() {
            scope
        } else {
            scope.without_predicates()
        };
        Self(Arc::new(Inner {
            pairs: pairs(&scope, &identity),
            call,
            identity,
            scope,
            expected_updated_at,
            idempotency,
            read_policy: read_policy.map(Arc::new),
            operation: Arc::default(),
            job: None,
        }))
    }

    /// A principal that acts by a job: its commands are logged with where they come from.
    pub(crate) fn of_job(call: Call, identity: Arc<Identity>, scope: Scope, origin: JobOrigin) -> Self {
        let scope = if call.database().writes_predicates() {
            scope
        } else {
            scope.without_predicates()
        };
        Self(Arc::new(Inner {
            pairs: pairs(&scope, &identity),
            call: Arc::new(call),
            identity,
            scope,
            expected_updated_at: None,
            idempotency: None,
            read_policy: None,
            operation: Arc::default(),
            job: Some(origin),
        }))
    }

    /// The platform itself as the actor, in all tenants: the command line and workers.
    #[must_use]
    pub fn system(runtime: &Runtime) -> Self {
        Self::new(Call::internal(runtime), Arc::new(Identity::system()), Scope::system())
    }

    /// The same request in another scope, for the few writes that reach beyond the selected tenant. The caller of this has checked
    /// that the principal may do so.
    #[must_use]
    pub fn with_scope(&self, scope: Scope) -> Self {
        let inner = &self.0;
        let scope = if inner.call.database().writes_predicates() {
            scope
        } else {
            scope.without_predicates()
        };
        Self(Arc::new(Inner {
            call: Arc::clone(&inner.call),
            identity: Arc::clone(&inner.identity),
            pairs: Arc::clone(&inner.pairs),
            scope,
            expected_updated_at: inner.expected_updated_at,
            idempotency: inner.idempotency.clone(),
            read_policy: inner.read_policy.clone(),
            operation: Arc::clone(&inner.operation),
            job: inner.job,
        }))
    }

    /// The call.
    #[must_use]
    pub fn call(&self) -> &Call {
        &self.0.call
    }

    /// The composed platform.
    #[must_use]
    pub fn platform(&self) -> &Platform {
        self.0.call.platform()
    }

    /// This thread's pool.
    #[must_use]
    pub fn database(&self) -> &Database {
        self.0.call.database()
    }

    /// The principal.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.0.identity
    }

    /// What the principal may do.
    #[must_use]
    pub fn rights(&self) -> &Rights {
        &self.0.identity.rights
    }

    /// Which rows the request may touch.
    #[must_use]
    pub fn scope(&self) -> &Scope {
        &self.0.scope
    }

    /// The instant of the request.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.0.call.now
    }

    /// The source of ids and tokens.
    #[must_use]
    pub fn ids(&self) -> &Ids {
        self.platform().ids()
    }

    /// A fresh id.
    #[must_use]
    pub fn new_id(&self) -> Uuid {
        self.ids().at(self.now())
    }

    /// The pairs of a feature and an organization that the principal holds.
    #[must_use]
    pub fn pairs(&self) -> &Pairs {
        &self.0.pairs
    }

    /// Whether the principal holds the feature: in the selected organization if there is one, else in any.
    #[must_use]
    pub fn holds(&self, feature: Feature) -> bool {
        let catalogue = self.platform().catalogue();
        match self.scope().selected {
            Some(_) => self.pairs().holds_in(feature.id, self.scope().selected, catalogue),
            None => self.pairs().holds(feature.id, catalogue),
        }
    }

    /// Whether the principal holds the feature in this organization; `None` = in the whole tenant.
    #[must_use]
    pub fn holds_in(&self, feature: Feature, organization: Option<Uuid>) -> bool {
        let catalogue = self.platform().catalogue();
        self.pairs().holds_in(feature.id, organization, catalogue)
    }

    /// Refuses when one of the features is missing.
    ///
    /// # Errors
    /// 403 that names the required features.
    pub fn require(&self, features: &[Feature]) -> Result<()> {
        if features.iter().all(|feature| self.holds(*feature)) {
            return Ok(());
        }
        Err(crate::acl::missing(features).into())
    }

    /// The same request where the principal holds these features besides: what a command does, and whatever else is asked for within an
    /// endpoint, stays in the organizations in which its own features are held.
    ///
    /// # Errors
    /// 403 that names the required features.
    pub fn for_features(&self, features: &[Feature]) -> Result<Self> {
        self.require(features)?;
        let scope = self.scope().for_features(features, self.platform().catalogue())?;
        if scope == *self.scope() {
            return Ok(self.clone());
        }
        Ok(self.with_scope(scope))
    }

    /// The id of the user that calls.
    ///
    /// # Errors
    /// 403 when an API key or the system calls.
    pub fn user_id(&self) -> Result<Uuid> {
        match (self.identity().kind, self.identity().id) {
            (ActorKind::User, Some(id)) => Ok(id),
            _ => Err(Rejection::forbidden("No user context").code("user_required").into()),
        }
    }

    /// The one tenant of the request.
    ///
    /// # Errors
    /// 400 when a super administrator selected all tenants.
    pub fn tenant(&self) -> Result<Uuid> {
        self.scope().tenant.ok_or_else(|| {
            Rejection::bad_request("Tenant context required")
                .code("tenant_required")
                .into()
        })
    }

    /// A connection for reads.
    ///
    /// # Errors
    /// 503 when the database can't be reached.
    pub async fn read(&self) -> Result<Connection> {
        self.database().read(self.scope()).await
    }

    /// Runs a command on the bus and answers with what `answer` makes of its output.
    ///
    /// # Errors
    /// The refusals of the bus and of the command.
    pub async fn execute<C: Command, A: Response>(
        &self,
        command: &C,
        response: impl Fn(C::Output) -> A + Send + Sync,
    ) -> Result<A> {
        command::execute(self, command, response).await
    }

    /// Changes a member of the answer that an `Idempotency-Key` keeps, once something after the commit is known (a mail has left).
    ///
    /// # Errors
    /// 503 when the database can't be reached.
    pub async fn amend_response(&self, field: &str, value: &Value) -> Result<()> {
        command::amend_response(self, field, value).await
    }

    /// Undoes an action by its token. `others` is the feature with which other people's actions are undone.
    ///
    /// # Errors
    /// The refusals of section 6.3 of the audit specification.
    pub async fn undo<A: Response>(
        &self,
        token: &str,
        others: Feature,
        response: impl Fn(HistoryOutcome) -> A + Send + Sync,
    ) -> Result<A> {
        command::undo(self, token, others, response).await
    }

    /// Redoes an undone action by its log id. `others` is the feature with which other people's actions are redone.
    ///
    /// # Errors
    /// The refusals of section 7 of the audit specification.
    pub async fn redo<A: Response>(
        &self,
        log_id: Uuid,
        others: Feature,
        response: impl Fn(HistoryOutcome) -> A + Send + Sync,
    ) -> Result<A> {
        command::redo(self, log_id, others, response).await
    }

    /// The job in which the principal acts; `None` for a request.
    #[must_use]
    pub fn job(&self) -> Option<JobOrigin> {
        self.0.job
    }

    pub(crate) fn expected_updated_at(&self) -> Option<Timestamp> {
        self.0.expected_updated_at
    }

    pub(crate) fn idempotency(&self) -> Option<&IdempotencyKey> {
        self.0.idempotency.as_ref()
    }

    pub(crate) fn read_policy(&self) -> Option<&ReadPolicy> {
        self.0.read_policy.as_deref()
    }

    pub(crate) fn set_operation(&self, operation: Operation) {
        *self.0.operation.lock().unwrap_or_else(PoisonError::into_inner) = Some(operation);
    }

    pub(crate) fn take_operation(&self) -> Option<Operation> {
        self.0.operation.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// The context of a public endpoint: nobody is signed in.
#[derive(Debug, Clone)]
pub struct Visitor(pub Arc<Call>);

impl std::ops::Deref for Visitor {
    type Target = Call;

    fn deref(&self) -> &Call {
        &self.0
    }
}
