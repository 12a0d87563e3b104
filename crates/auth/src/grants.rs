//! Nobody grants what it does not hold (accounts specification, section 4.4). What stays or is taken away needs no right.

use std::collections::BTreeSet;

use backoffice_core::acl::is_grant;
use backoffice_core::db::Tx;
use backoffice_core::ids::PLATFORM_TENANT;
use backoffice_core::{RequestContext, Result};
use uuid::Uuid;

use crate::{Error, query};

/// The part of an access control list that grants something.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Acl {
    /// Grants everything.
    pub is_super_admin: bool,
    /// The grants, sorted.
    pub features: Vec<String>,
    /// The organizations; `None` = all of the tenant.
    pub organizations: Option<Vec<Uuid>>,
}

/// What a client wants an ACL to be: absent members keep their value.
#[derive(Debug, Clone, Default)]
pub struct AclInput {
    /// Grants.
    pub features: Option<Vec<String>>,
    /// Whether it grants everything.
    pub is_super_admin: Option<bool>,
    /// Organizations, or null.
    pub organizations: Option<Option<Vec<Uuid>>>,
}

impl AclInput {
    /// The ACL that results, and whether something of the input was dropped: repetitions and features that nobody declares.
    #[must_use]
    pub fn apply(&self, context: &RequestContext, stored: Option<&Acl>) -> (Acl, bool) {
        let known = context.platform().compiled_catalogue();
        let mut acl = stored.cloned().unwrap_or_default();
        let mut dropped = false;
        if let Some(features) = &self.features {
            let kept: BTreeSet<String> = features.iter().filter(|grant| known.knows(grant)).cloned().collect();
            dropped |= kept.len() != features.len();
            acl.features = kept.into_iter().collect();
        }
        if let Some(flag) = self.is_super_admin {
            acl.is_super_admin = flag;
        }
        match &self.organizations {
            Some(Some(listed)) => {
                let kept: BTreeSet<Uuid> = listed.iter().copied().collect();
                dropped |= kept.len() != listed.len();
                acl.organizations = Some(kept.into_iter().collect());
            }
            Some(None) => acl.organizations = None,
            None => {}
        }
        (acl, dropped)
    }

    /// Whether the features have the form of grants.
    #[must_use]
    pub fn is_well_formed(&self) -> bool {
        let features = self
            .features
            .as_ref()
            .is_none_or(|list| list.len() <= 1000 && list.iter().all(|grant| is_grant(grant)));
        let organizations = self
            .organizations
            .as_ref()
            .and_then(Option::as_ref)
            .is_none_or(|list| list.len() <= 500);
        features && organizations
    }
}

fn uncovered_features<'a>(context: &RequestContext, features: impl Iterator<Item = &'a String>) -> Vec<String> {
    features
        .filter(|grant| !context.rights().covers(grant))
        .cloned()
        .collect()
}

/// Organizations that the caller may not hand out; null counts as a whole tenant.
fn uncovered_organizations(context: &RequestContext, organizations: Option<&Vec<Uuid>>) -> Option<Vec<Uuid>> {
    match (&context.scope().allowed, organizations) {
        (None, _) => None,
        (Some(_), None) => Some(Vec::new()),
        (Some(allowed), Some(listed)) => {
            let outside: Vec<Uuid> = listed.iter().filter(|id| !allowed.contains(id)).copied().collect();
            (!outside.is_empty()).then_some(outside)
        }
    }
}

fn exceeding(features: Vec<String>, organizations: Option<Vec<Uuid>>) -> Result<()> {
    if features.is_empty() && organizations.is_none() {
        return Ok(());
    }
    Err(Error::GrantExceedsRights {
        features,
        organizations: organizations.unwrap_or_default(),
    }
    .into())
}

/// Refuses writes of global roles by others than super administrators.
pub(crate) fn may_write_role(tx: &Tx<'_>) -> Result<()> {
    if tx.tenant() == PLATFORM_TENANT && !tx.context().rights().is_super_admin {
        return Err(Error::GlobalRole.into());
    }
    Ok(())
}

/// The same, and writes of a role whose ACL reaches beyond the organizations that the caller is limited to.
pub(crate) async fn may_change_role(tx: &mut Tx<'_>, role: Uuid) -> Result<()> {
    may_write_role(tx)?;
    let stored = query::rights::acls_of(tx, &[role]).await?.pop();
    check_role_acl(tx, stored.as_ref(), None).await
}

/// Organizations that an ACL newly names must be live in the tenant. Others than super administrators are told the same as for ones
/// that they may not hand out.
pub(crate) async fn organizations_exist(tx: &mut Tx<'_>, from: Option<&Acl>, to: &Acl) -> Result<()> {
    let stored = from.and_then(|acl| acl.organizations.clone()).unwrap_or_default();
    let named = to.organizations.iter().flatten();
    let added: Vec<Uuid> = named.filter(|id| !stored.contains(id)).copied().collect();
    if added.is_empty() {
        return Ok(());
    }
    let live = tx.expand_organizations(&added).await?;
    let allowed = tx.context().scope().allowed.as_ref();
    let is_known = |id: &Uuid| live.contains(id) && allowed.is_none_or(|list| list.contains(id));
    let missing: Vec<Uuid> = added.into_iter().filter(|id| !is_known(id)).collect();
    match (missing.is_empty(), tx.context().rights().is_super_admin) {
        (true, _) => Ok(()),
        (false, true) => Err(Error::OrganizationNotFound.into()),
        (false, false) => exceeding(Vec::new(), Some(missing)),
    }
}

/// The step of a role's ACL.
pub(crate) async fn check_role_acl(tx: &mut Tx<'_>, from: Option<&Acl>, to: Option<&Acl>) -> Result<()> {
    // A caller that is limited to organizations may only touch ACLs that lie inside them.
    if let Some(from) = from {
        exceeding(
            Vec::new(),
            uncovered_organizations(tx.context(), from.organizations.as_ref()),
        )?;
    }
    match to {
        Some(to) => check(tx, from, to, false).await,
        None => Ok(()),
    }
}

/// The step of a user's own ACL. Without one the roles count again, so removing it means granting them.
pub(crate) async fn check_user_acl(tx: &mut Tx<'_>, from: Option<&Acl>, to: Option<&Acl>, roles: &[Acl]) -> Result<()> {
    match to {
        Some(to) => check(tx, from, to, from.is_none()).await,
        None if from.is_some() => {
            for acl in roles {
                check_assignment(tx, acl).await?;
            }
            Ok(())
        }
        None => Ok(()),
    }
}

async fn check(tx: &mut Tx<'_>, from: Option<&Acl>, to: &Acl, newly_made: bool) -> Result<()> {
    let context = tx.context();
    if context.rights().is_super_admin {
        return Ok(());
    }
    let nothing = Acl {
        organizations: Some(Vec::new()),
        ..Acl::default()
    };
    let from = from.unwrap_or(&nothing);
    if to.is_super_admin && !from.is_super_admin {
        return Err(Error::SuperAdminRequired.into());
    }
    let widened = newly_made || is_widened(tx, from, to).await?;
    if widened {
        return exceeding(
            uncovered_features(context, to.features.iter()),
            uncovered_organizations(context, to.organizations.as_ref()),
        );
    }
    let added: Vec<String> = to
        .features
        .iter()
        .filter(|feature| !from.features.contains(feature))
        .cloned()
        .collect();
    if added.is_empty() {
        return Ok(());
    }
    exceeding(
        uncovered_features(context, added.iter()),
        uncovered_organizations(context, to.organizations.as_ref()),
    )
}

/// Whether the new organizations reach beyond the old ones and their descendants.
async fn is_widened(tx: &mut Tx<'_>, from: &Acl, to: &Acl) -> Result<bool> {
    match (&from.organizations, &to.organizations) {
        (None, _) => Ok(false),
        // An ACL that granted nothing had no reach; its features are judged as added ones.
        (Some(_), None) if from.features.is_empty() && to.features.is_empty() => Ok(false),
        (Some(_), None) => Ok(true),
        (Some(old), Some(new)) if new.iter().all(|id| old.contains(id)) => Ok(false),
        (Some(old), Some(new)) => {
            let old = tx.expand_organizations(old).await?;
            Ok(new.iter().any(|id| !old.contains(id)))
        }
    }
}

/// Assigning a role means granting its whole ACL.
pub(crate) async fn check_assignment(tx: &mut Tx<'_>, acl: &Acl) -> Result<()> {
    let context = tx.context();
    if context.rights().is_super_admin {
        return Ok(());
    }
    if acl.is_super_admin {
        return Err(Error::SuperAdminRequired.into());
    }
    if acl.features.is_empty() {
        return Ok(());
    }
    exceeding(
        uncovered_features(context, acl.features.iter()),
        uncovered_organizations(context, acl.organizations.as_ref()),
    )
}

/// Setting the password or address of another user means being able to become that user: all its rights must be covered. `roles` are
/// those it held before the step, where the step has been made already.
pub(crate) async fn check_credentials_of(tx: &mut Tx<'_>, user: Uuid, roles: Option<&[Uuid]>) -> Result<()> {
    let context = tx.context();
    if context.rights().is_super_admin || context.identity().id == Some(user) {
        return Ok(());
    }
    let acls = match (query::rights::own_acl(tx, user).await?, roles) {
        (Some(own), _) => vec![own],
        (None, Some(roles)) => query::rights::acls_of(tx, roles).await?,
        (None, None) => query::rights::acls_of_roles(tx, user).await?,
    };
    for acl in acls {
        check_assignment(tx, &acl).await.map_err(|error| match error {
            backoffice_core::Error::Refused(_) => Error::CredentialsOfStronger.into(),
            failed => failed,
        })?;
    }
    Ok(())
}
