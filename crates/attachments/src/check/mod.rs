//! Compares files, their objects and the counters, for the command line.

mod counters;
mod objects;

use std::collections::HashSet;
use std::time::Duration;

use backoffice_core::context::Call;
use backoffice_core::ids::PLATFORM_TENANT;
use backoffice_core::{Error, Result, Scope};
use futures_util::{StreamExt, stream};
use serde::Serialize;
use uuid::Uuid;

use crate::commands::LOCAL;
use crate::files::Files;
use crate::model::StoreSettings;
use crate::query::check::{
    FileObject, PresentStore, are_unknown, files_after, present_stores, remain, stores, tenants,
};
use crate::stores::{Driver, S3, probe as probe_store};
use objects::FoundObject;

/// Stores that are probed at once.
const PROBES: usize = 8;
/// Longest duration of a probe.
const PROBE: Duration = Duration::from_secs(20);
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
    /// Files whose object is missing or has another length. They are only reported, because a disk may not be mounted.
    pub damaged: Found<Damaged>,
    /// Paths of objects to which neither a file nor an announcement refers.
    pub unknown_objects: Found<String>,
    /// Those of the unknown objects whose paths are not ones that the server chooses: an operator or another program stored them. They are only reported.
    pub foreign_objects: Found<String>,
    /// Ids of stores that could not be read. Their files and objects are not compared.
    pub unreadable_stores: Found<Uuid>,
    /// Tenants whose counters differ from their files.
    pub wrong_counters: Found<Uuid>,
}

impl Checked {
    /// Adds an object to which nothing refers. Returns whether the server stored it, so that it may be removed.
    fn add_object(&mut self, object: &FoundObject) -> bool {
        let path = object.path.display().to_string();
        let is_own = object.key.is_some();
        if !is_own {
            self.foreign_objects.add(path.clone());
        }
        self.unknown_objects.add(path);
        is_own
    }

    /// Returns whether nothing was found.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let objects = self.damaged.number + self.unknown_objects.number;
        objects + self.unreadable_stores.number + self.wrong_counters.number == 0
    }
}

/// Compares all files of all tenants with their objects, all objects with the files, and the counters with the files. With `repair`, unknown objects are
/// removed and counters corrected. Other processes may keep running meanwhile.
///
/// # Errors
/// When the database or a folder can't be read. A bucket that can't be read is a finding, because tenants choose buckets.
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

/// A store, and the result of its probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbedStore {
    /// Its partition, its tenant (or that all tenants use it) and its driver.
    pub name: String,
    /// Whether it belongs to the platform; tenants configure the others.
    pub is_of_all: bool,
    /// Why an object of 16 bytes could not be stored, read and removed; `None` if it could.
    pub error: Option<String>,
}

/// Stores, reads and removes an object in the store of every partition, eight at once and for at most 20 s each.
///
/// # Errors
/// When the database can't be read.
pub async fn probe_stores(call: &Call) -> Result<Vec<ProbedStore>> {
    let partitions = {
        let connection = call.database().unlogged(&Scope::system()).await?;
        present_stores(&connection).await?
    };
    let probes = partitions
        .into_iter()
        .map(|present| async move { probe(call, present).await });
    Ok(stream::iter(probes).buffered(PROBES).collect().await)
}

/// Stores, reads and removes an object in a store.
async fn probe(call: &Call, present: PresentStore) -> ProbedStore {
    let PresentStore { code, store } = present;
    let tenant = store.store_tenant_id;
    let is_of_all = tenant == PLATFORM_TENANT;
    let owner = match is_of_all {
        true => "of all tenants".to_owned(),
        false => format!("of tenant {tenant}"),
    };
    let name = format!("partition {code} {owner} ({})", store.driver);
    let error = match tokio::time::timeout(PROBE, probe_store(call, tenant, &store, &code)).await {
        Ok(Ok(probed)) => probed.err().map(|error| error.to_string()),
        Ok(Err(error)) => Some(error.to_string()),
        Err(_) => Some("the store did not respond in time".to_owned()),
    };
    ProbedStore { name, is_of_all, error }
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
            if checked.unreadable_stores.first.contains(&file.store.store_id) {
                continue;
            }
            let found = match length(files, &file).await {
                Ok(found) => found,
                Err(error) => {
                    unreadable(&file.store, &error, checked)?;
                    continue;
                }
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

async fn length(files: &Files, file: &FileObject) -> Result<Option<u64>> {
    let store = files.stores.open(&file.store)?;
    let found = store.length(&file.storage_key).await;
    found.map_err(|error| store.failed(&error))
}

/// Adds a bucket that can't be read to the findings.
fn unreadable(store: &StoreSettings, error: &Error, checked: &mut Checked) -> Result<()> {
    if store.driver == LOCAL {
        return Err(Error::internal(error.to_string()));
    }
    tracing::warn!(%error, store = %store.store_id, "a store can't be read");
    checked.unreadable_stores.add(store.store_id);
    Ok(())
}

/// Looks for the file of every object.
async fn compare_objects(call: &Call, files: &Files, repair: bool, checked: &mut Checked) -> Result<()> {
    let (known, tenants) = {
        let connection = call.database().unlogged(&Scope::system()).await?;
        (stores(&connection).await?, tenants(&connection).await?)
    };
    let (mut roots, mut buckets) = (Vec::new(), HashSet::new());
    for store in &known {
        if checked.unreadable_stores.first.contains(&store.store_id) {
            continue;
        }
        let compared = match files.stores.open(store) {
            Ok(Driver::Local(local)) => {
                roots.push(local.root().to_owned());
                Ok(())
            }
            Ok(Driver::S3(s3)) => {
                // Only what this installation stores there; other programs may use the bucket too.
                let own = [store.store_tenant_id];
                let is_of_all = store.store_tenant_id == PLATFORM_TENANT;
                let of_tenants = if is_of_all { &tenants[..] } else { &own };
                let mut compared = Ok(());
                // Several stores can be the same place.
                for tenant in of_tenants {
                    let place = (store.address(), *tenant);
                    if compared.is_ok() && !buckets.contains(&place) {
                        compared = compare_bucket(call, &s3, *tenant, repair, checked).await;
                        if compared.is_ok() {
                            buckets.insert(place);
                        }
                    }
                }
                compared
            }
            Err(error) => Err(error),
        };
        if let Err(error) = compared {
            unreadable(store, &error, checked)?;
        }
    }
    roots.sort();
    roots.dedup();
    for root in roots {
        for folder in objects::folders(&root).await? {
            for batch in objects::in_folder(&folder).await?.chunks(1000) {
                let unknown = unknown(call, batch).await?;
                for object in unknown {
                    if checked.add_object(object) && repair {
                        objects::remove(object).await?;
                    }
                }
            }
        }
    }
    Ok(())
}

/// Looks for the file of every object of a tenant in a bucket.
async fn compare_bucket(call: &Call, s3: &S3, tenant: Uuid, repair: bool, checked: &mut Checked) -> Result<()> {
    let listed = s3.objects(&tenant.to_string()).await;
    let listed = listed.map_err(|error| Driver::S3(s3.clone()).failed(&error))?;
    let listed: Vec<FoundObject> = listed.into_iter().map(FoundObject::in_bucket).collect();
    for batch in listed.chunks(1000) {
        for object in unknown(call, batch).await? {
            if checked.add_object(object) && repair {
                let key = object.path.display().to_string();
                let removed = s3.remove(&key, None).await;
                removed.map_err(|error| Driver::S3(s3.clone()).failed(&error))?;
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
