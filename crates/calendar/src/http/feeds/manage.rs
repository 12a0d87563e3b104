//! The caller's feeds.

use std::collections::BTreeSet;

use backoffice_core::http::{Created, Json, Path, PathId, Query, Routes, requires};
use backoffice_core::input::{Input, Validator, rules, schema};
use backoffice_core::list::{ById, Page, PageQuery};
use backoffice_core::{API_PREFIX, Patch, Placement, RequestContext, Result, Timestamp, Violations, missing_as};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::super::bodies::DeletedRecord;
use super::super::windows::PAGE_SIZE;
use crate::acl;
use crate::commands::{CreateFeed, DeleteFeed};
use crate::documented::{CalendarFeedContent, CalendarResourceType};
use crate::model::{FEED, FEED_CONTENTS, Feed, FeedFilter};
use crate::query::feeds;
use crate::subject::ResourceType;
use crate::token::FeedToken;

const LIST: &str = "/calendar/feeds";
const NOT_FOUND: &str = "feed_not_found";
/// Longest name, in characters.
const NAME_LENGTH: usize = 80;
/// Maximum number of resources or job sites of a filter.
const MOST_IDS: usize = 200;

backoffice_core::text_schemas! {
    /// Name of a feed.
    CalendarFeedName: schema::line(NAME_LENGTH);
}

pub(super) fn routes(routes: &mut Routes) {
    routes
        .get(LIST, requires(&[acl::VIEW]), list_calendar_feeds)
        .shows(&[FEED])
        .about("List the caller's feeds by name");
    routes
        .post(LIST, requires(&[acl::VIEW]), create_calendar_feed)
        .about("Create a feed; its address is shown once")
        .one_time(&["url"])
        .rejects(&[409, 422]);
    routes
        .delete("/calendar/feeds/{id}", requires(&[acl::VIEW]), delete_calendar_feed)
        .about("Delete a feed of the caller")
        .rejects(&[404, 409, 422]);
}

/// Parameters of the list of feeds.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct FeedQuery {
    /// Page number from 1.
    #[param(minimum = 1, maximum = 2_147_483_647, default = 1)]
    page: Option<u32>,
    /// Rows per page.
    #[param(minimum = 1, maximum = 100, default = 20)]
    page_size: Option<u32>,
}

async fn list_calendar_feeds(
    ctx: RequestContext,
    by_id: Query<ById>,
    query: Query<FeedQuery>,
) -> Result<Json<Page<Feed>>> {
    let mut violations = Violations::default();
    let page = PageQuery::new(query.0.page, query.0.page_size.or(Some(PAGE_SIZE)));
    let page = violations.keep(page.window());
    let ids = violations.keep(by_id.0.requested());
    violations.check()?;
    let connection = ctx.read().await?;
    feeds::list(&connection, &ctx, ids, page).await.map(Json)
}

/// A new feed.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
#[schema(as = CalendarNewFeed)]
struct NewFeed {
    /// 1 to 80 characters.
    #[schema(value_type = CalendarFeedName, required = true)]
    name: Patch<String>,
    /// What it contains: `windows`, `assignments` or both.
    #[schema(value_type = BTreeSet<CalendarFeedContent>, required = true, min_items = 1, max_items = 2)]
    include: Patch<Vec<String>>,
    /// Only those of resources of this type.
    #[schema(value_type = Option<CalendarResourceType>)]
    resource_type: Patch<String>,
    /// Only those of these resources, at most 200.
    #[schema(value_type = Option<Vec<Uuid>>, max_items = 200)]
    resource_ids: Patch<Vec<Uuid>>,
    /// Only assignments to these job sites, at most 200.
    #[schema(value_type = Option<Vec<Uuid>>, max_items = 200)]
    job_site_ids: Patch<Vec<Uuid>>,
}

impl NewFeed {
    fn checked(&self, validator: &mut Validator) -> (String, FeedFilter) {
        validator.require("name", &self.name);
        validator.require("include", &self.include);
        let (mut name, mut filter) = (String::new(), FeedFilter::default());
        validator.text("name", &self.name, &mut name, rules::line(NAME_LENGTH));
        validator.value("include", &self.include, &mut filter.include, |names| contents(names));
        let mut resource_type = None;
        validator.optional_text(
            "resourceType",
            &self.resource_type,
            &mut resource_type,
            rules::one_of(&ResourceType::WORDS),
        );
        filter.resource_type = resource_type.as_deref().and_then(ResourceType::parse);
        validator.optional("resourceIds", &self.resource_ids, &mut filter.resource_ids, |list| {
            ids(list)
        });
        validator.optional("jobSiteIds", &self.job_site_ids, &mut filter.job_site_ids, |list| {
            ids(list)
        });
        (name, filter)
    }
}

/// Accepts the names of kinds of events, each once.
fn contents(names: &[String]) -> Result<Vec<String>, rules::Violation> {
    let is_known = |name: &String| FEED_CONTENTS.contains(&name.as_str());
    let distinct: BTreeSet<&String> = names.iter().collect();
    if names.is_empty() || !names.iter().all(is_known) || distinct.len() < names.len() {
        return Err(rules::Violation::invalid(
            "must be of windows, assignments, each once, at least one",
        ));
    }
    Ok(names.to_vec())
}

/// Accepts a list of ids and keeps each once.
fn ids(list: &[Uuid]) -> Result<Vec<Uuid>, rules::Violation> {
    rules::ids(MOST_IDS)(&list.to_vec()).map(|ids| ids.into_iter().collect())
}

impl Input for NewFeed {
    fn validate(&self, validator: &mut Validator) {
        self.checked(validator);
    }
}

/// A created feed.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = CalendarCreatedFeed)]
struct CreatedFeed {
    /// The id.
    id: Uuid,
    /// The address, shown only once; null when the request is repeated with its `Idempotency-Key`.
    url: Option<String>,
}

async fn create_calendar_feed(ctx: RequestContext, body: Json<NewFeed>) -> Result<Created<CreatedFeed>> {
    let user = ctx.user_id()?;
    let mut validator = Validator::default();
    let (name, filter) = body.0.checked(&mut validator);
    validator.check()?;
    let placement = Placement::for_new(&ctx, None)?;
    let now: Timestamp = ctx.now();
    let home = ctx.identity().tenant;
    let feed = Feed {
        tenant_id: placement.tenant,
        id: ctx.new_id(),
        organization_id: placement.organization,
        user_tenant_id: (home != placement.tenant).then_some(home),
        user_id: user,
        name,
        filter: serde_json::to_value(filter)?,
        last_used_at: None,
        created_at: now,
        updated_at: now,
    };
    let token = FeedToken::draw(ctx.ids());
    let url = address(&ctx, &token);
    let command = CreateFeed { feed, token };
    let created = |()| {
        Created(CreatedFeed {
            id: command.feed.id,
            url: Some(url.clone()),
        })
    };
    ctx.execute(&command, created).await
}

/// Returns the address of a feed: absolute if the platform knows its own address, else from the root of the site.
fn address(ctx: &RequestContext, token: &FeedToken) -> String {
    let origin = ctx.platform().app().public_url.as_deref().unwrap_or_default();
    format!(
        "{}{API_PREFIX}/calendar/feed/{}",
        origin.trim_end_matches('/'),
        token.text
    )
}

async fn delete_calendar_feed(ctx: RequestContext, path: Path<PathId>) -> Result<Json<DeletedRecord>> {
    ctx.user_id()?;
    let command = DeleteFeed::new(path.0.id);
    let deleted = ctx.execute(&command, |()| Json(DeletedRecord::OK)).await;
    missing_as(deleted, NOT_FOUND)
}
