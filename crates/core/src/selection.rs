//! The scope that follows from the selection of a tenant and an organization (accounts specification, section 4.2).

use std::collections::BTreeSet;
use std::sync::Arc;

use uuid::Uuid;

use crate::acl::{Catalogue, Organizations, Pairs};
use crate::context::{Call, RequestContext};
use crate::db::Connection;
use crate::error::{Error, Rejection, Result};
use crate::identity::{Identity, OrganizationTree, Principal};
use crate::scope::{Scope, VisibleTenants};

/// The selection of a tenant or an organization.
pub(crate) enum Selected {
    Nothing,
    Header(String),
    Cookie(String),
    /// Named by the request itself.
    Named(String),
}

impl Selected {
    fn value(&self) -> Option<&str> {
        match self {
            Self::Nothing => None,
            Self::Header(value) | Self::Cookie(value) | Self::Named(value) => Some(value),
        }
    }

    /// True for a header that is neither `all` nor a UUID.
    pub(crate) fn is_malformed_header(&self) -> bool {
        matches!(self, Self::Header(value) if value != "all" && value.parse::<Uuid>().is_err())
    }

    /// Handles a selection that the caller may not make: rejected in a header and on writes, ignored on reads.
    fn reject(&self, lenient: bool, in_header: Error) -> Result<()> {
        match self {
            Self::Header(_) => Err(in_header),
            Self::Cookie(_) if !lenient => Err(Rejection::forbidden("Selection is not available")
                .code("selection_rejected")
                .into()),
            Self::Cookie(_) | Self::Named(_) | Self::Nothing => Ok(()),
        }
    }
}

/// Further properties of a request that decide about its scope.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Choosing {
    /// Whether a cookie that the caller may not use is ignored: on reads, and for requests about the session itself.
    pub(crate) lenient: bool,
    /// Whether a super administrator without a selected tenant sees all tenants, not only their own.
    pub(crate) across_tenants: bool,
    /// The tenant that a super administrator names in the request itself; it takes precedence over the selected tenant.
    pub(crate) named: Option<Uuid>,
    /// Whether the request is a read, for which only the named tenant is visible. A write across tenants sees all of them, so that it can be
    /// rejected for naming another tenant than that of its target.
    pub(crate) reads: bool,
}

pub(crate) fn not_authorized() -> Error {
    Rejection::forbidden("Not authorized to target this tenant.").into()
}

/// Returns the present scope of a principal that selected this tenant and organization. Rejects a selection that the principal may no longer
/// make.
pub(crate) async fn of_stored(
    call: &Call,
    identity: &Identity,
    tenant: Uuid,
    organization: Option<Uuid>,
) -> Result<Scope> {
    let chosen = |id: Uuid| Selected::Header(id.to_string());
    let organization = organization.map_or(Selected::Nothing, chosen);
    scope(call, identity, &chosen(tenant), &organization, Choosing::default()).await
}

impl RequestContext {
    /// Creates a context in which a principal acts in a tenant with its present rights, without a request of its own: for what it has allowed others
    /// to do. `None` when it may no longer act there.
    ///
    /// # Errors
    /// When the database can't be reached.
    pub async fn in_name_of(call: &Call, principal: &Principal, tenant: Uuid) -> Result<Option<Self>> {
        let Some(identity) = call.runtime.identify(principal).await? else {
            return Ok(None);
        };
        match of_stored(call, &identity, tenant, None).await {
            Ok(scope) => Ok(Some(Self::new(call.clone(), Arc::new(identity), scope))),
            Err(Error::Rejected(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl RequestContext {
    /// Creates a context in which a [limited identity](Identity::limited) acts in its tenant.
    ///
    /// # Errors
    /// When the database can't be reached.
    pub async fn limited(call: &Call, identity: Identity) -> Result<Self> {
        let scope = of_stored(call, &identity, identity.tenant, None).await?;
        Ok(Self::new(call.clone(), Arc::new(identity), scope))
    }
}

/// Returns the scope of a principal that selects this tenant and organization.
pub(crate) async fn scope(
    call: &Call,
    identity: &Identity,
    tenant: &Selected,
    organization: &Selected,
    choosing: Choosing,
) -> Result<Scope> {
    let catalogue = call.platform().catalogue();
    let roots = identity.rights.roots();
    let nothing_selected = tenant.value().is_none() && organization.value().is_none();
    let tree = call.platform().provided().organizations();
    let (Some(tree), false) = (tree, nothing_selected && roots.is_empty()) else {
        let scope = whole_tenant(identity, choosing);
        return Ok(scope.held_by(Pairs::without_tree(&identity.rights), identity.organization, catalogue));
    };
    let mut connection = call.database().read(&own_or_all(identity)).await?;
    Resolver {
        identity,
        choosing,
        catalogue,
        tree: &*tree,
        connection: &mut connection,
    }
    .resolve(tenant, organization, roots)
    .await
}

fn own_or_all(identity: &Identity) -> Scope {
    if identity.rights.is_super_admin {
        Scope::system()
    } else {
        Scope::tenant(identity.tenant)
    }
}

/// Returns the scope of a caller without a selection and without organization limits.
fn whole_tenant(identity: &Identity, choosing: Choosing) -> Scope {
    let visible_tenants = if identity.rights.is_super_admin && choosing.across_tenants {
        VisibleTenants::All
    } else {
        VisibleTenants::Tenant(identity.tenant)
    };
    Scope::new(visible_tenants, Some(identity.tenant))
}

struct Resolver<'a> {
    identity: &'a Identity,
    choosing: Choosing,
    catalogue: &'a Catalogue,
    tree: &'a dyn OrganizationTree,
    connection: &'a mut Connection,
}

impl Resolver<'_> {
    /// Resolves the scope; one statement places the rights and the selected organization.
    async fn resolve(mut self, tenant: &Selected, organization: &Selected, roots: BTreeSet<Uuid>) -> Result<Scope> {
        let mut scope = whole_tenant(self.identity, self.choosing);
        self.select_tenant(&mut scope, tenant).await?;
        let requested = organization.value().and_then(|value| value.parse::<Uuid>().ok());
        let roots: Vec<Uuid> = roots.into_iter().chain(requested).collect();
        let mut below = self.tree.expand_each(self.connection, scope.tenant, &roots).await?;
        let pairs = Pairs::placed(&self.identity.rights, &below);
        let allowed = pairs.anywhere(self.catalogue);
        self.select_organization(&mut scope, organization, &allowed).await?;
        if let Some(selected) = scope.selected {
            scope.organizations = Some(below.remove(&selected).unwrap_or_default());
        }
        let home = self
            .identity
            .organization
            .filter(|_| scope.tenant == Some(self.identity.tenant));
        Ok(scope.held_by(pairs, home, self.catalogue))
    }

    async fn select_tenant(&mut self, scope: &mut Scope, selected: &Selected) -> Result<()> {
        let Some(value) = selected.value() else { return Ok(()) };
        let own = self.identity.tenant;
        if !self.identity.rights.is_super_admin {
            if value != "all" && value.parse() != Ok(own) {
                selected.reject(self.choosing.lenient, not_authorized())?;
            }
            return Ok(());
        }
        if let Selected::Named(_) = selected {
            // The endpoint decides whether the tenant exists.
            let named = value.parse::<Uuid>().unwrap_or(own);
            scope.tenant = Some(named);
            scope.visible_tenants = if self.choosing.across_tenants && !self.choosing.reads {
                VisibleTenants::All
            } else {
                VisibleTenants::Tenant(named)
            };
            return Ok(());
        }
        if value == "all" {
            scope.tenant = None;
            scope.visible_tenants = VisibleTenants::All;
            return Ok(());
        }
        match value.parse::<Uuid>() {
            Ok(requested) if requested == own || self.tree.tenant_is_live(self.connection, requested).await? => {
                scope.visible_tenants = VisibleTenants::Tenant(requested);
                scope.tenant = Some(requested);
                Ok(())
            }
            _ => selected.reject(self.choosing.lenient, not_authorized()),
        }
    }

    async fn select_organization(
        &mut self,
        scope: &mut Scope,
        selected: &Selected,
        allowed: &Organizations,
    ) -> Result<()> {
        let Some(value) = selected.value() else { return Ok(()) };
        if value == "all" {
            scope.all_selected = true;
            return Ok(());
        }
        let lenient = self.choosing.lenient;
        let out_of_scope = || Error::from(Rejection::forbidden("Organization out of scope"));
        let Ok(requested) = value.parse::<Uuid>() else {
            return selected.reject(lenient, out_of_scope());
        };
        let allowed = allowed.as_ref().is_none_or(|place| place.contains(&requested));
        let tenant = self
            .tree
            .tenant_of(self.connection, requested)
            .await?
            .filter(|_| allowed);
        let Some(tenant) = tenant.filter(|tenant| scope.tenant.is_none_or(|own| own == *tenant)) else {
            // If the request itself names a tenant, a selected organization of another tenant is ignored.
            if self.choosing.named.is_some() && self.identity.rights.is_super_admin {
                return Ok(());
            }
            return selected.reject(lenient, out_of_scope());
        };
        if scope.tenant.is_none() {
            scope.tenant = Some(tenant);
            scope.visible_tenants = VisibleTenants::Tenant(tenant);
        }
        scope.selected = Some(requested);
        Ok(())
    }
}
