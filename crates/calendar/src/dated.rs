//! The tables whose rows have instants that are derived from dates.

/// A table with rows whose instants are derived from dates in the zone of their organization. The module that owns it registers it with
/// [`Registry::extend`](backoffice_core::registry::Registry::extend), beside an [`Observer`](crate::Observer) that derives them.
#[derive(Debug, Clone, Copy)]
pub struct DatedTable {
    /// The name. The table has the columns `tenant_id`, `organization_id` and `end_at`, and an index that begins with the first two.
    pub name: &'static str,
    /// Condition on the rows with dates, in SQL.
    pub condition: &'static str,
}

/// The windows of the calendar.
pub(crate) const WINDOWS: DatedTable = DatedTable {
    name: "calendar_windows",
    condition: "true",
};
