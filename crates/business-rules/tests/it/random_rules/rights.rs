//! What callers and keys may do, computed from the plan of a case alone.

use std::collections::BTreeMap;

use uuid::Uuid;

/// Organizations with those below them, themselves included.
pub(super) type Tree = BTreeMap<Uuid, Vec<Uuid>>;

/// Returns whether an organization (`None`: the whole tenant) includes another one.
pub(super) fn includes(tree: &Tree, outer: Option<Uuid>, inner: Option<Uuid>) -> bool {
    match (outer, inner) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(outer), Some(inner)) => tree.get(&outer).is_some_and(|below| below.contains(&inner)),
    }
}

/// Features in some organizations with those below them; `None`: in the whole tenant.
#[derive(Debug, Clone)]
pub(super) struct Grant {
    /// `None`: all features of the tenant.
    pub(super) features: Option<Vec<&'static str>>,
    pub(super) organizations: Option<Vec<Uuid>>,
}

impl Grant {
    fn reaches(&self, tree: &Tree, organization: Option<Uuid>) -> bool {
        match &self.organizations {
            None => true,
            Some(listed) => listed.iter().any(|one| includes(tree, Some(*one), organization)),
        }
    }
}

/// The rights of a caller or a key.
#[derive(Debug, Clone)]
pub(super) struct Rights {
    pub(super) tenant: Uuid,
    pub(super) grants: Vec<Grant>,
    /// The organization to which a key is confined.
    pub(super) confined_to: Option<Uuid>,
}

impl Rights {
    /// Returns whether the feature is held in an organization; `None`: in the whole tenant.
    pub(super) fn holds(&self, tree: &Tree, feature: &str, organization: Option<Uuid>) -> bool {
        let grants = |grant: &&Grant| grant.features.as_ref().is_none_or(|all| all.contains(&feature));
        let held = self
            .grants
            .iter()
            .filter(grants)
            .any(|grant| grant.reaches(tree, organization));
        held && includes(tree, self.confined_to, organization)
    }

    /// Returns whether the scope includes an organization, whatever features are held there. Every scope takes part in the whole tenant.
    pub(super) fn sees(&self, tree: &Tree, organization: Option<Uuid>) -> bool {
        organization.is_none() || self.grants.iter().any(|grant| grant.reaches(tree, organization))
    }
}
