//! Writes the entries of one command on many resources, with their versions and events: one statement for any number of them, after which the
//! transaction takes no further locks.

use diesel::sql_query;
use diesel::sql_types::{Array, BigInt, Jsonb, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use serde_json::{Value, json};

use super::CommandInfo;
use super::entity::AnyEntity;
use super::log::{self, History, NewEntry};
use super::snapshot::Snapshot;
use super::token::UndoToken;
use super::tx::Tx;
use crate::db::Prepared;
use crate::error::Result;
use crate::text::hex;

const WRITE: &str = "\
with fresh as materialized (
    select * from jsonb_to_recordset($6) as f (
        id uuid, resource_id text, organization_id uuid, parent_kind text, parent_id text, related text[], undo_secret text,
        snapshot_before jsonb, snapshot_after jsonb, changes jsonb, changed_fields text[], context jsonb, number bigint)
), moved as (
    insert into audit_resource_versions as v
        (tenant_id, id, resource_kind, resource_id, version, max_version, last_log_id, created_at, updated_at)
    select $1, id, $2, resource_id, 1, 1, id, $3, $3 from fresh order by resource_id
    on conflict (tenant_id, resource_kind, resource_id) do update set
        version = v.max_version + 1, max_version = v.max_version + 1, last_log_id = excluded.last_log_id, updated_at = $3
    returning resource_id, version
), stream as (
    insert into core_event_streams as s (tenant_id, id, name, last_seq, created_at, updated_at)
    select $1, (select id from fresh order by number limit 1), 'log', $4, $3, $3
    on conflict (tenant_id, name) do update set last_seq = s.last_seq + $4, updated_at = $3
    returning last_seq - $4 as seq
), entry as (
    insert into audit_action_logs
        (tenant_id, id, seq, organization_id, actor_kind, actor_id, actor_name, command_id, action_type, action_label, source,
         resource_kind, resource_id, parent_resource_kind, parent_resource_id, related, execution_state,
         version_before, version_after, undo_secret, undo_expires_at,
         snapshot_before, snapshot_after, changes, context, changed_fields, request_id, progress_job_id, created_at, updated_at)
    select $1, f.id, stream.seq + f.number, f.organization_id, $8, $9, $10, $11, $12, $13, $14,
         $2, f.resource_id, f.parent_kind, f.parent_id, f.related, 'done',
         -- As it was before the statement. A join could be planned as a walk over all resources of the kind.
         coalesce(
             (select v.version from audit_resource_versions v
              where v.tenant_id = $1 and v.resource_kind = $2 and v.resource_id = f.resource_id), 0),
         moved.version, decode(f.undo_secret, 'hex'), $5,
         f.snapshot_before, f.snapshot_after, f.changes, f.context, f.changed_fields, $15, $16, $3, $3
    from stream, fresh f join moved using (resource_id)
), linked as (
    insert into audit_action_links (tenant_id, id, resource_kind, resource_id, log_id)
    select distinct $1, (substr(f.id::text, 1, 14) || '7' || substr(md5(f.id::text || r)::uuid::text, 16))::uuid,
        split_part(r, ':', 1), substr(r, strpos(r, ':') + 1), f.id
    from fresh f, unnest(f.related) as r
), announced as (
    insert into core_outbox_events
        (tenant_id, id, seq, organization_id, name, payload, browser, feature, audience_id, log_id, request_id, occurred_at,
         created_at, updated_at)
    select $1, e.id, stream.seq + e.number, e.organization, e.name, e.payload, e.browser, e.feature, e.audience, e.log_id, $15,
        $3, $3, $3
    from stream, jsonb_to_recordset($7) as e (
        id uuid, name text, payload jsonb, organization uuid, browser boolean, feature text, audience uuid, log_id uuid, number bigint)
), versioned as (
    insert into core_collections as c (tenant_id, id, kind, version, created_at, updated_at)
    select $1, (substr($18::text, 1, 14) || '7' || substr(md5($18::text || k)::uuid::text, 16))::uuid, k, 1, $3, $3
    from stream, unnest($17) as k order by k
    on conflict (tenant_id, kind) do update set version = c.version + 1, updated_at = $3
)
select seq from stream";

/// Writes the entries. Each belongs to another resource of the command's kind and has changes.
pub(super) async fn write(
    tx: &mut Tx<'_>,
    command: &CommandInfo,
    entity: &dyn AnyEntity,
    entries: &[NewEntry<'_>],
) -> Result<()> {
    let (mut number, mut rows, mut announced) = (0_i64, Vec::with_capacity(entries.len()), Vec::new());
    for entry in entries {
        number += 1;
        rows.push(row(tx, command, entity, entry, number));
        let shown = entry.after.or(entry.before);
        let events = log::events(tx, command, entity, entry, shown.and_then(Snapshot::organization));
        for (index, id) in events.ids.iter().enumerate() {
            number += 1;
            announced.push(json!({
                "id": id,
                "name": events.names[index],
                "payload": events.payloads[index],
                "organization": events.organizations[index],
                "browser": events.browsers[index],
                "feature": events.features[index],
                "audience": events.audiences[index],
                "log_id": entry.id,
                "number": number,
            }));
        }
    }
    let context = tx.context();
    let identity = context.identity();
    let (tenant, now, tokens_end) = (tx.tenant(), tx.now(), log::tokens_end(tx));
    let statement = sql_query(WRITE)
        .bind::<SqlUuid, _>(tenant)
        .bind::<Text, _>(command.kind)
        .bind::<Timestamptz, _>(now)
        .bind::<BigInt, _>(number)
        .bind::<Nullable<Timestamptz>, _>(tokens_end)
        .bind::<Jsonb, _>(Value::Array(rows))
        .bind::<Jsonb, _>(Value::Array(announced))
        .bind::<Text, _>(identity.kind.as_str())
        .bind::<Nullable<SqlUuid>, _>(identity.id)
        .bind::<Nullable<Text>, _>(identity.name.as_deref())
        .bind::<Text, _>(command.id)
        .bind::<Text, _>(command.class.as_str())
        .bind::<Text, _>(command.label)
        .bind::<Text, _>(log::source(context, History::None))
        .bind::<Text, _>(&context.call().request_id)
        .bind::<Nullable<SqlUuid>, _>(log::progress_job(context))
        .bind::<Array<Text>, _>(log::kinds(tx, command, entries))
        .bind::<SqlUuid, _>(tx.new_id());
    Prepared(statement).execute(tx.conn()).await?;
    Ok(())
}

fn row(tx: &Tx<'_>, command: &CommandInfo, entity: &dyn AnyEntity, entry: &NewEntry<'_>, number: i64) -> Value {
    let location = log::location(tx.context(), command, entity, entry);
    let (parent_kind, parent_id) = location.parent.unzip();
    json!({
        "id": entry.id,
        "resource_id": entry.resource.to_string(),
        "organization_id": location.organization,
        "parent_kind": parent_kind,
        "parent_id": parent_id,
        "related": location.related,
        "undo_secret": entry.token.map(UndoToken::secret).map(hex),
        "snapshot_before": entry.stored(entry.before),
        "snapshot_after": entry.stored(entry.after),
        "changes": (!entry.changes.is_empty()).then(|| json!(entry.changes)),
        "changed_fields": entry.changes.keys().collect::<Vec<_>>(),
        "context": log::entry_context(tx.context(), command, entry),
        "number": number,
    })
}
