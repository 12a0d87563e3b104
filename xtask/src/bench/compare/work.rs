//! The requests of a subject.

use std::net::SocketAddr;
use std::sync::Arc;

use serde_json::{Value, json};

use super::super::database::PASSWORD;
use super::super::http::{Client, decoded};
use super::super::load::Requests;
use super::super::subject::{role, role_name};
use super::site::Site;
use crate::Result;

/// Path of roles.
const ROLES: &str = "/api/auth/roles";

/// What the clients of a subject send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// A read without a credential.
    Public(&'static str),
    /// A read. The path has placeholders for what it names of the site.
    Read(&'static str),
    /// A list of which this number of rows is expected on the page, if the tenant has as many.
    List(&'static str),
    /// The same list, unchanged since the client's `ETag`.
    Unchanged(&'static str),
    /// A question about rights.
    FeatureCheck,
    /// A sign-in of an account of the client's own.
    SignIn,
    /// A new role.
    Create,
    /// Another name for the client's own role.
    Update,
    /// The deletion of a role that the client has created.
    Delete,
    /// The undo of a client's latest change of its own role.
    Undo,
}

/// The server, and the tokens of the clients: all clients share one, or each has its own.
#[derive(Debug, Clone, Copy)]
pub(super) struct Callers<'a> {
    pub(super) host: SocketAddr,
    pub(super) tokens: &'a [String],
}

/// The requests of all clients.
pub(super) enum Prepared {
    /// With the status of their responses.
    Requests(Vec<Requests>, u16),
    /// The server lacks what the subject is about.
    Missing(&'static str),
}

impl Work {
    /// Returns the requests of each client, after sending those that have to precede them. `each` limits the number of prepared changes of a client.
    pub(super) fn prepare(self, callers: Callers<'_>, site: &Site, clients: u32, each: u64) -> Result<Prepared> {
        let all = |requests: fn(String, SocketAddr, u32) -> Requests| {
            (0..clients)
                .map(|client| requests(callers.token(client).to_owned(), callers.host, client))
                .collect()
        };
        let (requests, expected) = match self {
            Self::Public(path) => (repeated(callers.get(path, None, ""), clients), 200),
            Self::Read(path) => (repeated(callers.read(site, path, ""), clients), 200),
            Self::List(path) => {
                let request = callers.read(site, path, "");
                check_page(callers.host, &request)?;
                (repeated(request, clients), 200)
            }
            Self::Unchanged(path) => {
                let reply = Client::connect(callers.host)?.exchange(&callers.read(site, path, ""))?;
                let Some(tag) = reply.header("etag") else {
                    return Ok(Prepared::Missing("no ETag"));
                };
                let header = format!("if-none-match: {tag}\r\n");
                (repeated(callers.read(site, path, &header), clients), 304)
            }
            Self::FeatureCheck => {
                let features =
                    json!({"features": ["auth.users.view", "customers.deals.manage", "customers.*", "unknown.view"]});
                let request = callers.write(0, "POST", "/api/auth/feature-check", &features);
                (repeated(request, clients), 200)
            }
            Self::SignIn => {
                let one = |client| {
                    let body = json!({"email": format!("client{client}@{}", site.domain), "password": PASSWORD});
                    constant(public("POST", "/api/auth/login", callers.host, &body))
                };
                ((0..clients).map(one).collect(), 200)
            }
            Self::Create => (all(creations), 201),
            Self::Update => (all(renamings), 200),
            Self::Delete => (each_client(clients, |client| callers.deletions(client, each))?, 200),
            Self::Undo => (each_client(clients, |client| callers.undos(client, each))?, 200),
        };
        Ok(Prepared::Requests(requests, expected))
    }

    /// Whether the requests change rows.
    pub(super) fn is_write(self) -> bool {
        self.is_prepared() || matches!(self, Self::Create | Self::Update | Self::SignIn)
    }

    /// Whether the requests are finite, because others prepare them.
    pub(super) fn is_prepared(self) -> bool {
        matches!(self, Self::Delete | Self::Undo)
    }
}

/// Prepares the requests of the clients concurrently.
fn each_client(clients: u32, prepare: impl Fn(u32) -> Result<Vec<Vec<u8>>> + Sync) -> Result<Vec<Requests>> {
    let prepare = &prepare;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..clients)
            .map(|client| scope.spawn(move || prepare(client)))
            .collect();
        let requests = threads.into_iter().map(|thread| {
            let list = thread.join().map_err(|_| "a client panicked")??;
            let mut list = list.into_iter().map(Arc::from);
            let requests: Requests = Box::new(move || list.next());
            Ok(requests)
        });
        requests.collect()
    })
}

fn constant(request: Vec<u8>) -> Requests {
    let request: Arc<[u8]> = request.into();
    Box::new(move || Some(Arc::clone(&request)))
}

fn repeated(request: Vec<u8>, clients: u32) -> Vec<Requests> {
    (0..clients).map(|_| constant(request.clone())).collect()
}

/// Returns requests that differ in their bodies.
fn numbered(
    (method, path): (&'static str, &'static str),
    (token, host): (String, SocketAddr),
    body: impl Fn(u64) -> Value + Send + 'static,
) -> Requests {
    let mut round = start_of_rounds();
    Box::new(move || {
        round += 1;
        Some(with_body(method, path, host, &token, &body(round)).into())
    })
}

fn creations(token: String, host: SocketAddr, client: u32) -> Requests {
    let body = move |round| json!({"name": format!("created {client} {round}")});
    numbered(("POST", ROLES), (token, host), body)
}

fn renamings(token: String, host: SocketAddr, client: u32) -> Requests {
    let body = move |round| json!({"id": role(client), "name": role_name(client, round)});
    numbered(("PUT", ROLES), (token, host), body)
}

impl Callers<'_> {
    fn token(&self, client: u32) -> &str {
        let index = client as usize % self.tokens.len().max(1);
        self.tokens.get(index).map_or("", String::as_str)
    }

    fn get(&self, path: &str, token: Option<&str>, headers: &str) -> Vec<u8> {
        let credential = token.map_or_else(String::new, |token| format!("authorization: Bearer {token}\r\n"));
        format!(
            "GET {path} HTTP/1.1\r\nhost: {}\r\n{credential}{headers}\r\n",
            self.host
        )
        .into_bytes()
    }

    fn read(&self, site: &Site, path: &str, headers: &str) -> Vec<u8> {
        self.get(&site.path(path), Some(self.token(0)), headers)
    }

    fn write(&self, client: u32, method: &str, path: &str, body: &Value) -> Vec<u8> {
        with_body(method, path, self.host, self.token(client), body)
    }

    /// Creates roles and returns the requests that delete them.
    fn deletions(&self, client: u32, count: u64) -> Result<Vec<Vec<u8>>> {
        let mut connection = Client::connect(self.host)?;
        let mut create = creations(self.token(client).to_owned(), self.host, client);
        let credential = format!("authorization: Bearer {}\r\n", self.token(client));
        let deletion = |id: &str| {
            format!(
                "DELETE {ROLES}?id={id} HTTP/1.1\r\nhost: {}\r\n{credential}\r\n",
                self.host
            )
        };
        let mut requests = Vec::new();
        for _ in 0..count {
            let Some(request) = create() else { break };
            let (status, body) = connection.send(&request)?;
            let body: Value = serde_json::from_slice(&body)?;
            let id = body["id"].as_str().ok_or_else(|| format!("{status}: {body}"))?;
            requests.push(deletion(id).into_bytes());
        }
        Ok(requests)
    }

    /// Changes the client's role and returns the requests that undo the changes, the latest first.
    fn undos(&self, client: u32, count: u64) -> Result<Vec<Vec<u8>>> {
        let mut connection = Client::connect(self.host)?;
        let mut rename = renamings(self.token(client).to_owned(), self.host, client);
        let mut requests = Vec::new();
        for _ in 0..count {
            let Some(request) = rename() else { break };
            let reply = connection.exchange(&request)?;
            let token = reply.header("x-operation").and_then(undo_token);
            let token = token.ok_or_else(|| format!("{} without an undo token", reply.status))?;
            let body = json!({"undoToken": token});
            requests.push(self.write(client, "POST", "/api/audit_logs/audit-logs/actions/undo", &body));
        }
        requests.reverse();
        Ok(requests)
    }
}

/// Returns the token in the header `X-Operation`.
fn undo_token(operation: &str) -> Option<String> {
    let operation: Value = serde_json::from_str(&decoded(operation)).ok()?;
    Some(operation["undoToken"].as_str()?.to_owned())
}

fn public(method: &str, path: &str, host: SocketAddr, body: &Value) -> Vec<u8> {
    let body = body.to_string();
    format!(
        "{method} {path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

fn with_body(method: &str, path: &str, host: SocketAddr, token: &str, body: &Value) -> Vec<u8> {
    let body = body.to_string();
    format!(
        "{method} {path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// Rejects a list without rows: its rate would say nothing.
fn check_page(host: SocketAddr, request: &[u8]) -> Result<()> {
    let (status, body) = Client::connect(host)?.send(request)?;
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    match body["items"].as_array().map(Vec::len) {
        Some(1..) if status == 200 => Ok(()),
        items => Err(format!("unexpected response {status} with {items:?} items").into()),
    }
}

/// Returns a number that no other round has, because new names must differ from the stored ones.
#[expect(
    clippy::disallowed_methods,
    reason = "a number that no other round has; no business code sees it"
)]
pub(super) fn start_of_rounds() -> u64 {
    let since = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or_default() % 1_000_000_000 * 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_undo_token_is_in_the_encoded_header() {
        let header = "%7B%22id%22%3A%221%22%2C%22undoToken%22%3A%22a.b-c%22%7D";

        assert_eq!(undo_token(header).as_deref(), Some("a.b-c"));
        assert_eq!(undo_token("%7B%7D"), None);
    }
}
