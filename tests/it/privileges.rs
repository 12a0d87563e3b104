//! Nobody ever holds or hands out more than the actors held (accounts specification, 4.4 and ACC-22). Random sequences of operations on
//! roles, ACLs and users, undo and redo among them, by actors with random rights. After every step the rights of all holders are
//! computed from the database: whatever somebody gained, the actor of the step held. `BACKOFFICE_MODEL_CASES` sets how many runs are
//! tried.
//!
//! Rights are compared as what they reach, not as they are written: a list of grants is the set of features that it matches, among them
//! made-up ones that a module of tomorrow might declare; a list of organizations is the set with all descendants.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::test_runner::{Config, FileFailurePersistence, TestRunner};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::call::Call;
use crate::history::{REDO, UNDO};
use crate::world::{House, PASSWORD, World, id, text};

const STEPS: usize = 120;
const CASES: u32 = 5;

/// Grants that ACLs are made of.
const GRANTS: [&str; 12] = [
    "auth.users.list",
    "auth.users.edit",
    "auth.users.*",
    "auth.roles.*",
    "auth.acl.manage",
    "auth.*",
    "audit_logs.undo_self",
    "audit_logs.*",
    "directory.organizations.view",
    "directory.organizations.*",
    "directory.*",
    "*",
];

/// What every actor starts with, so that most steps reach the comparison of rights.
const TOOLS: [&str; 5] = [
    "auth.users.*",
    "auth.roles.*",
    "auth.acl.manage",
    "audit_logs.undo_self",
    "audit_logs.redo_self",
];

/// Features that nobody declares yet; whoever holds one holds a wildcard.
const UNDECLARED: [&str; 8] = [
    "auth.future",
    "auth.users.future",
    "auth.roles.future",
    "auth.acl.future",
    "audit_logs.future",
    "directory.future",
    "directory.organizations.future",
    "future",
];

/// Some of [`GRANTS`] and one of the choices of organizations.
#[derive(Debug, Clone, Copy)]
struct AclOf {
    grants: u16,
    /// With [`TOOLS`], so that whoever gets it can go on.
    tools: bool,
    organizations: usize,
}

#[derive(Debug, Clone, Copy)]
enum UserChange {
    Roles(u8),
    Password,
    Address(u8),
    Organization(usize),
    Active(bool),
}

/// One operation; positions count modulo what is there. Operations on API keys become further variants.
#[derive(Debug, Clone, Copy)]
enum Operation {
    CreateRole,
    RenameRole(usize, u8),
    DeleteRole(usize),
    RoleAcl(usize, AclOf),
    UserAcl(usize, AclOf),
    RemoveUserAcl(usize),
    CreateUser { organization: usize, roles: u8 },
    ChangeUser(usize, UserChange),
    DeleteUser(usize),
    Undo(usize),
    Redo(usize),
}

#[derive(Debug, Clone, Copy)]
struct Step {
    /// The super administrator acts now and then, so that the others meet what they could not have made.
    actor: usize,
    operation: Operation,
}

fn acl() -> impl Strategy<Value = AclOf> {
    let few = prop::collection::vec(0..GRANTS.len(), 0..3);
    (few, prop::bool::weighted(0.7), 0..ORGANIZATION_LISTS).prop_map(|(chosen, tools, organizations)| AclOf {
        grants: chosen.into_iter().fold(0, |set, grant| set | 1 << grant),
        tools,
        organizations,
    })
}

fn step() -> impl Strategy<Value = Step> {
    let one = any::<usize>;
    let change = prop_oneof![
        4 => any::<u8>().prop_map(UserChange::Roles),
        1 => Just(UserChange::Password),
        2 => (0..4_u8).prop_map(UserChange::Address),
        1 => one().prop_map(UserChange::Organization),
        1 => any::<bool>().prop_map(UserChange::Active),
    ];
    let operation = prop_oneof![
        2 => Just(Operation::CreateRole),
        1 => (one(), 0..4_u8).prop_map(|(role, name)| Operation::RenameRole(role, name)),
        2 => one().prop_map(Operation::DeleteRole),
        6 => (one(), acl()).prop_map(|(role, acl)| Operation::RoleAcl(role, acl)),
        4 => (one(), acl()).prop_map(|(user, acl)| Operation::UserAcl(user, acl)),
        2 => one().prop_map(Operation::RemoveUserAcl),
        2 => (one(), any::<u8>()).prop_map(|(organization, roles)| Operation::CreateUser { organization, roles }),
        7 => (one(), change).prop_map(|(user, change)| Operation::ChangeUser(user, change)),
        2 => one().prop_map(Operation::DeleteUser),
        // Later entries are the likelier ones to be the latest of their resource.
        7 => (0..5_usize).prop_map(Operation::Undo),
        4 => (0..5_usize).prop_map(Operation::Redo),
    ];
    let actor = prop_oneof![1 => Just(0_usize), 6 => 1..64_usize];
    (actor, operation).prop_map(|(actor, operation)| Step { actor, operation })
}

/// What somebody or something grants, as what it reaches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Rights {
    is_super_admin: bool,
    features: BTreeSet<String>,
    /// With descendants; all and one more for the whole tenant.
    organizations: BTreeSet<Uuid>,
}

impl Rights {
    fn add(&mut self, other: &Self) {
        self.is_super_admin |= other.is_super_admin;
        self.features.extend(other.features.iter().cloned());
        self.organizations.extend(other.organizations.iter().copied());
    }

    /// What of this is in neither of the two.
    fn beyond(&self, before: &Self, actor: &Self) -> Option<String> {
        if actor.is_super_admin || (self.is_super_admin && before.is_super_admin) {
            return None;
        }
        let new = |one: &&String| !before.features.contains(*one) && !actor.features.contains(*one);
        let features: Vec<&String> = self.features.iter().filter(new).collect();
        let outside = |one: &&Uuid| !before.organizations.contains(*one) && !actor.organizations.contains(*one);
        let organizations: Vec<&Uuid> = self.organizations.iter().filter(outside).collect();
        let flag = self.is_super_admin && !before.is_super_admin;
        (flag || !features.is_empty() || !organizations.is_empty())
            .then(|| format!("super admin: {flag}, features {features:?}, organizations {organizations:?}"))
    }
}

/// Whoever has rights or hands them out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Holder {
    User(Uuid),
    Role(Uuid),
}

/// A user as far as signing in is concerned.
#[derive(Debug, Clone, PartialEq)]
struct Credentials {
    email: Value,
    password_hash: Value,
}

/// The rights of everybody at one moment.
#[derive(Debug, Default)]
struct Picture {
    rights: BTreeMap<Holder, Rights>,
    credentials: BTreeMap<Uuid, Credentials>,
}

impl Picture {
    fn of(&self, holder: Holder) -> Rights {
        self.rights.get(&holder).cloned().unwrap_or_default()
    }
}

/// An account that acts; the token is renewed when its session has ended.
#[derive(Debug, Clone)]
struct Actor {
    id: Uuid,
    token: String,
}

/// An entry that can be undone, or could.
#[derive(Debug)]
struct Entry {
    id: Uuid,
    token: Value,
    actor: usize,
}

const ORGANIZATION_LISTS: usize = 8;

struct Model<'a> {
    world: World,
    actors: Vec<Actor>,
    users: Vec<Uuid>,
    roles: Vec<Uuid>,
    entries: Vec<Entry>,
    features: Vec<String>,
    made: usize,
    tally: &'a Tally,
}

/// How many steps were taken and refused in all runs: a property of refusals alone proves nothing.
#[derive(Debug, Default)]
struct Tally {
    done: Cell<u32>,
    refused: Cell<u32>,
}

impl<'a> Model<'a> {
    async fn new(acls: &[AclOf], tally: &'a Tally) -> Self {
        let world = World::new().await;
        let house = &world.a;
        let catalogue = world.app.platform().compiled_catalogue();
        let features = catalogue.ids().chain(UNDECLARED).map(str::to_owned).collect();
        let mut actors = vec![Actor {
            id: world.root.id,
            token: world.root.token.clone(),
        }];
        let mut roles = vec![house.role, house.spare_role];
        for (number, acl) in acls.iter().enumerate() {
            let name = format!("Actor {number}");
            let grants = [&TOOLS[..], &grants(*acl)].concat();
            let only = organizations(house, acl.organizations);
            roles.push(world.role(house, &name, &grants, only.as_deref()).await);
            let account = world
                .account(house, &format!("actor-{number}@alpha.test"), &[&name])
                .await;
            actors.push(Actor {
                id: account.id,
                token: account.token,
            });
        }
        let mut users: Vec<Uuid> = actors[1..].iter().map(|actor| actor.id).collect();
        users.extend([&house.user, &house.colleague, &house.local, &house.keeper].map(|account| account.id));
        Self {
            actors,
            users,
            roles,
            features,
            entries: Vec::new(),
            made: 0,
            tally,
            world,
        }
    }

    fn user(&self, position: usize) -> Uuid {
        self.users[position % self.users.len()]
    }

    fn role(&self, position: usize) -> Uuid {
        self.roles[position % self.roles.len()]
    }

    /// Some of the roles that were made last.
    fn some_roles(&self, chosen: u8) -> Vec<Uuid> {
        let latest = self.roles.iter().rev().enumerate();
        latest
            .filter(|(position, _)| *position < 8 && chosen >> position & 1 == 1)
            .map(|(_, role)| *role)
            .take(2)
            .collect()
    }

    fn home(&self, position: usize) -> Uuid {
        let house = &self.world.a;
        [house.root, house.parent, house.child, house.leaf, house.other][position % 5]
    }

    fn entry(&self, back: usize) -> Option<&Entry> {
        self.entries
            .len()
            .checked_sub(back + 1)
            .map(|index| &self.entries[index])
    }

    fn call(&self, operation: Operation) -> Option<Call> {
        let acl_body = |acl: AclOf| {
            let organizations = organizations(&self.world.a, acl.organizations);
            json!({"features": grants(acl), "organizations": organizations})
        };
        Some(match operation {
            Operation::CreateRole => Call::post("/auth/roles", json!({"name": format!("Made {}", self.made)})),
            Operation::RenameRole(role, name) => {
                let name = format!("Role {} {name}", self.role(role));
                Call::put("/auth/roles", json!({"id": self.role(role), "name": name}))
            }
            Operation::DeleteRole(role) => Call::delete("/auth/roles", self.role(role)),
            Operation::RoleAcl(role, acl) => {
                Call::put("/auth/roles/acl", acl_body(acl)).with_member("roleId", json!(self.role(role)))
            }
            Operation::UserAcl(user, acl) => {
                Call::put("/auth/users/acl", acl_body(acl)).with_member("userId", json!(self.user(user)))
            }
            Operation::RemoveUserAcl(user) => {
                Call::put("/auth/users/acl", json!({"userId": self.user(user), "features": []}))
            }
            Operation::CreateUser { organization, roles } => {
                let body = json!({
                    "email": format!("made-{}@alpha.test", self.made),
                    "organizationId": self.home(organization),
                    "roles": self.some_roles(roles),
                    "password": PASSWORD,
                });
                Call::post("/auth/users", body)
            }
            Operation::ChangeUser(user, change) => {
                let user = self.user(user);
                let (member, value) = match change {
                    UserChange::Roles(chosen) => ("roles", json!(self.some_roles(chosen))),
                    UserChange::Password => ("password", json!(PASSWORD)),
                    UserChange::Address(number) => ("email", json!(format!("{user}-{number}@alpha.test"))),
                    UserChange::Organization(position) => ("organizationId", json!(self.home(position))),
                    UserChange::Active(active) => ("isActive", json!(active)),
                };
                let body = json!({"id": user, "currentPassword": PASSWORD});
                Call::put("/auth/users", body).with_member(member, value)
            }
            Operation::DeleteUser(user) => Call::delete("/auth/users", self.user(user)),
            Operation::Undo(back) => Call::post(UNDO, json!({"undoToken": self.entry(back)?.token})),
            Operation::Redo(back) => Call::post(REDO, json!({"logId": self.entry(back)?.id})),
        })
    }

    /// Who acts. Undo and redo are mostly tried by whoever may.
    fn acts(&self, step: Step) -> usize {
        match step.operation {
            Operation::Undo(back) | Operation::Redo(back) if !step.actor.is_multiple_of(4) => {
                self.entry(back).map_or(0, |entry| entry.actor)
            }
            _ if step.actor == 0 => 0,
            _ => 1 + (step.actor - 1) % (self.actors.len() - 1),
        }
    }

    async fn run(&mut self, step: Step) {
        let Some(call) = self.call(step.operation) else { return };
        let index = self.acts(step);
        let before = self.picture().await;
        let mut response = call.send(&self.world.app, &self.actors[index].token).await;
        if response.status == 401 {
            let Some(token) = self.sign_in(&before, self.actors[index].id).await else {
                return;
            };
            self.actors[index].token = token;
            response = call.send(&self.world.app, &self.actors[index].token).await;
        }
        assert!(response.status < 500, "{call}: {}", response.text());
        if response.status >= 300 {
            let count = &self.tally.refused;
            return count.set(count.get() + u32::from(response.status == 403));
        }
        self.tally.done.set(self.tally.done.get() + 1);
        self.made += 1;
        let actor = self.actors[index].id;
        let after = self.picture().await;
        judge(&before, &after, actor, &format!("{call} by {actor}"));
        if let Some(told) = response.operation().filter(|told| told["undoToken"].is_string()) {
            self.record(&told["id"], &told["undoToken"], index);
        }
        let body = response.json();
        match step.operation {
            Operation::CreateRole => self.roles.push(id(&body["id"])),
            Operation::CreateUser { .. } => {
                let user = id(&body["id"]);
                self.users.push(user);
                if let Some(token) = self.sign_in(&after, user).await {
                    self.actors.push(Actor { id: user, token });
                }
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

    /// A new session, unless the user is gone or inactive.
    async fn sign_in(&self, picture: &Picture, user: Uuid) -> Option<String> {
        let email = &picture.credentials.get(&user)?.email;
        let body = json!({"email": email, "password": PASSWORD});
        let (status, answer) = self.world.app.post("", "/auth/login", body).await;
        (status == 200).then(|| text(&answer["token"]))
    }

    /// The rights of all users and roles of all tenants, as the database has them now.
    async fn picture(&self) -> Picture {
        let app = &self.world.app;
        let mut picture = Picture::default();
        let acls = app
            .rows("select role_id, is_super_admin, features, organizations from auth_role_acls")
            .await;
        for acl in &acls {
            picture
                .rights
                .insert(Holder::Role(id(&acl["role_id"])), self.rights(acl));
        }
        let users = app
            .rows(
                "select u.id, u.email, u.password_hash,
                    (select to_jsonb(a) from auth_user_acls a where a.tenant_id = u.tenant_id and a.user_id = u.id) as own,
                    (select coalesce(jsonb_agg(l.role_id), '[]') from auth_user_roles l
                     where l.tenant_id = u.tenant_id and l.user_id = u.id) as roles
                 from auth_users u where u.deleted_at is null",
            )
            .await;
        for user in &users {
            let rights = if user["own"].is_null() {
                let mut union = Rights::default();
                for role in user["roles"].as_array().expect("a list") {
                    union.add(&picture.of(Holder::Role(id(role))));
                }
                union
            } else {
                self.rights(&user["own"])
            };
            let user_id = id(&user["id"]);
            picture.rights.insert(Holder::User(user_id), rights);
            let credentials = Credentials {
                email: user["email"].clone(),
                password_hash: user["password_hash"].clone(),
            };
            picture.credentials.insert(user_id, credentials);
        }
        picture
    }

    fn rights(&self, acl: &Value) -> Rights {
        let is_super_admin = acl["is_super_admin"] == true;
        let grants: Vec<String> = acl["features"].as_array().expect("a list").iter().map(text).collect();
        if grants.is_empty() && !is_super_admin {
            return Rights::default();
        }
        let matched = |feature: &&String| grants.iter().any(|grant| reaches(grant, feature));
        let organizations = match acl["organizations"].as_array() {
            Some(listed) => listed
                .iter()
                .flat_map(|one| with_descendants(&self.world.a, id(one)))
                .collect(),
            None => whole_tenant(&self.world.a),
        };
        Rights {
            is_super_admin,
            features: self.features.iter().filter(matched).cloned().collect(),
            organizations,
        }
    }
}

/// Nobody gained what the actor did not hold, and whose credentials were set was no stronger than the actor.
fn judge(before: &Picture, after: &Picture, actor: Uuid, step: &str) {
    let held = before.of(Holder::User(actor));
    for (holder, rights) in &after.rights {
        let gained = rights.beyond(&before.of(*holder), &held);
        assert_eq!(gained, None, "{holder:?} gained by {step}");
    }
    for (user, credentials) in &after.credentials {
        let taken_over = *user != actor && before.credentials.get(user).is_some_and(|old| old != credentials);
        let stronger = before.of(Holder::User(*user)).beyond(&Rights::default(), &held);
        assert!(
            !taken_over || stronger.is_none(),
            "{user} was stronger: {stronger:?}; {step}"
        );
    }
}

fn reaches(grant: &str, feature: &str) -> bool {
    match grant.strip_suffix(".*") {
        Some(stem) => feature == stem || feature.strip_prefix(stem).is_some_and(|rest| rest.starts_with('.')),
        None => grant == "*" || grant == feature,
    }
}

fn grants(acl: AclOf) -> Vec<&'static str> {
    let listed = GRANTS.into_iter().enumerate();
    let chosen = listed.filter(|(position, _)| acl.grants >> position & 1 == 1);
    let tools = TOOLS.into_iter().filter(|_| acl.tools);
    chosen.map(|(_, grant)| grant).chain(tools).collect()
}

/// One of [`ORGANIZATION_LISTS`] choices; none is the whole tenant.
fn organizations(house: &House, choice: usize) -> Option<Vec<Uuid>> {
    match choice {
        0..=2 => None,
        3 => Some(vec![house.parent]),
        4 => Some(vec![house.child]),
        5 | 6 => Some(vec![house.root, house.other]),
        _ => Some(Vec::new()),
    }
}

fn with_descendants(house: &House, organization: Uuid) -> Vec<Uuid> {
    let line = [house.parent, house.child, house.leaf];
    match line.iter().position(|one| *one == organization) {
        Some(place) => line[place..].to_vec(),
        None => vec![organization],
    }
}

/// All organizations, and those to come.
fn whole_tenant(house: &House) -> BTreeSet<Uuid> {
    let to_come = Uuid::max();
    [house.root, house.parent, house.child, house.leaf, house.other, to_come].into()
}

#[test]
fn acc_22_nobody_gains_what_no_actor_held() {
    let cases = std::env::var("BACKOFFICE_MODEL_CASES")
        .ok()
        .and_then(|text| text.parse().ok());
    let mut runner = TestRunner::new(Config {
        cases: cases.unwrap_or(CASES),
        max_shrink_iters: 60,
        failure_persistence: Some(Box::new(FileFailurePersistence::Off)),
        ..Config::default()
    });
    let tally = Tally::default();
    let runs = (
        prop::collection::vec(acl(), 4),
        prop::collection::vec(step(), STEPS / 2..=STEPS),
    );
    let outcome = runner.run(&runs, |(acls, steps)| {
        actix_web::rt::System::new().block_on(async {
            let mut model = Model::new(&acls, &tally).await;
            for step in &steps {
                model.run(*step).await;
            }
        });
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
    assert!(tally.done.get() > 0 && tally.refused.get() > 0, "{tally:?}");
}
