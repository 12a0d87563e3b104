//! The tenants of a case with their callers, keys, records and rules.

use std::collections::BTreeSet;

use backoffice_test_accounts::{TwoTenants, id_of};
use backoffice_test_support::DatabaseSnapshot;
use serde_json::{Value, json};
use uuid::Uuid;

use super::plan::{GrantPlan, Kind, Place, Plan};
use super::rights::{Grant, Rights, Tree};
use super::tally::Tally;
use crate::fixture::fixture_with;
use crate::platform_calls::KEYS;
use crate::receiver::Receiver;
use crate::webhooks::LOCAL;

#[derive(Debug)]
pub(super) struct Caller {
    pub(super) id: Uuid,
    pub(super) email: String,
    pub(super) token: String,
    pub(super) rights: Rights,
}

#[derive(Debug)]
pub(super) struct Key {
    pub(super) id: Uuid,
    /// The caller whose roles the key has.
    pub(super) roles_of: usize,
    pub(super) rights: Rights,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Record {
    pub(super) id: Uuid,
    pub(super) kind: Kind,
}

/// A rule that the API has stored.
#[derive(Debug)]
pub(super) struct SavedRule {
    pub(super) id: Uuid,
    pub(super) key: String,
    /// The caller who saved it last.
    pub(super) editor: usize,
    pub(super) tenant: Uuid,
    pub(super) organization: Option<Uuid>,
    pub(super) kind: Kind,
    pub(super) validates: bool,
    /// Whether it sets fields.
    pub(super) sets: bool,
    /// Methods with paths, and keys, of its calls.
    pub(super) calls: Vec<(String, Uuid)>,
    /// Most commands of a run: all fields are set by one, and each call has one.
    pub(super) effects: usize,
}

pub(super) struct Case<'a> {
    pub(super) fixture: TwoTenants,
    pub(super) receiver: Receiver,
    pub(super) max_depth: u64,
    pub(super) tree: Tree,
    /// Of each caller, an organization in which they manage rules, if it is not the whole tenant.
    pub(super) places: Vec<Option<Place>>,
    /// A, B, C, and the one of the other tenant.
    organizations: [Uuid; 4],
    /// The administrator, the callers with random rights, and the administrator of the other tenant.
    pub(super) callers: Vec<Caller>,
    pub(super) keys: Vec<Key>,
    /// Endpoints that the platform offers to rules.
    pub(super) offered: Vec<String>,
    pub(super) records: Vec<Record>,
    pub(super) rules: Vec<SavedRule>,
    /// Number of the current step.
    pub(super) step: usize,
    /// Effects of rules: editor, kind and organization.
    pub(super) acted: BTreeSet<(usize, Kind, Uuid)>,
    pub(super) tally: &'a Tally,
}

impl<'a> Case<'a> {
    /// Creates everything but the rules.
    pub(super) async fn new(plan: &Plan, tally: &'a Tally) -> Self {
        let config = format!("{LOCAL}[business_rules]\nmax_depth = {}\n", plan.max_depth);
        let fixture = fixture_with(&config).await;
        let (a, foreign) = (fixture.a.organization, fixture.b.organization);
        let below = json!({"name": "B", "parentId": a});
        let b = created(&fixture, &fixture.a.token, Kind::Organization, below).await;
        let c = created(&fixture, &fixture.a.token, Kind::Organization, json!({"name": "C"})).await;
        let tree = [(a, vec![a, b]), (b, vec![b]), (c, vec![c]), (foreign, vec![foreign])];
        let mut case = Self {
            receiver: Receiver::start().await,
            max_depth: plan.max_depth,
            tree: tree.into(),
            places: places(plan),
            organizations: [a, b, c, foreign],
            callers: Vec::new(),
            keys: Vec::new(),
            offered: Vec::new(),
            records: Vec::new(),
            rules: Vec::new(),
            step: 0,
            acted: BTreeSet::new(),
            tally,
            fixture,
        };
        case.create_callers(plan).await;
        case.create_keys(plan).await;
        case.create_records().await;
        let options = "/business_rules/platform-call-options";
        let (_, options) = case.fixture.app.get(&case.fixture.a.token, options).await;
        let offered = options["endpoints"].as_array().into_iter().flatten();
        case.offered = offered
            .filter_map(|one| one["id"].as_str().map(str::to_owned))
            .collect();
        assert!(!case.offered.is_empty());
        case
    }

    pub(super) fn at(&self, place: Place) -> Uuid {
        let [a, b, c, foreign] = self.organizations;
        match place {
            Place::A => a,
            Place::B => b,
            Place::C => c,
            Place::Foreign => foreign,
        }
    }

    async fn create_callers(&mut self, plan: &Plan) {
        let fixture = &self.fixture;
        let all = |tenant| Rights {
            tenant,
            grants: vec![Grant {
                features: None,
                organizations: None,
            }],
            confined_to: None,
        };
        let admin = |tenant: &backoffice_test_accounts::Tenant, email: &str| Caller {
            id: tenant.admin,
            email: email.to_owned(),
            token: tenant.token.clone(),
            rights: all(tenant.id),
        };
        let mut callers = vec![admin(&fixture.a, "admin@alpha.test")];
        for (number, planned) in plan.callers.iter().enumerate() {
            let (mut grants, mut names) = (Vec::new(), Vec::new());
            for (role, grant) in planned.iter().enumerate() {
                let name = role_of(number + 1, role);
                let organizations = grant.places.as_ref();
                let organizations: Option<Vec<Uuid>> =
                    organizations.map(|places| places.iter().map(|place| self.at(*place)).collect());
                fixture.role(&name, &grant.features, organizations.as_deref()).await;
                names.push(name);
                grants.push(Grant {
                    features: Some(grant.features.clone()),
                    organizations,
                });
            }
            let email = format!("caller-{number}@alpha.test");
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let (id, token) = fixture.user(&email, &names).await;
            let rights = Rights {
                tenant: fixture.a.id,
                grants,
                confined_to: None,
            };
            callers.push(Caller {
                id,
                email,
                token,
                rights,
            });
        }
        callers.push(admin(&fixture.b, "admin@beta.test"));
        self.callers = callers;
    }

    /// Creates a key of each tenant with the role `admin`, and the planned ones.
    async fn create_keys(&mut self, plan: &Plan) {
        let last = self.callers.len() - 1;
        let of_admins = [(last, last, None), (0, 0, None)];
        let planned = plan.keys.iter().enumerate();
        let planned = planned.map(|(number, place)| (0, number + 1, *place));
        for (creator, roles_of, place) in of_admins.into_iter().chain(planned) {
            let roles = match roles_of {
                number if number == 0 || number == last => vec!["admin".to_owned()],
                number => (0..plan.callers[number - 1].len())
                    .map(|role| role_of(number, role))
                    .collect(),
            };
            let organization = place.map(|place| self.at(place));
            let body = json!({"name": "Key", "roles": roles, "organizationId": organization});
            let (status, key) = self.fixture.app.post(&self.callers[creator].token, KEYS, body).await;
            assert_eq!(status, 201, "{key}");
            self.keys.push(Key {
                id: id_of(&key),
                roles_of,
                rights: Rights {
                    confined_to: organization,
                    ..self.callers[roles_of].rights.clone()
                },
            });
        }
    }

    /// Creates a deal and a product in each organization, which is a record as well.
    async fn create_records(&mut self) {
        for organization in self.organizations {
            let is_foreign = organization == self.fixture.b.organization;
            let tenant = if is_foreign { &self.fixture.b } else { &self.fixture.a };
            for kind in [Kind::Deal, Kind::Product] {
                let body = json!({"title": "Before", "organizationId": organization});
                let id = created(&self.fixture, &tenant.token, kind, body).await;
                self.records.push(Record { id, kind });
            }
            self.records.push(Record {
                id: organization,
                kind: Kind::Organization,
            });
        }
    }

    pub(super) fn rule(&self, id: Uuid) -> &SavedRule {
        let found = self.rules.iter().find(|rule| rule.id == id);
        found.unwrap_or_else(|| panic!("the rule {id} was not stored by the API"))
    }

    /// Returns all rows, without the log of reads and the times of use of keys, which are written independently of the requests.
    pub(super) async fn snapshot(&self) -> DatabaseSnapshot {
        let mut snapshot = self
            .fixture
            .app
            .snapshot_without(&["audit_access_logs"], &["last_used_at"])
            .await;
        let collections = snapshot.get_mut("core_collections").expect("the versions of lists");
        collections.retain(|row| row["kind"] != "api_keys.usage");
        snapshot
    }
}

fn places(plan: &Plan) -> Vec<Option<Place>> {
    let managed = |grants: &Vec<GrantPlan>| {
        let mut managing = grants
            .iter()
            .filter(|grant| grant.features.contains(&"business_rules.manage"));
        managing.next()?.places.as_ref()?.first().copied()
    };
    let random = plan.callers.iter().map(managed);
    [None].into_iter().chain(random).chain([Some(Place::Foreign)]).collect()
}

/// Returns the name of a role of a caller with random rights.
pub(super) fn role_of(caller: usize, role: usize) -> String {
    format!("Caller {caller} {role}")
}

async fn created(fixture: &TwoTenants, token: &str, kind: Kind, body: Value) -> Uuid {
    let (status, body) = fixture.app.post(token, kind.path(), body).await;
    assert_eq!(status, 201, "{body}");
    id_of(&body)
}
