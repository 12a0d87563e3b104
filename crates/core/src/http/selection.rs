//! Tenant and organization of a request (accounts specification, section 4.2).

use actix_web::http::Method;
use uuid::Uuid;

use super::head::Head;
use super::tenant_parameter::not_authorized;
use crate::context::Call;
use crate::db::Connection;
use crate::error::{Error, Refusal, Result};
use crate::identity::{ActorKind, Identity, OrganizationTree};
use crate::ids::PLATFORM_TENANT;
use crate::scope::{Reach, Scope};

enum Selected {
    Nothing,
    Header(String),
    Cookie(String),
}

impl Selected {
    fn of(request: &impl Head, header: &str, cookie: &str) -> Self {
        if let Some(value) = request.headers().get(header) {
            return Self::Header(value.to_str().unwrap_or("?").trim().to_owned());
        }
        match request.cookie(cookie) {
            Some(value) if !value.value().trim().is_empty() => Self::Cookie(value.value().trim().to_owned()),
            _ => Self::Nothing,
        }
    }

    fn value(&self) -> Option<&str> {
        match self {
            Self::Nothing => None,
            Self::Header(value) | Self::Cookie(value) => Some(value),
        }
    }

    /// What becomes of a selection that the caller may not make: refused in a header and on writes, ignored on reads.
    fn reject(&self, reads: bool, in_header: Error) -> Result<()> {
        match self {
            Self::Header(_) => Err(in_header),
            Self::Cookie(_) if !reads => Err(Refusal::forbidden("Selection is not available")
                .code("selection_rejected")
                .into()),
            Self::Cookie(_) | Self::Nothing => Ok(()),
        }
    }
}

pub(super) async fn scope(call: &Call, identity: &Identity, request: &impl Head) -> Result<Scope> {
    let tenant = Selected::of(request, "x-tenant-id", "selected_tenant");
    let organization = Selected::of(request, "x-organization-id", "selected_org");
    of_choice(call, identity, &tenant, &organization, *request.method() == Method::GET).await
}

/// The scope of a principal that chose this tenant and organization, now. What it may no longer choose is refused.
pub(crate) async fn of_stored(
    call: &Call,
    identity: &Identity,
    tenant: Uuid,
    organization: Option<Uuid>,
) -> Result<Scope> {
    let chosen = |id: Uuid| Selected::Header(id.to_string());
    let organization = organization.map_or(Selected::Nothing, chosen);
    of_choice(call, identity, &chosen(tenant), &organization, false).await
}

async fn of_choice(
    call: &Call,
    identity: &Identity,
    tenant: &Selected,
    organization: &Selected,
    reads: bool,
) -> Result<Scope> {
    let nothing_selected = tenant.value().is_none() && organization.value().is_none();
    if nothing_selected && identity.rights.organizations.is_none() {
        return Ok(whole_tenant(identity));
    }
    let Some(tree) = call.platform().provided().organizations.clone() else {
        return Ok(whole_tenant(identity));
    };
    let mut connection = call.database().read(&own_or_all(identity)).await?;
    Resolver {
        identity,
        reads,
        tree: &*tree,
        connection: &mut connection,
    }
    .resolve(tenant, organization)
    .await
}

fn own_or_all(identity: &Identity) -> Scope {
    if identity.rights.is_super_admin {
        Scope::system()
    } else {
        Scope::tenant(identity.tenant)
    }
}

/// The scope of a caller that selects nothing and is limited to no organizations.
fn whole_tenant(identity: &Identity) -> Scope {
    let reach = if identity.rights.is_super_admin {
        Reach::All
    } else {
        Reach::Tenant(identity.tenant)
    };
    let mut scope = Scope::new(reach, Some(identity.tenant));
    scope.write_organization = identity.organization;
    scope
}

struct Resolver<'a> {
    identity: &'a Identity,
    reads: bool,
    tree: &'a dyn OrganizationTree,
    connection: &'a mut Connection,
}

impl Resolver<'_> {
    async fn resolve(mut self, tenant: &Selected, organization: &Selected) -> Result<Scope> {
        let mut scope = whole_tenant(self.identity);
        self.select_tenant(&mut scope, tenant).await?;
        scope.allowed = self.allowed(&scope).await?;
        scope.organizations = scope.allowed.clone();
        self.select_organization(&mut scope, organization).await?;
        let own_is_allowed = scope.tenant == Some(self.identity.tenant)
            && match (&scope.allowed, self.identity.organization) {
                (None, _) => true,
                (Some(list), Some(own)) => list.contains(&own),
                (Some(_), None) => false,
            };
        scope.write_organization = scope.selected.or(self.identity.organization.filter(|_| own_is_allowed));
        Ok(scope)
    }

    async fn select_tenant(&mut self, scope: &mut Scope, selected: &Selected) -> Result<()> {
        let Some(value) = selected.value() else { return Ok(()) };
        let own = self.identity.tenant;
        if !self.identity.rights.is_super_admin {
            if value != "all" && value.parse() != Ok(own) {
                selected.reject(self.reads, not_authorized())?;
            }
            return Ok(());
        }
        if value == "all" {
            scope.tenant = None;
            return Ok(());
        }
        match value.parse::<Uuid>() {
            Ok(wanted) if wanted == own || self.tree.tenant_is_live(self.connection, wanted).await? => {
                scope.reach = Reach::Tenant(wanted);
                scope.tenant = Some(wanted);
                Ok(())
            }
            _ => selected.reject(self.reads, not_authorized()),
        }
    }

    /// The organization beyond which the caller never reaches, whatever its roles say: that of an API key. When they set no limit, the
    /// identity lists it itself.
    fn confined_to(&self) -> Option<Uuid> {
        self.identity
            .organization
            .filter(|_| self.identity.kind == ActorKind::ApiKey)
    }

    async fn allowed(&mut self, scope: &Scope) -> Result<Option<Vec<Uuid>>> {
        match &self.identity.rights.organizations {
            _ if self.identity.rights.is_super_admin => Ok(None),
            None => Ok(None),
            Some(listed) => {
                let listed: Vec<Uuid> = listed.iter().copied().collect();
                let mut allowed = self.tree.expand(self.connection, scope.tenant, &listed).await?;
                if let Some(own) = self.confined_to() {
                    let own = self.tree.expand(self.connection, scope.tenant, &[own]).await?;
                    allowed.retain(|id| own.contains(id));
                }
                Ok(Some(allowed))
            }
        }
    }

    async fn select_organization(&mut self, scope: &mut Scope, selected: &Selected) -> Result<()> {
        let Some(value) = selected.value().filter(|value| *value != "all") else {
            return Ok(());
        };
        let out_of_scope = || Error::from(Refusal::forbidden("Organization out of scope"));
        let Ok(wanted) = value.parse::<Uuid>() else {
            return selected.reject(self.reads, out_of_scope());
        };
        let allowed = scope.allowed.as_ref().is_none_or(|list| list.contains(&wanted));
        let tenant = self.tree.tenant_of(self.connection, wanted).await?.filter(|_| allowed);
        let Some(tenant) = tenant.filter(|tenant| scope.tenant.is_none_or(|own| own == *tenant)) else {
            return selected.reject(self.reads, out_of_scope());
        };
        if scope.tenant.is_none() {
            scope.tenant = Some(tenant);
            scope.reach = Reach::Tenant(tenant);
        }
        scope.selected = Some(wanted);
        scope.organizations = Some(self.tree.expand(self.connection, scope.tenant, &[wanted]).await?);
        Ok(())
    }
}

/// The nil UUID is `null` on the wire.
#[must_use]
pub fn wire_tenant(tenant: Uuid) -> Option<Uuid> {
    (tenant != PLATFORM_TENANT).then_some(tenant)
}
