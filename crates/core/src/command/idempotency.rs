//! `Idempotency-Key`: the response is stored in the transaction of the effect and returned again for 24 hours.

use actix_web::http::StatusCode;
use diesel::sql_types::{BigInt, Bool, Jsonb, Text};
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl, QueryableByName, insert_into, sql_query};
use diesel_async::RunQueryDsl;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use time::Duration;
use uuid::Uuid;

use super::Operation;
use super::tx::Tx;
use crate::context::{IdempotencyKey, RequestContext};
use crate::db::{Prepared, Recurring, core_idempotency_keys as keys};
use crate::error::{Error, Rejection, Result, StoredResponse};
use crate::scope::{Scope, VisibleTenants};

/// The header of an undoable write.
const OPERATION: &str = "x-operation";
/// Most bytes of headers that are stored with a response; a header that does not fit is left out.
const MOST_HEADER_BYTES: usize = 16 * 1024;

#[derive(QueryableByName)]
struct Lock {
    #[diesel(sql_type = Bool)]
    granted: bool,
}

/// Returns the owner of the key, in a tenant whose rows the transaction sees: the selected tenant, if the caller may work in others.
fn owner(context: &RequestContext) -> (Uuid, &'static str, Uuid) {
    let identity = context.identity();
    let tenant = match context.scope().visible_tenants {
        VisibleTenants::Tenant(tenant) => tenant,
        VisibleTenants::All => identity.tenant,
    };
    (tenant, identity.kind.as_str(), identity.id.unwrap_or_default())
}

/// Takes the key. A repeated request ends here with the stored response.
pub(super) async fn begin(tx: &mut Tx<'_>) -> Result<()> {
    let context = tx.context();
    let Some(key) = context.idempotency() else {
        return Ok(());
    };
    let lock: Lock = sql_query("select pg_try_advisory_xact_lock($1) as granted")
        .bind::<BigInt, _>(lock_number(context, key))
        .prepared()
        .get_result(tx.conn())
        .await?;
    if !lock.granted {
        return Err(
            Rejection::conflict("A request with this Idempotency-Key is in progress")
                .code("idempotency_in_progress")
                .into(),
        );
    }
    let (tenant, kind, actor) = owner(context);
    let now = tx.now();
    let stored: Option<(Vec<u8>, i16, Value, Value, crate::time::Timestamp)> = keys::table
        .filter(keys::tenant_id.eq(tenant))
        .filter(keys::actor_kind.eq(kind))
        .filter(keys::actor_id.eq(actor))
        .filter(keys::route.eq(&key.route))
        .filter(keys::key.eq(&key.key))
        .select((
            keys::body_hash,
            keys::status,
            keys::headers,
            keys::body,
            keys::expires_at,
        ))
        .first(tx.conn())
        .await
        .optional()?;
    match stored {
        Some((.., expires_at)) if expires_at <= now => {
            diesel::delete(
                keys::table
                    .filter(keys::tenant_id.eq(tenant))
                    .filter(keys::actor_kind.eq(kind))
                    .filter(keys::actor_id.eq(actor))
                    .filter(keys::route.eq(&key.route))
                    .filter(keys::key.eq(&key.key)),
            )
            .execute(tx.conn())
            .await?;
            Ok(())
        }
        Some((hash, ..)) if hash != key.body_hash()? => Err(Rejection::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "This Idempotency-Key was used with another request",
        )
        .code("idempotency_mismatch")
        .into()),
        Some((_, status, headers, body, _)) => Err(Error::Replayed(Box::new(response(status, headers, body)))),
        None => Ok(()),
    }
}

/// Returns the response of a stored row.
fn response(status: i16, headers: Value, body: Value) -> StoredResponse {
    let fields = match headers {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    let (mut operation, mut headers) = (None, Vec::with_capacity(fields.len()));
    for (name, value) in fields {
        match value {
            Value::String(value) if name == OPERATION => operation = Some(value),
            Value::String(value) => headers.push((name, value)),
            _ => {}
        }
    }
    StoredResponse {
        status: u16::try_from(status).unwrap_or(200),
        operation,
        headers,
        body,
    }
}

/// Returns the headers to store: that of the undoable write, and those that the command has set.
fn headers(operation: Option<&Operation>, set: &[(&'static str, String)]) -> Value {
    let operation = operation.map(|operation| (OPERATION, operation.to_header()));
    let (mut fields, mut left) = (Map::new(), MOST_HEADER_BYTES);
    for (name, value) in operation.into_iter().chain(set.iter().cloned()) {
        if let Some(rest) = left.checked_sub(name.len() + value.len()) {
            left = rest;
            fields.insert(name.to_owned(), Value::String(value));
        }
    }
    Value::Object(fields)
}

/// Stores the response with the effect; fields that are shown once are stored as null.
pub(super) async fn finish(
    tx: &mut Tx<'_>,
    (status, mut body): (StatusCode, Value),
    operation: Option<&Operation>,
) -> Result<()> {
    let context = tx.context();
    let Some(key) = context.idempotency() else {
        return Ok(());
    };
    let (tenant, kind, actor) = owner(context);
    for field in key.one_time {
        if let Some(value) = body.get_mut(*field) {
            *value = Value::Null;
        }
    }
    let headers = headers(operation, tx.response_headers());
    let statement = insert_into(keys::table).values((
        keys::tenant_id.eq(tenant),
        keys::id.eq(tx.new_id()),
        keys::actor_kind.eq(kind),
        keys::actor_id.eq(actor),
        keys::route.eq(&key.route),
        keys::key.eq(&key.key),
        keys::body_hash.eq(key.body_hash()?.to_vec()),
        keys::status.eq(i16::try_from(status.as_u16()).unwrap_or(200)),
        keys::headers.eq(headers),
        keys::body.eq(body),
        keys::expires_at.eq(tx.now().after(Duration::hours(24))),
    ));
    Prepared(statement).execute(tx.conn()).await?;
    Ok(())
}

/// Changes a field of the stored response of this request, after its commit.
pub(super) async fn amend(context: &RequestContext, field: &str, value: &Value) -> Result<()> {
    let Some(key) = context.idempotency() else {
        return Ok(());
    };
    let (tenant, kind, actor) = owner(context);
    let mut connection = context.database().unlogged(&Scope::tenant(tenant)).await?;
    sql_query(
        "update core_idempotency_keys set body = jsonb_set(body, array[$6], $7) \
         where tenant_id = $1 and actor_kind = $2 and actor_id = $3 and route = $4 and key = $5",
    )
    .bind::<diesel::sql_types::Uuid, _>(tenant)
    .bind::<Text, _>(kind)
    .bind::<diesel::sql_types::Uuid, _>(actor)
    .bind::<Text, _>(&key.route)
    .bind::<Text, _>(&key.key)
    .bind::<Text, _>(field)
    .bind::<Jsonb, _>(value)
    .prepared()
    .execute(&mut *connection)
    .await?;
    Ok(())
}

fn lock_number(context: &RequestContext, key: &IdempotencyKey) -> i64 {
    let (tenant, kind, actor) = owner(context);
    let mut hash = Sha256::new();
    for part in [
        tenant.as_bytes().as_slice(),
        kind.as_bytes(),
        actor.as_bytes(),
        key.route.as_bytes(),
        key.key.as_bytes(),
    ] {
        hash.update(part);
        hash.update([0]);
    }
    let digest: [u8; 32] = hash.finalize().into();
    let mut first = [0_u8; 8];
    first.copy_from_slice(&digest[..8]);
    i64::from_be_bytes(first)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_headers_of_a_response_are_stored_as_far_as_they_fit() {
        let set = [
            ("x-first", "1".to_owned()),
            ("x-large", "x".repeat(MOST_HEADER_BYTES)),
            ("x-last", "2".to_owned()),
        ];

        let stored = headers(None, &set);

        assert_eq!(stored, json!({"x-first": "1", "x-last": "2"}));
        let mut fields = json!({"x-operation": "o"});
        fields["x-first"] = stored["x-first"].clone();
        let replayed = response(201, fields, json!({}));
        assert_eq!((replayed.status, replayed.operation.as_deref()), (201, Some("o")));
        assert_eq!(replayed.headers, [("x-first".to_owned(), "1".to_owned())]);
    }
}
