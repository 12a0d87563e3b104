//! Rejections as pages, for endpoints of all modules.

use std::time::Duration;

use actix_web::HttpRequest;
use askama::Template;
use backoffice_core::http::{PageNotice, Raw, SiteFrame};
use backoffice_core::{Call, Error, Rejection, Result};

use super::{PageContent, Site};
use crate::mails::letters::in_words;

/// Lets other modules respond with pages.
pub(crate) const FRAME: SiteFrame = SiteFrame { rejection };

/// Seconds after which a client may try again if the rejection does not say it.
const USUAL_WAIT: u64 = 60;

#[derive(Template)]
#[template(path = "notice.html")]
struct NoticePage<'a> {
    title: &'a str,
    text: &'a str,
    links: &'a [(&'static str, String)],
}

/// Writes the HTML of a page with a text.
///
/// # Errors
/// If the template can't be rendered.
pub fn notice_html(notice: &PageNotice) -> Result<String> {
    with_text(notice, notice.text)
}

fn with_text(notice: &PageNotice, text: &str) -> Result<String> {
    let page = NoticePage {
        title: notice.title,
        text,
        links: &notice.links,
    };
    page.render()
        .map_err(|error| Error::internal(format!("could not render a page: {error}")))
}

fn rejection(
    call: &Call,
    request: &HttpRequest,
    rejection: &Rejection,
    notice: &dyn Fn(&str) -> PageNotice,
) -> Option<Raw> {
    let site = Site::of(call.platform())?;
    let visit = site.visit_of_rejected(request);
    let language = visit.language_code();
    let notice = notice(language);
    let text = notice.text.replace("{wait}", &wait(language, rejection));
    let content = PageContent {
        title: notice.title,
        html: with_text(&notice, &text).ok()?,
        ..PageContent::default()
    };
    visit.page(rejection.status, &content).ok()
}

/// Returns in words how long the client should wait, rounded up.
fn wait(language: &str, rejection: &Rejection) -> String {
    let seconds = rejection.retry_after.unwrap_or(USUAL_WAIT);
    let shown = if seconds < 60 {
        seconds
    } else {
        seconds.div_ceil(60) * 60
    };
    in_words(language, Duration::from_secs(shown))
}

#[cfg(test)]
mod tests {
    use actix_web::http::StatusCode;

    use super::*;

    #[test]
    fn a_wait_is_never_too_short() {
        for (seconds, english, polish) in [
            (Some(1), "1 second", "1 sekundę"),
            (Some(59), "59 seconds", "59 sekund"),
            (Some(60), "1 minute", "1 minutę"),
            (Some(61), "2 minutes", "2 minuty"),
            (Some(3600), "1 hour", "1 godzinę"),
            (None, "1 minute", "1 minutę"),
        ] {
            let rejection = Rejection {
                retry_after: seconds,
                ..Rejection::new(StatusCode::TOO_MANY_REQUESTS, "Too many requests")
            };

            assert_eq!(wait("en", &rejection), english);
            assert_eq!(wait("pl", &rejection), polish);
        }
    }
}
