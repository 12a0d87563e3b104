//! Rights are pairs of a feature and an organization: each access control list grants its features only in its own organizations. Several lists
//! are evaluated separately and never combined with each other.

mod pairs;

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

pub use pairs::Pairs;
use uuid::Uuid;

use super::{Catalogue, matches};
use crate::error::Rejection;
use crate::fingerprint::Fingerprint;

/// Organizations of a tenant; `None` = all of it.
pub type Organizations = Option<BTreeSet<Uuid>>;

/// An access control list of a principal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccessList {
    /// The grants, as stored.
    pub grants: BTreeSet<String>,
    /// The organizations of the grants, without descendants; `None` = the whole tenant.
    pub organizations: Organizations,
}

/// Lists that never change, and their digest, once it was needed.
#[derive(Debug)]
struct Lists {
    lists: Box<[AccessList]>,
    digest: OnceLock<[u8; 32]>,
}

impl Lists {
    fn digest(&self) -> &[u8; 32] {
        self.digest.get_or_init(|| {
            let mut fingerprint = Fingerprint::default();
            for AccessList { grants, organizations } in &self.lists {
                fingerprint.number(grants.len());
                for grant in grants {
                    fingerprint.bytes(grant.as_bytes());
                }
                fingerprint.ids(organizations.as_ref());
            }
            fingerprint.finish()
        })
    }
}

impl PartialEq for Lists {
    fn eq(&self, other: &Self) -> bool {
        self.lists == other.lists
    }
}

impl Eq for Lists {}

/// The rights of a principal as stored: the lists that apply to the principal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rights {
    /// Whether the principal holds every feature of the enabled modules, in every tenant.
    pub is_super_admin: bool,
    lists: Arc<Lists>,
    confined_to: Option<Uuid>,
    /// Rights that the principal needs in addition.
    limited_by: Option<Arc<Rights>>,
}

impl Default for Rights {
    fn default() -> Self {
        Self::none()
    }
}

impl Rights {
    /// Returns the rights of a principal without lists: none.
    #[must_use]
    pub fn none() -> Self {
        Self::of([])
    }

    /// Returns every right.
    #[must_use]
    pub fn super_admin() -> Self {
        Self {
            is_super_admin: true,
            ..Self::none()
        }
    }

    /// Returns the rights that these lists grant, each separately.
    pub fn of(lists: impl IntoIterator<Item = AccessList>) -> Self {
        let grants_something = |list: &AccessList| !list.grants.is_empty();
        Self {
            is_super_admin: false,
            lists: Arc::new(Lists {
                lists: lists.into_iter().filter(grants_something).collect(),
                digest: OnceLock::new(),
            }),
            confined_to: None,
            limited_by: None,
        }
    }

    /// Returns the rights of one list.
    pub fn granting<'a>(grants: impl IntoIterator<Item = &'a str>, organizations: Option<&[Uuid]>) -> Self {
        Self::of([AccessList {
            grants: grants.into_iter().map(str::to_owned).collect(),
            organizations: organizations.map(|listed| listed.iter().copied().collect()),
        }])
    }

    /// Limits the rights to this organization and its descendants, regardless of the lists.
    #[must_use]
    pub fn confined_to(self, organization: Uuid) -> Self {
        Self {
            confined_to: Some(organization),
            ..self
        }
    }

    /// Limits the rights to those that others grant as well: a feature is held where both grant it.
    #[must_use]
    pub fn limited_by(self, other: &Self) -> Self {
        match (self.is_super_admin, other.is_super_admin) {
            (_, true) => self,
            (true, false) => other.clone(),
            (false, false) => Self {
                limited_by: Some(Arc::new(match self.limited_by {
                    Some(known) => other.clone().limited_by(&known),
                    None => other.clone(),
                })),
                ..self
            },
        }
    }

    /// Returns the lists.
    #[must_use]
    pub fn lists(&self) -> &[AccessList] {
        &self.lists.lists
    }

    /// Adds everything that distinguishes these rights from others. Requests of a session share the digest of the lists.
    pub(crate) fn identify(&self, fingerprint: &mut Fingerprint) {
        let Self {
            is_super_admin,
            lists,
            confined_to,
            limited_by,
        } = self;
        fingerprint.flag(*is_super_admin);
        fingerprint.bytes(lists.digest());
        fingerprint.id(*confined_to);
        fingerprint.flag(limited_by.is_some());
        if let Some(other) = limited_by {
            other.identify(fingerprint);
        }
    }

    /// Returns the organizations whose descendants the tree must resolve for the pairs; none when the rights hold in the whole tenant.
    #[must_use]
    pub fn roots(&self) -> BTreeSet<Uuid> {
        if self.is_super_admin {
            return BTreeSet::new();
        }
        let listed = self.lists().iter().filter_map(|list| list.organizations.as_ref());
        let others = self.limited_by.iter().flat_map(|other| other.roots());
        listed
            .flatten()
            .copied()
            .chain(self.confined_to)
            .chain(others)
            .collect()
    }

    /// Returns the organizations in which any feature is held, as stored: without descendants, and without regard to [other
    /// rights](Self::limited_by).
    #[must_use]
    pub fn anywhere(&self, catalogue: &Catalogue) -> Organizations {
        let mut union = BTreeSet::new();
        for list in self.lists() {
            if list.grants.iter().any(|grant| catalogue.knows(grant)) {
                union.extend(list.organizations.iter().flatten());
                list.organizations.as_ref()?;
            }
        }
        (!self.is_super_admin).then_some(union)
    }

    /// Returns whether a list with at least one organization grants the exact feature. Only [`Pairs`] know the organizations in which it is held.
    #[must_use]
    pub fn holds(&self, feature: &str, catalogue: &Catalogue) -> bool {
        let grants = |list: &AccessList| {
            list.organizations.as_ref().is_none_or(|listed| !listed.is_empty())
                && list.grants.iter().any(|grant| matches(grant, feature))
        };
        catalogue.contains(feature)
            && (self.is_super_admin || self.lists().iter().any(grants))
            && self
                .limited_by
                .as_ref()
                .is_none_or(|other| other.holds(feature, catalogue))
    }

    /// Returns whether a list that grants the feature names the organization itself.
    #[must_use]
    pub fn names(&self, feature: &str, organization: Uuid) -> bool {
        let mut granting = self
            .lists()
            .iter()
            .filter(|list| list.grants.iter().any(|grant| matches(grant, feature)));
        granting.any(|list| {
            list.organizations
                .as_ref()
                .is_some_and(|listed| listed.contains(&organization))
        }) && self.limited_by.is_none()
    }
}

/// Creates the rejection that names these features.
pub(crate) fn missing(features: &[super::Feature]) -> Rejection {
    let ids: Vec<&str> = features.iter().map(|feature| feature.id).collect();
    Rejection::missing_features(&ids)
}
