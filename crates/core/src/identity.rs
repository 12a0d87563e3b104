//! Principals and their rights. Core knows these; modules know how a credential becomes a principal.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::sync::watch;
use uuid::Uuid;

use crate::acl::Rights;
use crate::db::Connection;
use crate::error::Result;
use crate::platform::{Platform, Provided, Runtime};
use crate::time::Timestamp;

/// The kind of an acting principal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActorKind {
    /// A human user.
    User,
    /// A program with an API key.
    ApiKey,
    /// The platform itself.
    System,
}

impl ActorKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::User, Self::ApiKey, Self::System];

    /// Returns the name of the kind in the database and in the wire format.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::ApiKey => "api_key",
            Self::System => "system",
        }
    }

    /// Parses the name of a kind.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// A role that a principal holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldRole {
    /// The id.
    pub id: Uuid,
    /// The name.
    pub name: String,
}

/// A principal, as returned by an [`Authenticator`].
#[derive(Debug, Clone)]
pub struct Identity {
    /// Kind of the principal.
    pub kind: ActorKind,
    /// Id of the user or key; `None` for the system only: a request of a user or key without an id is a 500.
    pub id: Option<Uuid>,
    /// Name, else e-mail: shown by the action log.
    pub name: Option<String>,
    /// Tenant of the principal; the nil UUID for users of the platform.
    pub tenant: Uuid,
    /// Organization to which the principal belongs.
    pub organization: Option<Uuid>,
    /// The rights.
    pub rights: Rights,
    /// The roles that the principal holds, by name.
    pub roles: Vec<HeldRole>,
    /// The session that authenticated the call.
    pub session: Option<Uuid>,
}

impl Identity {
    /// Returns the identity of the platform itself: every right, all tenants.
    #[must_use]
    pub fn system() -> Self {
        Self {
            kind: ActorKind::System,
            id: None,
            name: None,
            tenant: crate::ids::PLATFORM_TENANT,
            organization: None,
            rights: Rights::super_admin(),
            roles: Vec::new(),
            session: None,
        }
    }

    /// Returns an identity of the platform that holds exactly these features, in an organization with its descendants (`None`: in the whole
    /// tenant) and nowhere else. Log entries show its name.
    #[must_use]
    pub fn limited(name: String, tenant: Uuid, organization: Option<Uuid>, features: &[String]) -> Self {
        let organizations = organization.map(|id| vec![id]);
        Self {
            name: Some(name),
            tenant,
            organization,
            rights: Rights::granting(features.iter().map(String::as_str), organizations.as_deref()),
            ..Self::system()
        }
    }

    /// Returns the same principal in this tenant, limited to the rights that others grant as well, in an organization with its descendants
    /// (`None`: wherever both hold them).
    #[must_use]
    pub fn limited_to(self, rights: &Rights, tenant: Uuid, organization: Option<Uuid>) -> Self {
        let rights = rights.clone();
        let rights = match organization {
            Some(organization) => rights.confined_to(organization),
            None => rights,
        };
        Self {
            tenant,
            organization,
            rights: rights.limited_by(&self.rights),
            ..self
        }
    }
}

/// A reference to a principal, without a check whether the principal exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Principal {
    /// Kind of the principal.
    pub kind: ActorKind,
    /// Tenant of the principal; the nil UUID for users of the platform.
    pub tenant: Uuid,
    /// The id.
    pub id: Uuid,
}

/// A credential as it was presented.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Credential<'a> {
    /// `Authorization: Bearer <token>`
    Bearer(&'a str),
    /// Cookie `auth_token`
    Cookie(&'a str),
    /// `X-Api-Key` or `Authorization: ApiKey <key>`
    ApiKey(&'a str),
}

/// A principal, and the end of the credential that authenticated it.
#[derive(Debug, Clone)]
pub struct Authenticated {
    /// The principal.
    pub identity: Arc<Identity>,
    /// The instant at which the credential expires; `None` when it does not expire by time.
    pub expires_at: Option<Timestamp>,
}

impl From<Identity> for Authenticated {
    /// Returns the principal of a credential that does not expire by time.
    fn from(identity: Identity) -> Self {
        Self {
            identity: Arc::new(identity),
            expires_at: None,
        }
    }
}

/// Turns credentials into identities; the modules that know a kind of credential register one each.
pub trait Authenticator: Send + Sync + 'static {
    /// Returns whether this authenticator knows this kind of credential.
    fn accepts(&self, credential: Credential<'_>) -> bool;

    /// Returns the principal behind the credential, or `None` when the credential is invalid.
    fn authenticate<'a>(
        &'a self,
        runtime: &'a Runtime,
        credential: Credential<'a>,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Option<Authenticated>>>;

    /// Returns a receiver that changes whenever identities handed out by this node may have become invalid; holders of an identity then
    /// authenticate again. `None`: this authenticator receives no such notifications, and holders authenticate again from time to time.
    fn changes(&self) -> Option<watch::Receiver<()>> {
        None
    }

    /// Returns the principal with this id, as the database has it now: for a job that acts in the name of a principal. `None` when this
    /// authenticator doesn't know such principals, or when the principal may no longer act.
    fn identify<'a>(
        &'a self,
        _runtime: &'a Runtime,
        _principal: &'a Principal,
        _now: Timestamp,
    ) -> BoxFuture<'a, Result<Option<Identity>>> {
        Box::pin(async { Ok(None) })
    }
}

impl Runtime {
    /// Returns a principal as the database has it now; `None` when it may no longer act.
    ///
    /// # Errors
    /// When the database can't be reached.
    pub async fn identify(&self, principal: &Principal) -> Result<Option<Identity>> {
        let now = self.platform.clock().now();
        for authenticator in self.platform.authenticators() {
            if let Some(identity) = authenticator.identify(self, principal, now).await? {
                return Ok(Some(identity));
            }
        }
        Ok(None)
    }
}

/// The authenticators of the enabled modules, in the order of their registration.
pub(crate) struct Authenticators(pub(crate) Vec<Arc<dyn Authenticator>>);

impl Platform {
    pub(crate) fn authenticators(&self) -> &[Arc<dyn Authenticator>] {
        &self.services::<Authenticators>().0
    }
}

impl Provided {
    /// Returns the tree of organizations, when the directory is enabled.
    #[must_use]
    pub fn organizations(&self) -> Option<Arc<dyn OrganizationTree>> {
        self.find::<Arc<dyn OrganizationTree>>().cloned()
    }
}

/// The queries on tenants and organizations that core needs; implemented by the directory module.
pub trait OrganizationTree: Send + Sync + 'static {
    /// Returns the live organizations among these, with all their live descendants, in the tenant (`None`: in any).
    fn expand<'a>(
        &'a self,
        connection: &'a mut Connection,
        tenant: Option<Uuid>,
        roots: &'a [Uuid],
    ) -> BoxFuture<'a, Result<Vec<Uuid>>>;

    /// Returns whether the organization is live and belongs to the tenant. It stays so until the end of the transaction.
    fn keep<'a>(
        &'a self,
        connection: &'a mut Connection,
        tenant: Uuid,
        organization: Uuid,
    ) -> BoxFuture<'a, Result<bool>>;

    /// Expands each root separately. A root that is not live has no entry.
    fn expand_each<'a>(
        &'a self,
        connection: &'a mut Connection,
        tenant: Option<Uuid>,
        roots: &'a [Uuid],
    ) -> BoxFuture<'a, Result<HashMap<Uuid, Vec<Uuid>>>>;

    /// Returns the tenant of a live, active organization; the tenant is live too, but may be inactive.
    fn tenant_of<'a>(
        &'a self,
        connection: &'a mut Connection,
        organization: Uuid,
    ) -> BoxFuture<'a, Result<Option<Uuid>>>;

    /// Returns whether the tenant exists and is live.
    fn tenant_is_live<'a>(&'a self, connection: &'a mut Connection, tenant: Uuid) -> BoxFuture<'a, Result<bool>>;
}
