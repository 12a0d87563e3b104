//! Compares files, their objects and the counters, for the command line.

mod counters;
mod objects;

use backoffice_core::context::Call;
use backoffice_core::ids::PLATFORM_TENANT;
use backoffice_core::{Result, Scope};
use serde::Serialize;
use uuid::Uuid;

use crate::files::Files;
use crate::query::check::{PresentStore, are_unknown, files_after, present_stores, remain, stores, tenants};
use crate::stores::{Driver, S3};
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

/// A place in which files lie, and whether it works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbedStore {
    /// Its driver and its tenant, or that it belongs to the platform.
    pub name: String,
    /// Why an object of 16 bytes could not be stored, read and removed.
    pub error: Option<String>,
}

/// Stores, reads and removes an object in the store of every partition, one after the other.
///
/// # Errors
/// When the database can't be read.
pub async fn probe_stores(call: &Call) -> Result<Vec<ProbedStore>> {
    let files = call.provided::<Files>()?;
    let partitions = {
        let connection = call.database().unlogged(&Scope::system()).await?;
        present_stores(&connection).await?
    };
    let mut probed = Vec::new();
    for PresentStore { code, store } in partitions {
        let tenant = store.store_tenant_id;
        let owner = match tenant == PLATFORM_TENANT {
            true => "of all tenants".to_owned(),
            false => format!("of tenant {tenant}"),
        };
        let name = format!("partition {code} {owner} ({})", store.driver);
        let error = match files.stores.open(&store) {
            Ok(driver) => {
                let ids = call.platform().ids();
                let key = format!("{tenant}/{code}/0000/00/{}", ids.at(call.platform().clock().now()));
                driver
                    .probe(&key, ids.random())
                    .await
                    .err()
                    .map(|error| error.to_string())
            }
            Err(error) => Some(error.to_string()),
        };
        probed.push(ProbedStore { name, error });
    }
    Ok(probed)
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
            let store = files.stores.open(&file.store)?;
            let found = store.length(&file.storage_key).await;
            let found = found.map_err(|error| store.failed(&error))?;
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

/// Looks for the file of every object.
async fn compare_objects(call: &Call, files: &Files, repair: bool, checked: &mut Checked) -> Result<()> {
    let (known, tenants) = {
        let connection = call.database().unlogged(&Scope::system()).await?;
        (stores(&connection).await?, tenants(&connection).await?)
    };
    let mut roots = Vec::new();
    for store in known {
        match files.stores.open(&store)? {
            Driver::Local(local) => roots.push(local.root().to_owned()),
            Driver::S3(s3) => {
                // Only what this installation stores there; others may use the bucket too.
                let own = [store.store_tenant_id];
                let of_tenants = if store.store_tenant_id == PLATFORM_TENANT {
                    &tenants[..]
                } else {
                    &own
                };
                compare_bucket(call, &s3, of_tenants, repair, checked).await?;
            }
        }
    }
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

/// Looks for the file of every object of these tenants in a bucket.
async fn compare_bucket(call: &Call, s3: &S3, tenants: &[Uuid], repair: bool, checked: &mut Checked) -> Result<()> {
    for tenant in tenants {
        let listed = s3.objects(&tenant.to_string()).await;
        let listed = listed.map_err(|error| Driver::S3(s3.clone()).failed(&error))?;
        let listed: Vec<FoundObject> = listed.into_iter().map(FoundObject::in_bucket).collect();
        for batch in listed.chunks(1000) {
            for object in unknown(call, batch).await? {
                checked.unknown_objects.add(object.path.display().to_string());
                if repair && object.key.is_some() {
                    let key = object.path.display().to_string();
                    let removed = s3.remove(&key, None).await;
                    removed.map_err(|error| Driver::S3(s3.clone()).failed(&error))?;
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
