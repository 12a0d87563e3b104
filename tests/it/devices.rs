//! The devices of a tenant, all of its administrator with all features. Each has the id of its organization.

use crate::fixture::{Fixture, TenantFixture};

/// Inserts the devices.
pub(crate) async fn seed(fixture: &Fixture, tenant_fixture: &TenantFixture) {
    let (tenant, user) = (tenant_fixture.tenant, tenant_fixture.tenant_admin.id);
    for id in [tenant_fixture.child, tenant_fixture.other, tenant_fixture.parent] {
        let sql = format!(
            "insert into devices_devices (tenant_id, id, user_id, organization_id, device_id, platform, client_app_version, os_version,
                locale, push_provider, last_seen_at, created_at, updated_at)
             values ('{tenant}', '{id}', '{user}', '{id}', 'd-{id}', 'ios', '1.0', '17', 'en', 'log', '2026-11-20T07:00:00Z',
                '2026-11-20T07:00:00Z', '2026-11-20T07:00:00Z')"
        );
        assert_eq!(fixture.app.sql(&sql).await, 1);
    }
}
