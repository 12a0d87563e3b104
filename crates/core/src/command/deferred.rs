//! Deferred work: what a module does once at the end of a transaction, for everything that the transaction has changed.
//!
//! A hook after a transition sees one resource; a chunk of a bulk job has a hundred of them. Work that is cheaper or only correct for all of
//! them together (locks in one order, one statement for all) is deferred: [`Tx::defer`] collects items, and the handler of their type runs
//! once, after guards, hooks and interceptors have accepted every change and before the log entry is written, behind which a transaction
//! may not wait for a lock.

use std::any::{Any, TypeId};
use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::tx::Tx;
use crate::error::{Error, Result};

/// The handler of all items of a type that a transaction has deferred, in the order in which they were deferred. It runs once for each
/// execution, undo or redo, and once for each chunk of a bulk job; if the commands of a chunk have to run one by one, once for each of them.
/// Its statements are part of the transaction, its events are stored with the entry, and its rejection rejects the command.
pub type DeferredWork<T> = for<'a> fn(&'a mut Tx<'_>, Vec<T>) -> BoxFuture<'a, Result<()>>;

type AnyItem = Box<dyn Any + Send + Sync>;
type Handler = Arc<dyn for<'a> Fn(&'a mut Tx<'_>, Vec<AnyItem>) -> BoxFuture<'a, Result<()>> + Send + Sync>;

/// A registered handler, without its type.
#[derive(Clone)]
pub(super) struct RegisteredWork {
    pub(super) items: TypeId,
    handler: Handler,
}

impl RegisteredWork {
    pub(super) fn new<T: Send + Sync + 'static>(work: DeferredWork<T>) -> Self {
        let handler: Handler = Arc::new(move |tx, items| {
            let items = items.into_iter().filter_map(|item| item.downcast().ok());
            work(tx, items.map(|item: Box<T>| *item).collect())
        });
        Self {
            items: TypeId::of::<T>(),
            handler,
        }
    }
}

/// Items that wait for the end of their transaction, in the order in which they were deferred.
#[derive(Default)]
pub(super) struct DeferredItems(Vec<(TypeId, AnyItem)>);

impl DeferredItems {
    pub(super) fn push<T: Send + Sync + 'static>(&mut self, item: T) {
        self.0.push((TypeId::of::<T>(), Box::new(item)));
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn truncate(&mut self, length: usize) {
        self.0.truncate(length);
    }

    pub(super) fn take(&mut self, items: TypeId) -> Vec<AnyItem> {
        let (taken, kept) = std::mem::take(&mut self.0)
            .into_iter()
            .partition(|(item, _)| *item == items);
        self.0 = kept;
        let taken: Vec<(TypeId, AnyItem)> = taken;
        taken.into_iter().map(|(_, item)| item).collect()
    }
}

/// Runs the deferred work, handler by handler in the order of their registration. A handler may defer items for handlers after it.
pub(super) async fn run(tx: &mut Tx<'_>) -> Result<()> {
    if tx.deferred().len() == 0 {
        return Ok(());
    }
    let registry = tx.context().platform().registry();
    for work in registry.deferred_work() {
        let items = tx.deferred().take(work.items);
        if !items.is_empty() {
            (work.handler)(tx, items).await?;
        }
    }
    match tx.deferred().len() {
        0 => Ok(()),
        _ => Err(Error::internal(
            "work was deferred without a handler, or after its handler has run",
        )),
    }
}
