//! The stores of partitions.

use backoffice_core::{RequestContext, Result};
use serde_json::json;

use crate::commands::LOCAL;
use crate::files::Files;
use crate::model::{Partition, StoreSettings};
use crate::query::partitions;
use crate::stores::Driver;

/// Opens the store of new files of a partition.
///
/// # Errors
/// 500 when that is not possible.
pub(super) async fn open(ctx: &RequestContext, partition: &Partition) -> Result<Driver> {
    let settings = settings(ctx, partition).await?;
    ctx.call().provided::<Files>()?.stores.open(&settings)
}

/// Returns the store of new files of a partition. Only stores in S3 cost a statement: the folder of a local one follows from the partition.
///
/// # Errors
/// When the database can't be reached.
pub(super) async fn settings(ctx: &RequestContext, partition: &Partition) -> Result<StoreSettings> {
    if partition.storage_driver == LOCAL {
        return Ok(StoreSettings {
            store_tenant_id: partition.tenant_id,
            store_id: partition.store_id,
            driver: LOCAL.to_owned(),
            config: json!({"code": partition.code}),
            credentials: None,
        });
    }
    let connection = ctx.read().await?;
    partitions::store(&connection, partition).await
}
