//! The records of `calendar`: in each organization a working calendar with a holiday, a window and a series of a piece of equipment, and a feed of the
//! tenant's administrator. All have the id of their organization. In `other` the series has a window too, which a client has moved.

use uuid::Uuid;

use crate::fixture::{Fixture, TenantFixture};

/// Returns the token of the feed with this id.
pub(crate) fn feed_token(id: Uuid) -> String {
    format!("{}xxxxxxxxxxx", id.simple())
}

/// Inserts the records. The last use of a feed is in the future, so that a read does not store another one.
pub(crate) async fn seed(fixture: &Fixture, tenant: &TenantFixture) {
    let at = "'2026-11-20T07:00:00Z', '2026-11-20T07:00:00Z'";
    let user = tenant.tenant_admin.id;
    for id in [tenant.child, tenant.other, tenant.parent, tenant.root] {
        let own = format!("'{}', '{id}', '{id}'", tenant.tenant);
        // The equipment of `other` is available while that of the other organizations is not.
        let window = match id == tenant.other {
            true => "'2026-11-26', '2026-11-28', '2026-11-25T23:00:00Z', '2026-11-27T23:00:00Z'",
            false => "'2026-11-23', '2026-11-25', '2026-11-22T23:00:00Z', '2026-11-24T23:00:00Z'",
        };
        let left_out = match id == tenant.other {
            true => "2026-12-08,2026-12-15",
            false => "2026-12-01,2026-12-08,2026-12-15",
        };
        for sql in [
            format!(
                "insert into calendar_working_calendars (tenant_id, id, organization_id, time_zone, off_weekdays, created_at, updated_at) \
                 values ({own}, 'Europe/Warsaw', '{{sat,sun}}', {at})"
            ),
            format!(
                "insert into calendar_holidays (tenant_id, id, organization_id, calendar_id, date, name, created_at, updated_at) \
                 values ({own}, '{id}', '2026-12-25', 'Christmas', {at})"
            ),
            format!(
                "insert into calendar_windows (tenant_id, id, organization_id, resource_type, resource_id, start_date, \
                    end_date_exclusive, start_at, end_at, reason_code, note, is_exception, created_at, updated_at) \
                 values ({own}, 'equipment', '{id}', {window}, 'maintenance', 'A note', false, {at})"
            ),
            format!(
                "insert into calendar_series (tenant_id, id, organization_id, resource_type, resource_id, start_date, \
                    end_date_exclusive, rrule, ends_on, exdates, effective_from, reason_code, note, created_until, created_at, updated_at) \
                 values ({own}, 'equipment', '{id}', '2026-12-01', '2026-12-02', 'FREQ=WEEKLY;UNTIL=20261215', '2026-12-15', \
                    '{{{left_out}}}', '2026-12-01', 'inspection', 'A note', '2199-12-31', {at})"
            ),
            format!(
                "insert into calendar_feeds (tenant_id, id, organization_id, user_id, name, token_hash, filter, last_used_at, \
                    created_at, updated_at) \
                 values ({own}, '{user}', 'Feed {id}', sha256('{}'), '{{\"include\": [\"windows\"], \"resourceType\": null, \"resourceIds\": null, \"jobSiteIds\": null}}', '2030-01-01T00:00:00Z', {at})",
                feed_token(id)
            ),
        ] {
            assert_eq!(fixture.app.sql(&sql).await, 1);
        }
    }
    let moved = format!(
        "insert into calendar_windows (tenant_id, id, organization_id, resource_type, resource_id, start_date, end_date_exclusive, start_at, \
            end_at, reason_code, note, series_id, series_date, is_exception, created_at, updated_at) \
         values ('{}', '{}', '{other}', 'equipment', '{other}', '2026-12-02', '2026-12-03', '2026-12-01T23:00:00Z', \
            '2026-12-02T23:00:00Z', 'maintenance', 'A note', '{other}', '2026-12-01', true, {at})",
        tenant.tenant,
        Uuid::from_u128(tenant.other.as_u128() ^ (0xca << 8)),
        other = tenant.other
    );
    assert_eq!(fixture.app.sql(&moved).await, 1);
}
