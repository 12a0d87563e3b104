//! When resources are busy.

use std::collections::HashMap;

use backoffice_core::http::{CheckedQuery, Json, QueryInput, Routes, requires};
use backoffice_core::list::{IdList, parameters};
use backoffice_core::{Detail, Rejection, RequestContext, Result, Timestamp, Violations};
use serde::{Deserialize, Serialize};
use time::Duration;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::acl;
use crate::busy::{Busy, BusyQuery};
use crate::documented::CalendarResourceType;
use crate::model::WINDOW;
use crate::query::windows;
use crate::subject::ResourceType;

/// Longest interval, in days.
const LONGEST: i64 = 400;
/// Maximum number of intervals of each source.
const MOST_INTERVALS: i64 = 20_000;

pub(super) fn routes(routes: &mut Routes) {
    routes
        .get("/calendar/availability", requires(&[acl::VIEW]), list_availability)
        .shows(&[WINDOW, "dispatch.assignment"])
        .about("List the intervals in which resources are busy");
}

/// The requested resources and interval.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct AvailabilityQuery {
    /// Type of the resources.
    #[param(value_type = CalendarResourceType, inline)]
    resource_type: Option<String>,
    /// The resources: 1 to 200 ids joined by commas.
    #[param(value_type = IdList, inline)]
    resource_ids: Option<String>,
    /// Start of the interval.
    #[param(value_type = Timestamp, inline)]
    from: Option<String>,
    /// End of the interval, at most 400 days later.
    #[param(value_type = Timestamp, inline)]
    to: Option<String>,
}

impl AvailabilityQuery {
    fn checked(&self) -> Result<(BusyQuery, Vec<Uuid>)> {
        let mut violations = Violations::default();
        for (path, text) in [
            ("resourceType", &self.resource_type),
            ("resourceIds", &self.resource_ids),
            ("from", &self.from),
            ("to", &self.to),
        ] {
            parameters::required(path, text.as_ref(), &mut violations);
        }
        let resource_type =
            ResourceType::from_parameter("resourceType", self.resource_type.as_deref(), &mut violations);
        let ids = parameters::ids("resourceIds", self.resource_ids.as_deref(), &mut violations);
        let from = parameters::exact_instant("from", self.from.as_deref(), &mut violations);
        let to = parameters::exact_instant("to", self.to.as_deref(), &mut violations);
        if let (Some(from), Some(to)) = (from, to) {
            if to <= from {
                violations.add(Detail::new("to", "must be later than from", "invalid_value"));
            } else if to > from.after(Duration::days(LONGEST)) {
                let message = format!("must be at most {LONGEST} days after from");
                violations.add(Detail::new("to", message, "range_too_long"));
            }
        }
        violations.check()?;
        let ids = ids.unwrap_or_default();
        let request = BusyQuery {
            from: from.unwrap_or(Timestamp::UNIX_EPOCH),
            to: to.unwrap_or(Timestamp::UNIX_EPOCH),
            resource_type,
            resource_ids: Some(ids.clone()),
            job_site_ids: None,
            limit: MOST_INTERVALS + 1,
        };
        Ok((request, ids))
    }
}

impl QueryInput for AvailabilityQuery {
    fn validate(&self, violations: &mut Violations) {
        if let Err(error) = self.checked() {
            violations.note(error);
        }
    }
}

/// An interval in which a resource is busy.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = CalendarBusyInterval)]
struct BusyItem {
    /// Start.
    start_at: Timestamp,
    /// End, exclusive.
    end_at: Timestamp,
    /// `window`, or a source of another module, such as `assignment`; the set is open.
    source: &'static str,
    /// The window or assignment.
    id: Uuid,
}

/// The intervals of a resource.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = CalendarResourceAvailability)]
struct ResourceItem {
    /// The resource.
    resource_id: Uuid,
    /// The intervals, by start.
    busy: Vec<BusyItem>,
}

/// The availability of resources, in the order in which they were requested.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = CalendarAvailability)]
struct AvailabilityList {
    /// The resources.
    items: Vec<ResourceItem>,
}

async fn list_availability(
    ctx: RequestContext,
    query: CheckedQuery<AvailabilityQuery>,
) -> Result<Json<AvailabilityList>> {
    let (request, ids) = query.0.checked()?;
    let connection = ctx.read().await?;
    ctx.read_version_first(&connection).await?;
    let mut found: Vec<(Uuid, BusyItem)> = Vec::new();
    let rows = windows::busy(&connection, ctx.scope(), &request).await?;
    check_length(rows.len())?;
    for row in rows {
        let item = BusyItem {
            start_at: row.start_at,
            end_at: row.end_at,
            source: "window",
            id: row.id,
        };
        found.push((row.resource_id, item));
    }
    for source in ctx.platform().extensions::<Busy>() {
        let intervals = (source.find)(&connection, ctx.scope(), &request).await?;
        check_length(intervals.len())?;
        for interval in intervals {
            let item = BusyItem {
                start_at: interval.start_at,
                end_at: interval.end_at,
                source: source.source,
                id: interval.id,
            };
            found.push((interval.resource_id, item));
        }
    }
    drop(connection);
    Ok(Json(grouped(ids, found)))
}

/// Rejects a request with more intervals than a response may have.
fn check_length(rows: usize) -> Result<()> {
    if i64::try_from(rows).is_ok_and(|rows| rows <= MOST_INTERVALS) {
        return Ok(());
    }
    let message = format!("must hold at most {MOST_INTERVALS} intervals; request fewer resources or days");
    Err(Rejection::invalid_field("to", message, "range_too_long").into())
}

fn grouped(ids: Vec<Uuid>, mut found: Vec<(Uuid, BusyItem)>) -> AvailabilityList {
    found.sort_by_key(|(_, item)| (item.start_at, item.id));
    let mut by_resource: HashMap<Uuid, Vec<BusyItem>> = HashMap::new();
    for (resource, item) in found {
        by_resource.entry(resource).or_default().push(item);
    }
    let item = |resource_id: Uuid| ResourceItem {
        resource_id,
        busy: by_resource.remove(&resource_id).unwrap_or_default(),
    };
    AvailabilityList {
        items: ids.into_iter().map(item).collect(),
    }
}
