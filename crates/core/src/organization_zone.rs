//! Local dates of organizations.

use diesel_async::AsyncPgConnection;
use futures_util::future::BoxFuture;
use time::Date;
use uuid::Uuid;

use crate::error::Result;
use crate::platform::Platform;
use crate::time::Timestamp;

/// Returns the local date of an instant in the zone of an organization, given the tenant and the organization, with at most one statement.
pub type FindLocalDate =
    for<'a> fn(&'a AsyncPgConnection, &'a Platform, Uuid, Uuid, Timestamp) -> BoxFuture<'a, Result<Date>>;

/// The time zones of organizations. The module that owns them registers it with [`Registry::extend`](crate::registry::Registry::extend).
#[derive(Clone, Copy)]
pub struct OrganizationZone {
    /// Finds the local date.
    pub local_date: FindLocalDate,
}

impl std::fmt::Debug for OrganizationZone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OrganizationZone").finish_non_exhaustive()
    }
}

/// Returns the local date of an instant for an organization: the UTC date if no enabled module knows the zones of organizations.
///
/// # Errors
/// When the database can't be reached.
pub async fn local_date(
    connection: &AsyncPgConnection,
    platform: &Platform,
    (tenant, organization): (Uuid, Uuid),
    instant: Timestamp,
) -> Result<Date> {
    match platform.extensions::<OrganizationZone>().next() {
        Some(zones) => (zones.local_date)(connection, platform, tenant, organization, instant).await,
        None => Ok(instant.get().date()),
    }
}
