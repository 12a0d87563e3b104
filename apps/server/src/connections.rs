//! How many connections a listener may have, and how long a client may leave what it was sent.

use std::any::Any;
use std::time::Duration;

use actix_web::dev::Extensions;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// How long the head of a request may take to arrive.
pub(crate) const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
/// Descriptors beside those of the API's connections and the database's: listeners, logs, mails, the operators' connections.
const OTHER_DESCRIPTORS: u64 = 128;
/// How long a client may take nothing of what it was sent before the system closes its connection.
#[cfg(target_os = "linux")]
const UNREAD_MILLIS: u32 = 30_000;

/// Raises the process's limit of open files as far as it may, and tells for how many connections it suffices, at most `wanted`.
pub(crate) fn within_file_limit(requested: usize, database_connections: usize) -> usize {
    let limit = raised_file_limit();
    let others = OTHER_DESCRIPTORS.saturating_add(u64::try_from(database_connections).unwrap_or(u64::MAX));
    let possible = limit.map_or(requested, |limit| left_of(limit, others));
    if possible < requested {
        tracing::warn!(
            http.max_connections = requested,
            possible,
            "fewer connections than configured; raise the limit of open files"
        );
    }
    requested.min(possible)
}

/// What a limit leaves for connections: what the others do not need, at least a half.
fn left_of(limit: u64, others: u64) -> usize {
    let left = limit.saturating_sub(others).max(limit / 2);
    usize::try_from(left).unwrap_or(usize::MAX)
}

/// The limit of open files of this process; `None` when there is none.
fn raised_file_limit() -> Option<u64> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current == maximum {
        return current;
    }
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => maximum,
        Err(error) => {
            tracing::warn!(%error, "the limit of open files could not be raised");
            current
        }
    }
}

/// Has the system close a connection whose client takes nothing, as long as there is something to take. Idle streams are none.
#[cfg(target_os = "linux")]
pub(crate) fn watch_reader(connection: &dyn Any, _extensions: &mut Extensions) {
    if let Some(stream) = connection.downcast_ref::<tokio::net::TcpStream>()
        && let Err(error) = rustix::net::sockopt::set_tcp_user_timeout(stream, UNREAD_MILLIS)
    {
        tracing::debug!(%error, "a connection without a deadline for its reader");
    }
}

/// Elsewhere the system has no such deadline.
#[cfg(not(target_os = "linux"))]
pub(crate) fn watch_reader(_connection: &dyn Any, _extensions: &mut Extensions) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_descriptors_for_everything_else() {
        assert_eq!(left_of(1024, 144), 880);
        assert_eq!(left_of(100, 144), 50);
        assert_eq!(left_of(20_000, 144), 19_856);
    }
}
