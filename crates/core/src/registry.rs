//! Registrations of the enabled modules: commands, entities, interceptors, and the values that modules provide at run time.

use std::sync::Arc;

use crate::command::{Command, CommandRegistry, DeferredWork, Entity, Interceptor};
use crate::config::{Config, ConfigError};
use crate::events::{Subscriber, Subscribers};
use crate::identity::{Authenticator, Authenticators, OrganizationTree};
use crate::jobs::{Job, JobKinds, ScheduleIntervals};
use crate::platform::{Extensions, Provided};
use crate::vault::{self, Vault};

/// Inert registrations of the enabled modules.
#[derive(Default)]
pub struct Registry {
    pub(crate) commands: CommandRegistry,
    pub(crate) jobs: JobKinds,
    pub(crate) subscribers: Subscribers,
    pub(crate) extensions: Extensions,
    duplicates: Vec<&'static str>,
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registry")
            .field("commands", &self.commands)
            .finish_non_exhaustive()
    }
}

impl Registry {
    /// Returns the registered commands and entities.
    #[must_use]
    pub fn commands(&self) -> &CommandRegistry {
        &self.commands
    }

    /// Registers an entity kind.
    pub fn entity<E: Entity>(&mut self) -> &mut Self {
        if !self.commands.add_entity::<E>() {
            self.duplicates.push(E::KIND);
        }
        self
    }

    /// Registers a command.
    pub fn command<C: Command>(&mut self) -> &mut Self {
        if !self.commands.add::<C>() {
            self.duplicates.push(C::ID);
        }
        self
    }

    /// Registers an interceptor. Interceptors run by priority, then id.
    pub fn interceptor(&mut self, interceptor: Interceptor) -> &mut Self {
        self.commands.add_interceptor(interceptor);
        self
    }

    /// Registers the handler of what transactions defer in items of this type ([`Tx::defer`](crate::command::Tx::defer)). Handlers run in the
    /// order of their registration, which follows that of the modules.
    pub fn deferred_work<T: Send + Sync + 'static>(&mut self, work: DeferredWork<T>) -> &mut Self {
        if !self.commands.add_deferred_work(work) {
            self.duplicates.push(std::any::type_name::<T>());
        }
        self
    }

    /// Registers a kind of background job.
    pub fn job<J: Job>(&mut self) -> &mut Self {
        if !self.jobs.add::<J>() {
            self.duplicates.push(J::KIND);
        }
        self
    }

    /// Registers a job of the platform that runs at intervals, for the first time one interval after the first start. The name is
    /// `<module>.<what>`. The job itself is registered with [`job`](Self::job).
    pub fn schedule<J: Job + Default>(&mut self, name: &'static str, every: time::Duration) -> &mut Self {
        if !self.jobs.add_schedule::<J>(name, every) {
            self.duplicates.push(name);
        }
        self
    }

    /// Registers a subscriber of events.
    pub fn subscribe(&mut self, subscriber: Subscriber) -> &mut Self {
        if !self.subscribers.add(subscriber) {
            self.duplicates.push(subscriber.id);
        }
        self
    }

    /// Registers an extension: a value of a type that another module knows and core doesn't. That module finds it by its type.
    pub fn extend<T: Send + Sync + 'static>(&mut self, value: T) -> &mut Self {
        self.extensions.push(value);
        self
    }

    /// Rejects duplicate names, commands on unregistered kinds, and ids and labels in a form that the log does not support.
    ///
    /// # Errors
    /// Names the command or kind.
    pub fn check(&self) -> Result<(), ConfigError> {
        if let Some(name) = self.duplicates.first() {
            return Err(ConfigError::new(*name, "registered twice"));
        }
        self.commands.check()
    }
}

/// The start of the platform, seen by a module.
pub struct Startup<'a> {
    config: &'a Config,
    vault: &'a Arc<Vault>,
    extensions: &'a Extensions,
    is_check: bool,
    provided: Provided,
    authenticators: Vec<Arc<dyn Authenticator>>,
    intervals: ScheduleIntervals,
}

impl std::fmt::Debug for Startup<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Startup").finish_non_exhaustive()
    }
}

impl<'a> Startup<'a> {
    pub(crate) fn new(config: &'a Config, vault: &'a Arc<Vault>, extensions: &'a Extensions, is_check: bool) -> Self {
        Self {
            config,
            vault,
            extensions,
            is_check,
            provided: Provided::default(),
            authenticators: Vec::new(),
            intervals: ScheduleIntervals::default(),
        }
    }

    pub(crate) fn finish(mut self) -> Provided {
        self.provided.insert(Arc::new(Authenticators(self.authenticators)));
        self.provided.insert(Arc::new(self.intervals));
        self.provided
    }

    /// Returns the configuration.
    #[must_use]
    pub fn config(&self) -> &'a Config {
        self.config
    }

    /// Returns whether only the configuration is checked. The module then changes nothing outside of the process, such as folders.
    #[must_use]
    pub fn is_check(&self) -> bool {
        self.is_check
    }

    /// Returns the vault, for a module that seals values.
    ///
    /// # Errors
    /// When `vault.keys` has no key.
    pub fn vault(&self) -> Result<Arc<Vault>, ConfigError> {
        match self.vault.has_keys() {
            true => Ok(Arc::clone(self.vault)),
            false => Err(ConfigError::new(
                vault::KEYS,
                "a key is needed; `backoffice init` creates one",
            )),
        }
    }

    /// Returns all values of this type that modules registered.
    pub fn extensions<T: Send + Sync + 'static>(&self) -> impl Iterator<Item = &T> {
        self.extensions.of_type()
    }

    /// Returns the value that a required module provided under this type.
    #[must_use]
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.provided.get::<T>()
    }

    /// Provides a value to handlers and to the modules that start later.
    pub fn provide<T: Send + Sync + 'static>(&mut self, value: Arc<T>) -> &mut Self {
        self.provided.insert(value);
        self
    }

    /// Adds an authenticator.
    pub fn authenticator(&mut self, authenticator: Arc<dyn Authenticator>) -> &mut Self {
        self.authenticators.push(authenticator);
        self
    }

    /// Sets the interval of a schedule whose module has a setting for it. It applies from the next run on. Schedules are looked at once a minute.
    pub fn run_every(&mut self, schedule: &'static str, every: std::time::Duration) -> &mut Self {
        self.intervals.set(schedule, every);
        self
    }

    /// Sets the tree of organizations.
    pub fn organizations(&mut self, tree: Arc<dyn OrganizationTree>) -> &mut Self {
        self.provided.insert(Arc::new(tree));
        self
    }
}
