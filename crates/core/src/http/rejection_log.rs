//! The log of rejections: one line for every response that rejects its sender (401, 403, 429), to make guessing and probing visible.

use std::sync::{Mutex, PoisonError};

use actix_web::http::StatusCode;

use super::routes::EndpointInfo;
use crate::context::Call;
use crate::error::Rejection;
use crate::time::Timestamp;

/// Maximum number of lines that one process writes per second; a flood must not fill the disk.
const LINES_PER_SECOND: u32 = 20;
/// Longest reason of a line, in characters.
const LONGEST_REASON: usize = 200;

/// Counts the lines of one process.
#[derive(Debug, Default)]
pub(crate) struct RejectionLog(Mutex<Second>);

#[derive(Debug, Default)]
struct Second {
    unix: i64,
    lines: u32,
    suppressed: u64,
}

/// Whether a response with this status rejects its sender.
pub(super) fn is_rejection(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS
    )
}

/// Writes the line, unless too many were written in this second.
pub(super) fn record(rejection: &Rejection, info: &EndpointInfo, call: &Call) {
    if !is_rejection(rejection.status) {
        return;
    }
    let Some(suppressed) = call.platform().rejections().admit(call.now) else {
        return;
    };
    if suppressed > 0 {
        tracing::warn!(rejections.suppressed = suppressed, "rejections not logged");
    }
    let identity = call.sender.identity();
    let attempt = call.sender.attempt();
    let account = attempt.and_then(|attempt| attempt.account);
    let actor = identity
        .and_then(|identity| identity.id)
        .or(account.map(|(_, user)| user));
    let tenant = identity
        .map(|identity| identity.tenant)
        .or(account.map(|(tenant, _)| tenant));
    // The text that the client receives. The logger escapes control characters, and long texts are cut.
    let reason: String = rejection.message.chars().take(LONGEST_REASON).collect();
    let features = rejection.fields.get("requiredFeatures").map(ToString::to_string);
    tracing::info!(
        http.method = %info.method,
        http.path = info.path,
        http.status = rejection.status.as_u16(),
        rejection.reason = reason,
        rejection.code = rejection.code.as_deref(),
        rejection.features = features,
        actor.kind = identity.map(|identity| identity.kind.as_str()),
        actor.id = actor.map(tracing::field::display),
        tenant.id = tenant.map(tracing::field::display),
        address.hash = attempt.map(|attempt| attempt.address_hash.as_str()),
        client.ip = call.ip.map(tracing::field::display),
        request.id = %call.request_id,
        "request rejected"
    );
}

impl RejectionLog {
    /// Returns the number of lines left out since the last one, or `None` when this line must be left out too.
    fn admit(&self, now: Timestamp) -> Option<u64> {
        let unix = now.get().unix_timestamp();
        let mut second = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if second.unix != unix {
            second.unix = unix;
            second.lines = 0;
        }
        if second.lines == LINES_PER_SECOND {
            second.suppressed += 1;
            return None;
        }
        second.lines += 1;
        Some(std::mem::take(&mut second.suppressed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_rejections_is_counted_and_not_written() {
        let log = RejectionLog::default();
        let at = |text: &str| Timestamp::parse(text).expect("an instant");
        let (now, next) = (at("2026-11-20T08:00:00.100Z"), at("2026-11-20T08:00:01Z"));

        let admitted = (0..1000).filter(|_| log.admit(now).is_some()).count();

        assert_eq!(admitted, LINES_PER_SECOND as usize);
        assert_eq!(log.admit(next), Some(1000 - u64::from(LINES_PER_SECOND)));
        assert_eq!(log.admit(next), Some(0));
    }
}
