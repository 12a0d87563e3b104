//! The request: a command that writes the job, its items and the row of the queue.

use backoffice_core::command::{Class, Command, Entity, Target, Tx};
use backoffice_core::db::{Prepared, Recurring};
use backoffice_core::events::Event;
use backoffice_core::http::Created;
use backoffice_core::jobs::{NewJob, enqueue_with};
use backoffice_core::{Feature, RequestContext, Result};
use diesel::sql_types::{Array, BigInt, Text, Timestamptz, Uuid as SqlUuid};
use diesel::{ExpressionMethods, QueryDsl, QueryableByName, insert_into, sql_query, update};
use diesel_async::RunQueryDsl;
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use super::operation::{BulkOperation, MAX_ITEMS};
use super::run::BulkJob;
use super::{event_name, shown};
use crate::Error;
use crate::model::{KIND, ProgressJob, Status};
use crate::schema::progress_jobs as jobs;

/// A started bulk operation.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Started {
    /// Always true.
    pub ok: bool,
    /// The progress job of the operation.
    pub progress_job_id: Uuid,
    /// Human-readable message.
    pub message: String,
    /// Number of distinct items.
    pub total_count: usize,
}

/// Starts a bulk operation and returns the number of its items.
#[derive(Debug, Clone)]
pub struct StartBulk<O> {
    id: Uuid,
    tenant: Uuid,
    operation: O,
    /// `None` = the items that the operation matches.
    items: Option<Vec<Uuid>>,
}

/// Starts the operation for these items, which [`checked_ids`](super::checked_ids) returned.
///
/// # Errors
/// 403 without the required features, 400 when the operation's check fails, 409 when the tenant has too many unfinished jobs.
pub async fn start<O: BulkOperation>(ctx: &RequestContext, operation: O, items: Vec<Uuid>) -> Result<Created<Started>> {
    run(ctx, operation, Some(items)).await.map(Created)
}

/// Starts the operation for the items that it matches now.
///
/// # Errors
/// As [`start`]; 400 when more than [`MAX_ITEMS`] match.
pub async fn start_matching<O: BulkOperation>(ctx: &RequestContext, operation: O) -> Result<Created<Started>> {
    run(ctx, operation, None).await.map(Created)
}

/// Starts an operation with stored parameters.
pub(super) fn start_again<O: BulkOperation>(
    ctx: &RequestContext,
    parameters: Value,
    items: Vec<Uuid>,
) -> BoxFuture<'_, Result<Started>> {
    Box::pin(async move {
        let operation: O = serde_json::from_value(parameters)?;
        run(ctx, operation, Some(items)).await
    })
}

async fn run<O: BulkOperation>(ctx: &RequestContext, operation: O, items: Option<Vec<Uuid>>) -> Result<Started> {
    let command = StartBulk {
        id: ctx.new_id(),
        tenant: ctx.tenant()?,
        operation,
        items,
    };
    let response = |total| {
        Created(Started {
            ok: true,
            progress_job_id: command.id,
            message: O::message(total),
            total_count: total,
        })
    };
    let Created(started) = ctx.execute(&command, response).await?;
    Ok(started)
}

impl<O: BulkOperation> Command for StartBulk<O> {
    const ID: &'static str = O::ID;
    const CLASS: Class = O::CLASS;
    const LABEL: &'static str = O::LABEL;
    const FEATURES: &'static [Feature] = O::FEATURES;
    const UNDOABLE: bool = false;
    const CREATES_RESOURCE: bool = true;
    type Entity = ProgressJob;
    type Output = usize;

    fn target(&self) -> Target {
        Target::New {
            tenant: self.tenant,
            id: self.id,
        }
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<usize> {
        self.operation.check(tx).await?;
        let matched;
        let items = if let Some(items) = &self.items {
            items
        } else {
            let (found, total) = self.operation.matching(tx, MAX_ITEMS).await?;
            if usize::try_from(total).is_ok_and(|total| total > MAX_ITEMS) {
                return Err(Error::TooManyItems {
                    matched: total,
                    most: MAX_ITEMS,
                }
                .into());
            }
            matched = found;
            &matched
        };
        // A job without items ends at once.
        if !items.is_empty() {
            check_open(tx).await?;
        }
        self.insert(tx, items).await?;
        if items.is_empty() {
            self.end_at_once(tx).await?;
        } else {
            let job = BulkJob {
                operation: self.operation.clone(),
            };
            let job = NewJob::of_requester(tx.context(), job)?.with_progress_job(self.id);
            enqueue_with(tx, &job).await?;
        }
        Ok(items.len())
    }
}

impl<O: BulkOperation> StartBulk<O> {
    async fn insert(&self, tx: &mut Tx<'_>, items: &[Uuid]) -> Result<()> {
        let (context, now) = (tx.context(), tx.now());
        let identity = context.identity();
        let row = ProgressJob {
            tenant_id: self.tenant,
            id: self.id,
            organization_id: context.scope().selected,
            job_type: O::ID.to_owned(),
            name: O::NAME.to_owned(),
            description: None,
            status: Status::Pending.as_str().to_owned(),
            total_count: i32::try_from(items.len()).unwrap_or(i32::MAX),
            processed_count: 0,
            succeeded_count: 0,
            skipped_count: 0,
            failed_count: 0,
            cancellable: true,
            cancel_requested_at: None,
            cancelled_by: None,
            actor_kind: identity.kind.as_str().to_owned(),
            actor_id: identity.id,
            actor_name: identity.name.clone(),
            started_at: None,
            heartbeat_at: None,
            finished_at: None,
            error_message: None,
            meta: Some(self.operation.meta(tx).await?),
            created_at: now,
            updated_at: now,
        };
        let parameters = serde_json::to_value(&self.operation)?;
        let statement = insert_into(jobs::table).values((row, jobs::parameters.eq(parameters)));
        Prepared(statement).execute(tx.conn()).await?;
        let ids: Vec<Uuid> = items.iter().map(|_| tx.new_id()).collect();
        let statement = sql_query(
            "insert into progress_job_items
                (tenant_id, id, job_id, position, resource_kind, resource_id, state, created_at, updated_at)
             select $1, i.id, $2, i.number - 1, $3, i.resource_id, 'pending', $4, $4
             from unnest($5, $6) with ordinality as i (id, resource_id, number)",
        )
        .bind::<SqlUuid, _>(self.tenant)
        .bind::<SqlUuid, _>(self.id)
        .bind::<Text, _>(<<O::Item as Command>::Entity as Entity>::KIND)
        .bind::<Timestamptz, _>(now)
        .bind::<Array<SqlUuid>, _>(ids)
        .bind::<Array<SqlUuid>, _>(items);
        Prepared(statement).execute(tx.conn()).await?;
        Ok(())
    }

    /// Completes a job without items.
    async fn end_at_once(&self, tx: &mut Tx<'_>) -> Result<()> {
        let (now, status) = (tx.now(), Status::Completed);
        update(
            jobs::table
                .filter(jobs::tenant_id.eq(self.tenant))
                .filter(jobs::id.eq(self.id)),
        )
        .set((
            jobs::status.eq(status.as_str()),
            jobs::started_at.eq(now),
            jobs::finished_at.eq(now),
        ))
        .prepared()
        .execute(tx.conn())
        .await?;
        let event = Event::new(event_name(status), self.id).with("status", status.as_str());
        tx.emit(shown(event, tx.context().identity().id));
        Ok(())
    }
}

#[derive(QueryableByName)]
struct Open {
    #[diesel(sql_type = BigInt)]
    open: i64,
}

/// Rejects a job beyond `jobs.max_open_bulk`. Requests of a tenant that start jobs pass this check one at a time.
async fn check_open(tx: &mut Tx<'_>) -> Result<()> {
    let tenant = tx.tenant();
    let statement = sql_query("select pg_advisory_xact_lock(hashtextextended($1 || ':' || $2, 0))")
        .bind::<Text, _>(KIND)
        .bind::<Text, _>(tenant.to_string());
    Prepared(statement).execute(tx.conn()).await?;
    let statement = sql_query(
        "select count(*) as open from progress_jobs where tenant_id = $1 and status in ('pending', 'running')",
    )
    .bind::<SqlUuid, _>(tenant);
    let open: Open = Prepared(statement).get_result(tx.conn()).await?;
    if open.open >= i64::from(tx.context().platform().jobs().max_open_bulk) {
        return Err(Error::TooManyJobs.into());
    }
    Ok(())
}
