//! Executions from the request to its response.

use std::sync::Arc;

use actix_web::http::StatusCode;
use backoffice_core::db::Connection;
use backoffice_core::http::Json;
use backoffice_core::shares::Share;
use backoffice_core::{Error, Rejection, RequestContext, Result};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::BY_ACTOR;
use super::input::ExecutionRequest;
use super::once::{RequestKey, RunningExecutions};
use super::slots::{ExecutionSlot, ExecutionSlots};
use crate::commands::{RecordRun, record_id};
use crate::compiled::{self, CandidateFilter, CompiledRule, TenantRules};
use crate::condition::reference::RunUser;
use crate::engine::run::{self, RunMode};
use crate::engine::{RunOutcome, RunSubject, Trigger, need_local_date, recipients, settle, user_of};
use crate::model::Run;

/// A validated request that is counted, and not a repeat of an earlier one. It has a slot among the executions under way.
pub(super) struct AdmittedRequest<'a> {
    ctx: &'a RequestContext,
    tenant: Uuid,
    request: ExecutionRequest,
    once: Once,
    slot: ExecutionSlot,
}

/// The occasion of an execution. With an `Idempotency-Key` it is that of every repeat, and nothing else of it begins in this process until this is
/// dropped.
struct Once {
    occasion: Uuid,
    _running: Option<Share<Uuid>>,
}

impl Once {
    fn begin(ctx: &RequestContext, of_key: Option<Uuid>) -> Result<Self> {
        let running = match of_key {
            Some(occasion) => Some(ctx.call().provided::<RunningExecutions>()?.begin(occasion)?),
            None => None,
        };
        Ok(Self {
            occasion: of_key.unwrap_or_else(|| ctx.new_id()),
            _running: running,
        })
    }
}

impl<'a> AdmittedRequest<'a> {
    /// Ends a repeated request with the stored response, or with 409 while the first one is under way. Takes a slot for any other one and counts it, before
    /// anything is read for it.
    pub(super) async fn new(
        ctx: &'a RequestContext,
        (route, key): (&str, RequestKey),
        request: ExecutionRequest,
    ) -> Result<Self> {
        let tenant = ctx.tenant()?;
        if tenant.is_nil() {
            return Err(Rejection::tenant_required().into());
        }
        let of_key = key.occasion(ctx, tenant, route).filter(|_| !request.is_dry);
        let once = Once::begin(ctx, of_key)?;
        if !request.is_dry {
            ctx.reject_repeat().await?;
        }
        let identity = ctx.identity();
        let slot = ctx.call().provided::<ExecutionSlots>()?.take(tenant, identity)?;
        let actor = format!(
            "{tenant}:{}:{}",
            identity.kind.as_str(),
            identity.id.unwrap_or_default()
        );
        ctx.platform().rate_limits().count(ctx.call(), BY_ACTOR, &actor).await?;
        Ok(Self {
            ctx,
            tenant,
            request,
            once,
            slot,
        })
    }

    /// Sets the kind of the record, if the request has none.
    pub(super) fn set_default_kind(&mut self, kind: &str) {
        if self.request.entity_type.is_empty() {
            kind.clone_into(&mut self.request.entity_type);
        }
    }

    /// Reads everything that rules need.
    pub(super) async fn begin(self, trigger: Trigger) -> Result<PendingRun<'a>> {
        PendingRun::new(self, trigger).await.map_err(engine_failure)
    }
}

/// Returns the 500 of a failure of the execution itself.
fn engine_failure(error: Error) -> Error {
    match error {
        Error::Internal(_) => {
            tracing::error!(%error, "execution of rules failed");
            Rejection::new(StatusCode::INTERNAL_SERVER_ERROR, "Rule execution failed").into()
        }
        other => other,
    }
}

/// An execution that has not begun: the request with everything that rules need.
pub(super) struct PendingRun<'a> {
    ctx: &'a RequestContext,
    request: ExecutionRequest,
    trigger: Trigger,
    tenant: Uuid,
    organization: Option<Uuid>,
    rules: Arc<TenantRules>,
    user: RunUser,
    once: Once,
    /// Held until the response is complete.
    _slot: ExecutionSlot,
}

impl<'a> PendingRun<'a> {
    async fn new(admitted: AdmittedRequest<'a>, trigger: Trigger) -> Result<Self> {
        let AdmittedRequest {
            ctx,
            tenant,
            request,
            once,
            slot,
        } = admitted;
        let mut connection = ctx.read().await?;
        let rules = compiled::rules_of(&mut connection, ctx.call(), tenant).await?;
        let organization = match record_organization(ctx, &connection, &request).await? {
            Some(organization) => Some(organization),
            None => ctx.scope().write_organization,
        };
        let mut user = user_of(ctx.identity());
        if let Some(id) = settle::executor(ctx.identity())
            && ctx.identity().tenant == tenant
        {
            user.email = recipients::email_of(&mut connection, tenant, id).await?;
        }
        drop(connection);
        Ok(Self {
            ctx,
            request,
            trigger,
            tenant,
            organization,
            rules,
            user,
            once,
            _slot: slot,
        })
    }

    /// Returns the rules that apply, in the order of their priorities.
    pub(super) fn candidates(&self) -> Vec<Arc<CompiledRule>> {
        let change = self.request.event_type.as_deref();
        let changes = change.as_slice();
        let filter = CandidateFilter {
            entity_type: &self.request.entity_type,
            changes: (!changes.is_empty()).then_some(changes),
            is_event: false,
            organization: self.organization,
            now: self.ctx.now(),
        };
        self.rules.candidates(filter).map(Arc::clone).collect()
    }

    pub(super) async fn execute<R: Serialize + ToSchema + Send>(
        self,
        rules: &[Arc<CompiledRule>],
        response: impl Fn(&RunOutcome, bool) -> R + Send + Sync,
    ) -> Result<Json<R>> {
        self.run(rules, response).await.map_err(engine_failure)
    }

    async fn run<R: Serialize + ToSchema + Send>(
        self,
        rules: &[Arc<CompiledRule>],
        response: impl Fn(&RunOutcome, bool) -> R + Send + Sync,
    ) -> Result<Json<R>> {
        let (ctx, request, once) = (self.ctx, self.request, self.once);
        let subject = RunSubject {
            tenant: self.tenant,
            organization: self.organization,
            entity_type: &request.entity_type,
            entity_id: request.entity_id.as_deref(),
            event_type: request.event_type.as_deref(),
            data: &request.data,
        };
        let local_date = match need_local_date(rules) {
            true => {
                subject
                    .local_date(&*ctx.read().await?, ctx.platform(), ctx.now())
                    .await?
            }
            false => None,
        };
        let facts = subject.facts(self.user.clone(), ctx.now(), local_date);
        let mode = if request.is_dry { RunMode::Dry } else { RunMode::Once };
        let mut outcome = run::run(ctx, rules, subject, &facts, once.occasion, mode).await?;
        let result = if outcome.allows() { "allowed" } else { "blocked" };
        let trigger = self.trigger.word();
        metrics::counter!("business_rules_runs_total", "trigger" => trigger, "result" => result).increment(1);
        if request.is_dry {
            if outcome.runs.iter().any(|run| !run.notifications.is_empty()) {
                let mut connection = ctx.read().await?;
                settle::find_recipients(&mut connection, &self.rules, subject, &mut outcome.runs).await?;
            }
            return Ok(Json(response(&outcome, true)));
        }
        let command = RecordRun {
            run: Run {
                tenant_id: self.tenant,
                id: ctx.new_id(),
                organization_id: self.organization,
                entity_type: request.entity_type.clone(),
                entity_id: record_id(request.entity_id.as_deref()),
                event_type: request.event_type.clone(),
                allowed: outcome.allows(),
                executed_rules: i32::try_from(outcome.runs.len()).unwrap_or(i32::MAX),
                created_at: ctx.now(),
                updated_at: ctx.now(),
            },
            has_record: request.entity_id.is_some(),
            data: request.data.clone(),
            user: self.user,
            trigger: self.trigger,
            outcome,
        };
        ctx.execute(&command, |outcome| Json(response(&outcome, false))).await
    }
}

/// Returns the organization of the record, if it is of an offered kind and the caller may see it.
async fn record_organization(
    ctx: &RequestContext,
    connection: &Connection,
    request: &ExecutionRequest,
) -> Result<Option<Uuid>> {
    let kind = ctx.platform().record_kind(&request.entity_type);
    let id = request.entity_id.as_deref().and_then(|id| id.parse::<Uuid>().ok());
    let (Some(kind), Some(id)) = (kind, id) else {
        return Ok(None);
    };
    let Ok(own) = ctx.for_features(kind.view) else {
        return Ok(None);
    };
    let found = (kind.find)(connection, own.scope(), &[id]).await?;
    Ok(found.first().map(|record| record.organization))
}
