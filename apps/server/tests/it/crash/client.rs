//! A client that writes until its server dies.

use std::net::SocketAddr;

use serde_json::{Value, json};

use super::ledger::{Role, What, Write, string};
use crate::connection::{Connection, Response};

const ROLES_OF_A_CLIENT: usize = 3;

/// Creates roles, renames them (each name is used once), undoes and redoes.
#[derive(Debug)]
pub(super) struct Client {
    number: usize,
    pub(super) email: String,
    pub(super) token: String,
    pub(super) roles: Vec<Role>,
    pub(super) ledger: Vec<Write>,
    /// Sent without a response: it may have been committed.
    pub(super) sent: Option<Write>,
    /// Number of these writes that were committed.
    pub(super) lost: usize,
}

impl Client {
    pub(super) fn new(number: usize, email: &str, token: &str) -> Self {
        Self {
            number,
            email: email.to_owned(),
            token: token.to_owned(),
            roles: Vec::new(),
            ledger: Vec::new(),
            sent: None,
            lost: 0,
        }
    }

    pub(super) fn write_until_killed(mut self, api: SocketAddr, round: usize) -> Self {
        let Ok(mut connection) = Connection::open(api) else {
            return self;
        };
        for step in 0.. {
            let name = format!("crash {round} {} {step}", self.number);
            let done = if self.roles.len() < ROLES_OF_A_CLIENT || step == 0 {
                self.create(&mut connection, name)
            } else {
                let index = step / 4 % self.roles.len();
                self.change(&mut connection, index, step % 4, name)
            };
            if done.is_err() {
                break;
            }
        }
        self
    }

    /// Sends a write and adds it to the ledger once it is acknowledged; `id` extracts the id of its log entry from the response.
    fn acknowledged(
        &mut self,
        connection: &mut Connection,
        request: (&str, &str, Value),
        write: Write,
        id: impl Fn(&Response) -> String,
    ) -> std::io::Result<Response> {
        self.sent = Some(write.clone());
        let (method, path, body) = request;
        let response = connection.send(method, path, &self.token, Some(&body))?;
        assert!(
            matches!(response.status, 200 | 201),
            "{path} {body}: {} {}",
            response.status,
            response.body
        );
        self.sent = None;
        let role = if write.what == What::Create {
            string(&response.body["id"])
        } else {
            write.role
        };
        self.ledger.push(Write {
            id: id(&response),
            role,
            ..write
        });
        Ok(response)
    }

    fn create(&mut self, connection: &mut Connection, name: String) -> std::io::Result<()> {
        let write = Write {
            id: String::new(),
            what: What::Create,
            role: String::new(),
            name: name.clone(),
        };
        let request = ("POST", "/api/auth/roles", json!({"name": name}));
        let response = self.acknowledged(connection, request, write, |response| response.operation.clone())?;
        self.roles.push(Role {
            id: string(&response.body["id"]),
            name,
            undo: None,
            redo: None,
        });
        Ok(())
    }

    /// Renames, undoes, redoes, undoes, by turn; renames if there is nothing to undo or redo.
    fn change(&mut self, connection: &mut Connection, index: usize, turn: usize, name: String) -> std::io::Result<()> {
        let role = &mut self.roles[index];
        let write = |what, name: &str| Write {
            id: String::new(),
            what,
            role: role.id.clone(),
            name: name.to_owned(),
        };
        match (turn, role.undo.take(), role.redo.take()) {
            (1 | 3, Some((entry, token, before)), _) => {
                let (write, undone) = (write(What::Undo, &before), role.name.clone());
                let request = (
                    "POST",
                    "/api/audit_logs/audit-logs/actions/undo",
                    json!({"undoToken": token}),
                );
                self.acknowledged(connection, request, write, |response| {
                    string(&response.body["traceLogId"])
                })?;
                let role = &mut self.roles[index];
                role.name = before;
                role.redo = Some((entry, undone));
            }
            (2, _, Some((entry, again))) => {
                let (write, before) = (write(What::Redo, &again), role.name.clone());
                let request = (
                    "POST",
                    "/api/audit_logs/audit-logs/actions/redo",
                    json!({"logId": entry}),
                );
                let response =
                    self.acknowledged(connection, request, write, |response| string(&response.body["logId"]))?;
                let role = &mut self.roles[index];
                role.name = again;
                role.undo = Some((
                    string(&response.body["logId"]),
                    string(&response.body["undoToken"]),
                    before,
                ));
            }
            _ => {
                let (write, before) = (write(What::Rename, &name), role.name.clone());
                let request = ("PUT", "/api/auth/roles", json!({"id": role.id, "name": name}));
                let response = self.acknowledged(connection, request, write, |response| response.operation.clone())?;
                let role = &mut self.roles[index];
                role.name = name;
                role.undo = Some((response.operation, response.undo_token, before));
            }
        }
        Ok(())
    }
}
