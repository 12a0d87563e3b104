//! What lists show beside their rows: names and numbers of other rows.

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

use crate::collections::Versioned;
use crate::context::RequestContext;
use crate::error::Result;

/// Identifies a row beside which something is shown: the tenant whose rows the caller sees (`None` = all tenants), the caller's tenant, whose
/// versions count too, and the row.
pub type BesideKey = (Option<Uuid>, Uuid, Uuid);

/// What a list shows beside its rows, for the version of the collections at which it was read. One list has one: another list that shows other
/// collections has other versions.
pub type Beside<V> = Versioned<BesideKey, V>;

impl RequestContext {
    /// Returns what is shown beside these rows: from memory, as far as it was read at the version that the response shows; `load` reads the rest
    /// with one statement. For values that are the same for every caller of a tenant.
    ///
    /// # Errors
    /// Those of `load`.
    pub async fn beside<V: Clone + Send + Sync + 'static, L: IntoIterator<Item = (Uuid, V)>>(
        &self,
        kept: &Beside<V>,
        rows: impl IntoIterator<Item = Uuid>,
        load: impl AsyncFnOnce(HashSet<Uuid>) -> Result<L>,
    ) -> Result<HashMap<Uuid, V>> {
        let version = self.shown_version();
        let key = |row| (self.scope().visible_tenants.one(), self.identity().tenant, row);
        let mut values = HashMap::new();
        let mut missing = HashSet::new();
        for row in rows {
            match version.and_then(|version| kept.find(&key(row), version)) {
                Some(value) => drop(values.insert(row, value)),
                None => drop(missing.insert(row)),
            }
        }
        if missing.is_empty() {
            return Ok(values);
        }
        for (row, value) in load(missing).await? {
            if let Some(version) = version {
                kept.keep(key(row), version, value.clone());
            }
            values.insert(row, value);
        }
        Ok(values)
    }
}
