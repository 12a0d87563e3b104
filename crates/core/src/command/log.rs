//! Writes the log entry, the resource's version and the events: one statement, after which the transaction takes no further locks.

use std::collections::{BTreeMap, BTreeSet};

use diesel::sql_types::{Array, BigInt, Bool, Bytea, Jsonb, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::affected::AffectedResource;
use super::entity::{AnyEntity, EntityRef};
use super::snapshot::Snapshot;
use super::token::UndoToken;
use super::tx::Tx;
use super::{Class, CommandInfo};
use crate::context::RequestContext;
use crate::db::{PreparedSql, Recurring};
use crate::error::{Error, Result};
use crate::events::{Event, EventRows};
use crate::identity::ActorKind;
use crate::time::Timestamp;

/// Kind of progress jobs.
const PROGRESS_JOB: &str = "progress.job";

/// The change of versions of an entry (audit specification, section 6.1).
#[derive(Debug, Clone, Copy)]
pub(super) enum Versions {
    /// A change: moves to the next number.
    Next,
    /// An undo: returns to the number before the entry; the undo entry has no number of its own.
    Back(i64),
    /// A redo: uses the same two numbers again.
    Again { before: i64, after: i64 },
}

/// The origin of an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum History {
    None,
    Undo { source: Uuid },
    Redo { source: Uuid },
}

impl History {
    /// Returns the label of an entry.
    pub(super) fn label(self, command: &CommandInfo) -> String {
        match self {
            Self::None => command.label.to_owned(),
            Self::Undo { .. } => format!("Undo: {}", command.label),
            Self::Redo { .. } => format!("Redo: {}", command.label),
        }
    }

    /// Returns an event with the field by which subscribers recognize that it follows from an undo or redo.
    pub(super) fn mark(self, event: Event) -> Event {
        match self.word() {
            Some(word) => event.with(word, true),
            None => event,
        }
    }

    fn word(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Undo { .. } => Some("undo"),
            Self::Redo { .. } => Some("redo"),
        }
    }

    fn source(self) -> Option<Uuid> {
        match self {
            Self::None => None,
            Self::Undo { source } | Self::Redo { source } => Some(source),
        }
    }
}

/// The properties by which the log finds an entry, besides its resource.
#[derive(Debug, Clone, Default)]
pub(super) struct EntryLocation {
    pub(super) organization: Option<Uuid>,
    /// Kind and id.
    pub(super) parent: Option<(String, String)>,
    /// Each is `kind:id`.
    pub(super) related: Vec<String>,
}

impl EntryLocation {
    /// Returns the location of a resource that is about to be changed.
    pub(super) fn of(context: &RequestContext, entity: &dyn AnyEntity, shown: Option<&Snapshot>) -> Self {
        let job = progress_job(context).map(|id| format!("{PROGRESS_JOB}:{id}"));
        let own = shown.into_iter().flat_map(|snapshot| entity.related(snapshot));
        Self {
            organization: shown.and_then(Snapshot::organization),
            parent: parent(entity, shown),
            related: job.into_iter().chain(own.map(|one| tagged(&one))).take(100).collect(),
        }
    }
}

fn parent(entity: &dyn AnyEntity, shown: Option<&Snapshot>) -> Option<(String, String)> {
    let parent = shown.and_then(|snapshot| entity.parent(snapshot))?;
    Some((parent.kind.to_owned(), parent.id.to_string()))
}

/// One entry to write.
pub(super) struct NewEntry<'a> {
    pub(super) id: Uuid,
    pub(super) resource: Uuid,
    /// Whole, even if it is stored without the children: the location and the kinds of the entry follow from it.
    pub(super) before: Option<&'a Snapshot>,
    /// Whole as well.
    pub(super) after: Option<&'a Snapshot>,
    pub(super) changes: BTreeMap<String, Value>,
    pub(super) versions: Versions,
    pub(super) token: Option<&'a UndoToken>,
    pub(super) history: History,
    /// The location of the entry that is undone or redone; otherwise the snapshots determine it.
    pub(super) location: Option<EntryLocation>,
    pub(super) affected: Vec<AffectedResource>,
    pub(super) dropped: Vec<String>,
    /// Whether the snapshots are stored without their children.
    pub(super) truncated: bool,
    pub(super) events: Vec<Event>,
}

impl NewEntry<'_> {
    /// Returns a snapshot of the entry as it is stored.
    pub(super) fn stored(&self, snapshot: Option<&Snapshot>) -> Option<Value> {
        if self.truncated {
            return snapshot.map(Snapshot::to_value_without_children);
        }
        snapshot.map(Snapshot::to_value)
    }
}

#[derive(QueryableByName)]
struct Numbered {
    #[diesel(sql_type = BigInt)]
    seq: i64,
}

macro_rules! statement {
    ($($linked:literal)?) => {
        concat!(
            "\
with known as (
    select version from audit_resource_versions where tenant_id = $1 and resource_kind = $2 and resource_id = $3
), moved as (
    insert into audit_resource_versions as v
        (tenant_id, id, resource_kind, resource_id, version, max_version, last_log_id, created_at, updated_at)
    values ($1, $4, $2, $3, 1, 1, $4, $5, $5)
    on conflict (tenant_id, resource_kind, resource_id) do update set
        version = coalesce($6, v.max_version + 1),
        max_version = case when $6 is null then v.max_version + 1 else v.max_version end,
        last_log_id = $4, updated_at = $5
    returning version
), stream as (
    insert into core_event_streams as s (tenant_id, id, name, last_seq, created_at, updated_at)
    values ($1, $4, 'log', $7, $5, $5)
    on conflict (tenant_id, name) do update set last_seq = s.last_seq + $7, updated_at = $5
    returning last_seq - $7 + 1 as seq
), entry as (
    insert into audit_action_logs
        (tenant_id, id, seq, organization_id, actor_kind, actor_id, actor_name, command_id, action_type, action_label, source,
         resource_kind, resource_id, parent_resource_kind, parent_resource_id, related, execution_state,
         version_before, version_after, undo_secret, undo_expires_at, source_log_id, history_action,
         snapshot_before, snapshot_after, changes, context, changed_fields, request_id, touched, progress_job_id, created_at,
         updated_at)
    select $1, $4, stream.seq, $8, $9, $10, $11, $12, $13, $14, $15,
         $2, $3, $16, $17, $18, 'done',
         case $19 when 'next' then coalesce((select version from known), 0) when 'again' then $20 end,
         case $19 when 'next' then moved.version when 'again' then $6 end,
         $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $34, $39, $5, $5
    from stream, moved
",
            $($linked,)?
            "\
), announced as (
    insert into core_outbox_events
        (tenant_id, id, seq, organization_id, name, payload, browser, feature, audience_id, log_id, request_id, occurred_at,
         created_at, updated_at)
    select $1, e.id, stream.seq + e.number, e.organization, e.name, e.payload, e.browser, e.feature, e.audience, $4, $30, $5, $5, $5
    from stream, unnest($31, $32, $33, $35, $36, $37, $38) with ordinality
        as e (id, name, payload, organization, browser, feature, audience, number)
), versioned as (
    insert into core_collections as c (tenant_id, id, kind, version, created_at, updated_at)
    select $1, (substr($4::text, 1, 14) || '7' || substr(md5($4::text || k)::uuid::text, 16))::uuid, k, 1, $5, $5
    from stream, unnest($40) as k order by k
    on conflict (tenant_id, kind) do update set version = c.version + 1, updated_at = $5
)
select seq from stream"
        )
    };
}

/// Writes an entry that other resources do not show in their history, as most are.
const WRITE: &str = statement!();
/// Writes an entry with its links to other resources.
const WRITE_LINKED: &str = statement!(
    "\
), linked as (
    insert into audit_action_links (tenant_id, id, resource_kind, resource_id, log_id)
    select distinct $1, (substr($4::text, 1, 14) || '7' || substr(md5($4::text || r)::uuid::text, 16))::uuid,
        split_part(r, ':', 1), substr(r, strpos(r, ':') + 1), $4
    from unnest($18) as r
"
);

/// Writes the entry and returns its commit number in the tenant.
pub(super) async fn write(
    tx: &mut Tx<'_>,
    command: &CommandInfo,
    entity: &dyn AnyEntity,
    entry: NewEntry<'_>,
) -> Result<i64> {
    let context = tx.context();
    let identity = context.identity();
    let shown = entry.after.or(entry.before);
    let events = events(tx, command, entity, &entry, shown.and_then(Snapshot::organization));
    let location = location(context, command, entity, &entry);
    let label = entry.history.label(command);
    let (version, mode, copied_before) = match entry.versions {
        Versions::Next => (None, "next", None),
        Versions::Back(version) => (Some(version), "back", None),
        Versions::Again { before, after } => (Some(after), "again", Some(before)),
    };
    let expires_at = entry.token.and_then(|_| tokens_end(tx));
    let numbers = i64::try_from(events.names.len()).unwrap_or(0) + 1;
    let (tenant, now) = (tx.tenant(), tx.now());
    let (parent_kind, parent_id) = location.parent.unzip();
    let sql = if location.related.is_empty() {
        WRITE
    } else {
        WRITE_LINKED
    };
    let statement = PreparedSql::new(sql)
        .bind::<SqlUuid, _>(tenant)
        .bind::<Text, _>(command.kind)
        .bind::<Text, _>(entry.resource.to_string())
        .bind::<SqlUuid, _>(entry.id)
        .bind::<Timestamptz, _>(now)
        .bind::<Nullable<BigInt>, _>(version)
        .bind::<BigInt, _>(numbers)
        .bind::<Nullable<SqlUuid>, _>(location.organization)
        .bind::<Text, _>(identity.kind.as_str())
        .bind::<Nullable<SqlUuid>, _>(identity.id)
        .bind::<Nullable<Text>, _>(identity.name.clone())
        .bind::<Text, _>(command.id)
        .bind::<Text, _>(command.class.as_str())
        .bind::<Text, _>(label)
        .bind::<Text, _>(source(context, entry.history))
        .bind::<Nullable<Text>, _>(parent_kind)
        .bind::<Nullable<Text>, _>(parent_id)
        .bind::<Array<Text>, _>(location.related)
        .bind::<Text, _>(mode)
        .bind::<Nullable<BigInt>, _>(copied_before)
        .bind::<Nullable<Bytea>, _>(entry.token.map(|token| token.secret().to_vec()))
        .bind::<Nullable<Timestamptz>, _>(expires_at)
        .bind::<Nullable<SqlUuid>, _>(entry.history.source())
        .bind::<Nullable<Text>, _>(entry.history.word())
        .bind::<Nullable<Jsonb>, _>(entry.stored(entry.before))
        .bind::<Nullable<Jsonb>, _>(entry.stored(entry.after))
        .bind::<Nullable<Jsonb>, _>((!entry.changes.is_empty()).then(|| json!(entry.changes)))
        .bind::<Nullable<Jsonb>, _>(Some(entry_context(context, command, &entry)))
        .bind::<Array<Text>, _>(entry.changes.keys().cloned().collect::<Vec<_>>())
        .bind::<Nullable<Text>, _>(Some(context.call().request_id.clone()))
        .bind::<Array<SqlUuid>, _>(events.ids)
        .bind::<Array<Text>, _>(events.names)
        .bind::<Array<Jsonb>, _>(events.payloads)
        .bind::<Nullable<Jsonb>, _>((!entry.affected.is_empty()).then(|| json!(entry.affected)))
        .bind::<Array<Nullable<SqlUuid>>, _>(events.organizations)
        .bind::<Array<Bool>, _>(events.browsers)
        .bind::<Array<Nullable<Text>>, _>(events.features)
        .bind::<Array<Nullable<SqlUuid>>, _>(events.audiences)
        .bind::<Nullable<SqlUuid>, _>(progress_job(context))
        .bind::<Array<Text>, _>(kinds(tx, command, std::slice::from_ref(&entry)));
    let numbered: Numbered = tx.run_log(statement).await?;
    Ok(numbered.seq)
}

/// Returns the kinds of the rows that a command changed: of its resources, of their parts, of affected resources, and those that it reported.
pub(super) fn kinds(tx: &Tx<'_>, command: &CommandInfo, entries: &[NewEntry<'_>]) -> Vec<String> {
    let mut kinds: BTreeSet<&str> = tx.changed_kinds().collect();
    kinds.insert(command.kind);
    for entry in entries {
        kinds.extend(entry.affected.iter().map(|one| one.kind.as_str()));
        let snapshots = entry.before.into_iter().chain(entry.after);
        kinds.extend(snapshots.flat_map(Snapshot::child_kinds));
    }
    kinds.into_iter().map(str::to_owned).collect()
}

/// An execution that ended in a server error.
pub(super) struct Failure<'a> {
    pub(super) command: &'a CommandInfo,
    pub(super) tenant: Uuid,
    pub(super) resource: Uuid,
    pub(super) history: History,
    /// The location, as far as it was known.
    pub(super) location: EntryLocation,
    pub(super) error: &'a Error,
}

const WRITE_FAILURE: &str = "\
with stream as (
    insert into core_event_streams as s (tenant_id, id, name, last_seq, created_at, updated_at)
    values ($1, $2, 'log', 1, $3, $3)
    on conflict (tenant_id, name) do update set last_seq = s.last_seq + 1, updated_at = $3
    returning last_seq as seq
), linked as (
    insert into audit_action_links (tenant_id, id, resource_kind, resource_id, log_id)
    select distinct $1, (substr($2::text, 1, 14) || '7' || substr(md5($2::text || r)::uuid::text, 16))::uuid,
        split_part(r, ':', 1), substr(r, strpos(r, ':') + 1), $2
    from unnest($20) as r
)
insert into audit_action_logs
    (tenant_id, id, seq, actor_kind, actor_id, actor_name, command_id, action_type, action_label, source,
     resource_kind, resource_id, execution_state, source_log_id, history_action, context, changed_fields,
     request_id, organization_id, parent_resource_kind, parent_resource_id, related, progress_job_id, created_at, updated_at)
select $1, $2, stream.seq, $4, $5, $6, $7, $8, $9, $10, $11, $12, 'failed', $13, $14, $15, '{}', $16, $17, $18, $19, $20, $21, $3, $3
from stream";

/// Logs an execution that ended in a server error, after its rollback.
pub(super) async fn write_failure(
    connection: &mut AsyncPgConnection,
    context: &RequestContext,
    failure: Failure<'_>,
) -> Result<()> {
    let (identity, command, location) = (context.identity(), failure.command, &failure.location);
    let mut reported = origin(context, command, failure.history);
    reported.insert(
        "errorCode".to_owned(),
        json!(failure.error.to_rejection().code_or_default()),
    );
    let parent = location.parent.as_ref();
    sql_query(WRITE_FAILURE)
        .bind::<SqlUuid, _>(failure.tenant)
        .bind::<SqlUuid, _>(context.new_id())
        .bind::<Timestamptz, _>(context.now())
        .bind::<Text, _>(identity.kind.as_str())
        .bind::<Nullable<SqlUuid>, _>(identity.id)
        .bind::<Nullable<Text>, _>(identity.name.as_deref())
        .bind::<Text, _>(command.id)
        .bind::<Text, _>(command.class.as_str())
        .bind::<Text, _>(failure.history.label(command))
        .bind::<Text, _>(source(context, failure.history))
        .bind::<Text, _>(command.kind)
        .bind::<Text, _>(failure.resource.to_string())
        .bind::<Nullable<SqlUuid>, _>(failure.history.source())
        .bind::<Nullable<Text>, _>(failure.history.word())
        .bind::<Jsonb, _>(Value::Object(reported))
        .bind::<Text, _>(&context.call().request_id)
        .bind::<Nullable<SqlUuid>, _>(location.organization)
        .bind::<Nullable<Text>, _>(parent.map(|(kind, _)| kind))
        .bind::<Nullable<Text>, _>(parent.map(|(_, id)| id))
        .bind::<Array<Text>, _>(&location.related)
        .bind::<Nullable<SqlUuid>, _>(progress_job(context))
        .prepared()
        .execute(connection)
        .await?;
    Ok(())
}

/// Returns the location of a change: that of its snapshots, or of the entry that it undoes or redoes.
pub(super) fn location(
    context: &RequestContext,
    command: &CommandInfo,
    entity: &dyn AnyEntity,
    entry: &NewEntry<'_>,
) -> EntryLocation {
    if let Some(location) = &entry.location {
        return location.clone();
    }
    let job = progress_job(context).map(|id| format!("{PROGRESS_JOB}:{id}"));
    let affected = entry.affected.iter().map(|one| format!("{}:{}", one.kind, one.id));
    let shown = entry.after.or(entry.before);
    let own = shown.into_iter().flat_map(|snapshot| entity.related(snapshot));
    // The history of rows that were deleted or restored with the resource shows this entry too.
    let tree = shown.filter(|_| command.class == Class::Delete);
    let children = tree.into_iter().flat_map(Snapshot::child_ids);
    // The job comes first, because only the first hundred are kept.
    let related = job
        .into_iter()
        .chain(affected)
        .chain(own.map(|one| tagged(&one)))
        .chain(children.map(|(kind, id)| format!("{kind}:{id}")));
    EntryLocation {
        organization: shown.and_then(Snapshot::organization),
        parent: parent(entity, shown),
        related: related.take(100).collect(),
    }
}

/// Returns the expiry of undo tokens created at this instant; `None` = never.
pub(super) fn tokens_end(tx: &Tx<'_>) -> Option<Timestamp> {
    let seconds = tx.context().platform().audit().undo.ttl_seconds?;
    let life = time::Duration::seconds(i64::try_from(seconds).unwrap_or(i64::MAX));
    Some(tx.now().after(life))
}

/// Returns the event of the bus and those of the command, which the transaction then announces.
pub(super) fn events(
    tx: &mut Tx<'_>,
    command: &CommandInfo,
    entity: &dyn AnyEntity,
    entry: &NewEntry<'_>,
    organization: Option<Uuid>,
) -> EventRows {
    let verb = match (command.class, entry.before.is_some(), entry.after.is_some()) {
        (_, false, true) if command.creates => "created",
        (Class::Create | Class::Delete, false, _) => "created",
        (Class::Create | Class::Delete, true, false) => "deleted",
        _ => "updated",
    };
    let mut own = Event::new(format!("{}.{verb}", command.kind), entry.resource).shown_to_viewers(entity.view());
    if let Some(shown) = entry.after.or(entry.before) {
        own = own.with_fields(entity.event_fields(shown));
        if let Some(audience) = entity.audience(shown) {
            own = own.for_principal(audience);
        }
    }
    own = entry.history.mark(own);
    let mut rows = EventRows::default();
    for event in std::iter::once(&own).chain(&entry.events) {
        rows.push(tx.new_id(), event, tx.tenant(), organization);
    }
    tx.announces(&rows.names);
    rows
}

pub(super) fn source(context: &RequestContext, history: History) -> &'static str {
    match (history, context.identity().kind) {
        (History::None, _) if context.job().is_some() => "job",
        (History::Undo { .. }, _) => "undo",
        (History::Redo { .. }, _) => "redo",
        (History::None, ActorKind::User) => "ui",
        (History::None, ActorKind::ApiKey) => "api_key",
        (History::None, ActorKind::System) => "system",
    }
}

pub(super) fn entry_context(context: &RequestContext, command: &CommandInfo, entry: &NewEntry<'_>) -> Value {
    let mut fields = origin(context, command, entry.history);
    if !entry.dropped.is_empty() {
        fields.insert("dropped".to_owned(), json!(entry.dropped));
    }
    if entry.truncated {
        fields.insert("snapshotTruncated".to_owned(), json!(true));
    }
    Value::Object(fields)
}

/// Returns the origin of an execution, for the context of its entry.
fn origin(context: &RequestContext, command: &CommandInfo, history: History) -> Map<String, Value> {
    let mut fields = Map::from_iter([("requestId".to_owned(), json!(context.call().request_id))]);
    if let Some(progress_job) = progress_job(context) {
        fields.insert("progressJobId".to_owned(), json!(progress_job));
    }
    if let Some(cause) = context.cause() {
        fields.insert("ruleId".to_owned(), json!(cause.rule));
        fields.insert("depth".to_owned(), json!(cause.depth));
    }
    if let (Some(word), Some(source)) = (history.word(), history.source()) {
        fields.insert("historyAction".to_owned(), json!(word));
        fields.insert("sourceLogId".to_owned(), json!(source));
        fields.insert("sourceCommandId".to_owned(), json!(command.id));
    }
    fields
}

/// Returns the progress job that this execution is a part of.
pub(super) fn progress_job(context: &RequestContext) -> Option<Uuid> {
    context.job().and_then(|job| job.progress_job)
}

fn tagged(entity: &EntityRef) -> String {
    format!("{}:{}", entity.kind, entity.id)
}
