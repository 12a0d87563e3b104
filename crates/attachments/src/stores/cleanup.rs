//! Removes objects to which no file refers: of uploads that failed, and of deleted files.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use backoffice_core::command::Tx;
use backoffice_core::context::Call;
use backoffice_core::poll::Poll;
use backoffice_core::{Error, Result, Runtime, Scope};
use futures_util::{StreamExt, stream};
use uuid::Uuid;

use crate::commands::LOCAL;
use crate::files::Files;
use crate::query::attachments::existing;
use crate::query::links;
use crate::query::staged::{self, Removable, Staged};
use crate::stores::is_same_place;

/// How often a node removes the objects of uploads that did not complete, of files whose objects could not be removed at once, and the images of files
/// that another node has deleted.
const EVERY: Duration = Duration::from_secs(600);
/// Time for which links are kept after they expired.
const KEPT_LINKS: time::Duration = time::Duration::days(30);
/// Objects that a node takes at once.
const BATCH: i64 = 100;
/// Files with images that are looked up with one statement.
const FILES_AT_ONCE: usize = 1000;
/// Objects that a node removes at once, so that a bucket that does not respond delays the others little.
const AT_ONCE: usize = 8;
/// Longest duration of a removal.
const LONGEST: Duration = Duration::from_secs(30);
/// Failed removals in a bucket after which a sweep leaves its other objects to the next one.
const MOST_FAILURES: usize = 3;

/// The rounds of the clean-up of a node, which the module provides, so that tests can request one.
#[derive(Debug, Default)]
pub struct CleanUp(pub Poll);

/// Runs every ten minutes, until the process ends.
pub(crate) async fn clean_up(runtime: Runtime, rounds: Arc<CleanUp>) {
    loop {
        rounds.0.begin();
        let call = Call::internal(&runtime);
        if let Err(error) = sweep(&call).await {
            tracing::debug!(%error, "could not remove objects without files; retrying");
        }
        if let Err(error) = report(&call).await {
            tracing::debug!(%error, "could not count the objects without files; retrying");
        }
        if let Err(error) = forget_links(&call).await {
            tracing::debug!(%error, "could not delete old links; retrying");
        }
        if let Err(error) = forget_images(&call).await {
            tracing::debug!(%error, "could not look for images of deleted files; retrying");
        }
        rounds.0.finish(EVERY).await;
    }
}

/// Records that an object is about to be stored: if no file refers to it later, it is removed.
pub(crate) async fn stage(call: &Call, row: &Staged) -> Result<()> {
    let mut connection = call.database().unlogged(&Scope::tenant(row.tenant_id)).await?;
    staged::insert(&mut connection, row).await
}

/// Records the id of an upload in parts.
pub(crate) async fn note_upload(call: &Call, tenant: Uuid, id: Uuid, upload: &str) -> Result<()> {
    let mut connection = call.database().unlogged(&Scope::tenant(tenant)).await?;
    staged::note_upload(&mut connection, tenant, id, upload).await
}

/// Removes the object of a file that was deleted, or that could not be saved. If that fails, the next sweep does it.
pub(crate) async fn remove_now(call: &Call, tenant: Uuid, id: Uuid) {
    let removed = async {
        let objects = {
            let mut connection = call.database().unlogged(&Scope::tenant(tenant)).await?;
            staged::of_file(&mut connection, tenant, id).await?
        };
        for object in &objects {
            remove(call, object).await?;
        }
        Ok::<_, Error>(())
    };
    if let Err(error) = removed.await {
        tracing::warn!(%error, attachment = %id, "could not remove an object at once");
    }
}

/// Removes the objects of the files that a transaction deletes, once it is committed.
pub(crate) fn sweep_soon(tx: &mut Tx<'_>) {
    let runtime = tx.context().call().runtime.clone();
    tx.after_commit(move || {
        // If the process ends before, the next sweep does it.
        let _task = tokio::spawn(async move {
            if let Err(error) = sweep(&Call::internal(&runtime)).await {
                tracing::debug!(%error, "could not remove the objects of deleted files; the next sweep will");
            }
        });
    });
}

/// Removes the objects whose time is over. Returns their number.
pub(crate) async fn sweep(call: &Call) -> Result<usize> {
    let mut removed = 0;
    let failures = Failures::default();
    loop {
        let objects = {
            let mut connection = call.database().unlogged(&Scope::system()).await?;
            staged::expired(&mut connection, call.now, BATCH).await?
        };
        if objects.is_empty() {
            return Ok(removed);
        }
        let removals = objects.into_iter().map(|object| {
            let failures = &failures;
            async move { remove_in_time(call, &object, failures).await }
        });
        let outcomes: Vec<bool> = stream::iter(removals).buffer_unordered(AT_ONCE).collect().await;
        removed += outcomes.into_iter().filter(|is_removed| *is_removed).count();
    }
}

/// The failures of a sweep, by bucket.
#[derive(Debug, Default)]
struct Failures(Mutex<HashMap<Uuid, usize>>);

impl Failures {
    fn count(&self, object: &Removable) {
        if object.store.driver != LOCAL {
            let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            *failures.entry(object.store.store_id).or_default() += 1;
        }
    }

    fn are_too_many(&self, object: &Removable) -> bool {
        let failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        failures
            .get(&object.store.store_id)
            .is_some_and(|failed| *failed >= MOST_FAILURES)
    }
}

/// Removes an object, unless its bucket has failed too often. Returns whether it was removed.
async fn remove_in_time(call: &Call, object: &Removable, failures: &Failures) -> bool {
    if failures.are_too_many(object) {
        return false;
    }
    let late = || Error::internal("the store did not respond in time");
    let removed = tokio::time::timeout(LONGEST, remove(call, object)).await;
    match removed.unwrap_or_else(|_| Err(late())) {
        Ok(()) => true,
        Err(error) => {
            failures.count(object);
            tracing::warn!(%error, attachment = %object.id, "could not remove an object");
            false
        }
    }
}

/// Reports the number of announced objects: of uploads in progress, and of those that the sweep has yet to remove.
#[expect(clippy::cast_precision_loss, reason = "gauges are numbers of this type")]
async fn report(call: &Call) -> Result<()> {
    let scope = Scope::system();
    let mut connection = call.database().unlogged(&scope).await?;
    let objects = staged::count(&mut connection, &scope).await?;
    metrics::gauge!("attachments_staged").set(objects as f64);
    Ok(())
}

/// Deletes links that expired thirty days ago.
async fn forget_links(call: &Call) -> Result<()> {
    loop {
        let mut connection = call.database().unlogged(&Scope::system()).await?;
        let before = call.now.after(-KEPT_LINKS);
        if links::forget(&mut connection, before, BATCH).await? == 0 {
            return Ok(());
        }
    }
}

/// Removes the images of files that do not exist: another node has deleted them, or this one while an image was rendered.
async fn forget_images(call: &Call) -> Result<()> {
    let images = &call.provided::<Files>()?.images;
    for kept in images.kept_files().chunks(FILES_AT_ONCE) {
        let ids = kept.iter().map(|(_, id)| *id).collect();
        let existing: HashSet<(Uuid, Uuid)> = {
            let connection = call.database().unlogged(&Scope::system()).await?;
            existing(&connection, ids).await?
        };
        for (tenant, id) in kept.iter().filter(|file| !existing.contains(file)) {
            images.forget(*tenant, *id).await;
        }
    }
    Ok(())
}

/// Removes an object and its images, then its row; of the object of a file, only the row. No connection is held while the store works.
async fn remove(call: &Call, object: &Removable) -> Result<()> {
    let files = call.provided::<Files>()?;
    files.images.forget(object.tenant_id, object.id).await;
    if is_of_file(call, object).await? {
        tracing::warn!(key = %object.storage_key, "the object of a file was announced for removal, and is kept");
    } else {
        let store = files.stores.open(&object.store)?;
        let removed = store.remove(&object.storage_key, object.upload_id.as_deref()).await;
        removed.map_err(|error| store.failed(&error))?;
    }
    let mut connection = call.database().unlogged(&Scope::tenant(object.tenant_id)).await?;
    staged::forget(&mut connection, object.tenant_id, object.id).await
}

/// Returns whether a file lies there, in this store or in another one at the same place. As long as the object is announced, no file is moved there.
async fn is_of_file(call: &Call, object: &Removable) -> Result<bool> {
    let store = {
        let connection = call.database().unlogged(&Scope::tenant(object.tenant_id)).await?;
        staged::store_of_file(&connection, object).await?
    };
    match store {
        Some(store) => is_same_place(call, object.tenant_id, &store, &object.store).await,
        None => Ok(false),
    }
}
