//! Values by type: provided by modules to one another, and by the composition to core.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::Arc;

/// Values that modules provide at run time, by type.
#[derive(Default)]
pub struct Provided(HashMap<TypeId, Arc<dyn Any + Send + Sync>>);

impl Provided {
    /// Returns the value that a module provided under this type.
    #[must_use]
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        let value = Arc::clone(self.0.get(&TypeId::of::<T>())?);
        value.downcast::<T>().ok()
    }

    pub(crate) fn find<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.0.get(&TypeId::of::<T>())?.downcast_ref()
    }

    pub(crate) fn insert<T: Send + Sync + 'static>(&mut self, value: Arc<T>) {
        self.0.insert(TypeId::of::<T>(), value);
    }
}

/// Values of types that one module knows and others register.
#[derive(Default)]
pub(crate) struct Extensions(HashMap<TypeId, Vec<Box<dyn Any + Send + Sync>>>);

impl Extensions {
    pub(crate) fn push<T: Send + Sync + 'static>(&mut self, value: T) {
        self.0.entry(TypeId::of::<T>()).or_default().push(Box::new(value));
    }

    pub(crate) fn of_type<T: Send + Sync + 'static>(&self) -> impl Iterator<Item = &T> {
        let values = self.0.get(&TypeId::of::<T>()).into_iter().flatten();
        values.filter_map(|value| value.downcast_ref::<T>())
    }
}
