//! The measured requests.

use std::net::SocketAddr;

/// The first 24 characters of the ids of the renamed roles; the client's number follows.
pub(super) const ROLE_PREFIX: &str = "b0000000-0000-7000-8000-";

/// The first 24 characters of the ids of the roles that a reference deletes.
pub(super) const SPARE_PREFIX: &str = "b1000000-0000-7000-8000-";

/// A kind of request.
#[derive(Debug, Clone)]
pub(super) struct Subject {
    /// Title in the report.
    pub(super) title: &'static str,
    /// File name of its script.
    pub(super) name: &'static str,
    /// Required share of pgbench's rate.
    pub(super) wanted: f64,
    /// Whether its script also runs without row-level security.
    pub(super) compares_row_security: bool,
    method: &'static str,
    path: &'static str,
}

/// Returns all subjects.
pub(super) fn subjects() -> [Subject; 3] {
    [
        Subject {
            title: "GET /auth/profile",
            name: "profile",
            wanted: 0.45,
            compares_row_security: false,
            method: "GET",
            path: "/api/auth/profile",
        },
        Subject {
            title: "GET /auth/users?pageSize=50",
            name: "users",
            wanted: 0.45,
            compares_row_security: true,
            method: "GET",
            path: "/api/auth/users?pageSize=50",
        },
        Subject {
            title: "PUT /auth/roles",
            name: "roles",
            wanted: 0.4,
            compares_row_security: false,
            method: "PUT",
            path: "/api/auth/roles",
        },
    ]
}

impl Subject {
    /// Returns the bytes of a client's request; a write changes something in every round.
    pub(super) fn request(&self, host: SocketAddr, token: &str, client: u32, round: u64) -> Vec<u8> {
        let head = format!(
            "{} {} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\n",
            self.method, self.path
        );
        if self.method == "GET" {
            return format!("{head}\r\n").into_bytes();
        }
        let body = format!(r#"{{"id":"{}","name":"{}"}}"#, role(client), role_name(client, round));
        format!(
            "{head}content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
        .into_bytes()
    }

    /// Returns whether all requests of a client are equal.
    pub(super) fn is_constant(&self) -> bool {
        self.method == "GET"
    }
}

/// Returns the id of the role that this client renames.
pub(super) fn role(client: u32) -> String {
    format!("{ROLE_PREFIX}{client:012}")
}

/// Returns a role name in lower case, so that it equals its normalized form.
pub(super) fn role_name(client: u32, round: u64) -> String {
    format!("bench role {client} {round:012}")
}
