//! Small objects that show whether a store works, and whether two stores are the same place.

use std::io::{Error as IoError, ErrorKind, Result as IoResult};

use backoffice_core::context::Call;
use backoffice_core::{Result, Scope};
use time::Duration;
use uuid::Uuid;

use super::{Driver, stage};
use crate::files::Files;
use crate::model::StoreSettings;
use crate::query::staged::{self, Staged};

/// Time after which the sweep removes a probe that was not removed at once.
const STAGED: Duration = Duration::hours(2);
/// The part of the key, where other objects have the code of a partition, of the objects that compare two stores.
const COMPARISONS: &str = "comparison";

/// An object of 16 random bytes. It is announced like that of an upload, so that none is left behind.
#[derive(Debug)]
struct Probe {
    tenant: Uuid,
    id: Uuid,
    key: String,
    bytes: [u8; 16],
}

impl Probe {
    /// Announces a probe. Its key has the form of those of files, so that the check finds it too.
    async fn announce(call: &Call, tenant: Uuid, store: &StoreSettings, code: &str) -> Result<Self> {
        let (ids, now) = (call.platform().ids(), call.platform().clock().now());
        let id = ids.at(now);
        let key = format!("{tenant}/{code}/0000/00/{id}");
        let row = Staged {
            tenant_id: tenant,
            id,
            store_tenant_id: store.store_tenant_id,
            store_id: store.store_id,
            storage_key: key.clone(),
            expires_at: now.after(STAGED),
            created_at: now,
            updated_at: now,
        };
        stage(call, &row).await?;
        let bytes = ids.random();
        Ok(Self { tenant, id, key, bytes })
    }

    /// Stores the object. If the store says that it has stored nothing, the announcement ends too.
    async fn put(&self, call: &Call, store: &Driver) -> Result<IoResult<()>> {
        let stored = store.put_bytes(&self.key, self.bytes).await;
        if stored.as_ref().is_err_and(stored_nothing) {
            self.forget(call).await?;
        }
        Ok(stored)
    }

    /// Removes the object. What can't be removed remains announced, and the sweep tries it again.
    async fn remove(&self, call: &Call, store: &Driver) -> Result<IoResult<()>> {
        let removed = store.remove(&self.key, None).await;
        if removed.is_ok() {
            self.forget(call).await?;
        }
        Ok(removed)
    }

    async fn forget(&self, call: &Call) -> Result<()> {
        let mut connection = call.database().unlogged(&Scope::tenant(self.tenant)).await?;
        staged::forget(&mut connection, self.tenant, self.id).await
    }

    /// Returns whether a store has the object.
    async fn is_in(&self, store: &Driver) -> IoResult<bool> {
        match store.read(&self.key, 16).await {
            Ok(bytes) => Ok(bytes.as_slice() == self.bytes),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Checks that a store returns what it has just stored.
    async fn check(&self, store: &Driver) -> IoResult<()> {
        match self.is_in(store).await? {
            true => Ok(()),
            false => Err(IoError::new(ErrorKind::InvalidData, "the object changed")),
        }
    }
}

/// Returns whether the error of a store says that it has stored nothing.
fn stored_nothing(error: &IoError) -> bool {
    let kinds = [
        ErrorKind::PermissionDenied,
        ErrorKind::NotFound,
        ErrorKind::NotConnected,
    ];
    kinds.contains(&error.kind())
}

/// Stores an object of 16 bytes, reads it, and removes it. The inner result is that of the store.
///
/// # Errors
/// When the store can't be opened, or the object can't be announced.
pub(crate) async fn probe(call: &Call, tenant: Uuid, store: &StoreSettings, code: &str) -> Result<IoResult<()>> {
    let driver = call.provided::<Files>()?.stores.open(store)?;
    let probe = Probe::announce(call, tenant, store, code).await?;
    if let Err(error) = probe.put(call, &driver).await? {
        return Ok(Err(error));
    }
    let checked = probe.check(&driver).await;
    let removed = probe.remove(call, &driver).await?;
    Ok(removed.and(checked))
}

/// Returns whether equal keys are the same object in two stores. If their settings leave that open, an object of this tenant decides, which is stored in
/// the first one and looked for in the second one.
///
/// # Errors
/// When that is open, and one of the stores does not work.
pub(crate) async fn is_same_place(
    call: &Call,
    tenant: Uuid,
    one: &StoreSettings,
    other: &StoreSettings,
) -> Result<bool> {
    if one.is(other) || !one.may_be(other) {
        return Ok(one.is(other));
    }
    let stores = &call.provided::<Files>()?.stores;
    let pair = [one.store_id.min(other.store_id), one.store_id.max(other.store_id)];
    if let Some(known) = stores.same_places.get(&pair) {
        return Ok(known);
    }
    let (first, second) = (stores.open(one)?, stores.open(other)?);
    let probe = Probe::announce(call, tenant, one, COMPARISONS).await?;
    let stored = probe.put(call, &first).await?;
    stored.map_err(|error| first.failed(&error))?;
    let found = match probe.check(&first).await {
        Ok(()) => probe.is_in(&second).await.map_err(|error| second.failed(&error)),
        Err(error) => Err(first.failed(&error)),
    };
    if let Err(error) = probe.remove(call, &first).await? {
        tracing::warn!(%error, store = %one.store_id, "could not remove an object at once");
    }
    let is_same = found?;
    stores.same_places.insert(pair, is_same);
    Ok(is_same)
}
