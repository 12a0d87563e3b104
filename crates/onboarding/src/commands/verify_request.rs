use backoffice_core::command::{Class, Command, Entity, EntityRef, Target, Tx};
use backoffice_core::db::Recurring;
use backoffice_core::ids::PLATFORM_TENANT;
use backoffice_core::jobs::{NewJob, enqueue_with};
use backoffice_core::{Feature, Result};
use diesel::{ExpressionMethods, QueryDsl, update};
use diesel_async::RunQueryDsl;
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::lock_address;
use crate::jobs::Provision;
use crate::model::{EXPIRED, NEW, PENDING, PROCESSING, Request};
use crate::query::ended;
use crate::schema::onboarding_requests as requests;

/// Begins to create the tenant of a pending request and ends the other pending requests of its address. A request that is not pending any more stays as
/// it is.
#[derive(Debug, Clone)]
pub struct VerifyRequest {
    /// The request.
    pub id: Uuid,
    /// Fingerprint of its address.
    pub email_hash: Vec<u8>,
}

/// The state of a request after its verification.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct VerificationOutcome {
    /// The status.
    pub status: String,
    /// The created tenant.
    pub tenant: Option<Uuid>,
}

impl VerifyRequest {
    /// Returns the other pending requests of the address.
    async fn others(&self, tx: &mut Tx<'_>) -> Result<Vec<Uuid>> {
        Ok(requests::table
            .filter(requests::tenant_id.eq(PLATFORM_TENANT))
            .filter(requests::email_hash.eq(&self.email_hash))
            .filter(requests::status.eq(PENDING))
            .filter(requests::id.ne(self.id))
            .order(requests::id)
            .select(requests::id)
            .load(tx.conn())
            .await?)
    }
}

impl Command for VerifyRequest {
    const ID: &'static str = "onboarding.request.verify";
    const CLASS: Class = Class::Edit;
    const LABEL: &'static str = "Verify onboarding request";
    const FEATURES: &'static [Feature] = &[];
    const UNDOABLE: bool = false;
    const LOCKS_FIRST: bool = true;
    type Entity = Request;
    type Output = VerificationOutcome;

    fn target(&self) -> Target {
        Target::Existing(self.id)
    }

    async fn affects_behind_lock(&self, tx: &mut Tx<'_>) -> Result<Vec<EntityRef>> {
        lock_address(tx, &self.email_hash).await?;
        let reference = |id| EntityRef {
            kind: Request::KIND,
            id,
        };
        Ok(self.others(tx).await?.into_iter().map(reference).collect())
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<VerificationOutcome> {
        let now = tx.now();
        let claimed = update(requests::table.find((PLATFORM_TENANT, self.id)))
            .filter(requests::kind.eq(NEW))
            .filter(requests::status.eq(PENDING))
            .filter(requests::expires_at.gt(now))
            .set((
                requests::status.eq(PROCESSING),
                requests::verified_at.eq(Some(now)),
                requests::updated_at.eq(now),
            ))
            .prepared()
            .execute(tx.conn())
            .await?;
        if claimed == 0 {
            let (status, tenant) = requests::table
                .find((PLATFORM_TENANT, self.id))
                .select((requests::status, requests::new_tenant_id))
                .first(tx.conn())
                .await?;
            return Ok(VerificationOutcome { status, tenant });
        }
        let others = self.others(tx).await?;
        update(requests::table.filter(requests::tenant_id.eq(PLATFORM_TENANT)))
            .filter(requests::id.eq_any(others))
            .set(ended(EXPIRED, now))
            .prepared()
            .execute(tx.conn())
            .await?;
        let job = enqueue_with(tx, &NewJob::of_system(PLATFORM_TENANT, Provision { request: self.id })).await?;
        update(requests::table.find((PLATFORM_TENANT, self.id)))
            .set(requests::provisioning_job_id.eq(Some(job)))
            .prepared()
            .execute(tx.conn())
            .await?;
        Ok(VerificationOutcome {
            status: PROCESSING.to_owned(),
            tenant: None,
        })
    }
}
