//! The pairs of a feature and an organization that follow from rights and the tree of organizations.

use std::collections::{BTreeSet, HashMap};

use uuid::Uuid;

use super::{AccessList, Organizations, Rights};
use crate::acl::{Catalogue, covers, matches};
use crate::fingerprint::Fingerprint;

/// The pairs of a feature and an organization that a principal holds, resolved by the present tree of organizations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pairs {
    rights: Rights,
    /// The organizations of each list, descendants included.
    resolved: Vec<Organizations>,
    /// The pairs of the rights that the principal needs in addition.
    limited_by: Option<Box<Pairs>>,
}

impl Pairs {
    /// Resolves the pairs by a tree that maps each live root to the live organizations below it, itself included. Organizations missing from
    /// the tree are ignored.
    #[must_use]
    pub fn placed(rights: &Rights, below: &HashMap<Uuid, Vec<Uuid>>) -> Self {
        let other = rights.limited_by.as_ref();
        let limited_by = other.map(|other| Box::new(Self::placed(other, below)));
        let below = |root: &Uuid| below.get(root).into_iter().flatten().copied();
        let confined: Organizations = rights.confined_to.as_ref().map(|own| below(own).collect());
        let resolve = |list: &AccessList| -> Organizations {
            let listed: Organizations = list
                .organizations
                .as_ref()
                .map(|listed| listed.iter().flat_map(below).collect());
            common(listed, confined.clone())
        };
        Self {
            resolved: rights.lists().iter().map(resolve).collect(),
            rights: rights.clone(),
            limited_by,
        }
    }

    /// Adds everything that distinguishes these pairs from others.
    pub(crate) fn identify(&self, fingerprint: &mut Fingerprint) {
        let Self {
            rights,
            resolved,
            limited_by,
        } = self;
        rights.identify(fingerprint);
        fingerprint.number(resolved.len());
        for organizations in resolved {
            fingerprint.ids(organizations.as_ref());
        }
        fingerprint.flag(limited_by.is_some());
        if let Some(other) = limited_by {
            other.identify(fingerprint);
        }
    }

    /// Returns the pairs without a tree: only those of the whole tenant.
    #[must_use]
    pub fn without_tree(rights: &Rights) -> Self {
        Self::placed(rights, &HashMap::new())
    }

    /// Returns whether every right holds everywhere.
    #[must_use]
    pub fn is_super_admin(&self) -> bool {
        self.rights.is_super_admin
    }

    fn union(&self, counts: impl Fn(usize, &AccessList) -> Option<Organizations>) -> Organizations {
        if self.rights.is_super_admin {
            return None;
        }
        let mut union = BTreeSet::new();
        for (at, list) in self.rights.lists().iter().enumerate() {
            if let Some(organizations) = counts(at, list) {
                union.extend(organizations?);
            }
        }
        Some(union)
    }

    /// Returns the organizations in which the exact feature is held.
    #[must_use]
    pub fn orgs(&self, feature: &str, catalogue: &Catalogue) -> Organizations {
        if !catalogue.contains(feature) {
            return Some(BTreeSet::new());
        }
        let own = self.union(|at, list| {
            let granted = list.grants.iter().any(|grant| matches(grant, feature));
            granted.then(|| self.resolved[at].clone())
        });
        match &self.limited_by {
            Some(other) => common(own, other.orgs(feature, catalogue)),
            None => own,
        }
    }

    /// Returns whether the exact feature is held in some organization.
    #[must_use]
    pub fn holds(&self, feature: &str, catalogue: &Catalogue) -> bool {
        if self.limited_by.is_some() {
            let organizations = self.orgs(feature, catalogue);
            return organizations.is_none_or(|organizations| !organizations.is_empty());
        }
        let somewhere = |organizations: &Organizations| {
            organizations
                .as_ref()
                .is_none_or(|organizations| !organizations.is_empty())
        };
        let mut lists = self.rights.lists().iter().zip(&self.resolved);
        catalogue.contains(feature)
            && (self.rights.is_super_admin
                || lists.any(|(list, organizations)| {
                    somewhere(organizations) && list.grants.iter().any(|grant| matches(grant, feature))
                }))
    }

    /// Returns whether the exact feature is held in this organization; `None` = in the whole tenant.
    #[must_use]
    pub fn holds_in(&self, feature: &str, organization: Option<Uuid>, catalogue: &Catalogue) -> bool {
        catalogue.contains(feature) && has(&self.orgs(feature, catalogue), organization)
    }

    /// Returns the organizations in which any feature is held.
    #[must_use]
    pub fn anywhere(&self, catalogue: &Catalogue) -> Organizations {
        if self.limited_by.is_some() {
            let mut union = BTreeSet::new();
            for feature in catalogue.ids() {
                union.extend(self.orgs(feature, catalogue)?);
            }
            return Some(union);
        }
        self.union(|at, list| {
            let held = list.grants.iter().any(|grant| catalogue.knows(grant));
            held.then(|| self.resolved[at].clone())
        })
    }

    /// Returns the organizations in which a feature or wildcard may be granted to others, because some grant covers it there. A deleted
    /// organization counts if a list names it, because it may be restored.
    #[must_use]
    pub fn covering(&self, requested: &str) -> Organizations {
        let own = self.union(|at, list| {
            if !list.grants.iter().any(|grant| covers(grant, requested)) {
                return None;
            }
            let named = list.organizations.iter().flatten().copied();
            let named = named.filter(|_| self.rights.confined_to.is_none());
            Some(
                self.resolved[at]
                    .as_ref()
                    .map(|organizations| organizations.iter().copied().chain(named).collect()),
            )
        });
        match &self.limited_by {
            Some(other) => common(own, other.covering(requested)),
            None => own,
        }
    }

    /// Returns whether some grant covers the wildcard in a live organization; in this one if one is given. Deleted organizations do not count,
    /// because nothing is held there.
    #[must_use]
    pub fn holds_wildcard(&self, wildcard: &str, organization: Option<Uuid>) -> bool {
        let organizations = self.covering_live(wildcard);
        match organization {
            Some(_) => has(&organizations, organization),
            None => organizations.is_none_or(|organizations| !organizations.is_empty()),
        }
    }

    fn covering_live(&self, wildcard: &str) -> Organizations {
        let own = self.union(|at, list| {
            let covered = list.grants.iter().any(|grant| covers(grant, wildcard));
            covered.then(|| self.resolved[at].clone())
        });
        match &self.limited_by {
            Some(other) => common(own, other.covering_live(wildcard)),
            None => own,
        }
    }
}

/// Returns whether the organization is among them; `None` = all of the tenant.
pub(crate) fn has(organizations: &Organizations, organization: Option<Uuid>) -> bool {
    match (organizations, organization) {
        (None, _) => true,
        (Some(organizations), Some(organization)) => organizations.contains(&organization),
        (Some(_), None) => false,
    }
}

/// Returns the intersection.
pub(crate) fn common(one: Organizations, other: Organizations) -> Organizations {
    match (one, other) {
        (None, organizations) | (organizations, None) => organizations,
        (Some(one), Some(other)) => Some(one.intersection(&other).copied().collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acl::Feature;

    const X: Uuid = Uuid::from_u128(1);
    const BELOW_X: Uuid = Uuid::from_u128(2);
    const Y: Uuid = Uuid::from_u128(3);
    const GONE: Uuid = Uuid::from_u128(4);

    fn list(grants: &[&str], organizations: Option<&[Uuid]>) -> AccessList {
        AccessList {
            grants: grants.iter().map(|grant| (*grant).to_owned()).collect(),
            organizations: organizations.map(|ids| ids.iter().copied().collect()),
        }
    }

    fn catalogue() -> Catalogue {
        Catalogue::new(["deals.view", "products.view"].map(|id| Feature::new(id, "")))
    }

    fn placed(rights: &Rights) -> Pairs {
        Pairs::placed(rights, &HashMap::from([(X, vec![X, BELOW_X]), (Y, vec![Y])]))
    }

    #[test]
    fn acc_41_each_list_grants_in_its_own_organizations_only() {
        let pairs = placed(&Rights::of([
            list(&["deals.*"], Some(&[X])),
            list(&["products.view"], None),
        ]));

        assert_eq!(pairs.orgs("deals.view", &catalogue()), Some([X, BELOW_X].into()));
        assert_eq!(pairs.orgs("products.view", &catalogue()), None);
        assert_eq!(pairs.anywhere(&catalogue()), None);
        assert!(!pairs.holds_in("deals.view", Some(Y), &catalogue()));
        assert!(!pairs.holds_in("deals.view", None, &catalogue()));
    }

    #[test]
    fn a_list_for_no_organization_grants_nothing_beside_another_one() {
        let pairs = placed(&Rights::of([
            list(&["deals.view"], Some(&[])),
            list(&["products.view"], Some(&[Y])),
        ]));

        assert!(!pairs.holds("deals.view", &catalogue()));
        assert!(
            pairs
                .covering("deals.view")
                .is_some_and(|organizations| organizations.is_empty())
        );
        assert_eq!(pairs.anywhere(&catalogue()), Some([Y].into()));
    }

    #[test]
    fn features_of_no_enabled_module_are_held_nowhere() {
        let pairs = placed(&Rights::of([
            list(&["other.view"], None),
            list(&["deals.view"], Some(&[Y])),
        ]));

        assert_eq!(pairs.anywhere(&catalogue()), Some([Y].into()));
        assert!(!placed(&Rights::super_admin()).holds("other.view", &catalogue()));
    }

    #[test]
    fn a_confined_principal_stays_in_its_organization_whatever_its_lists_say() {
        let rights = Rights::of([list(&["deals.view"], None), list(&["products.view"], Some(&[Y]))]);
        let pairs = placed(&rights.confined_to(X));

        assert_eq!(pairs.orgs("deals.view", &catalogue()), Some([X, BELOW_X].into()));
        assert!(!pairs.holds("products.view", &catalogue()));
    }

    #[test]
    fn limited_rights_hold_a_feature_where_both_grant_it() {
        let key = Rights::of([list(&["deals.view"], None), list(&["products.view"], Some(&[Y]))]);
        let caller = Rights::of([list(&["*"], Some(&[X]))]);
        let pairs = placed(&key.clone().limited_by(&caller));

        assert_eq!(pairs.orgs("deals.view", &catalogue()), Some([X, BELOW_X].into()));
        assert!(
            pairs.holds_in("deals.view", Some(X), &catalogue()) && !pairs.holds_in("deals.view", None, &catalogue())
        );
        assert!(!pairs.holds("products.view", &catalogue()));
        assert_eq!(pairs.anywhere(&catalogue()), Some([X, BELOW_X].into()));
        assert_eq!(pairs.covering("deals.view"), Some([X, BELOW_X].into()));
        assert!(
            pairs
                .covering("products.view")
                .is_some_and(|organizations| organizations.is_empty())
        );
        assert!(!pairs.holds_wildcard("*", None) && !pairs.holds_wildcard("products.view", None));
        assert_eq!(caller.limited_by(&key).roots(), [X, Y].into());
    }

    #[test]
    fn the_rights_of_a_super_administrator_limit_nothing() {
        let key = Rights::of([list(&["deals.view"], Some(&[Y]))]);

        assert_eq!(key.clone().limited_by(&Rights::super_admin()), key);
        assert_eq!(Rights::super_admin().limited_by(&key), key);
    }

    #[test]
    fn rights_can_be_limited_several_times() {
        let wide = Rights::of([list(&["*"], None)]);
        let twice = |first: &[&str], second: &[&str]| {
            let limited = wide.clone().limited_by(&Rights::of([list(first, None)]));
            placed(&limited.limited_by(&Rights::of([list(second, Some(&[X]))])))
        };

        assert!(!twice(&["deals.view"], &["products.view"]).holds("deals.view", &catalogue()));
        assert!(!twice(&["deals.view"], &["products.view"]).holds("products.view", &catalogue()));
        assert!(twice(&["deals.view"], &["*"]).holds_in("deals.view", Some(X), &catalogue()));
    }

    #[test]
    fn a_deleted_organization_grants_nothing_but_may_be_passed_on() {
        let pairs = placed(&Rights::of([list(&["deals.view"], Some(&[GONE]))]));

        assert!(!pairs.holds("deals.view", &catalogue()));
        assert_eq!(pairs.covering("deals.view"), Some([GONE].into()));
    }

    #[test]
    fn a_wildcard_is_held_in_live_organizations_only() {
        let pairs = placed(&Rights::of([
            list(&["deals.*"], Some(&[GONE])),
            list(&["products.*"], Some(&[GONE, X])),
        ]));

        assert!(!pairs.holds_wildcard("deals.*", None));
        assert!(!pairs.holds_wildcard("deals.*", Some(GONE)));
        assert_eq!(pairs.covering("deals.*"), Some([GONE].into()));
        assert!(pairs.holds_wildcard("products.*", None));
        assert!(pairs.holds_wildcard("products.*", Some(BELOW_X)) && !pairs.holds_wildcard("products.*", Some(Y)));
        assert!(placed(&Rights::super_admin()).holds_wildcard("*", Some(Y)));

        let wide = Rights::of([list(&["*"], None)]);
        let limited = placed(&wide.limited_by(&Rights::of([list(&["products.*"], Some(&[GONE, X]))])));
        assert!(limited.holds_wildcard("products.*", Some(X)) && !limited.holds_wildcard("products.*", Some(GONE)));
        assert!(!limited.holds_wildcard("deals.*", None) && !limited.holds_wildcard("*", None));
    }

    #[test]
    fn s4_without_a_tree_a_limited_principal_holds_nothing() {
        let rights = Rights::of([list(&["deals.view"], Some(&[X])), list(&["products.view"], None)]);
        let pairs = Pairs::without_tree(&rights);

        assert!(!pairs.holds("deals.view", &catalogue()));
        assert!(pairs.holds("products.view", &catalogue()));
        assert!(!Pairs::without_tree(&rights.confined_to(X)).holds("products.view", &catalogue()));
    }
}
