//! Limits on a listener's connections, and on the time for which a client may leave a response unread.

use std::any::Any;
use std::fmt::Debug;
use std::time::Duration;

use actix_http::Request;
use actix_http::body::MessageBody;
use actix_service::IntoServiceFactory;
use actix_web::HttpServer;
use actix_web::dev::{AppConfig, Extensions, Response, Service, ServiceFactory};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::Backoffice;

/// Maximum time until the head of a request has arrived.
pub(crate) const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum time for open requests to finish when the server stops, in seconds.
const DRAIN_SECONDS: u64 = 10;
/// File descriptors besides those of API and database connections: listeners, logs, mails, the operators' connections.
const OTHER_DESCRIPTORS: u64 = 128;
/// Maximum time for which a client may leave sent bytes unacknowledged before the system closes its connection.
#[cfg(target_os = "linux")]
const UNREAD_MILLIS: u32 = 30_000;

/// Sets the number of threads of a server, and the limits with which the host serves the API: at most `http.max_connections` connections, 5 s until the
/// head of a request has arrived, 30 s for which a client may leave a response unread (on Linux), and 10 s for open requests when the server stops.
/// Responses are sent at once (`TCP_NODELAY`). Raises the process's limit of open files.
///
/// Call it before `bind`. It replaces the callback of [`HttpServer::on_connect`].
pub fn limit_connections<F, I, S, B>(
    server: HttpServer<F, I, S, B>,
    office: &Backoffice,
    workers: usize,
) -> HttpServer<F, I, S, B>
where
    F: Fn() -> I + Send + Clone + 'static,
    I: IntoServiceFactory<S, Request>,
    S: ServiceFactory<Request, Config = AppConfig> + 'static,
    S::Error: Into<actix_web::Error> + 'static,
    S::InitError: Debug,
    S::Response: Into<Response<B>> + 'static,
    <S::Service as Service<Request>>::Future: 'static,
    S::Service: 'static,
    B: MessageBody + 'static,
{
    let connections = within_file_limit(office.platform().http().max_connections, office.database_connections());
    let workers = workers.max(1);
    server
        .workers(workers)
        // Per worker.
        .max_connections((connections / workers).max(1))
        .client_request_timeout(HEAD_TIMEOUT)
        .on_connect(watch_reader)
        // The body of a file follows its headers in a write of its own, which would otherwise wait for the client's acknowledgement.
        .tcp_nodelay(true)
        .shutdown_timeout(DRAIN_SECONDS)
}

/// Raises the process's limit of open files to its maximum. Returns the number of connections that it allows, at most `requested`.
fn within_file_limit(requested: usize, database_connections: usize) -> usize {
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

/// Returns the share of a limit that is left for connections: the limit less `others`, but at least half of it.
fn left_of(limit: u64, others: u64) -> usize {
    let left = limit.saturating_sub(others).max(limit / 2);
    usize::try_from(left).unwrap_or(usize::MAX)
}

/// Raises the limit of open files and returns it; `None` if there is no limit.
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
            tracing::warn!(%error, "could not raise the limit of open files");
            current
        }
    }
}

/// Makes the system close a connection whose client does not read pending data. Idle streams have no pending data.
#[cfg(target_os = "linux")]
fn watch_reader(connection: &dyn Any, _extensions: &mut Extensions) {
    if let Some(stream) = connection.downcast_ref::<tokio::net::TcpStream>()
        && let Err(error) = rustix::net::sockopt::set_tcp_user_timeout(stream, UNREAD_MILLIS)
    {
        tracing::debug!(%error, "could not set the read timeout of a connection");
    }
}

/// Other systems have no such timeout.
#[cfg(not(target_os = "linux"))]
fn watch_reader(_connection: &dyn Any, _extensions: &mut Extensions) {}

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
