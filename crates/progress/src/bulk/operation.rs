//! What a module says of a bulk operation.

use std::collections::HashSet;

use backoffice_core::command::{BatchCommand, Class};
use backoffice_core::db::Tx;
use backoffice_core::registry::Registry;
use backoffice_core::{Feature, RequestContext, Result};
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use uuid::Uuid;

use super::run::BulkJob;
use super::start::{StartBulk, Started, start_again};
use crate::Error;

/// Items of one job at most.
pub const MAX_ITEMS: usize = 10_000;

/// A command for many resources. The value holds its parameters; it is stored as JSON and holds no secret.
pub trait BulkOperation: Serialize + DeserializeOwned + Clone + Send + Sync + 'static {
    /// Id of its command and type of its jobs: `module.entity.bulk_verb`.
    const ID: &'static str;
    /// What it does to its items.
    const CLASS: Class;
    /// Constant English label of its entry, at most 120 characters.
    const LABEL: &'static str;
    /// What people read as the name of its jobs.
    const NAME: &'static str;
    /// Checked at the request, and again before every chunk.
    const FEATURES: &'static [Feature];
    /// The command that each item takes.
    type Item: BatchCommand;

    /// The command for this resource.
    fn item(&self, id: Uuid) -> Self::Item;

    /// What the answer says about so many items.
    fn message(total: usize) -> String;

    /// What the job shows beside its counts.
    ///
    /// # Errors
    /// When it can't be read.
    fn meta(&self, _tx: &mut Tx<'_>) -> impl Future<Output = Result<Value>> + Send;

    /// The rules of the request that need the database.
    ///
    /// # Errors
    /// 400 when a reference is unknown.
    fn check(&self, _tx: &mut Tx<'_>) -> impl Future<Output = Result<()>> + Send {
        async { Ok(()) }
    }

    /// The items, for an operation that describes them instead of naming them, in the caller's scope and in a stable order; at most
    /// `most`, with the number of all that match.
    ///
    /// # Errors
    /// When they can't be read.
    fn matching(&self, _tx: &mut Tx<'_>, _most: usize) -> impl Future<Output = Result<(Vec<Uuid>, i64)>> + Send {
        async { Ok((Vec::new(), 0)) }
    }
}

type Again = for<'a> fn(&'a RequestContext, Value, Vec<Uuid>) -> BoxFuture<'a, Result<Started>>;

/// What this module knows of an operation of another one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BulkKind {
    pub(crate) id: &'static str,
    /// Starts a new job with stored parameters over these items.
    pub(crate) again: Again,
}

/// Registers an operation: its command, its jobs, and that they can be retried.
pub fn register<O: BulkOperation>(registry: &mut Registry) -> &mut Registry {
    registry.command::<StartBulk<O>>().job::<BulkJob<O>>().extend(BulkKind {
        id: O::ID,
        again: start_again::<O>,
    })
}

/// The ids of a request: 1 to [`MAX_ITEMS`], repeated ones counted; then each once, in the order of its first occurrence.
///
/// # Errors
/// 400 when there are too few or too many.
pub fn checked_ids(ids: Vec<Uuid>) -> Result<Vec<Uuid>> {
    if ids.is_empty() || ids.len() > MAX_ITEMS {
        return Err(Error::IdCount { most: MAX_ITEMS }.into());
    }
    let mut seen = HashSet::with_capacity(ids.len());
    Ok(ids.into_iter().filter(|id| seen.insert(*id)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_ids_count_for_the_bound_and_stand_once() {
        let (a, b) = (Uuid::from_u128(1), Uuid::from_u128(2));

        assert_eq!(checked_ids(vec![b, a, b]).expect("three ids"), [b, a]);
        assert!(checked_ids(Vec::new()).is_err());
        assert!(checked_ids(vec![a; MAX_ITEMS]).is_ok());
        assert!(checked_ids(vec![a; MAX_ITEMS + 1]).is_err());
    }
}
