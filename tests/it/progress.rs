//! Bulk jobs of a tenant that its admin requested: one that runs, and one that failed and can be retried.

use backoffice_core::command::Command;
use backoffice_customers::bulk::BulkUpdateOwner;
use backoffice_progress::bulk::StartBulk;
use uuid::Uuid;

use crate::customers::Customer;
use crate::fixture::{Fixture, TenantFixture};

/// A job that the fixture has in every tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Job {
    Running = 1,
    Failed,
}

impl Job {
    /// Returns its id in this tenant.
    pub(crate) fn of(self, tenant_fixture: &TenantFixture) -> Uuid {
        Uuid::from_u128(tenant_fixture.tenant.as_u128() ^ (self as u128 + 0x2000))
    }
}

/// Inserts the jobs with SQL, without log entries and without rows in the queue. The only item of each is the deal without a pipeline.
pub(crate) async fn seed(fixture: &Fixture, tenant_fixture: &TenantFixture) {
    for (job, status, failed) in [(Job::Running, "running", 0), (Job::Failed, "failed", 1)] {
        let at = "'2026-11-20T07:00:00Z'";
        let sql = format!(
            "insert into progress_jobs (tenant_id, id, job_type, name, status, total_count, processed_count, succeeded_count,
                skipped_count, failed_count, cancellable, actor_kind, actor_id, parameters, created_at, updated_at)
             values ('{tenant}', '{id}', '{kind}', 'Owners', '{status}', 1, {failed}, 0, 0, {failed}, true, 'user', '{actor}',
                '{{\"ownerUserId\": null}}', {at}, {at});
             insert into progress_job_items (tenant_id, id, job_id, position, resource_kind, resource_id, state, created_at, updated_at)
             values ('{tenant}', md5('item {id}')::uuid, '{id}', 0, 'customers.deal', '{deal}', '{state}', {at}, {at})",
            tenant = tenant_fixture.tenant,
            id = job.of(tenant_fixture),
            kind = <StartBulk<BulkUpdateOwner> as Command>::ID,
            actor = tenant_fixture.tenant_admin.id,
            deal = Customer::BareDeal.of(tenant_fixture),
            state = if failed == 1 { "failed" } else { "pending" },
        );
        assert_eq!(fixture.app.sql(&sql).await, 2);
    }
}
