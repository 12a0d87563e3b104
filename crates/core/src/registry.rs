//! What the enabled modules registered: commands, entities, interceptors, and what they provide at run time.

use std::any::{Any, TypeId};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::command::{AnyEntity, Command, CommandInfo, Entity, EntityOf, Interceptor};
use crate::config::{Config, ConfigError};
use crate::events::{Subscriber, Subscribers};
use crate::identity::{Authenticator, OrganizationTree};
use crate::jobs::{Job, JobKinds};

/// Inert registrations of the enabled modules.
#[derive(Default)]
pub struct Registry {
    commands: BTreeMap<&'static str, CommandInfo>,
    entities: BTreeMap<&'static str, Arc<dyn AnyEntity>>,
    interceptors: Vec<Interceptor>,
    jobs: JobKinds,
    subscribers: Subscribers,
    offered: HashMap<TypeId, Vec<Box<dyn Any + Send + Sync>>>,
    twice: Vec<&'static str>,
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registry")
            .field("commands", &self.commands.keys())
            .finish_non_exhaustive()
    }
}

impl Registry {
    /// Registers an entity kind.
    pub fn entity<E: Entity>(&mut self) -> &mut Self {
        if self.entities.insert(E::KIND, Arc::new(EntityOf::<E>::new())).is_some() {
            self.twice.push(E::KIND);
        }
        self
    }

    /// Registers a command.
    pub fn command<C: Command>(&mut self) -> &mut Self {
        if self.commands.insert(C::ID, CommandInfo::of::<C>()).is_some() {
            self.twice.push(C::ID);
        }
        self
    }

    /// Registers an interceptor; they run by priority, then id.
    pub fn interceptor(&mut self, interceptor: Interceptor) -> &mut Self {
        self.interceptors.push(interceptor);
        self.interceptors.sort_by_key(|one| (one.priority, one.id));
        self
    }

    /// Registers a kind of background job.
    pub fn job<J: Job>(&mut self) -> &mut Self {
        if !self.jobs.add::<J>() {
            self.twice.push(J::KIND);
        }
        self
    }

    /// Registers somebody who is told of events.
    pub fn subscribe(&mut self, subscriber: Subscriber) -> &mut Self {
        if !self.subscribers.add(subscriber) {
            self.twice.push(subscriber.id);
        }
        self
    }

    pub(crate) fn subscribers(&self) -> &Subscribers {
        &self.subscribers
    }

    /// Registers something of a kind that another module knows and core doesn't: that module finds it by its type.
    pub fn offer<T: Send + Sync + 'static>(&mut self, value: T) -> &mut Self {
        self.offered.entry(TypeId::of::<T>()).or_default().push(Box::new(value));
        self
    }

    /// Everything that modules offered of this type.
    pub fn offered<T: Send + Sync + 'static>(&self) -> impl Iterator<Item = &T> {
        let values = self.offered.get(&TypeId::of::<T>()).into_iter().flatten();
        values.filter_map(|value| value.downcast_ref::<T>())
    }

    pub(crate) fn job_kinds(&self) -> &JobKinds {
        &self.jobs
    }

    /// All commands, by id.
    pub fn commands(&self) -> impl Iterator<Item = &CommandInfo> {
        self.commands.values()
    }

    /// The command with this id.
    #[must_use]
    pub fn find_command(&self, id: &str) -> Option<&CommandInfo> {
        self.commands.get(id)
    }

    /// All entities, by kind.
    pub fn entities(&self) -> impl Iterator<Item = &dyn AnyEntity> {
        self.entities.values().map(|entity| &**entity)
    }

    /// The entity registered under this kind.
    #[must_use]
    pub fn find_entity(&self, kind: &str) -> Option<&Arc<dyn AnyEntity>> {
        self.entities.get(kind)
    }

    pub(crate) fn interceptors(&self) -> &[Interceptor] {
        &self.interceptors
    }

    /// Refuses names that are taken twice and commands on kinds that nobody registered.
    ///
    /// # Errors
    /// Names the command or kind.
    pub fn check(&self) -> Result<(), ConfigError> {
        if let Some(name) = self.twice.first() {
            return Err(ConfigError::new(*name, "registered twice"));
        }
        for command in self.commands.values() {
            if !self.entities.contains_key(command.kind) {
                return Err(ConfigError::new(
                    command.id,
                    format!("entity kind `{}` is not registered", command.kind),
                ));
            }
        }
        Ok(())
    }
}

/// What modules provide at run time, by type.
#[derive(Default)]
pub struct Provided {
    by_type: HashMap<TypeId, Arc<dyn Any + Send + Sync>>,
    pub(crate) authenticators: Vec<Arc<dyn Authenticator>>,
    pub(crate) organizations: Option<Arc<dyn OrganizationTree>>,
}

impl Provided {
    /// The tree of organizations, when the directory is enabled.
    #[must_use]
    pub fn organizations(&self) -> Option<Arc<dyn OrganizationTree>> {
        self.organizations.clone()
    }

    /// What a module provided under this type.
    #[must_use]
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.by_type
            .get(&TypeId::of::<T>())
            .and_then(|value| Arc::clone(value).downcast::<T>().ok())
    }
}

/// The start of the platform, seen by a module.
pub struct Startup<'a> {
    config: &'a Config,
    provided: Provided,
}

impl std::fmt::Debug for Startup<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Startup").finish_non_exhaustive()
    }
}

impl<'a> Startup<'a> {
    pub(crate) fn new(config: &'a Config) -> Self {
        Self {
            config,
            provided: Provided::default(),
        }
    }

    pub(crate) fn finish(self) -> Provided {
        self.provided
    }

    /// The configuration.
    #[must_use]
    pub fn config(&self) -> &'a Config {
        self.config
    }

    /// What a required module provided under this type.
    #[must_use]
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.provided.get::<T>()
    }

    /// Offers a value to handlers and to the modules that come later.
    pub fn provide<T: Send + Sync + 'static>(&mut self, value: Arc<T>) -> &mut Self {
        self.provided.by_type.insert(TypeId::of::<T>(), value);
        self
    }

    /// Adds an authenticator.
    pub fn authenticator(&mut self, authenticator: Arc<dyn Authenticator>) -> &mut Self {
        self.provided.authenticators.push(authenticator);
        self
    }

    /// Sets the tree of organizations.
    pub fn organizations(&mut self, tree: Arc<dyn OrganizationTree>) -> &mut Self {
        self.provided.organizations = Some(tree);
        self
    }
}
