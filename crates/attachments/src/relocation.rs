//! Moves the files of a partition from its older stores to the present one.
//!
//! A file is copied, the copy is read back and compared with the SHA-256 of the upload, and one transaction lets the file refer to the copy and announces the
//! old object for removal. The file can be read all the time. A crash leaves at most an announced copy, which the sweep removes.

use std::io::{Error as IoError, ErrorKind};

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
use crate::stores::{Driver, Spool, is_same_place, note_upload, remove_now, sweep};

/// Time after which a copy is removed whose move did not complete.
const STAGED: Duration = Duration::hours(2);

/// Files in a row that can't be moved, for another reason than their own objects, after which the attempt ends: probably a store does not respond.
const MOST_IN_A_ROW: u32 = 10;

/// Moves the files of a partition to its present store.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct MoveFiles {
    tenant: Uuid,
    partition: Uuid,
}

impl Job for MoveFiles {
    const KIND: &'static str = "attachments.partition.move";
    const QUEUE: Queue = Queue::Network;

    /// The cursor counts moved files. After a crash the job begins again; files that were moved are no longer found. A file that can't be moved stays where
    /// it is, the others are moved, and the attempt fails at its end. Only moved files are progress: after `MAX_ATTEMPTS` without one the job is dead.
    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        let call = work.call().clone();
        let files = call.provided::<Files>()?;
        let to = {
            let connection = call.database().unlogged(&Scope::system()).await?;
            relocation::destination(&connection, self.tenant, self.partition).await?
        };
        let Some(to) = to else { return Ok(Step::Done) };
        let (mut after, mut left) = ((Uuid::nil(), Uuid::nil()), Left::default());
        while left.in_a_row < MOST_IN_A_ROW {
            let batch = {
                let connection = call.database().unlogged(&Scope::system()).await?;
                relocation::files_after(&connection, &to, after).await?
            };
            let Some(last) = batch.last() else { break };
            after = (last.tenant_id, last.id);
            for file in &batch {
                if left.in_a_row >= MOST_IN_A_ROW {
                    break;
                }
                match relocate(&call, &files, file, &to).await {
                    Ok(is_moved) => {
                        left.in_a_row = 0;
                        let cursor = work.cursor() + i64::from(is_moved);
                        work.begin(&Scope::system()).await?.advance(cursor).await?;
                    }
                    Err(obstacle) => left.add(file.id, obstacle),
                }
            }
        }
        left.into_outcome()
    }
}

/// The reason for which a file can't be moved.
#[derive(Debug)]
enum Obstacle {
    /// The object of the file is missing, or is not what was uploaded.
    Object(Error),
    /// Anything else, such as a store that does not respond.
    Other(Error),
}

impl From<Error> for Obstacle {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

/// The files of an attempt that could not be moved.
#[derive(Debug, Default)]
struct Left {
    files: u32,
    /// The last ones that were not moved for another reason than their own objects.
    in_a_row: u32,
    first: Option<(Uuid, Error)>,
}

impl Left {
    fn add(&mut self, file: Uuid, obstacle: Obstacle) {
        let error = match obstacle {
            Obstacle::Object(error) => {
                self.in_a_row = 0;
                error
            }
            Obstacle::Other(error) => {
                self.in_a_row += 1;
                error
            }
        };
        tracing::warn!(%error, attachment = %file, "a file could not be moved");
        self.files += 1;
        self.first.get_or_insert((file, error));
    }

    /// Returns the end of the job, or the error that names the files.
    fn into_outcome(self) -> Result<Step> {
        let Some((first, error)) = self.first else {
            return Ok(Step::Done);
        };
        let others = match self.in_a_row < MOST_IN_A_ROW {
            true => "",
            false => ", further ones were not tried",
        };
        let files = self.files;
        Err(Error::internal(format!(
            "files that could not be moved: {files}{others}; the first one is {first}: {error}"
        )))
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
    let job = NewJob::of_system(PLATFORM_TENANT, MoveFiles { tenant, partition });
    let job = job.deduplicated(format!("move:{partition}"));
    enqueue(&mut connection, call, &job).await
}

/// Moves one file. False for one that is deleted or moved meanwhile, which is left alone.
async fn relocate(call: &Call, files: &Files, file: &MovedFile, to: &Destination) -> Result<bool, Obstacle> {
    if is_same_place(call, file.tenant_id, &to.store, &file.store).await? {
        let mut connection = call.database().unlogged(&Scope::tenant(file.tenant_id)).await?;
        return Ok(relocation::switch(&mut connection, file, to.store.store_id).await?);
    }
    let (old, new) = (files.stores.open(&file.store)?, files.stores.open(&to.store)?);
    let now = call.platform().clock().now();
    let announced = Announced {
        id: call.platform().ids().at(now),
        expires_at: now.after(STAGED),
    };
    let mut announcement = announce(call, file, to, announced).await?;
    if announcement == Announcement::Competing {
        // What an earlier attempt left is removed first.
        sweep(call).await?;
        announcement = announce(call, file, to, announced).await?;
    }
    match announcement {
        Announcement::Announced => {}
        Announcement::Competing => return Err(Error::internal("an earlier copy is not removed yet").into()),
        Announcement::Outdated => return Ok(false),
    }
    let moved = match copy(call, files, file, (&old, &new), announced).await {
        Ok(()) => switch(call, file, to, announced).await.map_err(Obstacle::from),
        Err(obstacle) => Err(obstacle),
    };
    // Removes the old object, or the copy if that is not used.
    remove_now(call, file.tenant_id, announced.id).await;
    moved
}

/// The outcome of the announcement of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Announcement {
    Announced,
    /// An object that may be at the same place is announced, and a sweep may be about to remove it.
    Competing,
    /// The file is deleted or moved meanwhile.
    Outdated,
}

/// Announces the copy, unless an earlier object with its key has to be removed before; then the next sweep may do so.
async fn announce(call: &Call, file: &MovedFile, to: &Destination, announced: Announced) -> Result<Announcement> {
    let mut transaction = call.database().transaction(&Scope::tenant(file.tenant_id)).await?;
    let connection = transaction.connection();
    if !relocation::lock(connection, file).await? {
        return Ok(Announcement::Outdated);
    }
    let competing = relocation::competing(connection, file).await?;
    let competing = competing.into_iter().filter(|one| one.store.may_be(&to.store));
    let competing: Vec<Uuid> = competing.map(|one| one.id).collect();
    let outcome = if competing.is_empty() {
        let now = call.platform().clock().now();
        relocation::announce(connection, file, &to.store, announced, now).await?;
        Announcement::Announced
    } else {
        // The sweep of this call takes what is due when the call began.
        relocation::expire(connection, file, competing, call.now).await?;
        Announcement::Competing
    };
    transaction.commit().await?;
    Ok(outcome)
}

/// Copies the bytes of a file, and compares the copy with the upload.
async fn copy(
    call: &Call,
    files: &Files,
    file: &MovedFile,
    (old, new): (&Driver, &Driver),
    announced: Announced,
) -> Result<(), Obstacle> {
    let (ids, now) = (call.platform().ids(), call.platform().clock().now());
    let unwritable = |error: IoError| Error::internal(format!("the folder of uploads can't be written: {error}"));
    let mut spool = Spool::create(&files.spool, ids, now).await.map_err(unwritable)?;
    check(file, digest(old, file, Some(&mut spool)).await?)?;
    spool.flush().await.map_err(unwritable)?;
    let begun = async |upload: &str| note_upload(call, file.tenant_id, announced.id, upload).await;
    let stored = new.put(&file.storage_key, spool, begun).await;
    stored.map_err(|error| new.failed(&error))?;
    check(file, digest(new, file, None).await?)
}

fn check(file: &MovedFile, found: [u8; 32]) -> Result<(), Obstacle> {
    match found.as_slice() == file.sha256 {
        true => Ok(()),
        false => Err(Obstacle::Object(Error::internal(
            "the bytes are not those of the upload",
        ))),
    }
}

/// Counts and describes that an object could not be read.
fn unreadable(store: &Driver, error: &IoError) -> Obstacle {
    let described = store.failed(error);
    match error.kind() {
        ErrorKind::NotFound => Obstacle::Object(described),
        _ => Obstacle::Other(described),
    }
}

/// Reads a whole object, writes it to a spool file if there is one, and returns its SHA-256.
async fn digest(store: &Driver, file: &MovedFile, mut spool: Option<&mut Spool>) -> Result<[u8; 32], Obstacle> {
    let length = file.file_size.unsigned_abs();
    let opened = store.open(&file.storage_key, length).await;
    let (opened, length) = opened.map_err(|error| unreadable(store, &error))?;
    let pieces = opened.pieces(0..length).await;
    let mut pieces = pieces.map_err(|error| unreadable(store, &error))?;
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

/// Lets the file refer to its copy, and announces the old object for removal, in one transaction. False if the file is deleted or moved meanwhile.
async fn switch(call: &Call, file: &MovedFile, to: &Destination, announced: Announced) -> Result<bool> {
    let now = call.platform().clock().now();
    let scope = Scope::tenant(file.tenant_id);
    let mut transaction = call.database().transaction(&scope).await?;
    let connection = transaction.connection();
    if !relocation::hand_over(connection, file, announced, now).await? {
        return Err(Error::internal("the copy was removed before the file referred to it"));
    }
    let is_moved = relocation::switch(connection, file, to.store.store_id).await?;
    if is_moved {
        transaction.commit().await?;
    }
    Ok(is_moved)
}
