//! The devices of a tenant: those of its administrator with all features, each with the id of its organization, and one of the user in `other`.

use uuid::Uuid;

use crate::fixture::{Fixture, TenantFixture};

/// Inserts the devices.
pub(crate) async fn seed(fixture: &Fixture, tenant_fixture: &TenantFixture) {
    let (tenant, admin) = (tenant_fixture.tenant, tenant_fixture.tenant_admin.id);
    let mut devices = [tenant_fixture.child, tenant_fixture.other, tenant_fixture.parent]
        .map(|organization| (organization, organization, admin))
        .to_vec();
    let of_user = Uuid::from_u128(tenant_fixture.other.as_u128() ^ (0xde << 8));
    devices.push((of_user, tenant_fixture.other, tenant_fixture.user.id));
    for (id, organization, user) in devices {
        let sql = format!(
            "insert into devices_devices (tenant_id, id, user_id, organization_id, device_id, platform, client_app_version, os_version,
                locale, push_provider, last_seen_at, created_at, updated_at)
             values ('{tenant}', '{id}', '{user}', '{organization}', 'd-{id}', 'ios', '1.0', '17', 'en', 'log', '2026-11-20T07:00:00Z',
                '2026-11-20T07:00:00Z', '2026-11-20T07:00:00Z')"
        );
        assert_eq!(fixture.app.sql(&sql).await, 1);
    }
}
