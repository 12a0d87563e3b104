//! The endpoint.

use actix_web::HttpRequest;
use actix_web::http::header::{CACHE_CONTROL, HeaderName, HeaderValue};
use backoffice_core::events::extent;
use backoffice_core::http::{Access, LiveCaller, Query, Routes, Streamed};
use backoffice_core::input::Bounded;
use backoffice_core::list::CommaList;
use backoffice_core::{Detail, RequestContext, Result, Scope};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::feed::Feeds;
use crate::live::{Live, Start};
use crate::slots::StreamSlots;

const MOST_NAMES: usize = 50;

pub(crate) fn routes(routes: &mut Routes) {
    routes
        .get("/events/stream", Access::Authenticated, stream_events)
        .about("Events of the tenant as they happen, as server-sent events")
        .produces(&["text/event-stream"])
        .takes_headers(&["Last-Event-ID"])
        .sends_headers(&["X-Accel-Buffering"])
        .rejects(&[400, 429]);
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct StreamQuery {
    /// Names of events: a comma list of exact names, `prefix.*` or `*`. With an empty list the stream sends no events. At most 50 different
    /// names.
    #[param(
        value_type = Option<String>,
        max_length = 4000,
        pattern = r"^[ ,]*((\*|[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*(\.\*)?)( *,[ ,]*(\*|[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*(\.\*)?))*[ ,]*)?$"
    )]
    names: Option<Bounded<String, 0, 4000>>,
}

async fn stream_events(
    context: RequestContext,
    live_caller: LiveCaller,
    request: HttpRequest,
    query: Query<StreamQuery>,
) -> Result<Streamed> {
    let tenant = context.tenant()?;
    let names = query.0.names.as_ref().map(|names| patterns(&names.0)).transpose()?;
    let call = context.call();
    let identity = context.identity();
    let slots = call.provided::<StreamSlots>()?;
    let slot = slots.take((identity.kind.as_str(), identity.id), tenant)?;
    let extent = {
        let mut connection = context.database().read(&Scope::tenant(tenant)).await?;
        extent(&mut connection, tenant).await?
    };
    let known = request.headers().get("last-event-id");
    let start = Start::after(known.map(|value| value.to_str().unwrap_or_default()), extent);
    let feeds = call.provided::<Feeds>()?;
    let subscription = feeds.subscribe(&call.runtime, tenant, extent.last);
    Ok(Streamed {
        content_type: "text/event-stream",
        headers: vec![
            (CACHE_CONTROL, HeaderValue::from_static("no-store")),
            // Proxies that buffer responses would delay the events.
            (
                HeaderName::from_static("x-accel-buffering"),
                HeaderValue::from_static("no"),
            ),
        ],
        pieces: Live::new(live_caller, slot, subscription, tenant, names, start).into_pieces(),
    })
}

fn patterns(text: &str) -> Result<Vec<String>, Detail> {
    let expected = "must be names of events: exact ones, `prefix.*` or `*`";
    let list = CommaList::new("names").at_most(MOST_NAMES);
    let mut names = list.parsed([text], expected, |name| is_pattern(name).then(|| name.to_owned()))?;
    names.sort_unstable();
    Ok(names)
}

fn is_pattern(name: &str) -> bool {
    let is_name = |text: &str| {
        let is_word = |word: &str| {
            let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
            !word.is_empty() && word.bytes().all(fits)
        };
        text.split('.').all(is_word)
    };
    name == "*" || is_name(name.strip_suffix(".*").unwrap_or(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_trimmed_each_name_once_and_may_be_empty() {
        assert_eq!(patterns(" auth.*, *,auth.*,").expect("a list"), ["*", "auth.*"]);
        for none in ["", " ", ","] {
            assert!(patterns(none).expect("a list").is_empty(), "{none:?}");
        }
        assert!(patterns("auth.*,a b").is_err());
        let many: String = (0..51).map(|number| format!("a{number},")).collect();
        assert!(patterns(&many).is_err());
    }

    #[test]
    fn patterns_are_names_prefixes_or_everything() {
        for good in ["*", "auth.*", "auth.role.created", "audit_logs.*"] {
            assert!(is_pattern(good), "{good}");
        }
        for bad in ["", "*.created", "auth.", "auth*", "a b", "auth.*.created", ".*"] {
            assert!(!is_pattern(bad), "{bad}");
        }
    }
}
