//! Moves the files of a partition from its older stores to the present one.
//!
//! A file is copied, the copy is read back and compared with the SHA-256 of the upload, and one transaction lets the file refer to the copy and announces the
//! old object for removal. The file can be read all the time. A crash leaves at most an announced copy, which the sweep removes.

use backoffice_core::ids::PLATFORM_TENANT;
use backoffice_core::jobs::{Job, NewJob, Queue, Step, Work, enqueue};
use backoffice_core::{Call, Error, Result, Scope};
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use time::Duration;
use uuid::Uuid;

use crate::files::Files;
use crate::query::relocation::{self, Announced, Destination, MovedFile};
use crate::stores::{Driver, Spool, note_upload, remove_now, sweep};

/// Time after which a copy is removed whose move did not complete.
const STAGED: Duration = Duration::hours(2);

/// Files that can't be moved after which the job ends: probably a store does not respond.
const MOST_LEFT: u32 = 10;

/// Moves the files of a partition to its present store.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct MoveFiles {
    tenant: Uuid,
    partition: Uuid,
}

impl Job for MoveFiles {
    const KIND: &'static str = "attachments.partition.move";
    const QUEUE: Queue = Queue::Network;

    /// The cursor counts files. After a crash the job begins again; files that were moved are no longer found. A file that can't be moved stays where it is,
    /// and the job fails at its end, or after ten such files, so that it is repeated.
    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        let call = work.call().clone();
        let files = call.provided::<Files>()?;
        let to = {
            let connection = call.database().unlogged(&Scope::system()).await?;
            relocation::destination(&connection, self.tenant, self.partition).await?
        };
        let Some(to) = to else { return Ok(Step::Done) };
        let (mut after, mut left) = ((Uuid::nil(), Uuid::nil()), 0);
        while left < MOST_LEFT {
            let batch = {
                let connection = call.database().unlogged(&Scope::system()).await?;
                relocation::files_after(&connection, &to, after).await?
            };
            let Some(last) = batch.last() else { break };
            after = (last.tenant_id, last.id);
            for file in &batch {
                if left >= MOST_LEFT {
                    break;
                }
                if let Err(error) = relocate(&call, &files, file, &to).await {
                    left += 1;
                    tracing::warn!(%error, attachment = %file.id, "a file could not be moved");
                }
                let cursor = work.cursor();
                work.begin(&Scope::system()).await?.advance(cursor + 1).await?;
            }
        }
        match left {
            0 => Ok(Step::Done),
            left => Err(Error::internal(format!("{left} files could not be moved"))),
        }
    }
}

/// Enqueues the move of the files of a partition. While a move is open, no second one is enqueued.
///
/// # Errors
/// 404 when the tenant, or with `None` the platform, has no partition with this code.
pub async fn enqueue_move(call: &Call, tenant: Option<Uuid>, code: &str) -> Result<Uuid> {
    let tenant = tenant.unwrap_or(PLATFORM_TENANT);
    let mut connection = call.database().unlogged(&Scope::system()).await?;
    let partition = relocation::partition(&connection, tenant, code).await?;
    let partition = partition.ok_or(crate::error::Error::UnknownPartition)?;
    let order = NewJob::of_system(PLATFORM_TENANT, MoveFiles { tenant, partition });
    let order = order.deduplicated(format!("move:{partition}"));
    enqueue(&mut connection, call, &order).await
}

/// Moves one file. A file that is deleted or moved meanwhile is left alone.
async fn relocate(call: &Call, files: &Files, file: &MovedFile, to: &Destination) -> Result<()> {
    let (old, new) = (files.stores.open(&file.store)?, files.stores.open(&to.store)?);
    if old.is(&new) {
        let mut connection = call.database().unlogged(&Scope::tenant(file.tenant_id)).await?;
        relocation::switch(&mut connection, file, to.store.store_id).await?;
        return Ok(());
    }
    let now = call.platform().clock().now();
    let announced = Announced {
        id: call.platform().ids().at(now),
        expires_at: now.after(STAGED),
    };
    if !announce(call, file, to, announced).await? {
        // What an earlier attempt left is removed first.
        sweep(call).await?;
        if !announce(call, file, to, announced).await? {
            return Err(Error::internal("an earlier copy is not removed yet"));
        }
    }
    let moved = match copy(call, files, file, (&old, &new), announced).await {
        Ok(()) => switch(call, file, to, announced).await,
        Err(error) => Err(error),
    };
    // Removes the old object, or the copy if that is not used.
    remove_now(call, file.tenant_id, announced.id).await;
    moved
}

/// Announces the copy. False if an earlier copy has to be removed before; then the next sweep may do so.
async fn announce(call: &Call, file: &MovedFile, to: &Destination, announced: Announced) -> Result<bool> {
    let now = call.platform().clock().now();
    let mut connection = call.database().unlogged(&Scope::tenant(file.tenant_id)).await?;
    if relocation::announce(&mut connection, file, &to.store, announced, now).await? {
        return Ok(true);
    }
    relocation::expire(&mut connection, file, &to.store, now).await?;
    Ok(false)
}

/// Copies the bytes of a file, and compares the copy with the upload.
async fn copy(
    call: &Call,
    files: &Files,
    file: &MovedFile,
    (old, new): (&Driver, &Driver),
    announced: Announced,
) -> Result<()> {
    let (ids, now) = (call.platform().ids(), call.platform().clock().now());
    let unwritable =
        |error: std::io::Error| Error::internal(format!("the folder of uploads can't be written: {error}"));
    let mut spool = Spool::create(&files.spool, ids, now).await.map_err(unwritable)?;
    check(file, digest(old, file, Some(&mut spool)).await?)?;
    spool.flush().await.map_err(unwritable)?;
    let begun = async |upload: &str| note_upload(call, file.tenant_id, announced.id, upload).await;
    let stored = new.put(&file.storage_key, spool, begun).await;
    stored.map_err(|error| new.failed(&error))?;
    check(file, digest(new, file, None).await?)
}

fn check(file: &MovedFile, found: [u8; 32]) -> Result<()> {
    match found.as_slice() == file.sha256 {
        true => Ok(()),
        false => Err(Error::internal("the bytes are not those of the upload")),
    }
}

/// Reads a whole object, writes it to a spool file if there is one, and returns its SHA-256.
async fn digest(store: &Driver, file: &MovedFile, mut spool: Option<&mut Spool>) -> Result<[u8; 32]> {
    let length = file.file_size.unsigned_abs();
    let opened = store.open(&file.storage_key, length).await;
    let (opened, length) = opened.map_err(|error| store.failed(&error))?;
    let mut pieces = opened.pieces(0..length).await.map_err(|error| store.failed(&error))?;
    let mut hasher = Sha256::new();
    while let Some(piece) = pieces.next().await {
        let piece = piece?;
        hasher.update(&piece);
        if let Some(spool) = spool.as_deref_mut() {
            let written = spool.write(&piece).await;
            written.map_err(|error| Error::internal(format!("the folder of uploads can't be written: {error}")))?;
        }
    }
    Ok(hasher.finalize().into())
}

/// Lets the file refer to its copy, and announces the old object for removal, in one transaction.
async fn switch(call: &Call, file: &MovedFile, to: &Destination, announced: Announced) -> Result<()> {
    let now = call.platform().clock().now();
    let scope = Scope::tenant(file.tenant_id);
    let mut transaction = call.database().transaction(&scope).await?;
    let connection = transaction.connection();
    let is_own = relocation::hand_over(connection, file, announced, now).await?;
    let is_moved = is_own && relocation::switch(connection, file, to.store.store_id).await?;
    if is_moved {
        transaction.commit().await?;
    }
    Ok(())
}
