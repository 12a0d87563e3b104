//! The alerts of a tenant, one in each organization, with the id of the organization. Each is about a vehicle with two overlapping assignments, which no
//! other request changes.

use uuid::Uuid;

use crate::fixture::{Fixture, TenantFixture};

/// Returns a further id of an organization.
pub(crate) fn further(organization: Uuid, number: u128) -> Uuid {
    Uuid::from_u128(organization.as_u128() ^ (0xa1 << 8) ^ number)
}

/// Inserts the alerts with their records; that of `other` is acknowledged.
pub(crate) async fn seed(fixture: &Fixture, tenant: &TenantFixture) {
    let at = "'2026-11-20T07:00:00Z', '2026-11-20T07:00:00Z'";
    for id in [tenant.child, tenant.other, tenant.parent, tenant.root] {
        let own = |record: Uuid| format!("'{}', '{record}', '{id}'", tenant.tenant);
        let (site, vehicle) = (further(id, 0), further(id, 0));
        let mut rows = vec![
            format!(
                "insert into dispatch_job_sites (tenant_id, id, organization_id, name, status, created_at, updated_at) \
                 values ({}, 'Depot', 'active', {at})",
                own(site)
            ),
            format!(
                "insert into dispatch_resources (tenant_id, id, organization_id, type, name, is_active, created_at, updated_at) \
                 values ({}, 'vehicle', 'Truck', true, {at})",
                own(vehicle)
            ),
            format!(
                "insert into alerts_alerts (tenant_id, id, organization_id, kind, family, urgency_rank, subject_type, subject_id, subject_name, \
                    identity_key, occurred_at, expires_at, created_at, updated_at) \
                 values ({}, 'subject_overlap_same_site', 'overlap', 0, 'vehicle', '{vehicle}', 'Truck', '{id}', '2026-11-20T07:00:00Z', \
                    '2027-01-04T16:00:00Z', {at})",
                own(id)
            ),
        ];
        for number in [1, 2] {
            let assignment = further(id, number);
            let interval = "'2027-01-04T08:00:00Z', '2027-01-04T16:00:00Z'";
            rows.push(format!(
                "insert into dispatch_assignments (tenant_id, id, organization_id, job_site_id, subject_type, subject_id, start_at, end_at, \
                    status, created_at, updated_at) \
                 values ({}, '{site}', 'vehicle', '{vehicle}', {interval}, 'planned', {at})",
                own(assignment)
            ));
            rows.push(format!(
                "insert into alerts_assignments (tenant_id, id, organization_id, alert_id, assignment_id, job_site_id, start_at, end_at, \
                    created_at, updated_at) \
                 values ({}, '{id}', '{assignment}', '{site}', {interval}, {at})",
                own(assignment)
            ));
        }
        for sql in rows {
            assert_eq!(fixture.app.sql(&sql).await, 1, "{sql}");
        }
    }
    let acknowledge = format!(
        "update alerts_alerts set acknowledged_at = '2026-11-20T07:00:00Z', acknowledgement = 'Known' where tenant_id = '{}' and id = '{}'",
        tenant.tenant, tenant.other
    );
    assert_eq!(fixture.app.sql(&acknowledge).await, 1);
}
