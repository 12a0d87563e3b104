//! The objects below the folder of a local store.

use std::io::{ErrorKind, Result as IoResult};
use std::path::{Path, PathBuf};

use backoffice_core::{Error, Result};
use tokio::task::spawn_blocking;
use uuid::Uuid;

/// The extension of a copy that is not complete yet.
const PARTIAL: &str = "part";

/// An object of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundObject {
    pub(super) path: PathBuf,
    /// Tenant and id of the file for which it was stored; `None` if the path is not one that the server chooses.
    pub(super) key: Option<(Uuid, Uuid)>,
}

impl FoundObject {
    /// Returns an object of a bucket.
    pub(super) fn in_bucket(key: String) -> Self {
        let path = PathBuf::from(key);
        let key = key_of(&path);
        Self { path, key }
    }
}

/// Returns the folder and all folders below it; none if it does not exist. Symbolic links are not followed.
pub(super) async fn folders(root: &Path) -> Result<Vec<PathBuf>> {
    let root = root.to_owned();
    blocking(move || {
        let mut found = match root.is_dir() {
            true => vec![root],
            false => Vec::new(),
        };
        let mut at = 0;
        while let Some(folder) = found.get(at).cloned() {
            for entry in std::fs::read_dir(&folder)? {
                let entry = entry?;
                if entry.file_type()?.is_dir() {
                    found.push(entry.path());
                }
            }
            at += 1;
        }
        Ok(found)
    })
    .await
}

/// Returns what lies directly in a folder, apart from folders. A folder has the files of a tenant, a partition and a month.
pub(super) async fn in_folder(folder: &Path) -> Result<Vec<FoundObject>> {
    let folder = folder.to_owned();
    blocking(move || {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&folder)? {
            let entry = entry?;
            if !entry.file_type()?.is_dir() {
                let path = entry.path();
                let key = key_of(&path);
                found.push(FoundObject { path, key });
            }
        }
        Ok(found)
    })
    .await
}

/// Returns tenant and id of a path `…/<tenant>/<code>/<year>/<month>/<id>`.
fn key_of(path: &Path) -> Option<(Uuid, Uuid)> {
    let is_complete = path.extension().is_none_or(|extension| extension == PARTIAL);
    let id = path.file_stem()?.to_str()?.parse().ok().filter(|_| is_complete)?;
    let tenant = path.ancestors().nth(4)?.file_name()?.to_str()?.parse().ok()?;
    Some((tenant, id))
}

/// Removes an object.
pub(super) async fn remove(object: &FoundObject) -> Result<()> {
    let path = object.path.clone();
    blocking(move || match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    })
    .await
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> IoResult<T> + Send + 'static) -> Result<T> {
    let done = spawn_blocking(work)
        .await
        .map_err(|error| Error::internal(error.to_string()))?;
    done.map_err(|error| Error::internal(format!("could not read a store: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_an_object_names_its_tenant_and_its_file() {
        let (tenant, id) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let path = |end: &str| PathBuf::from(format!("/files/docs/{tenant}/docs/2026/11/{end}"));
        assert_eq!(key_of(&path(&id.to_string())), Some((tenant, id)));
        assert_eq!(key_of(&path(&format!("{id}.part"))), Some((tenant, id)));
        for other in [format!("{id}.txt"), "note".to_owned(), format!("more/{id}")] {
            assert_eq!(key_of(&path(&other)), None, "{other}");
        }
        assert_eq!(key_of(Path::new("lock")), None);
    }
}
