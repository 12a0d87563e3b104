//! Busy intervals that other modules add to the availability of resources and to feeds.

use backoffice_core::{Result, Scope, Timestamp};
use diesel_async::AsyncPgConnection;
use futures_util::future::BoxFuture;
use uuid::Uuid;

use crate::day::Day;
use crate::subject::ResourceType;

/// The busy intervals that are requested.
#[derive(Debug, Clone)]
pub struct BusyQuery {
    /// Intervals that end after this instant.
    pub from: Timestamp,
    /// Intervals that start before this instant.
    pub to: Timestamp,
    /// Of resources of this type.
    pub resource_type: Option<ResourceType>,
    /// Of these resources, at most 200.
    pub resource_ids: Option<Vec<Uuid>>,
    /// On these job sites, at most 200. A source without job sites ignores them.
    pub job_site_ids: Option<Vec<Uuid>>,
    /// Maximum number of intervals, the earliest ones.
    pub limit: i64,
}

/// An interval in which a resource is busy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BusyInterval {
    /// The id of the row behind it.
    pub id: Uuid,
    /// The resource.
    pub resource_id: Uuid,
    /// Start.
    pub start_at: Timestamp,
    /// End, exclusive.
    pub end_at: Timestamp,
    /// First day and the day after the last one, if the interval consists of whole days in the zone of its organization.
    pub days: Option<(Day, Day)>,
    /// Text by which users recognize it: who and what, in one line.
    pub summary: String,
    /// Where, in one line.
    pub location: Option<String>,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

/// Returns busy intervals that are visible in this scope, by start and id, with a constant number of statements.
pub type FindBusy =
    for<'a> fn(&'a AsyncPgConnection, &'a Scope, &'a BusyQuery) -> BoxFuture<'a, Result<Vec<BusyInterval>>>;

/// A source of busy intervals. The module that owns their rows registers it with
/// [`Registry::extend`](backoffice_core::registry::Registry::extend).
#[derive(Clone, Copy)]
pub struct Busy {
    /// The name in responses: `assignment`.
    pub source: &'static str,
    /// The name in the filter of a feed: `assignments`.
    pub included_as: &'static str,
    /// Finds intervals.
    pub find: FindBusy,
}

impl std::fmt::Debug for Busy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Busy")
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}
