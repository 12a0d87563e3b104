//! A run: the fixture, its actors, and their operations.

use std::cell::Cell;

use backoffice_test_support::{TestApp, TestResponse};
use serde_json::{Value, json};
use uuid::Uuid;

use super::calls::organizations;
use super::picture::{Holder, Picture};
use super::strategy::{AclOf, Operation, Step, TOOLS};
use crate::call::Call;
use crate::fixture::{Fixture, PASSWORD, id, text};

/// Number of keys that act from the start, each with the role of a user.
const KEYS: usize = 2;

/// The credential of an actor.
#[derive(Debug, Clone)]
enum Credential {
    /// Renewed when its session has ended.
    Token(String),
    Key(String),
}

impl Credential {
    async fn send(&self, call: &Call, app: &TestApp) -> TestResponse {
        match self {
            Self::Token(token) => call.send(app, token).await,
            Self::Key(secret) => call.request(app, "").header("X-Api-Key", secret).send().await,
        }
    }
}

/// A user or an API key that acts.
#[derive(Debug, Clone)]
struct Actor {
    holder: Holder,
    credential: Credential,
}

impl Actor {
    fn user(id: Uuid, token: String) -> Self {
        Self {
            holder: Holder::User(id),
            credential: Credential::Token(token),
        }
    }

    /// Creates an actor from the response that created its key.
    fn key(created: &Value) -> Self {
        Self {
            holder: Holder::Key(id(&created["id"])),
            credential: Credential::Key(text(&created["secret"])),
        }
    }
}

/// An entry that can be undone or could be undone earlier.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) id: Uuid,
    pub(super) token: Value,
    actor: usize,
}

/// Number of accepted and rejected steps in all runs: rejections alone would prove nothing.
#[derive(Debug, Default)]
pub(super) struct Tally {
    done: Cell<u32>,
    done_by_keys: Cell<u32>,
    rejected: Cell<u32>,
}

impl Tally {
    pub(super) fn shows_something(&self) -> bool {
        [&self.done, &self.done_by_keys, &self.rejected]
            .iter()
            .all(|count| count.get() > 0)
    }
}

fn count(counter: &Cell<u32>, one: bool) {
    counter.set(counter.get() + u32::from(one));
}

pub(super) struct Model<'a> {
    pub(super) fixture: Fixture,
    actors: Vec<Actor>,
    pub(super) users: Vec<Uuid>,
    pub(super) roles: Vec<Uuid>,
    pub(super) keys: Vec<Uuid>,
    pub(super) entries: Vec<Entry>,
    /// Number of accepted steps, used for unique names.
    pub(super) created: usize,
    tally: &'a Tally,
}

impl<'a> Model<'a> {
    pub(super) async fn new(acls: &[AclOf], tally: &'a Tally) -> Self {
        let fixture = Fixture::new().await;
        let tenant_fixture = &fixture.a;
        let mut actors = vec![Actor::user(fixture.root.id, fixture.root.token.clone())];
        let mut users = Vec::new();
        let mut roles = vec![tenant_fixture.role, tenant_fixture.spare_role];
        for (number, acl) in acls.iter().enumerate() {
            let name = format!("Actor {number}");
            let grants = [&TOOLS[..], &acl.grants()].concat();
            let only = organizations(tenant_fixture, acl.organizations);
            roles.push(fixture.role(tenant_fixture, &name, &grants, only.as_deref()).await);
            let email = format!("actor-{number}@alpha.test");
            let account = fixture.account(tenant_fixture, &email, &[&name]).await;
            users.push(account.id);
            actors.push(Actor::user(account.id, account.token));
        }
        let mut keys = vec![tenant_fixture.key];
        for role in roles.iter().rev().take(KEYS) {
            let body = json!({"name": "Acting", "roles": [role], "organizationId": null});
            let (status, created) = fixture
                .app
                .post(&tenant_fixture.tenant_admin.token, "/api_keys/keys", body)
                .await;
            assert_eq!(status, 201, "{created}");
            actors.push(Actor::key(&created));
            keys.push(id(&created["id"]));
        }
        users.extend(
            [
                &tenant_fixture.user,
                &tenant_fixture.colleague,
                &tenant_fixture.local,
                &tenant_fixture.tenant_admin,
            ]
            .map(|account| account.id),
        );
        Self {
            actors,
            users,
            roles,
            keys,
            entries: Vec::new(),
            created: 0,
            tally,
            fixture,
        }
    }

    /// Returns the actor of a step. Undo and redo are mostly tried by the actor of the entry.
    fn acts(&self, step: Step) -> usize {
        match step.operation {
            Operation::Undo(back) | Operation::Redo(back) if !step.actor.is_multiple_of(4) => {
                self.entry(back).map_or(0, |entry| entry.actor)
            }
            _ if step.actor == 0 => 0,
            _ => 1 + (step.actor - 1) % (self.actors.len() - 1),
        }
    }

    /// Runs one step and checks its effect on rights.
    pub(super) async fn run(&mut self, step: Step) {
        let Some(call) = self.call(step.operation) else { return };
        let index = self.acts(step);
        let before = Picture::take(&self.fixture).await;
        let Some(response) = self.send(&call, index, &before).await else {
            return;
        };
        assert!(response.status < 500, "{call}: {}", response.text());
        if response.status >= 300 {
            return count(&self.tally.rejected, response.status == 403);
        }
        let actor = self.actors[index].holder;
        count(&self.tally.done, true);
        count(&self.tally.done_by_keys, matches!(actor, Holder::Key(_)));
        self.created += 1;
        let after = Picture::take(&self.fixture).await;
        before.validate(&after, actor, &format!("{call} by {actor:?}"));
        self.note(step.operation, &response, index, &after).await;
    }

    /// Sends a request as an actor, who signs in again if needed; `None` if they can't.
    async fn send(&mut self, call: &Call, index: usize, picture: &Picture) -> Option<TestResponse> {
        let Actor { holder, credential } = self.actors[index].clone();
        let response = credential.send(call, &self.fixture.app).await;
        if response.status != 401 {
            return Some(response);
        }
        let Holder::User(user) = holder else { return None };
        let actor = self.sign_in(picture, user).await?;
        let response = actor.credential.send(call, &self.fixture.app).await;
        self.actors[index] = actor;
        Some(response)
    }

    /// Records the entries and resources that the step created, for later steps.
    async fn note(&mut self, operation: Operation, response: &TestResponse, index: usize, picture: &Picture) {
        if let Some(reported) = response
            .operation()
            .filter(|reported| reported["undoToken"].is_string())
        {
            self.record(&reported["id"], &reported["undoToken"], index);
        }
        let body = response.json();
        match operation {
            Operation::CreateRole => self.roles.push(id(&body["id"])),
            Operation::CreateUser { .. } => {
                let user = id(&body["id"]);
                self.users.push(user);
                let actor = self.sign_in(picture, user).await;
                self.actors.extend(actor);
            }
            Operation::CreateKey { .. } => {
                self.keys.push(id(&body["id"]));
                self.actors.push(Actor::key(&body));
            }
            Operation::Redo(_) => self.record(&body["logId"], &body["undoToken"], index),
            _ => {}
        }
    }

    fn record(&mut self, log_id: &Value, token: &Value, actor: usize) {
        self.entries.push(Entry {
            id: id(log_id),
            token: token.clone(),
            actor,
        });
    }

    /// Signs the user in again; `None` if they are deleted or inactive.
    async fn sign_in(&self, picture: &Picture, user: Uuid) -> Option<Actor> {
        let body = json!({"email": picture.email(user)?, "password": PASSWORD});
        let (status, outcome) = self.fixture.app.post("", "/auth/login", body).await;
        (status == 200).then(|| Actor::user(user, text(&outcome["token"])))
    }
}
