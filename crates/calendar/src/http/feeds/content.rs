//! The events of a feed.

use backoffice_core::{Feature, RequestContext, Result, Timestamp};
use diesel_async::AsyncPgConnection;
use time::Duration;

use crate::busy::{Busy, BusyInterval, BusyQuery};
use crate::ical::{self, Event, Period};
use crate::model::{Feed, FeedFilter, WINDOW, WINDOWS, WORKING_CALENDAR, Window};
use crate::query::{reasons, windows};

/// The kinds of rows that feeds show.
pub(super) const KINDS: &[&str] = &[
    WINDOW,
    WORKING_CALENDAR,
    "dispatch.assignment",
    "dispatch.job_site",
    "dispatch.resource",
];
/// The feature with which a user sees the assignments of resources.
const ASSIGNMENTS_VIEW: Feature = Feature::new("dispatch.view", "");

const BEFORE: Duration = Duration::days(30);
const AHEAD: Duration = Duration::days(365);
/// Maximum number of events.
const MOST_EVENTS: usize = 10_000;

/// Returns the calendar of a feed as its user sees it now.
pub(super) async fn read(connection: &AsyncPgConnection, ctx: &RequestContext, feed: &Feed) -> Result<String> {
    let filter = feed.contents()?;
    let request = BusyQuery {
        from: ctx.now().before(BEFORE),
        to: ctx.now().after(AHEAD),
        resource_type: filter.resource_type,
        resource_ids: filter.resource_ids.clone(),
        job_site_ids: filter.job_site_ids.clone(),
        limit: i64::try_from(MOST_EVENTS).unwrap_or(i64::MAX),
    };
    let mut events: Vec<(Timestamp, Event)> = Vec::new();
    if filter.include.iter().any(|name| name == WINDOWS) {
        let labels = reasons::all(connection, ctx.scope()).await?;
        let rows = windows::busy(connection, ctx.scope(), &request).await?;
        events.extend(rows.into_iter().map(|row| (row.start_at, from_window(row, &labels))));
    }
    events.extend(read_others(connection, ctx, &filter, &request).await?);
    events.sort_by_key(|(start, event)| (*start, event.id));
    events.truncate(MOST_EVENTS);
    let events: Vec<Event> = events.into_iter().map(|(_, event)| event).collect();
    Ok(ical::calendar(&feed.name, &events))
}

fn from_window(window: Window, labels: &[reasons::Reason]) -> Event {
    let label = labels
        .iter()
        .find(|reason| reason.resource_type == window.resource_type && reason.code == window.reason_code);
    let label = label.map_or(window.reason_code.as_str(), |reason| reason.label.as_str());
    Event {
        id: window.id,
        period: Period::Days(window.start_date, window.end_date_exclusive),
        summary: format!("{label} ({})", window.resource_type.as_str()),
        description: window.note,
        location: None,
        updated_at: window.updated_at,
    }
}

/// Returns the events of other modules, if the user may see them.
async fn read_others(
    connection: &AsyncPgConnection,
    ctx: &RequestContext,
    filter: &FeedFilter,
    request: &BusyQuery,
) -> Result<Vec<(Timestamp, Event)>> {
    let Ok(ctx) = ctx.for_features(&[ASSIGNMENTS_VIEW]) else {
        return Ok(Vec::new());
    };
    let mut events = Vec::new();
    for source in ctx.platform().extensions::<Busy>() {
        if filter.include.iter().any(|name| name == source.included_as) {
            let intervals = (source.find)(connection, ctx.scope(), request).await?;
            events.extend(intervals.into_iter().map(|one| (one.start_at, from_interval(one))));
        }
    }
    Ok(events)
}

fn from_interval(interval: BusyInterval) -> Event {
    Event {
        id: interval.id,
        period: match interval.days {
            Some((first, end)) => Period::Days(first, end),
            None => Period::Instants(interval.start_at, interval.end_at),
        },
        summary: interval.summary,
        description: None,
        location: interval.location,
        updated_at: interval.updated_at,
    }
}
