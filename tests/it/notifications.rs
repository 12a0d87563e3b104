//! The notifications of a tenant, all of its administrator with all features, and a type that users can set preferences for.

use backoffice_core::Module;
use backoffice_notifications::{Channels, NotificationType, TypeTexts};

use crate::fixture::{Fixture, TenantFixture};

/// A type of notifications.
pub(crate) const SAMPLE: NotificationType = NotificationType {
    id: "samples.sample.done",
    channels: Channels::USUAL,
    texts: &[TypeTexts {
        locale: "en",
        name: "Sample",
        title: "{name} is done",
        body: "The sample {name} is done.",
    }],
    values: &[],
};

/// Another type.
pub(crate) const FAILED: NotificationType = NotificationType {
    id: "samples.sample.failed",
    texts: &[TypeTexts {
        locale: "en",
        name: "Failed sample",
        title: "{name} has failed",
        body: "",
    }],
    ..SAMPLE
};

/// Offers the types.
pub(crate) static SAMPLES: Module = Module {
    name: "samples",
    title: "Samples",
    requires: &["notifications"],
    register: |registry| {
        registry.extend(SAMPLE).extend(FAILED);
    },
    ..Module::EMPTY
};

/// Inserts the notifications, and a preference.
pub(crate) async fn seed(fixture: &Fixture, tenant_fixture: &TenantFixture) {
    let (tenant, user) = (tenant_fixture.tenant, tenant_fixture.tenant_admin.id);
    for id in [tenant_fixture.child, tenant_fixture.other, tenant_fixture.parent] {
        let sql = format!(
            "insert into notifications_notifications (tenant_id, id, recipient_user_id, type, params, title, body, severity, source_module,
                status, expires_at, created_at, updated_at)
             values ('{tenant}', '{id}', '{user}', 'samples.sample.done', '{{\"name\": \"A\"}}', 'A is done', '', 'info', 'samples',
                'unread', '2026-12-20T07:00:00Z', '2026-11-20T07:00:00Z', '2026-11-20T07:00:00Z')"
        );
        assert_eq!(fixture.app.sql(&sql).await, 1);
    }
    let sql = format!(
        "insert into notifications_preferences (tenant_id, id, user_id, type, in_app, push, email, created_at, updated_at)
         values ('{tenant}', '{}', '{user}', 'samples.sample.done', true, true, true, '2026-11-20T07:00:00Z', '2026-11-20T07:00:00Z')",
        tenant_fixture.child
    );
    assert_eq!(fixture.app.sql(&sql).await, 1);
}
