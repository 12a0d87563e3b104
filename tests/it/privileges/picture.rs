//! The effective rights of all principals at one moment: a list of grants is expanded to the features that it matches, including undeclared features
//! that a future module might declare; a list of organizations is expanded to all descendants.

use std::collections::{BTreeMap, BTreeSet};

use backoffice_test_support::TestApp;
use serde_json::Value;
use uuid::Uuid;

use crate::fixture::{Fixture, TenantFixture, id, text};

/// Features that no module declares; only holders of a wildcard hold them.
const UNDECLARED: [&str; 9] = [
    "api_keys.future",
    "auth.future",
    "auth.users.future",
    "auth.roles.future",
    "auth.acl.future",
    "audit_logs.future",
    "directory.future",
    "directory.organizations.future",
    "future",
];

const USERS: &str = "select u.id, u.email, u.password_hash,
        (select to_jsonb(a) from auth_user_acls a where a.tenant_id = u.tenant_id and a.user_id = u.id) as own,
        (select coalesce(jsonb_agg(l.role_id), '[]') from auth_user_roles l
         where l.tenant_id = u.tenant_id and l.user_id = u.id) as roles
     from auth_users u where u.deleted_at is null";

const KEYS: &str = "select k.id, k.organization_id,
        (select coalesce(jsonb_agg(l.role_id), '[]') from api_keys_key_roles l
         where l.tenant_id = k.tenant_id and l.key_id = k.id) as roles
     from api_keys_keys k where k.deleted_at is null";

/// The rights that an ACL or a principal grants: pairs of a feature and an organization.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Rights {
    is_super_admin: bool,
    /// Including descendants; the whole tenant is all organizations and one future organization.
    pairs: BTreeSet<(String, Uuid)>,
}

impl Rights {
    fn of(acl: &Value, known: &[String], tenant_fixture: &TenantFixture) -> Self {
        let is_super_admin = acl["is_super_admin"] == true;
        let grants: Vec<String> = acl["features"].as_array().expect("a list").iter().map(text).collect();
        let matched = |feature: &&String| grants.iter().any(|grant| matches_feature(grant, feature));
        let organizations: BTreeSet<Uuid> = match acl["organizations"].as_array() {
            Some(listed) => listed
                .iter()
                .flat_map(|one| with_descendants(tenant_fixture, id(one)))
                .collect(),
            None => whole_tenant(tenant_fixture),
        };
        let features = known.iter().filter(matched);
        let pairs = features.flat_map(|feature| organizations.iter().map(|one| (feature.clone(), *one)));
        Self {
            is_super_admin,
            pairs: pairs.collect(),
        }
    }

    fn add(&mut self, other: &Self) {
        self.is_super_admin |= other.is_super_admin;
        self.pairs.extend(other.pairs.iter().cloned());
    }

    /// Describes the rights that neither `before` nor `actor` holds.
    fn beyond(&self, before: &Self, actor: &Self) -> Option<String> {
        if actor.is_super_admin || (self.is_super_admin && before.is_super_admin) {
            return None;
        }
        let new = |pair: &&(String, Uuid)| !before.pairs.contains(*pair) && !actor.pairs.contains(*pair);
        let pairs: Vec<&(String, Uuid)> = self.pairs.iter().filter(new).collect();
        let flag = self.is_super_admin && !before.is_super_admin;
        (flag || !pairs.is_empty()).then(|| format!("super admin: {flag}, pairs {pairs:?}"))
    }
}

/// A principal or a role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Holder {
    User(Uuid),
    Role(Uuid),
    Key(Uuid),
}

/// The fields of a user that are needed to sign in.
#[derive(Debug, Clone, PartialEq)]
struct Credentials {
    email: Value,
    password_hash: Value,
}

/// The rights of all principals at one moment.
#[derive(Debug, Default)]
pub(super) struct Picture {
    rights: BTreeMap<Holder, Rights>,
    credentials: BTreeMap<Uuid, Credentials>,
}

impl Picture {
    /// Reads the current rights of all users, roles and keys of all tenants from the database.
    pub(super) async fn take(fixture: &Fixture) -> Self {
        let (app, tenant_fixture) = (&fixture.app, &fixture.a);
        let known = features(app);
        let mut picture = Self::default();
        let acls = "select role_id, is_super_admin, features, organizations from auth_role_acls";
        for acl in &app.rows(acls).await {
            let rights = Rights::of(acl, &known, tenant_fixture);
            picture.rights.insert(Holder::Role(id(&acl["role_id"])), rights);
        }
        for user in &app.rows(USERS).await {
            let rights = if user["own"].is_null() {
                picture.union(&user["roles"])
            } else {
                Rights::of(&user["own"], &known, tenant_fixture)
            };
            let user_id = id(&user["id"]);
            picture.rights.insert(Holder::User(user_id), rights);
            let credentials = Credentials {
                email: user["email"].clone(),
                password_hash: user["password_hash"].clone(),
            };
            picture.credentials.insert(user_id, credentials);
        }
        for key in &app.rows(KEYS).await {
            let mut rights = picture.union(&key["roles"]);
            rights.is_super_admin = false;
            if !key["organization_id"].is_null() {
                let own = with_descendants(tenant_fixture, id(&key["organization_id"]));
                rights.pairs.retain(|(_, one)| own.contains(one));
            }
            picture.rights.insert(Holder::Key(id(&key["id"])), rights);
        }
        picture
    }

    fn of(&self, holder: Holder) -> Rights {
        self.rights.get(&holder).cloned().unwrap_or_default()
    }

    fn union(&self, roles: &Value) -> Rights {
        let mut union = Rights::default();
        for role in roles.as_array().expect("a list") {
            union.add(&self.of(Holder::Role(id(role))));
        }
        union
    }

    /// Returns the user's address, unless the user is deleted.
    pub(super) fn email(&self, user: Uuid) -> Option<&Value> {
        Some(&self.credentials.get(&user)?.email)
    }

    /// Checks a step: no holder gained a pair that the actor did not hold, and the actor changed neither the credentials of a stronger user nor a
    /// stronger role.
    pub(super) fn validate(&self, after: &Self, actor: Holder, step: &str) {
        let held = self.of(actor);
        for (holder, rights) in &after.rights {
            let gained = rights.beyond(&self.of(*holder), &held);
            assert_eq!(gained, None, "{holder:?} gained by {step}");
        }
        for (role, rights) in self.rights.iter().filter(|(one, _)| matches!(one, Holder::Role(_))) {
            let stronger = rights.beyond(&Rights::default(), &held);
            assert!(
                after.of(*role) == *rights || stronger.is_none(),
                "{role:?} was stronger: {stronger:?}; {step}"
            );
        }
        for (user, credentials) in &after.credentials {
            let holder = Holder::User(*user);
            let taken_over = holder != actor && self.credentials.get(user).is_some_and(|old| old != credentials);
            let stronger = self.of(holder).beyond(&Rights::default(), &held);
            assert!(
                !taken_over || stronger.is_none(),
                "{user} was stronger: {stronger:?}; {step}"
            );
        }
    }
}

fn features(app: &TestApp) -> Vec<String> {
    let catalogue = app.platform().compiled_catalogue();
    catalogue.ids().chain(UNDECLARED).map(str::to_owned).collect()
}

fn matches_feature(grant: &str, feature: &str) -> bool {
    match grant.strip_suffix(".*") {
        Some(stem) => feature == stem || feature.strip_prefix(stem).is_some_and(|rest| rest.starts_with('.')),
        None => grant == "*" || grant == feature,
    }
}

fn with_descendants(tenant_fixture: &TenantFixture, organization: Uuid) -> Vec<Uuid> {
    let line = [tenant_fixture.parent, tenant_fixture.child, tenant_fixture.leaf];
    match line.iter().position(|one| *one == organization) {
        Some(place) => line[place..].to_vec(),
        None => vec![organization],
    }
}

/// Returns all organizations and one that stands for future ones.
fn whole_tenant(tenant_fixture: &TenantFixture) -> BTreeSet<Uuid> {
    let to_come = Uuid::max();
    [
        tenant_fixture.root,
        tenant_fixture.parent,
        tenant_fixture.child,
        tenant_fixture.leaf,
        tenant_fixture.other,
        to_come,
    ]
    .into()
}
