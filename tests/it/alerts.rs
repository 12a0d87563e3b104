//! The alerts of a tenant, one in each organization, with the id of the organization. Their assignments last until 2027.

use crate::fixture::{Fixture, TenantFixture};

/// Inserts the alerts; that of `other` is acknowledged. Each is about a resource of its own, which no other request changes.
pub(crate) async fn seed(fixture: &Fixture, tenant: &TenantFixture) {
    let at = "'2026-11-20T07:00:00Z', '2026-11-20T07:00:00Z'";
    for id in [tenant.child, tenant.other, tenant.parent, tenant.root] {
        let own = format!("'{}', '{id}', '{id}'", tenant.tenant);
        for sql in [
            format!(
                "insert into alerts_alerts (tenant_id, id, organization_id, kind, family, urgency_rank, subject_type, subject_id, subject_name, \
                    identity_key, occurred_at, expires_at, created_at, updated_at) \
                 values ({own}, 'subject_overlap_same_site', 'overlap', 0, 'vehicle', '{id}', 'Truck', '{id}', '2026-11-20T07:00:00Z', \
                    '2027-01-01T00:00:00Z', {at})"
            ),
            format!(
                "insert into alerts_assignments (tenant_id, id, organization_id, alert_id, assignment_id, job_site_id, start_at, end_at, \
                    created_at, updated_at) \
                 values ({own}, '{id}', '{id}', '{id}', '2026-11-23T08:00:00Z', '2027-01-01T00:00:00Z', {at})"
            ),
        ] {
            assert_eq!(fixture.app.sql(&sql).await, 1);
        }
    }
    let acknowledge = format!(
        "update alerts_alerts set acknowledged_at = '2026-11-20T07:00:00Z', acknowledgement = 'Known' where tenant_id = '{}' and id = '{}'",
        tenant.tenant, tenant.other
    );
    assert_eq!(fixture.app.sql(&acknowledge).await, 1);
}
