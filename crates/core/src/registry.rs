//! Registrations of the enabled modules: commands, entities, interceptors, and the values that modules provide at run time.

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
    extensions: HashMap<TypeId, Vec<Box<dyn Any + Send + Sync>>>,
    duplicates: Vec<&'static str>,
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
            self.duplicates.push(E::KIND);
        }
        self
    }

    /// Registers a command.
    pub fn command<C: Command>(&mut self) -> &mut Self {
        if self.commands.insert(C::ID, CommandInfo::of::<C>()).is_some() {
            self.duplicates.push(C::ID);
        }
        self
    }

    /// Registers an interceptor. Interceptors run by priority, then id.
    pub fn interceptor(&mut self, interceptor: Interceptor) -> &mut Self {
        self.interceptors.push(interceptor);
        self.interceptors.sort_by_key(|one| (one.priority, one.id));
        self
    }

    /// Registers a kind of background job.
    pub fn job<J: Job>(&mut self) -> &mut Self {
        if !self.jobs.add::<J>() {
            self.duplicates.push(J::KIND);
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

    pub(crate) fn subscribers(&self) -> &Subscribers {
        &self.subscribers
    }

    /// Registers an extension: a value of a type that another module knows and core doesn't. That module finds it by its type.
    pub fn extend<T: Send + Sync + 'static>(&mut self, value: T) -> &mut Self {
        self.extensions
            .entry(TypeId::of::<T>())
            .or_default()
            .push(Box::new(value));
        self
    }

    /// Returns all extensions of this type.
    pub fn extensions<T: Send + Sync + 'static>(&self) -> impl Iterator<Item = &T> {
        let values = self.extensions.get(&TypeId::of::<T>()).into_iter().flatten();
        values.filter_map(|value| value.downcast_ref::<T>())
    }

    pub(crate) fn job_kinds(&self) -> &JobKinds {
        &self.jobs
    }

    /// Returns all commands, by id.
    pub fn commands(&self) -> impl Iterator<Item = &CommandInfo> {
        self.commands.values()
    }

    /// Returns the command with this id.
    #[must_use]
    pub fn find_command(&self, id: &str) -> Option<&CommandInfo> {
        self.commands.get(id)
    }

    /// Returns all entities, by kind.
    pub fn entities(&self) -> impl Iterator<Item = &dyn AnyEntity> {
        self.entities.values().map(|entity| &**entity)
    }

    /// Returns the entity registered under this kind.
    #[must_use]
    pub fn find_entity(&self, kind: &str) -> Option<&Arc<dyn AnyEntity>> {
        self.entities.get(kind)
    }

    pub(crate) fn interceptors(&self) -> &[Interceptor] {
        &self.interceptors
    }

    /// Rejects duplicate names, commands on unregistered kinds, and ids and labels in a form that the log does not support.
    ///
    /// # Errors
    /// Names the command or kind.
    pub fn check(&self) -> Result<(), ConfigError> {
        if let Some(name) = self.duplicates.first() {
            return Err(ConfigError::new(*name, "registered twice"));
        }
        for kind in self.entities.keys() {
            if !is_dotted(kind, 2) {
                return Err(ConfigError::new(*kind, "the kind of an entity is `module.entity`"));
            }
        }
        for command in self.commands.values() {
            if !is_dotted(command.id, 3) {
                return Err(ConfigError::new(
                    command.id,
                    "the id of a command is `module.entity.verb`",
                ));
            }
            if !(1..=LONGEST_LABEL).contains(&command.label.chars().count()) {
                let what = format!("the label of a command has 1 to {LONGEST_LABEL} characters");
                return Err(ConfigError::new(command.id, what));
            }
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

/// Maximum number of characters of a command's label.
const LONGEST_LABEL: usize = 120;

/// Whether a name consists of this many words of lower-case letters, digits and underscores, joined by dots.
fn is_dotted(name: &str, words: usize) -> bool {
    let is_word = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_lowercase())
            && word
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    };
    name.split('.').count() == words && name.split('.').all(is_word)
}

/// Values that modules provide at run time, by type.
#[derive(Default)]
pub struct Provided {
    by_type: HashMap<TypeId, Arc<dyn Any + Send + Sync>>,
    pub(crate) authenticators: Vec<Arc<dyn Authenticator>>,
    pub(crate) organizations: Option<Arc<dyn OrganizationTree>>,
}

impl Provided {
    /// Returns the tree of organizations, when the directory is enabled.
    #[must_use]
    pub fn organizations(&self) -> Option<Arc<dyn OrganizationTree>> {
        self.organizations.clone()
    }

    /// Returns the value that a module provided under this type.
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

    /// Returns the configuration.
    #[must_use]
    pub fn config(&self) -> &'a Config {
        self.config
    }

    /// Returns the value that a required module provided under this type.
    #[must_use]
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.provided.get::<T>()
    }

    /// Provides a value to handlers and to the modules that start later.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{Class, Depth, LockedRow, Snapshot, Snapshots, Target};
    use crate::db::Tx;
    use crate::error::Result as CoreResult;

    struct Thing;

    impl Entity for Thing {
        const KIND: &'static str = "sample.thing";
        const NOT_FOUND: &'static str = "Thing not found";

        async fn lock(_tx: &mut Tx<'_>, _ids: &[uuid::Uuid]) -> CoreResult<Vec<LockedRow>> {
            Ok(Vec::new())
        }

        async fn load(_tx: &mut Tx<'_>, _ids: &[uuid::Uuid], _depth: Depth) -> CoreResult<Snapshots> {
            Ok(Snapshots::new())
        }

        async fn store(_tx: &mut Tx<'_>, _snapshots: &[Snapshot]) -> CoreResult<Vec<String>> {
            Ok(Vec::new())
        }

        async fn remove(_tx: &mut Tx<'_>, _ids: &[uuid::Uuid]) -> CoreResult<()> {
            Ok(())
        }
    }

    struct Rename;

    impl Command for Rename {
        const ID: &'static str = "sample.thing.rename";
        const CLASS: Class = Class::Edit;
        const LABEL: &'static str = "Rename thing";
        const FEATURES: &'static [crate::acl::Feature] = &[];
        type Entity = Thing;
        type Output = ();

        fn target(&self) -> Target {
            Target::Existing(uuid::Uuid::nil())
        }

        async fn apply(&self, _tx: &mut Tx<'_>) -> CoreResult<()> {
            Ok(())
        }
    }

    /// Checks a registry in which the command has this id and label.
    fn checked(id: &'static str, label: &'static str) -> Result<(), ConfigError> {
        let mut registry = Registry::default();
        registry.entity::<Thing>().command::<Rename>();
        let mut info = registry.commands.remove(Rename::ID).expect("it was registered");
        (info.id, info.label) = (id, label);
        registry.commands.insert(id, info);
        registry.check()
    }

    #[test]
    fn ids_and_labels_have_the_form_that_the_log_knows() {
        checked("sample.thing.rename", "Rename thing").expect("as it should be");
        for (id, label, said) in [
            ("sample.rename", "Rename thing", "module.entity.verb"),
            ("sample.thing.rename.now", "Rename thing", "module.entity.verb"),
            ("sample.Thing.rename", "Rename thing", "module.entity.verb"),
            ("sample..rename", "Rename thing", "module.entity.verb"),
            ("sample.thing.rename", "", "1 to 120"),
        ] {
            let error = checked(id, label).expect_err("another form");
            assert!(error.to_string().contains(said), "{error}");
        }
        let long: &'static str = Box::leak("x".repeat(121).into_boxed_str());
        assert!(checked("sample.thing.rename", long).is_err());
    }
}
