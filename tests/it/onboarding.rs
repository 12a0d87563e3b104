//! Requests for a tenant of one's own. They belong to the platform; each tenant of the tests has three, found by the tokens below.

use sha2::{Digest, Sha256};

use crate::fixture::{Fixture, TenantFixture};

/// What a token is for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Link {
    /// A link that verifies at once.
    Direct,
    /// A link that asks for the password of the fixture.
    WithPassword,
    /// The status of a request.
    Status,
}

impl Link {
    /// Returns the token of a tenant's request.
    pub(crate) fn token(self, tenant_fixture: &TenantFixture) -> String {
        format!(
            "{}-{:_<10}",
            tenant_fixture.tenant.simple(),
            format!("{self:?}").get(..4).unwrap_or_default()
        )
    }

    fn hash(self, tenant_fixture: &TenantFixture) -> String {
        let hash = Sha256::digest(self.token(tenant_fixture).as_bytes());
        hash.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Inserts the requests.
pub(crate) async fn seed(fixture: &Fixture, tenant_fixture: &TenantFixture) {
    for (link, column) in [
        (Link::Direct, "token_hash"),
        (Link::WithPassword, "token_hash"),
        (Link::Status, "status_token_hash"),
    ] {
        let (hash, id) = (link.hash(tenant_fixture), fixture.app.system_context().new_id());
        let sql = format!(
            "insert into onboarding_requests (tenant_id, id, kind, status, email_hash, first_name, last_name, organization_name,
                password_hash, locale, marketing_consent, terms_accepted_at, {column}, expires_at, created_at, updated_at)
             select '00000000-0000-0000-0000-000000000000', '{id}', 'new', 'pending', '\\x{hash}', 'Ann', 'Lee', 'New', password_hash, 'en',
                false, '2026-11-20T07:00:00Z', '\\x{hash}', '2030-11-20T07:00:00Z', '2026-11-20T07:00:00Z', '2026-11-20T07:00:00Z'
             from auth_users where id = '{}'",
            tenant_fixture.user.id
        );
        assert_eq!(fixture.app.sql(&sql).await, 1);
    }
}
