//! Compares files, their objects and the counters, for the command line.

mod counters;
mod objects;

use backoffice_core::context::Call;
use backoffice_core::{Result, Scope};
use serde::Serialize;
use uuid::Uuid;

use crate::files::Files;
use crate::query::check::{FileObject, are_unknown, files_after, remain, stores};
use crate::stores::Local;
use objects::FoundObject;

/// Most findings of each kind that are listed.
const MOST_LISTED: usize = 1000;

/// A file whose object is missing or has another length.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Damaged {
    /// The tenant.
    pub tenant_id: Uuid,
    /// The file.
    pub id: Uuid,
    /// The length that the file should have.
    pub file_size: i64,
    /// The length of the object; `None` if it does not exist.
    pub object_size: Option<u64>,
}

/// Findings of one kind: their number, and the first 1000.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Found<T> {
    /// How many there are.
    pub number: u64,
    /// The first 1000.
    pub first: Vec<T>,
}

impl<T> Default for Found<T> {
    fn default() -> Self {
        Self {
            number: 0,
            first: Vec::new(),
        }
    }
}

impl<T> Found<T> {
    fn add(&mut self, one: T) {
        self.number += 1;
        if self.first.len() < MOST_LISTED {
            self.first.push(one);
        }
    }
}

/// What a check found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Checked {
    /// The files that were compared.
    pub files: u64,
    /// Files whose object is missing or has another length. They are only reported: perhaps a disk is not there.
    pub damaged: Found<Damaged>,
    /// Paths of objects to which neither a file nor an announcement refers.
    pub unknown_objects: Found<String>,
    /// Tenants whose counters differ from their files.
    pub wrong_counters: Found<Uuid>,
}

impl Checked {
    /// Returns whether nothing was found.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.damaged.number + self.unknown_objects.number + self.wrong_counters.number == 0
    }
}

/// Compares all files of all tenants with their objects, all objects with the files, and the counters with the files. With `repair`, unknown objects are
/// removed and counters corrected; other processes may go on working.
///
/// # Errors
/// When the database or a store can't be read.
pub async fn check(call: &Call, repair: bool) -> Result<Checked> {
    let files = call.provided::<Files>()?;
    let mut checked = Checked::default();
    compare_files(call, &files, &mut checked).await?;
    compare_objects(call, &files, repair, &mut checked).await?;
    for tenant in counters::wrong(call).await? {
        checked.wrong_counters.add(tenant);
        if repair {
            counters::repair(call, tenant).await?;
        }
    }
    Ok(checked)
}

/// Looks for the object of every file.
async fn compare_files(call: &Call, files: &Files, checked: &mut Checked) -> Result<()> {
    let mut after = (Uuid::nil(), Uuid::nil());
    loop {
        let batch = {
            let connection = call.database().unlogged(&Scope::system()).await?;
            files_after(&connection, after).await?
        };
        let Some(last) = batch.last() else { return Ok(()) };
        after = (last.tenant_id, last.id);
        checked.files += batch.len() as u64;
        let mut damaged = Vec::new();
        for file in batch {
            let found = match open(files, &file) {
                Some(store) => store.length(&file.storage_key).await?,
                None => None,
            };
            if found != Some(file.file_size.unsigned_abs()) {
                damaged.push((file, found));
            }
        }
        if damaged.is_empty() {
            continue;
        }
        // Files that were deleted meanwhile are not damaged.
        let connection = call.database().unlogged(&Scope::system()).await?;
        let keys: Vec<(Uuid, Uuid)> = damaged.iter().map(|(file, _)| (file.tenant_id, file.id)).collect();
        let remaining = remain(&connection, &keys).await?;
        for (file, object_size) in damaged {
            if remaining.contains(&file.id) {
                checked.damaged.add(Damaged {
                    tenant_id: file.tenant_id,
                    id: file.id,
                    file_size: file.file_size,
                    object_size,
                });
            }
        }
    }
}

fn open(files: &Files, file: &FileObject) -> Option<Local> {
    files.stores.open(file.driver.as_deref()?, file.config.as_ref()?)
}

/// Looks for the file of every object.
async fn compare_objects(call: &Call, files: &Files, repair: bool, checked: &mut Checked) -> Result<()> {
    let known = {
        let connection = call.database().unlogged(&Scope::system()).await?;
        stores(&connection).await?
    };
    let mut roots: Vec<_> = known
        .iter()
        .filter_map(|store| files.stores.open(&store.driver, &store.config))
        .map(|store| store.root().to_owned())
        .collect();
    roots.sort();
    roots.dedup();
    for root in roots {
        for folder in objects::folders(&root).await? {
            for batch in objects::in_folder(&folder).await?.chunks(1000) {
                let unknown = unknown(call, batch).await?;
                for object in unknown {
                    checked.unknown_objects.add(object.path.display().to_string());
                    if repair && object.key.is_some() {
                        objects::remove(object).await?;
                    }
                }
            }
        }
    }
    Ok(())
}

/// Returns the objects to which nothing refers. They were listed before, so that an object that was announced since is known.
async fn unknown<'a>(call: &Call, listed: &'a [FoundObject]) -> Result<Vec<&'a FoundObject>> {
    let keys: Vec<(Uuid, Uuid)> = listed.iter().filter_map(|object| object.key).collect();
    let connection = call.database().unlogged(&Scope::system()).await?;
    let unknown = are_unknown(&connection, &keys).await?;
    let is_unknown = |object: &&FoundObject| object.key.is_none_or(|(_, id)| unknown.contains(&id));
    Ok(listed.iter().filter(is_unknown).collect())
}
