//! Callers grant only what they hold, and principals with more rights are protected (accounts specification, section 4.4): a caller who
//! changes the access of a user, a role or an API key must cover all pairs of a feature and an organization that the target holds before
//! the change and after it. Removing a right needs the same cover as granting it.

use std::collections::BTreeSet;

use backoffice_core::acl::is_grant;
use backoffice_core::command::Tx;
use backoffice_core::ids::PLATFORM_TENANT;
use backoffice_core::input::Validator;
use backoffice_core::{Patch, RequestContext, Result};
use diesel_async::AsyncPgConnection;
use uuid::Uuid;

use super::rights;
use crate::Error;

/// The part of an access control list that grants something.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Acl {
    /// Whether the ACL grants everything.
    pub is_super_admin: bool,
    /// The grants, sorted.
    pub features: Vec<String>,
    /// The organizations; `None` = all of the tenant.
    pub organizations: Option<Vec<Uuid>>,
}

/// Most grants of an ACL.
const MOST_FEATURES: usize = 1000;
/// Most organizations of an ACL.
const MOST_ORGANIZATIONS: usize = 500;

/// A requested ACL; absent fields keep their value.
#[derive(Debug, Clone, Default)]
pub struct AclInput {
    /// Grants.
    pub features: Option<Vec<String>>,
    /// Whether the ACL grants everything.
    pub is_super_admin: Option<bool>,
    /// Organizations; cleared for all of the tenant.
    pub organizations: Patch<Vec<Uuid>>,
}

impl AclInput {
    /// Returns the resulting ACL, and whether a part of the input was dropped: repetitions and features that no module declares.
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
            Patch::Keep => {}
            Patch::Clear => acl.organizations = None,
            Patch::Set(listed) => {
                let kept: BTreeSet<Uuid> = listed.iter().copied().collect();
                dropped |= kept.len() != listed.len();
                acl.organizations = Some(kept.into_iter().collect());
            }
        }
        (acl, dropped)
    }

    /// Rejects invalid grants and lists with too many entries.
    pub fn validate(&self, validator: &mut Validator) {
        let features = self.features.as_deref().unwrap_or_default();
        if features.len() > MOST_FEATURES {
            validator.reject(
                "features",
                format!("must have at most {MOST_FEATURES} entries"),
                "too_long",
            );
        } else if !features.iter().all(|grant| is_grant(grant)) {
            validator.reject(
                "features",
                "must consist of features, `prefix.*` or `*`",
                "invalid_value",
            );
        }
        let organizations = self.organizations.as_ref().value();
        if organizations.is_some_and(|list| list.len() > MOST_ORGANIZATIONS) {
            let rule = format!("must have at most {MOST_ORGANIZATIONS} entries");
            validator.reject("organizations", rule, "too_long");
        }
    }
}

/// Returns the listed organizations that the caller may not access, `None` if there are none. A whole tenant (`None`) yields an empty list.
fn organizations_beyond(context: &RequestContext, organizations: Option<&Vec<Uuid>>) -> Option<Vec<Uuid>> {
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

/// Rejects writes of global roles by callers other than super administrators.
pub(crate) fn may_write_role(tx: &Tx<'_>) -> Result<()> {
    if tx.tenant() == PLATFORM_TENANT && !tx.context().rights().is_super_admin {
        return Err(Error::GlobalRole.into());
    }
    Ok(())
}

/// Rejects what [`may_write_role`] rejects, and writes of a role whose ACL exceeds the organizations that the caller is limited to.
pub(crate) async fn may_change_role(tx: &mut Tx<'_>, role: Uuid) -> Result<()> {
    changeable_acl(tx, role).await.map(drop)
}

/// Returns the ACL of a role that the caller may change.
async fn changeable_acl(tx: &mut Tx<'_>, role: Uuid) -> Result<Option<Acl>> {
    may_write_role(tx)?;
    let stored = rights::acls_of(tx, &[role]).await?.pop();
    may_touch_acl(tx, stored.as_ref())?;
    Ok(stored)
}

/// Rejects what [`may_change_role`] rejects, and the deletion of a role that grants more than the caller covers.
pub(crate) async fn may_remove_role(tx: &mut Tx<'_>, role: Uuid) -> Result<()> {
    let stored = changeable_acl(tx, role).await?;
    protect(tx, stored.as_ref())
}

/// Rejects an ACL that adds organizations which are not live in the tenant. Callers other than super administrators receive the same
/// error as for organizations that they may not grant.
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

/// Validates a transition of a role's ACL.
pub(crate) fn check_role_acl(tx: &Tx<'_>, from: Option<&Acl>, to: Option<&Acl>) -> Result<()> {
    may_touch_acl(tx, from)?;
    flag_is_allowed(tx, from, to)?;
    protect(tx, from)?;
    to.map_or(Ok(()), |to| cover(tx.context(), to))
}

/// Rejects an ACL that exceeds the organizations that the caller is limited to.
pub(crate) fn may_touch_acl(tx: &Tx<'_>, from: Option<&Acl>) -> Result<()> {
    let Some(from) = from else { return Ok(()) };
    exceeding(
        Vec::new(),
        organizations_beyond(tx.context(), from.organizations.as_ref()),
    )
}

/// Validates a transition of a user's own ACL. Without an own ACL, those of the roles apply.
pub(crate) fn check_user_acl(tx: &Tx<'_>, from: Option<&Acl>, to: Option<&Acl>, roles: &[Acl]) -> Result<()> {
    flag_is_allowed(tx, from, to)?;
    match from {
        Some(from) => protect(tx, [from])?,
        None => protect(tx, roles)?,
    }
    match (from, to) {
        (_, Some(to)) => cover(tx.context(), to),
        (Some(_), None) => roles.iter().try_for_each(|acl| check_assignment(tx, acl)),
        (None, None) => Ok(()),
    }
}

fn flag_is_allowed(tx: &Tx<'_>, from: Option<&Acl>, to: Option<&Acl>) -> Result<()> {
    let is_flagged = |acl: Option<&Acl>| acl.is_some_and(|acl| acl.is_super_admin);
    if is_flagged(to) && !is_flagged(from) && !tx.context().rights().is_super_admin {
        return Err(Error::SuperAdminRequired.into());
    }
    Ok(())
}

/// Rejects a change of a principal whose rights come from these ACLs, unless the caller covers everything that they grant.
pub(crate) fn protect<'a>(tx: &Tx<'_>, counting: impl IntoIterator<Item = &'a Acl>) -> Result<()> {
    protect_in(tx.context(), counting)
}

fn protect_in<'a>(context: &RequestContext, counting: impl IntoIterator<Item = &'a Acl>) -> Result<()> {
    // An ACL with an empty list of organizations grants nothing.
    let grants = |acl: &&Acl| acl.organizations.as_ref().is_none_or(|listed| !listed.is_empty());
    let mut counting = counting.into_iter();
    counting.try_for_each(|acl| match grants(&acl) || acl.is_super_admin {
        true => cover(context, acl),
        false => Ok(()),
    })
}

/// Validates the assignment of a role, which grants the role's whole ACL.
pub(crate) fn check_assignment(tx: &Tx<'_>, acl: &Acl) -> Result<()> {
    if acl.is_super_admin && !tx.context().rights().is_super_admin {
        return Err(Error::SuperAdminRequired.into());
    }
    cover(tx.context(), acl)
}

/// Rejects an ACL unless the caller covers each of its features and wildcards in each of its organizations. An ACL without organizations
/// grants nothing, but may still name only features that the caller covers in some organization.
fn cover(context: &RequestContext, acl: &Acl) -> Result<()> {
    let pairs = context.pairs();
    if pairs.is_super_admin() {
        return Ok(());
    }
    if acl.is_super_admin {
        return exceeding(vec![String::from("*")], None);
    }
    let (mut nowhere, mut partly) = (Vec::new(), Vec::new());
    for feature in &acl.features {
        let place = pairs.covering(feature);
        if place.as_ref().is_some_and(BTreeSet::is_empty) {
            nowhere.push(feature.clone());
        } else {
            partly.push((feature, beyond(place.as_ref(), acl.organizations.as_ref())));
        }
    }
    // If every feature exceeds the same organizations, the error names only the organizations, not the features.
    let same = partly.windows(2).all(|two| two[0].1 == two[1].1);
    let mut features = nowhere;
    let mut organizations: Option<BTreeSet<Uuid>> = None;
    for (feature, beyond) in partly {
        let Some(beyond) = beyond else { continue };
        organizations.get_or_insert_default().extend(beyond);
        if !same {
            features.push(feature.clone());
        }
    }
    features.sort();
    exceeding(features, organizations.map(|beyond| beyond.into_iter().collect()))
}

/// Returns the organizations of an ACL that lie outside of `place`; `None` if all lie inside.
fn beyond(place: Option<&BTreeSet<Uuid>>, organizations: Option<&Vec<Uuid>>) -> Option<BTreeSet<Uuid>> {
    match (place, organizations) {
        (None, _) => None,
        (Some(_), None) => Some(BTreeSet::new()),
        (Some(place), Some(listed)) => {
            let outside: BTreeSet<Uuid> = listed.iter().filter(|id| !place.contains(id)).copied().collect();
            (!outside.is_empty()).then_some(outside)
        }
    }
}

/// Returns the ACLs that apply to a user: their own one, else those of `roles`; with `None`, those of the roles that the user holds.
pub(crate) async fn counting_for(tx: &mut Tx<'_>, user: Uuid, roles: Option<&[Uuid]>) -> Result<Vec<Acl>> {
    match (rights::own_acl(tx, user).await?, roles) {
        (Some(own), _) => Ok(vec![own]),
        (None, Some(roles)) => rights::acls_of(tx, roles).await,
        (None, None) => rights::acls_of_roles(tx, user).await,
    }
}

/// Rejects a change of the access of a user who holds more than the caller.
pub(crate) async fn protect_user(tx: &mut Tx<'_>, user: Uuid) -> Result<()> {
    if tx.context().rights().is_super_admin || tx.context().identity().id == Some(user) {
        return Ok(());
    }
    let counting = counting_for(tx, user, None).await?;
    protect(tx, &counting)
}

/// Like [`protect_user`], before anything is written.
pub(crate) async fn protect_seen(
    context: &RequestContext,
    connection: &mut AsyncPgConnection,
    tenant: Uuid,
    user: Uuid,
) -> Result<()> {
    if context.rights().is_super_admin || context.identity().id == Some(user) {
        return Ok(());
    }
    protect_in(context, &rights::counting(connection, tenant, user).await?)
}

/// Rejects setting the password or address of another user, which allows signing in as that user, unless the caller covers all rights of
/// the user. `roles` are those held before the step, if the step has already been applied.
pub(crate) async fn check_credentials_of(tx: &mut Tx<'_>, user: Uuid, roles: Option<&[Uuid]>) -> Result<()> {
    if tx.context().rights().is_super_admin || tx.context().identity().id == Some(user) {
        return Ok(());
    }
    let counting = counting_for(tx, user, roles).await?;
    protect(tx, &counting).map_err(|error| match error {
        backoffice_core::Error::Rejected(_) => Error::CredentialsOfStronger.into(),
        failed => failed,
    })
}
