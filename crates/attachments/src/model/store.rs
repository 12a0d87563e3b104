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

impl StoreSettings {
    /// Returns whether both may be the same place, so that equal keys may be the same object. A bucket can be reached by several endpoints, and not every
    /// server looks at the region; stores with another bucket, prefix or folder are different places.
    pub(crate) fn may_be(&self, other: &Self) -> bool {
        let is_same = |field| self.setting(field) == other.setting(field);
        self.driver == other.driver && ["code", "bucket", "pathPrefix"].into_iter().all(is_same)
    }

    /// Returns whether both are certainly the same place.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.driver == other.driver && self.config == other.config
    }

    /// Returns endpoint, bucket and prefix: what the address of an object consists of besides its key.
    pub(crate) fn address(&self) -> [Option<&str>; 3] {
        let endpoint = self.setting("endpoint").map(|text| text.trim_end_matches('/'));
        [endpoint, self.setting("bucket"), self.setting("pathPrefix")]
    }

    fn setting(&self, field: &str) -> Option<&str> {
        self.config.get(field).and_then(Value::as_str)
    }
}

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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn store(driver: &str, config: Value) -> StoreSettings {
        StoreSettings {
            store_tenant_id: Uuid::from_u128(1),
            store_id: Uuid::from_u128(2),
            driver: driver.to_owned(),
            config,
            credentials: None,
        }
    }

    #[test]
    fn stores_with_another_bucket_prefix_or_folder_are_different_places() {
        let config =
            json!({"bucket": "files", "pathPrefix": null, "endpoint": "https://a.example", "region": "us-east-1"});
        let one = store("s3", config.clone());
        let other = |field: &str, value: &str| {
            let mut changed = config.clone();
            changed[field] = json!(value);
            store("s3", changed)
        };
        assert!(one.is(&one.clone()) && one.may_be(&one.clone()));
        for (field, value) in [("endpoint", "https://b.example"), ("region", "eu-west-1")] {
            let other = other(field, value);
            assert!(!one.is(&other) && one.may_be(&other), "{field}");
        }
        for (field, value) in [("bucket", "others"), ("pathPrefix", "office/")] {
            assert!(!one.may_be(&other(field, value)), "{field}");
        }
        let folder = store("local", json!({"code": "docs"}));
        assert!(folder.may_be(&folder.clone()) && !folder.may_be(&one));
        assert!(!folder.may_be(&store("local", json!({"code": "others"}))));
        assert_eq!(one.address(), other("endpoint", "https://a.example/").address());
    }
}
