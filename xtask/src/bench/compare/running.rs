//! The server of the lines.

use super::super::server::Server;
use super::Bench;
use crate::Result;

/// Clients send as many requests as they can, also those that are limited by address or account.
const UNLIMITED: (&str, &str) = ("BACKOFFICE__RATE_LIMITS__ENABLED", "false");

impl Bench<'_> {
    /// Starts a server without limits, with further environment variables.
    pub(super) fn server(&self, settings: &[(&str, &str)]) -> Result<Server> {
        Server::start_with(
            self.program,
            self.work,
            self.database,
            &[settings, &[UNLIMITED]].concat(),
        )
    }
}

/// A server that is started when it is needed: a failed line may have ended it.
pub(super) struct Running<'b, 'a> {
    bench: &'b Bench<'a>,
    server: Option<Server>,
}

impl<'b, 'a> Running<'b, 'a> {
    pub(super) fn new(bench: &'b Bench<'a>) -> Self {
        Self { bench, server: None }
    }

    /// Returns the server, after starting it if it does not run.
    pub(super) fn get(&mut self) -> Result<&Server> {
        if self.server.as_mut().is_some_and(|server| !server.is_alive()) {
            self.server = None;
        }
        let server = match self.server.take() {
            Some(server) => server,
            None => self.bench.server(&[])?,
        };
        Ok(self.server.insert(server))
    }
}
