//! The registered commands, entities and interceptors.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::deferred::{DeferredWork, RegisteredWork};
use super::{AnyEntity, Command, CommandInfo, Entity, EntityOf, Interceptor};
use crate::config::ConfigError;
use crate::platform::Platform;

/// The commands, entities, interceptors and deferred work of the enabled modules.
#[derive(Default)]
pub struct CommandRegistry {
    commands: BTreeMap<&'static str, CommandInfo>,
    entities: BTreeMap<&'static str, Arc<dyn AnyEntity>>,
    interceptors: Vec<Interceptor>,
    deferred_work: Vec<RegisteredWork>,
}

impl std::fmt::Debug for CommandRegistry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.commands.keys()).finish()
    }
}

impl Platform {
    /// Returns the registered commands, entities and interceptors.
    #[must_use]
    pub fn registry(&self) -> &CommandRegistry {
        self.services()
    }
}

impl CommandRegistry {
    /// Returns false when the kind is taken.
    pub(crate) fn add_entity<E: Entity>(&mut self) -> bool {
        self.entities.insert(E::KIND, Arc::new(EntityOf::<E>::new())).is_none()
    }

    /// Returns false when the id is taken.
    pub(crate) fn add<C: Command>(&mut self) -> bool {
        self.commands.insert(C::ID, CommandInfo::of::<C>()).is_none()
    }

    pub(crate) fn add_interceptor(&mut self, interceptor: Interceptor) {
        self.interceptors.push(interceptor);
        self.interceptors.sort_by_key(|one| (one.priority, one.id));
    }

    /// Returns false when the type has a handler.
    pub(crate) fn add_deferred_work<T: Send + Sync + 'static>(&mut self, work: DeferredWork<T>) -> bool {
        let work = RegisteredWork::new(work);
        let is_new = self.deferred_work.iter().all(|one| one.items != work.items);
        self.deferred_work.push(work);
        is_new
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

    pub(super) fn interceptors(&self) -> &[Interceptor] {
        &self.interceptors
    }

    pub(super) fn deferred_work(&self) -> &[RegisteredWork] {
        &self.deferred_work
    }

    /// Rejects commands on unregistered kinds, and ids and labels in a form that the log does not support.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{Class, Depth, LockedRow, Locker, Snapshot, Snapshots, Target, Tx};
    use crate::error::Result as CoreResult;

    struct Thing;

    impl Entity for Thing {
        const KIND: &'static str = "sample.thing";
        const NOT_FOUND: &'static str = "Thing not found";

        async fn lock(_locker: Locker<'_>, _ids: &[uuid::Uuid]) -> CoreResult<Vec<LockedRow>> {
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
        let mut registry = CommandRegistry::default();
        registry.add_entity::<Thing>();
        registry.add::<Rename>();
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
