//! The stores of partitions.

use backoffice_core::command::Tx;
use backoffice_core::db::Recurring;
use backoffice_core::input::Validator;
use backoffice_core::{Detail, Patch, Rejection, Result};
use diesel::{ExpressionMethods, QueryDsl, SelectableHelper, insert_into, update};
use diesel_async::RunQueryDsl;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::files::Files;
use crate::model::{CREDENTIALS, Partition, Store, StoreSettings};
use crate::schema::attachments_stores as stores;
use crate::stores::{AuthMode, Credentials, S3Settings, violation};

/// Folders of this process.
pub(crate) const LOCAL: &str = "local";
/// Buckets.
pub(crate) const S3: &str = "s3";
/// The drivers of stores.
pub(crate) const DRIVERS: &[&str] = &[LOCAL, S3];

/// Code of the rejection of settings that fit the driver, but are not allowed.
const INVALID: &str = "invalid_store";
/// The rule that a partition in S3 violates without settings.
const NEEDED: &str = "is required for the driver `s3`";

/// Returns the settings of a driver as clients see them; `None` if there are none, or a rule is violated. `before` are those of the partition, which it
/// keeps if the client sends none. While the driver is not known, settings of any driver are accepted.
pub(super) fn settings(
    driver: &str,
    given: Patch<&Map<String, Value>>,
    before: Option<Value>,
    validator: &mut Validator,
) -> Option<Value> {
    let config = match given {
        Patch::Set(config) => config,
        Patch::Keep if before.is_some() || driver != S3 => return before,
        Patch::Keep | Patch::Clear => {
            if driver == S3 {
                validator.reject("configJson", NEEDED, "required");
            }
            return None;
        }
    };
    if driver == LOCAL && !config.is_empty() {
        validator.reject("configJson", "must be empty for the driver `local`", "invalid_value");
        return None;
    }
    // No other driver than `s3` has settings.
    if driver != S3 && config.is_empty() {
        return Some(Value::Object(Map::new()));
    }
    let own = accept(S3Settings::parse(config), validator);
    let credentials = accept(Credentials::default().changed(config), validator);
    let (own, credentials) = (own?, credentials?);
    match own.to_config() {
        Ok(mut shown) => {
            credentials.show_in(&mut shown);
            Some(shown)
        }
        Err(error) => {
            validator.note(error);
            None
        }
    }
}

/// Returns the value; records the violated rules otherwise.
fn accept<T>(outcome: Result<T, Vec<Detail>>, validator: &mut Validator) -> Option<T> {
    match outcome {
        Ok(value) => Some(value),
        Err(violations) => {
            validator.note(Rejection::invalid(violations).into());
            None
        }
    }
}

/// Rejects the value of a setting that fits the driver, but is not allowed.
pub(crate) fn not_allowed(field: &str, reason: &str) -> Rejection {
    Rejection::bad_request(format!("configJson: `{field}`: {reason}"))
        .code(INVALID)
        .detail(violation(field, reason, "invalid_value"))
}

/// Creates the store of a partition, or changes its credentials, as the fields of the partition ask. `config` has the settings as the client sent them.
///
/// # Errors
/// 400 when the settings are not complete, or not allowed for the caller.
pub(super) async fn apply(
    tx: &mut Tx<'_>,
    before: Option<&Partition>,
    row: &mut Partition,
    config: Option<&Map<String, Value>>,
) -> Result<()> {
    if row.storage_driver == LOCAL {
        if before.is_none_or(|before| before.storage_driver != LOCAL) {
            insert(tx, row, LOCAL, json!({"code": row.code}), None).await?;
        }
        return Ok(());
    }
    let own = s3_settings(row)?;
    let stored = own.to_config()?;
    let is_same = before.is_some_and(|before| s3_settings(before).is_ok_and(|old| old == own));
    let rows = if is_same {
        of_place(tx, &stored).await?
    } else {
        check(tx, &own)?;
        Vec::new()
    };
    let kept = match rows.iter().find(|store| store.store_id == row.store_id) {
        Some(store) => files(tx)?.stores.credentials(store)?,
        None => Credentials::default(),
    };
    let empty = Map::new();
    let credentials = kept.changed(config.unwrap_or(&empty)).map_err(Rejection::invalid)?;
    if own.auth_mode == AuthMode::AccessKeys && !credentials.can_sign() {
        let text = "`accessKeyId` and `secretAccessKey` are required for a new place";
        return Err(Rejection::bad_request(text).code("secrets_required").into());
    }
    let mut shown = stored.clone();
    credentials.show_in(&mut shown);
    row.config = Some(shown);
    if !is_same {
        return insert(tx, row, S3, stored, Some(&credentials)).await;
    }
    let bytes = credentials.to_bytes()?;
    if kept.to_bytes()? != bytes {
        row.credentials_version += 1;
        tx.wrote_secret("configJson");
        for store in rows {
            let (tenant, now) = (tx.tenant(), tx.now());
            let sealed = seal(tx, store.store_id, &bytes)?;
            let own = stores::table.filter(stores::tenant_id.eq(tenant));
            update(own.filter(stores::id.eq(store.store_id)))
                .set((stores::credentials.eq(sealed), stores::updated_at.eq(now)))
                .prepared()
                .execute(tx.conn())
                .await?;
        }
    }
    Ok(())
}

/// Reads the settings of a partition in S3.
fn s3_settings(row: &Partition) -> Result<S3Settings> {
    let config = row.config.as_ref().and_then(Value::as_object);
    let config = config.filter(|_| row.storage_driver == S3);
    let config = config.ok_or_else(|| Rejection::invalid_field("configJson", NEEDED, "required"))?;
    Ok(S3Settings::parse(config).map_err(Rejection::invalid)?)
}

/// Rejects a place that a tenant may not choose.
fn check(tx: &Tx<'_>, settings: &S3Settings) -> Result<()> {
    let ctx = tx.context();
    if settings.auth_mode == AuthMode::Ambient && !ctx.rights().is_super_admin {
        return Err(not_allowed("authMode", "ambient can only be chosen by super administrators").into());
    }
    let Some(url) = settings.endpoint_url()? else {
        return Ok(());
    };
    let checked = files(tx)?.stores.egress().check(&url);
    Ok(checked.map_err(|rejected| not_allowed("endpoint", &rejected.to_string()))?)
}

fn files(tx: &Tx<'_>) -> Result<std::sync::Arc<Files>> {
    tx.context().call().provided::<Files>()
}

/// Inserts a store and lets the partition point to it.
async fn insert(
    tx: &mut Tx<'_>,
    row: &mut Partition,
    driver: &str,
    config: Value,
    credentials: Option<&Credentials>,
) -> Result<()> {
    let id = tx.context().new_id();
    let sealed = match credentials {
        Some(credentials) => Some(seal(tx, id, &credentials.to_bytes()?)?),
        None => None,
    };
    let store = Store {
        tenant_id: row.tenant_id,
        id,
        driver: driver.to_owned(),
        config,
        credentials: sealed,
        created_at: tx.now(),
        updated_at: tx.now(),
    };
    insert_into(stores::table)
        .values(&store)
        .prepared()
        .execute(tx.conn())
        .await?;
    row.store_id = id;
    Ok(())
}

fn seal(tx: &Tx<'_>, store: Uuid, bytes: &[u8]) -> Result<Vec<u8>> {
    let vault = tx.context().platform().vault();
    vault.seal(tx.tenant(), CREDENTIALS.of(store), bytes)
}

/// Locks the stores of the transaction's tenant at this place.
async fn of_place(tx: &mut Tx<'_>, config: &Value) -> Result<Vec<StoreSettings>> {
    let own = stores::table
        .filter(stores::tenant_id.eq(tx.tenant()))
        .filter(stores::driver.eq(S3))
        .filter(stores::config.eq(config))
        .order(stores::id)
        .select(Store::as_select())
        .for_update();
    let found: Vec<Store> = own.load(tx.conn()).await?;
    Ok(found.into_iter().map(StoreSettings::from).collect())
}
