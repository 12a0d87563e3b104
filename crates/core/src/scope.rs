//! Scopes: the rows that a request may read and write. A statement on a tenant table starts from a [`Scope`]; there is no other way to write
//! its tenant predicate, and row-level security enforces the same in the database.

use std::collections::BTreeSet;
use std::sync::Arc;

use diesel::expression::{AppearsOnTable, Expression, SelectableExpression, ValidGrouping, is_aggregate};
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::result::QueryResult;
use diesel::sql_types::{Array, Bool, Uuid as SqlUuid};
use uuid::Uuid;

use crate::acl::{Catalogue, Feature, Organizations, Pairs};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::ids::PLATFORM_TENANT;

/// The tenants whose rows are visible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VisibleTenants {
    /// One tenant.
    Tenant(Uuid),
    /// Every tenant: super administrators without a selected tenant, sign-in, workers.
    All,
}

impl VisibleTenants {
    /// Returns the tenant, if it is only one.
    #[must_use]
    pub const fn one(self) -> Option<Uuid> {
        match self {
            Self::Tenant(tenant) => Some(tenant),
            Self::All => None,
        }
    }
}

/// The tenant and organization scope of a request (accounts specification, section 4.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// Tenants visible to lists and targets.
    pub visible_tenants: VisibleTenants,
    /// The selected tenant, or the caller's own; `None` when a super administrator selected all tenants.
    pub tenant: Option<Uuid>,
    /// Organizations in which the caller holds the features of the endpoint or command; if it requires none, those in which the caller holds
    /// any feature. `None` = all of the tenant.
    pub allowed: Option<Vec<Uuid>>,
    /// Organizations whose rows are visible: the selected one with descendants, else the allowed ones; `None` = no filter.
    pub organizations: Option<Vec<Uuid>>,
    /// The organization that was selected by header or cookie.
    pub selected: Option<Uuid>,
    /// Organization of a write that names none.
    pub write_organization: Option<Uuid>,
    /// Whether the caller selected all of their organizations with `all`.
    pub all_selected: bool,
    predicates: bool,
    /// The caller's own organization, in their own tenant.
    home: Option<Uuid>,
    /// The caller's rights in this tenant; without them, features do not limit the scope any further.
    pairs: Option<Arc<Pairs>>,
}

impl Scope {
    /// Creates a scope of all rows of one tenant.
    #[must_use]
    pub fn tenant(tenant: Uuid) -> Self {
        Self::new(VisibleTenants::Tenant(tenant), Some(tenant))
    }

    /// Creates a scope of all rows of all tenants.
    #[must_use]
    pub fn system() -> Self {
        Self::new(VisibleTenants::All, None)
    }

    /// Creates a scope without organization limits.
    #[must_use]
    pub fn new(visible_tenants: VisibleTenants, tenant: Option<Uuid>) -> Self {
        Self {
            visible_tenants,
            tenant,
            allowed: None,
            organizations: None,
            selected: None,
            write_organization: None,
            all_selected: false,
            predicates: true,
            home: None,
            pairs: None,
        }
    }

    /// Adds everything that distinguishes this scope from others.
    pub(crate) fn identify(&self, fingerprint: &mut Fingerprint) {
        let Self {
            visible_tenants,
            tenant,
            allowed,
            organizations,
            selected,
            write_organization,
            all_selected,
            predicates,
            home,
            pairs,
        } = self;
        for id in [visible_tenants.one(), *tenant, *selected, *write_organization, *home] {
            fingerprint.id(id);
        }
        for ids in [allowed, organizations] {
            fingerprint.ids(ids.as_ref());
        }
        for flag in [*all_selected, *predicates, pairs.is_some()] {
            fingerprint.flag(flag);
        }
        if let Some(pairs) = pairs {
            pairs.identify(fingerprint);
        }
    }

    /// Leaves out the tenant predicates, so that tests can show the effect of row-level security alone.
    #[doc(hidden)]
    #[must_use]
    pub fn without_predicates(mut self) -> Self {
        self.predicates = false;
        self
    }

    /// Returns the predicate for rows of the visible tenants.
    pub fn owns<C>(&self, column: C) -> Owned<C> {
        self.owned(column, false)
    }

    /// Returns the predicate for rows of the visible tenants, and for global rows.
    pub fn owns_or_global<C>(&self, column: C) -> Owned<C> {
        self.owned(column, true)
    }

    fn owned<C>(&self, column: C, or_global: bool) -> Owned<C> {
        let tenants = match self.visible_tenants {
            VisibleTenants::Tenant(tenant) if self.predicates => Some(tenant),
            _ => None,
        };
        Owned {
            column,
            tenant: tenants,
            or_global,
        }
    }

    /// Returns the predicate for rows of the visible organizations. Rows without organization are visible only to callers without organization
    /// limits.
    pub fn within<C>(&self, column: C) -> Within<C> {
        Within {
            column,
            organizations: self.organizations.clone(),
        }
    }

    /// Returns whether rows of this organization are visible.
    #[must_use]
    pub fn reads_organization(&self, organization: Option<Uuid>) -> bool {
        match (&self.organizations, organization) {
            (None, _) => true,
            (Some(list), Some(organization)) => list.contains(&organization),
            (Some(_), None) => false,
        }
    }

    /// Limits the scope to the organizations in which a caller with these rights holds any of them; `home` is the caller's own organization in
    /// this tenant.
    pub(crate) fn held_by(mut self, pairs: Pairs, home: Option<Uuid>, catalogue: &Catalogue) -> Self {
        self.allowed = listed(pairs.anywhere(catalogue));
        self.home = home;
        self.pairs = Some(Arc::new(pairs));
        self.resolved()
    }

    /// Derives the visible organizations and the organization of writes from the allowed and the selected organizations.
    fn resolved(mut self) -> Self {
        if self.selected.is_none() {
            self.organizations.clone_from(&self.allowed);
        }
        let is_allowed = |id: &Uuid| self.allowed.as_ref().is_none_or(|list| list.contains(id));
        self.write_organization = self.selected.or(self.home.filter(is_allowed));
        self
    }

    /// Returns the caller's rights, as placed in the tree of this tenant.
    pub(crate) fn pairs(&self) -> Option<&Arc<Pairs>> {
        self.pairs.as_ref()
    }

    /// Returns the scope of an endpoint or command that requires these features, limited to the organizations in which the caller holds all of
    /// them.
    ///
    /// # Errors
    /// 403 that names the features when one of them is not held anywhere, or not in the selected organization.
    pub fn for_features(&self, features: &[Feature], catalogue: &Catalogue) -> Result<Self> {
        let Some(pairs) = &self.pairs else {
            return Ok(self.clone());
        };
        if !features.iter().all(|feature| self.holds(feature.id, catalogue)) {
            return Err(crate::acl::missing(features).into());
        }
        let mut scope = self.clone();
        for feature in features {
            let place = pairs.orgs(feature.id, catalogue);
            scope.allowed = within(scope.allowed, place);
        }
        Ok(scope.resolved())
    }

    /// Returns whether the caller holds the feature: in the selected organization if there is one, else in any. A scope without rights holds none.
    #[must_use]
    pub fn holds(&self, feature: &str, catalogue: &Catalogue) -> bool {
        let Some(pairs) = &self.pairs else { return false };
        match self.selected {
            Some(_) => pairs.holds_in(feature, self.selected, catalogue),
            None => pairs.holds(feature, catalogue),
        }
    }

    /// Returns whether the caller may read rows of this organization by this feature. Rows without organization require the feature in the whole
    /// tenant.
    #[must_use]
    pub fn reads_by(&self, feature: &str, organization: Option<Uuid>, catalogue: &Catalogue) -> bool {
        let held = |pairs: &Arc<Pairs>| pairs.holds_in(feature, organization, catalogue);
        self.reads_organization(organization) && self.pairs.as_ref().is_some_and(held)
    }

    /// Returns whether rows of this tenant are visible.
    #[must_use]
    pub fn sees_tenant(&self, tenant: Uuid) -> bool {
        match self.visible_tenants {
            VisibleTenants::All => true,
            VisibleTenants::Tenant(own) => own == tenant,
        }
    }
}

fn listed(place: Organizations) -> Option<Vec<Uuid>> {
    place.map(|place| place.into_iter().collect())
}

fn within(allowed: Option<Vec<Uuid>>, place: Organizations) -> Option<Vec<Uuid>> {
    match (allowed, place) {
        (allowed, None) => allowed,
        (None, place) => listed(place),
        (Some(mut allowed), Some(place)) => {
            let place: BTreeSet<Uuid> = place;
            allowed.retain(|id| place.contains(id));
            Some(allowed)
        }
    }
}

/// Predicate "the row belongs to a visible tenant"; created by [`Scope::owns`].
#[derive(Debug, Clone, Copy)]
pub struct Owned<C> {
    column: C,
    tenant: Option<Uuid>,
    or_global: bool,
}

/// Predicate "the row belongs to a visible organization"; created by [`Scope::within`].
#[derive(Debug, Clone)]
pub struct Within<C> {
    column: C,
    organizations: Option<Vec<Uuid>>,
}

impl<C: QueryFragment<Pg>> QueryFragment<Pg> for Owned<C> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        let Some(tenant) = &self.tenant else {
            out.push_sql("true");
            return Ok(());
        };
        self.column.walk_ast(out.reborrow())?;
        if self.or_global {
            out.push_sql(" in (");
            out.push_bind_param::<SqlUuid, Uuid>(&PLATFORM_TENANT)?;
            out.push_sql(", ");
            out.push_bind_param::<SqlUuid, Uuid>(tenant)?;
            out.push_sql(")");
        } else {
            out.push_sql(" = ");
            out.push_bind_param::<SqlUuid, Uuid>(tenant)?;
        }
        Ok(())
    }
}

impl<C: QueryFragment<Pg>> QueryFragment<Pg> for Within<C> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        let Some(organizations) = &self.organizations else {
            out.push_sql("true");
            return Ok(());
        };
        self.column.walk_ast(out.reborrow())?;
        out.push_sql(" = any(");
        out.push_bind_param::<Array<SqlUuid>, Vec<Uuid>>(organizations)?;
        out.push_sql(")");
        Ok(())
    }
}

macro_rules! predicate {
    ($name:ident) => {
        impl<C: Expression> Expression for $name<C> {
            type SqlType = Bool;
        }
        impl<C, Source> AppearsOnTable<Source> for $name<C>
        where
            C: AppearsOnTable<Source>,
            Self: Expression,
        {
        }
        impl<C, Source> SelectableExpression<Source> for $name<C>
        where
            C: SelectableExpression<Source>,
            Self: AppearsOnTable<Source>,
        {
        }
        impl<C, GroupBy> ValidGrouping<GroupBy> for $name<C> {
            type IsAggregate = is_aggregate::No;
        }
        impl<C> QueryId for $name<C> {
            type QueryId = ();
            // The text depends on the scope, so the statement cache must look at the text.
            const HAS_STATIC_QUERY_ID: bool = false;
        }
    };
}

predicate!(Owned);
predicate!(Within);
