//! Who calls. Core knows principals and their rights; modules know how a credential becomes one.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::sync::watch;
use uuid::Uuid;

use crate::acl::Rights;
use crate::db::Connection;
use crate::error::Result;
use crate::platform::Runtime;
use crate::time::Timestamp;

/// What kind of principal acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActorKind {
    /// A person.
    User,
    /// A program with an API key.
    ApiKey,
    /// The platform itself.
    System,
}

impl ActorKind {
    /// The word in the database and on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::ApiKey => "api_key",
            Self::System => "system",
        }
    }

    /// The kind of this word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::User, Self::ApiKey, Self::System]
            .into_iter()
            .find(|kind| kind.as_str() == word)
    }
}

/// A role that a principal holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldRole {
    /// Its id.
    pub id: Uuid,
    /// Its name.
    pub name: String,
}

/// A principal, as an [`Authenticator`] found it.
#[derive(Debug, Clone)]
pub struct Identity {
    /// What it is.
    pub kind: ActorKind,
    /// Id of the user or key; `None` for the system.
    pub id: Option<Uuid>,
    /// Name, else e-mail: what the action log shows.
    pub name: Option<String>,
    /// Its tenant; the nil UUID for users of the platform.
    pub tenant: Uuid,
    /// Its own organization.
    pub organization: Option<Uuid>,
    /// What it may do.
    pub rights: Rights,
    /// The roles that it holds, by name.
    pub roles: Vec<HeldRole>,
    /// The session that authenticated the call.
    pub session: Option<Uuid>,
}

impl Identity {
    /// The platform itself: every right, all tenants.
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
}

/// A principal by name: nobody has checked whether it exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Principal {
    /// What it is.
    pub kind: ActorKind,
    /// Its own tenant; the nil UUID for users of the platform.
    pub tenant: Uuid,
    /// Its id.
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

/// Turns credentials into identities; the modules that know a kind of credential register one each.
pub trait Authenticator: Send + Sync + 'static {
    /// Whether this authenticator knows this kind of credential.
    fn accepts(&self, credential: Credential<'_>) -> bool;

    /// The principal behind the credential, or `None` when it is invalid.
    fn authenticate<'a>(
        &'a self,
        runtime: &'a Runtime,
        credential: Credential<'a>,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Option<Arc<Identity>>>>;

    /// Changes whenever this node learns that identities which it handed out may no longer hold: whoever keeps one asks anew. `None`: this
    /// authenticator is told of nothing, and whoever keeps an identity asks from time to time.
    fn changes(&self) -> Option<watch::Receiver<()>> {
        None
    }

    /// A principal by its id, as it stands in the database now: what a job needs that acts for somebody. `None` when this
    /// authenticator doesn't know such principals, and when this one may no longer act.
    fn identify<'a>(
        &'a self,
        _runtime: &'a Runtime,
        _principal: &'a Principal,
        _now: Timestamp,
    ) -> BoxFuture<'a, Result<Option<Identity>>> {
        Box::pin(async { Ok(None) })
    }
}

/// What core must know of tenants and organizations; the directory module answers.
pub trait OrganizationTree: Send + Sync + 'static {
    /// The live ones of these organizations and all their live descendants, in the tenant (`None`: in any).
    fn expand<'a>(
        &'a self,
        connection: &'a mut Connection,
        tenant: Option<Uuid>,
        roots: &'a [Uuid],
    ) -> BoxFuture<'a, Result<Vec<Uuid>>>;

    /// Whether the organization is a live one of the tenant. It stays so until the end of the transaction.
    fn keep<'a>(
        &'a self,
        connection: &'a mut Connection,
        tenant: Uuid,
        organization: Uuid,
    ) -> BoxFuture<'a, Result<bool>>;

    /// The same, told for each root by itself. A root that is not live has no entry.
    fn expand_each<'a>(
        &'a self,
        connection: &'a mut Connection,
        tenant: Option<Uuid>,
        roots: &'a [Uuid],
    ) -> BoxFuture<'a, Result<HashMap<Uuid, Vec<Uuid>>>>;

    /// The tenant of a live, active organization; the tenant is live too, but may be inactive.
    fn tenant_of<'a>(
        &'a self,
        connection: &'a mut Connection,
        organization: Uuid,
    ) -> BoxFuture<'a, Result<Option<Uuid>>>;

    /// Whether the tenant exists and is live.
    fn tenant_is_live<'a>(&'a self, connection: &'a mut Connection, tenant: Uuid) -> BoxFuture<'a, Result<bool>>;
}
