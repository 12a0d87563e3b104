//! The rules of a tenant. Each has the id of its organization.

use crate::fixture::{Fixture, TenantFixture};

/// Inserts the rules.
pub(crate) async fn seed(fixture: &Fixture, tenant: &TenantFixture) {
    for id in [tenant.child, tenant.other, tenant.parent] {
        let sql = format!(
            "insert into business_rules_rules (tenant_id, id, organization_id, name, note, created_at, updated_at) \
             values ('{}', '{id}', '{id}', 'Rule {id}', 'A note', '2026-11-20T07:00:00Z', '2026-11-20T07:00:00Z')",
            tenant.tenant
        );
        assert_eq!(fixture.app.sql(&sql).await, 1);
    }
}
