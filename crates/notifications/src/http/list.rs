//! The caller's notifications.

use actix_web::http::StatusCode;
use actix_web::http::header::{ETAG, HeaderValue, IF_NONE_MATCH};
use actix_web::{HttpRequest, HttpResponse};
use backoffice_core::http::{Access, CheckedQuery, Json, QueryInput, Response, Routes, Schemas};
use backoffice_core::input::{Bounded, schema};
use backoffice_core::list::{InstantOrDate, ListQuery, Page, instant};
use backoffice_core::{Detail, Platform, RequestContext, Result, Timestamp, Violations, text_schemas};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::openapi::path::OperationBuilder;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::locale;
use crate::query::{self, DISMISSED, Notification, NotificationFilter, READ, UNREAD};
use crate::types;

const STATUSES: [&str; 3] = [UNREAD, READ, DISMISSED];
const SEVERITIES: [&str; 4] = ["info", "warning", "success", "error"];

text_schemas! {
    /// Status of a notification.
    NotificationStatus: schema::words(STATUSES);
    /// Severity of a notification.
    NotificationSeverity: schema::words(SEVERITIES);
}

pub(super) fn routes(routes: &mut Routes) {
    routes
        .get("/notifications", Access::Authenticated, list_notifications)
        .about("List the caller's notifications, the newest first");
    routes
        .get(
            "/notifications/unread-count",
            Access::Authenticated,
            count_unread_notifications,
        )
        .about("Count the caller's unread notifications")
        .responses(&[304]);
}

/// Parameters of the list.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct NotificationQuery {
    /// Only this status; without it, dismissed notifications are left out.
    #[param(value_type = Option<NotificationStatus>, inline)]
    status: Option<String>,
    /// Only this type.
    #[param(value_type = Option<String>, min_length = 1, max_length = 100)]
    r#type: Option<Bounded<String, 1, 100>>,
    /// Only this severity.
    #[param(value_type = Option<NotificationSeverity>, inline)]
    severity: Option<String>,
    /// Only notifications of this instant or later.
    #[param(value_type = Option<InstantOrDate>, inline)]
    since: Option<String>,
}

impl NotificationQuery {
    fn filter(&self, violations: &mut Violations) -> NotificationFilter {
        let words = [
            ("status", &self.status, &STATUSES[..]),
            ("severity", &self.severity, &SEVERITIES[..]),
        ];
        for (path, word, allowed) in words {
            if word.as_ref().is_some_and(|word| !allowed.contains(&word.as_str())) {
                let text = format!("must be one of {}", allowed.join(", "));
                violations.add(Detail::new(path, text, "invalid_value"));
            }
        }
        NotificationFilter {
            status: self.status.clone(),
            type_: self.r#type.as_ref().map(|one| one.0.clone()),
            severity: self.severity.clone(),
            since: violations.keep(instant("since", self.since.as_deref(), false)),
        }
    }
}

impl QueryInput for NotificationQuery {
    fn validate(&self, violations: &mut Violations) {
        self.filter(violations);
    }
}

/// A notification.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct NotificationItem {
    /// The id.
    id: Uuid,
    /// Name of the type. Modules define the types: the set is open.
    r#type: String,
    /// The title, in the language of the caller.
    title: String,
    /// The text, in the language of the caller; may have several lines.
    body: String,
    /// `info`, `warning`, `success` or `error`.
    #[schema(value_type = NotificationSeverity)]
    severity: String,
    /// `unread`, `read` or `dismissed`.
    #[schema(value_type = NotificationStatus)]
    status: String,
    /// Name of the module that sent it; the set is open.
    source_module: String,
    /// Kind of the resource that it is about. Modules define the kinds: the set is open.
    #[schema(required = true)]
    source_entity_type: Option<String>,
    /// Id of the resource that it is about.
    #[schema(required = true)]
    source_entity_id: Option<Uuid>,
    /// Path on this site to which it leads.
    #[schema(required = true)]
    link_href: Option<String>,
    /// Time at which it was sent, or sent again.
    created_at: Timestamp,
    /// Time at which it was read.
    #[schema(required = true)]
    read_at: Option<Timestamp>,
}

impl NotificationItem {
    /// Writes the texts in the language of the caller; those of a type that no module offers any more are in the default language.
    fn new(platform: &Platform, locale: &str, row: Notification) -> Self {
        let empty = Map::new();
        let params = row.params.as_object().unwrap_or(&empty);
        let wording = types::find(platform, &row.type_).map(|known| known.wording(locale, params));
        let (title, body) = match wording {
            Some(wording) => (wording.title, wording.body),
            None => (row.title, row.body),
        };
        Self {
            id: row.id,
            r#type: row.type_,
            title,
            body,
            severity: row.severity,
            status: row.status,
            source_module: row.source_module,
            source_entity_type: row.source_entity_type,
            source_entity_id: row.source_entity_id,
            link_href: row.link_href,
            created_at: row.created_at,
            read_at: row.read_at,
        }
    }
}

/// A page of notifications.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct NotificationPage {
    /// The notifications.
    items: Vec<NotificationItem>,
    /// Notifications of all pages.
    total: i64,
    /// Page number from 1.
    page: u32,
    /// Rows of a page at most.
    page_size: u32,
    /// Number of pages, at least 1.
    total_pages: i64,
    /// All unread notifications of the caller, whatever the filter.
    unread_count: i64,
}

async fn list_notifications(
    ctx: RequestContext,
    list: ListQuery<Notification>,
    query: CheckedQuery<NotificationQuery>,
    request: HttpRequest,
) -> Result<Json<NotificationPage>> {
    let mut violations = Violations::default();
    let listed = list.validate_with(&mut violations);
    let filter = query.0.filter(&mut violations);
    violations.check()?;
    // API keys have none.
    let user = ctx.user_id().unwrap_or_else(|_| Uuid::nil());
    let locale = locale(&ctx, &request).await?;
    let connection = ctx.database().read_briefly(&query::own_scope(&ctx)).await?;
    let (page, unread_count) = query::list(&connection, &ctx, user, &filter, &listed).await?;
    let Page {
        items,
        total,
        page,
        page_size,
        total_pages,
    } = page.map(|row| NotificationItem::new(ctx.platform(), &locale, row));
    Ok(Json(NotificationPage {
        items,
        total,
        page,
        page_size,
        total_pages,
        unread_count,
    }))
}

/// The number of unread notifications.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct UnreadCount {
    unread_count: i64,
}

/// The number with its entity tag; without the body if the client has it.
struct Tagged {
    count: Json<UnreadCount>,
    tag: HeaderValue,
    is_known: bool,
}

impl Response for Tagged {
    fn status(&self) -> StatusCode {
        match self.is_known {
            true => StatusCode::NOT_MODIFIED,
            false => StatusCode::OK,
        }
    }

    fn to_value(&self) -> Result<Value> {
        self.count.to_value()
    }

    fn into_response(self) -> HttpResponse {
        let mut response = match self.is_known {
            true => HttpResponse::NotModified().finish(),
            false => self.count.into_response(),
        };
        response.headers_mut().insert(ETAG, self.tag);
        response
    }

    fn describe(operation: OperationBuilder, schemas: &mut Schemas) -> OperationBuilder {
        Json::<UnreadCount>::describe(operation, schemas)
    }
}

async fn count_unread_notifications(ctx: RequestContext, request: HttpRequest) -> Result<Tagged> {
    let unread_count = match ctx.user_id() {
        Ok(user) => {
            let connection = ctx.database().read_briefly(&query::own_scope(&ctx)).await?;
            query::count_unread(&connection, &ctx, user).await?
        }
        Err(_) => 0,
    };
    let tag = format!("\"{unread_count}\"");
    let mut known = request.headers().get_all(IF_NONE_MATCH);
    let is_known = known.any(|tags| {
        let tags = tags.to_str().unwrap_or_default();
        tags.split(',')
            .map(str::trim)
            .any(|one| one == "*" || one.strip_prefix("W/").unwrap_or(one) == tag)
    });
    Ok(Tagged {
        count: Json(UnreadCount { unread_count }),
        tag: HeaderValue::from_str(&tag).unwrap_or(HeaderValue::from_static("\"\"")),
        is_known,
    })
}
