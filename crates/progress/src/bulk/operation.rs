//! The definition of a bulk operation by its module.

use std::collections::HashSet;

use backoffice_core::command::{BatchCommand, Class, Tx};
use backoffice_core::input::Validator;
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

/// Maximum number of items of a job.
pub const MAX_ITEMS: usize = 10_000;

/// A command for many resources. The value contains its parameters; it is stored as JSON and must not contain secrets.
pub trait BulkOperation: Serialize + DeserializeOwned + Clone + Send + Sync + 'static {
    /// Id of the command and type of the jobs: `module.entity.bulk_verb`.
    const ID: &'static str;
    /// The class of the change to the items.
    const CLASS: Class;
    /// Constant English label of the log entry, at most 120 characters.
    const LABEL: &'static str;
    /// Human-readable name of the jobs.
    const NAME: &'static str;
    /// The required features, checked at the request and again before every chunk.
    const FEATURES: &'static [Feature];
    /// The command for each item.
    type Item: BatchCommand;

    /// Returns the command for this resource.
    fn item(&self, id: Uuid) -> Self::Item;

    /// Returns the human-readable message of the response, for this number of items.
    fn message(total: usize) -> String;

    /// Returns the data that the job shows in addition to its counts.
    ///
    /// # Errors
    /// When the data can't be read.
    fn meta(&self, _tx: &mut Tx<'_>) -> impl Future<Output = Result<Value>> + Send;

    /// Checks the rules of the request that need the database.
    ///
    /// # Errors
    /// 400 when a reference is unknown.
    fn check(&self, _tx: &mut Tx<'_>) -> impl Future<Output = Result<()>> + Send {
        async { Ok(()) }
    }

    /// Returns the items of an operation that selects them by a filter, in the caller's scope and in a stable order: at most `most`, with the
    /// total number of matches.
    ///
    /// # Errors
    /// When the items can't be read.
    fn matching(&self, _tx: &mut Tx<'_>, _most: usize) -> impl Future<Output = Result<(Vec<Uuid>, i64)>> + Send {
        async { Ok((Vec::new(), 0)) }
    }
}

type Again = for<'a> fn(&'a RequestContext, Value, Vec<Uuid>) -> BoxFuture<'a, Result<Started>>;

/// The values of another module's operation that this module stores.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BulkKind {
    pub(crate) id: &'static str,
    /// Starts a new job for these items with stored parameters.
    pub(crate) again: Again,
}

/// Registers an operation: its command, its jobs, and their retry.
pub fn register<O: BulkOperation>(registry: &mut Registry) -> &mut Registry {
    registry.command::<StartBulk<O>>().job::<BulkJob<O>>().extend(BulkKind {
        id: O::ID,
        again: start_again::<O>,
    })
}

/// Checks the ids of a request: 1 to [`MAX_ITEMS`], repeated ids included. Returns each id once, in the order of first occurrence.
///
/// # Errors
/// 400 when there are too few or too many.
pub fn checked_ids(ids: Vec<Uuid>) -> Result<Vec<Uuid>> {
    check_count(&ids)?;
    let mut seen = HashSet::with_capacity(ids.len());
    Ok(ids.into_iter().filter(|id| seen.insert(*id)).collect())
}

/// Records too few or too many ids: for [`Input::validate`](backoffice_core::input::Input::validate) of a request, so that the response also names
/// its other invalid fields.
pub fn validate_ids(ids: &[Uuid], validator: &mut Validator) {
    if let Err(error) = check_count(ids) {
        validator.note(error.into());
    }
}

fn check_count(ids: &[Uuid]) -> Result<(), Error> {
    if ids.is_empty() || ids.len() > MAX_ITEMS {
        return Err(Error::IdCount { most: MAX_ITEMS });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_ids_count_for_the_bound_and_are_returned_once() {
        let (a, b) = (Uuid::from_u128(1), Uuid::from_u128(2));

        assert_eq!(checked_ids(vec![b, a, b]).expect("three ids"), [b, a]);
        assert!(checked_ids(Vec::new()).is_err());
        assert!(checked_ids(vec![a; MAX_ITEMS]).is_ok());
        assert!(checked_ids(vec![a; MAX_ITEMS + 1]).is_err());
    }
}
