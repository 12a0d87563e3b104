//! Reads of alerts.

use backoffice_calendar::ResourceType;
use backoffice_core::http::{Json, Path, PathId, Query, Routes, requires};
use backoffice_core::list::parameters::{flag, ids, words};
use backoffice_core::list::{ById, IdList, Page, PageQuery};
use backoffice_core::{Detail, Rejection, RequestContext, Result, Violations};
use futures_util::future::try_join;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::items::AlertItem;
use crate::acl;
use crate::documented::{AlertKinds, AlertSubjectType, AlertUrgencies};
use crate::error::not_found;
use crate::kinds::{Kind, Urgency};
use crate::query::{self, AlertFilter, Summary, Viewer};

pub(super) const LIST: &str = "/alerts/alerts";
const ONE: &str = "/alerts/alerts/{id}";
const SUMMARY: &str = "/alerts/summary";
/// Rows of a page, if the request does not say how many.
const PAGE_SIZE: u32 = 20;

pub(super) fn routes(routes: &mut Routes) {
    routes
        .get(LIST, requires(&[acl::VIEW]), list_alerts)
        .about("List alerts, the most urgent first, then the newest");
    routes
        .get(ONE, requires(&[acl::VIEW]), get_alert)
        .about("An alert")
        .rejects(&[404]);
    routes
        .get(SUMMARY, requires(&[acl::VIEW]), get_alert_summary)
        .about("Count the open alerts");
}

/// Parameters of the list.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct AlertQuery {
    /// Page number from 1.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 2_147_483_647, default = 1)]
    page: Option<String>,
    /// Rows per page.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 100, default = 20)]
    page_size: Option<String>,
    /// Only the alert with this id.
    #[param(value_type = Option<Uuid>)]
    id: Option<String>,
    /// Only the alerts with these ids, joined by commas, at most 200.
    #[param(value_type = Option<IdList>, inline)]
    ids: Option<String>,
    /// Only alerts with assignments to these job sites, joined by commas, at most 200.
    #[param(value_type = Option<IdList>, inline)]
    job_site_ids: Option<String>,
    /// Only alerts about subjects of this type.
    #[param(value_type = Option<AlertSubjectType>, inline)]
    subject_type: Option<String>,
    /// Only alerts about these subjects, joined by commas, at most 200.
    #[param(value_type = Option<IdList>, inline)]
    subject_ids: Option<String>,
    /// Only these kinds, joined by commas.
    #[param(value_type = Option<AlertKinds>, inline)]
    kinds: Option<String>,
    /// Only these urgencies, joined by commas.
    #[param(value_type = Option<AlertUrgencies>, inline)]
    urgencies: Option<String>,
    /// Only alerts that the caller has not read.
    #[param(value_type = Option<bool>)]
    unread_only: Option<String>,
    /// Only alerts that are acknowledged, or only others.
    #[param(value_type = Option<bool>)]
    acknowledged: Option<String>,
    /// Only resolved alerts; otherwise only open ones.
    #[param(value_type = Option<bool>, default = false)]
    resolved: Option<String>,
}

impl AlertQuery {
    fn page(&self, violations: &mut Violations) -> PageQuery {
        let mut number = |path: &str, text: &Option<String>, default: u32| match text.as_deref().map(str::parse) {
            None => Some(default),
            Some(Ok(number)) => Some(number),
            Some(Err(_)) => {
                violations.add(Detail::new(path, "must be a number from 1", "invalid_value"));
                None
            }
        };
        let page = number("page", &self.page, 1);
        PageQuery::new(page, number("pageSize", &self.page_size, PAGE_SIZE))
    }

    /// Returns the requested ids; `None` for all alerts.
    fn requested(&self, violations: &mut Violations) -> Option<Vec<Uuid>> {
        let parsed = self.id.as_deref().map(str::parse).transpose();
        let id = violations.keep(parsed.map_err(|_| Detail::new("id", "must be a UUID", "invalid_value")));
        let by_id = ById {
            id,
            ids: self.ids.clone(),
        };
        violations.keep(by_id.requested())
    }

    fn filter(&self, violations: &mut Violations) -> AlertFilter {
        let requested = self.requested(violations);
        let kinds = Kind::ALL.map(Kind::as_str);
        let urgencies = Urgency::ALL.map(Urgency::as_str);
        let urgencies = words("urgencies", self.urgencies.as_deref(), &urgencies, violations);
        let subject_type = ResourceType::from_parameter("subjectType", self.subject_type.as_deref(), violations);
        AlertFilter {
            ids: requested,
            job_sites: ids("jobSiteIds", self.job_site_ids.as_deref(), violations),
            subject_type: subject_type.map(ResourceType::as_str),
            subjects: ids("subjectIds", self.subject_ids.as_deref(), violations),
            kinds: words("kinds", self.kinds.as_deref(), &kinds, violations),
            urgency_ranks: urgencies.map(|names| {
                names
                    .iter()
                    .filter_map(|name| Urgency::parse(name))
                    .map(Urgency::rank)
                    .collect()
            }),
            unread_only: flag("unreadOnly", self.unread_only.as_deref(), violations) == Some(true),
            acknowledged: flag("acknowledged", self.acknowledged.as_deref(), violations),
            resolved: Some(flag("resolved", self.resolved.as_deref(), violations).unwrap_or(false)),
        }
    }
}

/// A page of alerts.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct AlertPage {
    /// The alerts.
    items: Vec<AlertItem>,
    /// Alerts of all pages.
    total: i64,
    /// Page number from 1.
    page: u32,
    /// Rows of a page at most.
    page_size: u32,
    /// Number of pages, at least 1.
    total_pages: i64,
    /// All open alerts that the caller has not read, whatever the filter.
    unread_count: i64,
}

async fn list_alerts(ctx: RequestContext, query: Query<AlertQuery>) -> Result<Json<AlertPage>> {
    let mut violations = Violations::default();
    let page = query.0.page(&mut violations);
    let window = violations.keep(page.window());
    let filter = query.0.filter(&mut violations);
    if !violations.is_empty() {
        return Err(Rejection::invalid(violations.into_details())
            .code("invalid_filters")
            .into());
    }
    let viewer = Viewer::for_request(&ctx)?;
    let connection = ctx.read().await?;
    let (rows, counts) = try_join(
        query::list(&connection, &viewer, &filter, window),
        query::count(&connection, &viewer, &filter),
    )
    .await?;
    // API keys have no marks.
    let unread_count = if ctx.user_id().is_ok() { counts.unread } else { 0 };
    let rows = rows
        .into_iter()
        .map(|row| AlertItem::from_row(ctx.platform(), row))
        .collect();
    let Page {
        items,
        total,
        page,
        page_size,
        total_pages,
    } = window.page(rows, counts.total);
    Ok(Json(AlertPage {
        items,
        total,
        page,
        page_size,
        total_pages,
        unread_count,
    }))
}

async fn get_alert(ctx: RequestContext, path: Path<PathId>) -> Result<Json<AlertItem>> {
    let viewer = Viewer::for_request(&ctx)?;
    let connection = ctx.read().await?;
    let found = query::find(&connection, &viewer, path.0.id).await?;
    let row = found.ok_or_else(not_found)?;
    Ok(Json(AlertItem::from_row(ctx.platform(), row)))
}

async fn get_alert_summary(ctx: RequestContext) -> Result<Json<Summary>> {
    let viewer = Viewer::for_request(&ctx)?;
    let connection = ctx.read().await?;
    let mut summary = query::summarize(&connection, &viewer).await?;
    if ctx.user_id().is_err() {
        summary.unread_count = 0;
    }
    Ok(Json(summary))
}
