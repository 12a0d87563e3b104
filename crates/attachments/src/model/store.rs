//! Places where files lie.

use std::fmt;

use backoffice_core::Timestamp;
use backoffice_core::vault::SealedColumn;
use diesel::pg::Pg;
use diesel::sql_types::{Binary, Jsonb, Nullable, Text, Uuid as SqlUuid};
use diesel::{Insertable, Queryable, QueryableByName, Selectable};
use serde_json::Value;
use uuid::Uuid;

use crate::schema::attachments_stores as stores;

/// The sealed credentials of stores.
pub(crate) const CREDENTIALS: SealedColumn = SealedColumn {
    table: "attachments_stores",
    column: "credentials",
};

/// A place where files lie. Only its credentials change.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable, Insertable)]
#[diesel(table_name = stores, treat_none_as_default_value = false, check_for_backend(Pg))]
pub(crate) struct Store {
    /// The tenant.
    pub(crate) tenant_id: Uuid,
    /// The id.
    pub(crate) id: Uuid,
    /// `local` or `s3`.
    pub(crate) driver: String,
    /// `{"code": …}`, the code of its partition, and the settings of S3.
    pub(crate) config: Value,
    /// Sealed credentials of S3.
    pub(crate) credentials: Option<Vec<u8>>,
    /// Time of creation.
    pub(crate) created_at: Timestamp,
    /// Time of the last change of the credentials.
    pub(crate) updated_at: Timestamp,
}

/// What is needed to open a store.
#[derive(Clone, PartialEq, Eq, Queryable, QueryableByName)]
pub(crate) struct StoreSettings {
    /// The tenant of the store.
    #[diesel(sql_type = SqlUuid)]
    pub(crate) store_tenant_id: Uuid,
    /// The store.
    #[diesel(sql_type = SqlUuid)]
    pub(crate) store_id: Uuid,
    /// Its driver.
    #[diesel(sql_type = Text)]
    pub(crate) driver: String,
    /// Its settings.
    #[diesel(sql_type = Jsonb)]
    pub(crate) config: Value,
    /// Its sealed credentials.
    #[diesel(sql_type = Nullable<Binary>)]
    pub(crate) credentials: Option<Vec<u8>>,
}

/// The columns of [`StoreSettings`].
pub(crate) const STORE_SETTINGS: (
    stores::tenant_id,
    stores::id,
    stores::driver,
    stores::config,
    stores::credentials,
) = (
    stores::tenant_id,
    stores::id,
    stores::driver,
    stores::config,
    stores::credentials,
);

impl fmt::Debug for StoreSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreSettings")
            .field("driver", &self.driver)
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

impl From<Store> for StoreSettings {
    fn from(store: Store) -> Self {
        Self {
            store_tenant_id: store.tenant_id,
            store_id: store.id,
            driver: store.driver,
            config: store.config,
            credentials: store.credentials,
        }
    }
}
