//! The context of a request: caller, scope and instant. The first argument of handlers, queries and commands.

mod call;
mod cause;
mod operation;
mod sender;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use uuid::Uuid;

use crate::acl::{Feature, Pairs, Rights};
use crate::collections::{TotalKey, Version};
use crate::db::{Connection, Database};
use crate::error::{Error, Rejection, Result};
use crate::identity::{ActorKind, Identity};
use crate::ids::Ids;
use crate::platform::{Platform, Runtime};
use crate::scope::Scope;
use crate::time::Timestamp;

pub(crate) use call::Admitted;
pub use call::{Call, Visitor};
pub use cause::Cause;
pub(crate) use cause::{Effect, EffectLimits};
pub use operation::Operation;
pub(crate) use sender::Sender;
pub use sender::{RequestOrigin, SignInAttempt};

/// An `Idempotency-Key` with the values that make it unique.
#[derive(Debug, Clone)]
pub struct IdempotencyKey {
    /// The header's value.
    pub key: String,
    /// Method and path of the endpoint.
    pub route: String,
    /// SHA-256 of the path, the query and the body. A streamed body has it once it was read.
    pub body_hash: OnceLock<[u8; 32]>,
    /// Response fields that are shown once.
    pub one_time: &'static [&'static str],
}

impl IdempotencyKey {
    /// Returns the hash of the body.
    ///
    /// # Errors
    /// Internal when a streamed body was not read to its end.
    pub(crate) fn body_hash(&self) -> Result<[u8; 32]> {
        let hash = self.body_hash.get().copied();
        hash.ok_or_else(|| Error::internal("a command ran before the body was read to its end"))
    }
}

/// The request properties that an endpoint with recorded reads logs.
#[derive(Debug)]
pub(crate) struct ReadPolicy {
    pub(crate) kind: &'static str,
    pub(crate) path: &'static str,
    pub(crate) query_keys: BTreeSet<String>,
}

/// The collections that the response to a read shows.
#[derive(Debug)]
pub(crate) struct ReadCollections {
    pub(crate) kinds: &'static [&'static str],
    /// Identifies the caller, the path and the filters, without page and order.
    pub(crate) filter: TotalKey,
    version: OnceLock<Version>,
    /// Whether the response shows something besides the collections.
    shows_more: AtomicBool,
}

impl ReadCollections {
    pub(crate) fn new(kinds: &'static [&'static str], filter: TotalKey, is_tagged: bool) -> Self {
        Self {
            kinds,
            filter,
            version: OnceLock::new(),
            shows_more: AtomicBool::new(!is_tagged),
        }
    }

    /// Whether the version identifies the response.
    pub(crate) fn are_complete(&self) -> bool {
        !self.shows_more.load(Ordering::Relaxed)
    }

    /// Returns the version that was read before any row.
    pub(crate) fn version(&self) -> Option<Version> {
        self.version.get().copied()
    }

    /// Keeps the version that was read first, and returns it.
    pub(crate) fn keep(&self, version: Version) -> Version {
        *self.version.get_or_init(|| version)
    }
}

/// The context of a signed-in request. Cheap to clone.
#[derive(Debug, Clone)]
pub struct RequestContext(Arc<Inner>);

#[derive(Debug, Clone)]
struct Inner {
    call: Arc<Call>,
    identity: Arc<Identity>,
    scope: Scope,
    pairs: Arc<Pairs>,
    expected_updated_at: Option<Timestamp>,
    idempotency: Option<IdempotencyKey>,
    read_policy: Option<Arc<ReadPolicy>>,
    read_collections: Option<Arc<ReadCollections>>,
    operation: Arc<Mutex<Option<Operation>>>,
    /// Headers of the response that interceptors of committed commands have set.
    headers: Arc<Mutex<Vec<(&'static str, String)>>>,
    job: Option<JobOrigin>,
    effect: Option<Effect>,
}

impl Inner {
    /// Creates the context of a request without conditions, by a principal who acts for themselves.
    fn new(call: Arc<Call>, identity: Arc<Identity>, scope: Scope) -> Self {
        let scope = for_database(scope, &call);
        Self {
            pairs: pairs(&scope, &identity),
            call,
            identity,
            scope,
            expected_updated_at: None,
            idempotency: None,
            read_policy: None,
            read_collections: None,
            operation: Arc::default(),
            headers: Arc::default(),
            job: None,
            effect: None,
        }
    }
}

/// Returns the scope with its predicates only if statements to this database contain them.
fn for_database(scope: Scope, call: &Call) -> Scope {
    if call.database().writes_predicates() {
        scope
    } else {
        scope.without_predicates()
    }
}

/// Returns the pairs placed with the scope; a principal that acts in another scope holds only pairs that need no tree.
fn pairs(scope: &Scope, identity: &Identity) -> Arc<Pairs> {
    let placed = scope.pairs().cloned();
    placed.unwrap_or_else(|| Arc::new(Pairs::without_tree(&identity.rights)))
}

/// The job in which a principal acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobOrigin {
    /// The progress job, if any.
    pub progress_job: Option<Uuid>,
}

impl RequestContext {
    /// Creates a context for this principal and scope.
    #[must_use]
    pub fn new(call: Call, identity: Arc<Identity>, scope: Scope) -> Self {
        Self::with_conditions(Arc::new(call), identity, scope, None, None, None, None)
    }

    pub(crate) fn with_conditions(
        call: Arc<Call>,
        identity: Arc<Identity>,
        scope: Scope,
        expected_updated_at: Option<Timestamp>,
        idempotency: Option<IdempotencyKey>,
        read_policy: Option<ReadPolicy>,
        read_collections: Option<Arc<ReadCollections>>,
    ) -> Self {
        Self(Arc::new(Inner {
            expected_updated_at,
            idempotency,
            read_policy: read_policy.map(Arc::new),
            read_collections,
            ..Inner::new(call, identity, scope)
        }))
    }

    /// Returns the context of the same request with what is known of its caller now.
    pub(crate) fn renewed(&self, call: Call, identity: Arc<Identity>, scope: Scope) -> Self {
        let present = Inner::new(Arc::new(call), identity, scope);
        Self(Arc::new(Inner {
            call: present.call,
            identity: present.identity,
            scope: present.scope,
            pairs: present.pairs,
            ..(*self.0).clone()
        }))
    }

    /// Creates a context for a principal that acts by a job: its commands are logged with their origin.
    pub(crate) fn of_job(call: Call, identity: Arc<Identity>, scope: Scope, origin: JobOrigin) -> Self {
        Self(Arc::new(Inner {
            job: Some(origin),
            ..Inner::new(Arc::new(call), identity, scope)
        }))
    }

    /// Creates a context in which the platform itself acts, in all tenants: for the command line and workers.
    #[must_use]
    pub fn system(runtime: &Runtime) -> Self {
        Self::new(Call::internal(runtime), Arc::new(Identity::system()), Scope::system())
    }

    /// Returns the same request in another scope, for the few writes outside the selected tenant. The calling code must have checked that the
    /// principal may do so.
    #[must_use]
    pub fn with_scope(&self, scope: Scope) -> Self {
        Self(Arc::new(Inner {
            scope: for_database(scope, &self.0.call),
            ..(*self.0).clone()
        }))
    }

    /// Returns the call.
    #[must_use]
    pub fn call(&self) -> &Call {
        &self.0.call
    }

    /// Returns the composed platform.
    #[must_use]
    pub fn platform(&self) -> &Platform {
        self.0.call.platform()
    }

    /// Returns this thread's pool.
    #[must_use]
    pub fn database(&self) -> &Database {
        self.0.call.database()
    }

    /// Returns the principal.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.0.identity
    }

    /// Returns the rights of the principal.
    #[must_use]
    pub fn rights(&self) -> &Rights {
        &self.0.identity.rights
    }

    /// Returns the scope: the rows that the request may read and write.
    #[must_use]
    pub fn scope(&self) -> &Scope {
        &self.0.scope
    }

    /// Returns the instant of the request.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.0.call.now
    }

    /// Returns the source of ids and tokens.
    #[must_use]
    pub fn ids(&self) -> &Ids {
        self.platform().ids()
    }

    /// Creates an id.
    #[must_use]
    pub fn new_id(&self) -> Uuid {
        self.ids().at(self.now())
    }

    /// Returns the pairs of a feature and an organization that the principal holds.
    #[must_use]
    pub fn pairs(&self) -> &Pairs {
        &self.0.pairs
    }

    /// Returns whether the principal holds the feature: in the selected organization if there is one, else in any.
    #[must_use]
    pub fn holds(&self, feature: Feature) -> bool {
        let catalogue = self.platform().catalogue();
        match self.scope().selected {
            Some(_) => self.pairs().holds_in(feature.id, self.scope().selected, catalogue),
            None => self.pairs().holds(feature.id, catalogue),
        }
    }

    /// Returns whether the principal holds the feature in this organization; `None` = in the whole tenant.
    #[must_use]
    pub fn holds_in(&self, feature: Feature, organization: Option<Uuid>) -> bool {
        let catalogue = self.platform().catalogue();
        self.pairs().holds_in(feature.id, organization, catalogue)
    }

    /// Rejects the request if one of the features is missing.
    ///
    /// # Errors
    /// 403 that names the required features.
    pub fn require(&self, features: &[Feature]) -> Result<()> {
        if features.iter().all(|feature| self.holds(*feature)) {
            return Ok(());
        }
        Err(crate::acl::missing(features).into())
    }

    /// Returns the same request limited to the organizations in which the principal also holds these features, so that a command, or any other
    /// step within an endpoint, stays in the organizations in which its own features are held.
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

    /// Returns the id of the calling user.
    ///
    /// # Errors
    /// 403 when an API key or the system calls.
    pub fn user_id(&self) -> Result<Uuid> {
        match (self.identity().kind, self.identity().id) {
            (ActorKind::User, Some(id)) => Ok(id),
            _ => Err(Rejection::forbidden("No user context").code("user_required").into()),
        }
    }

    /// Returns the one tenant of the request.
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

    /// Returns a connection for reads.
    ///
    /// # Errors
    /// 503 when the database can't be reached.
    pub async fn read(&self) -> Result<Connection> {
        self.database().read(self.scope()).await
    }

    /// Returns the job in which the principal acts; `None` for a request.
    #[must_use]
    pub fn job(&self) -> Option<JobOrigin> {
        self.0.job
    }

    /// Returns the rule that causes the commands of this context; `None` for what a principal does by themselves.
    #[must_use]
    pub fn cause(&self) -> Option<Cause> {
        self.0.effect.as_ref().map(|effect| effect.cause)
    }

    pub(crate) fn effect(&self) -> Option<&Effect> {
        self.0.effect.as_ref()
    }

    /// Returns the same principal and scope for an effect of a rule: its commands are logged with the rule. The conditions of the request
    /// (`If-Match`, `Idempotency-Key`) and the headers of its response do not concern the effect.
    #[must_use]
    pub fn caused_by(&self, cause: Cause) -> Self {
        Self(Arc::new(Inner {
            expected_updated_at: None,
            idempotency: None,
            read_policy: None,
            read_collections: None,
            operation: Arc::default(),
            headers: Arc::default(),
            effect: Some(Effect {
                cause,
                limits: self.effect().and_then(|effect| effect.limits.clone()),
            }),
            ..(*self.0).clone()
        }))
    }

    /// Returns the same request, with its conditions, as an effect of a rule.
    pub(crate) fn as_effect(&self, effect: Effect) -> Self {
        Self(Arc::new(Inner {
            effect: Some(effect),
            ..(*self.0).clone()
        }))
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

    pub(crate) fn read_collections(&self) -> Option<&ReadCollections> {
        self.0.read_collections.as_deref()
    }

    /// Sends the response without an entity tag: it shows something besides the collections that its endpoint declares
    /// ([`Declaration::shows`](crate::http::Declaration::shows)).
    pub fn omit_entity_tag(&self) {
        if let Some(reading) = self.read_collections() {
            reading.shows_more.store(true, Ordering::Relaxed);
        }
    }

    /// Sets the hash of a streamed body, which was read to its end.
    pub(crate) fn identify_body(&self, hash: [u8; 32]) {
        if let Some(key) = &self.0.idempotency {
            key.body_hash.get_or_init(|| hash);
        }
    }

    pub(crate) fn set_operation(&self, operation: Operation) {
        *self.0.operation.lock().unwrap_or_else(PoisonError::into_inner) = Some(operation);
    }

    pub(crate) fn add_headers(&self, added: Vec<(&'static str, String)>) {
        // A job has no response, and many transactions.
        if added.is_empty() || self.0.job.is_some() {
            return;
        }
        let mut headers = self.0.headers.lock().unwrap_or_else(PoisonError::into_inner);
        headers.retain(|(name, _)| added.iter().all(|(other, _)| other != name));
        headers.extend(added);
    }

    pub(crate) fn take_headers(&self) -> Vec<(&'static str, String)> {
        std::mem::take(&mut *self.0.headers.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn take_operation(&self) -> Option<Operation> {
        self.0.operation.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
