//! The records of `dispatch`: in each organization a job site, a piece of equipment, and an assignment of one to the other, all with the id of the
//! organization. The assignments are completed, so that sites and resources can be deleted.

use crate::fixture::{Fixture, TenantFixture};

/// Inserts the records.
pub(crate) async fn seed(fixture: &Fixture, tenant: &TenantFixture) {
    let at = "'2026-11-20T07:00:00Z', '2026-11-20T07:00:00Z'";
    for id in [tenant.child, tenant.other, tenant.parent, tenant.root] {
        let own = format!("'{}', '{id}', '{id}'", tenant.tenant);
        for sql in [
            format!(
                "insert into dispatch_job_sites (tenant_id, id, organization_id, name, code, status, created_at, updated_at) \
                 values ({own}, 'Site {id}', 'S-{id}', 'active', {at})"
            ),
            format!(
                "insert into dispatch_resources (tenant_id, id, organization_id, type, name, is_active, created_at, updated_at) \
                 values ({own}, 'equipment', 'Excavator {id}', true, {at})"
            ),
            format!(
                "insert into dispatch_assignments (tenant_id, id, organization_id, job_site_id, subject_type, subject_id, \
                    start_at, end_at, status, note, created_at, updated_at) \
                 values ({own}, '{id}', 'equipment', '{id}', '2026-11-23T08:00:00Z', '2026-11-23T16:00:00Z', 'completed', \
                    'A note', {at})"
            ),
        ] {
            assert_eq!(fixture.app.sql(&sql).await, 1);
        }
    }
}
