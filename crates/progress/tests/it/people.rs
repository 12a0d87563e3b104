//! A substitute for the module that authenticates users, whose tokens are names; the test changes the users' features.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use backoffice_core::acl::Rights;
use backoffice_core::identity::{ActorKind, Authenticated, Authenticator, Credential, Identity, Principal};
use backoffice_core::{Error, Module, Result, Runtime, Timestamp};
use backoffice_test_support::TestApp;
use futures_util::future::BoxFuture;
use tokio::sync::watch;
use uuid::Uuid;

/// Has the name that the log's module requires.
pub(crate) static SIGN_IN: Module = Module {
    name: "auth",
    title: "Sign-in",
    start: |startup| {
        let people = Arc::new(People::default());
        startup.provide(Arc::clone(&people)).authenticator(people);
        Ok(())
    },
    ..Module::EMPTY
};

/// The behavior of requests for a principal by its id.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Mood {
    #[default]
    Responds,
    /// Waits until the mood changes.
    Waits,
    Fails,
}

pub(crate) struct People {
    known: Mutex<BTreeMap<String, Identity>>,
    signed_out: Mutex<BTreeSet<String>>,
    mood: watch::Sender<Mood>,
}

impl Default for People {
    fn default() -> Self {
        Self {
            known: Mutex::default(),
            signed_out: Mutex::default(),
            mood: watch::Sender::new(Mood::Responds),
        }
    }
}

/// Returns the id of the user with this token.
pub(crate) fn person(token: &str) -> Uuid {
    let bytes = token.bytes().fold(0_u128, |sum, byte| sum << 8 | u128::from(byte));
    Uuid::from_u128(bytes)
}

impl People {
    pub(crate) fn of(app: &TestApp) -> Arc<Self> {
        app.platform().provided().get::<Self>().expect("provided at the start")
    }

    /// Adds a user with grants in a tenant, optionally limited to organizations.
    pub(crate) fn set(&self, token: &str, tenant: Uuid, grants: &[&str], organizations: Option<&[Uuid]>) {
        let identity = Identity {
            kind: ActorKind::User,
            id: Some(person(token)),
            name: Some(format!("Name of {token}")),
            tenant,
            organization: None,
            rights: Rights::granting(grants.iter().copied(), organizations),
            roles: Vec::new(),
            session: None,
        };
        self.put(token, identity);
    }

    pub(crate) fn put(&self, token: &str, identity: Identity) {
        self.known.lock().expect("no panic").insert(token.to_owned(), identity);
    }

    /// Removes the user with this token.
    pub(crate) fn remove(&self, token: &str) {
        self.known.lock().expect("no panic").remove(token);
    }

    /// Invalidates the token; the user continues to exist.
    pub(crate) fn sign_out(&self, token: &str) {
        self.signed_out.lock().expect("no panic").insert(token.to_owned());
    }

    /// Copies the users that another node knows.
    pub(crate) fn copy_from(&self, other: &Self) {
        let known = other.known.lock().expect("no panic").clone();
        *self.known.lock().expect("no panic") = known;
    }

    pub(crate) fn become_(&self, mood: Mood) {
        self.mood.send_replace(mood);
    }
}

impl Authenticator for People {
    fn accepts(&self, credential: Credential<'_>) -> bool {
        matches!(credential, Credential::Bearer(_))
    }

    fn authenticate<'a>(
        &'a self,
        _runtime: &'a Runtime,
        credential: Credential<'a>,
        _now: Timestamp,
    ) -> BoxFuture<'a, Result<Option<Authenticated>>> {
        Box::pin(async move {
            let Credential::Bearer(token) = credential else {
                return Ok(None);
            };
            if self.signed_out.lock().expect("no panic").contains(token) {
                return Ok(None);
            }
            Ok(self
                .known
                .lock()
                .expect("no panic")
                .get(token)
                .cloned()
                .map(Authenticated::from))
        })
    }

    fn identify<'a>(
        &'a self,
        _runtime: &'a Runtime,
        principal: &'a Principal,
        _now: Timestamp,
    ) -> BoxFuture<'a, Result<Option<Identity>>> {
        Box::pin(async move {
            let mut mood = self.mood.subscribe();
            let mood = *mood
                .wait_for(|mood| *mood != Mood::Waits)
                .await
                .expect("the sender lives");
            if mood == Mood::Fails {
                return Err(Error::internal("principal lookup failed"));
            }
            let known = self.known.lock().expect("no panic");
            let found = known
                .values()
                .find(|one| one.id == Some(principal.id) && one.kind == principal.kind);
            Ok(found.cloned())
        })
    }
}
