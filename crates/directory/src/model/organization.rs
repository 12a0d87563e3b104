//! Organizations.

use backoffice_core::command::{Depth, Entity, EntityRef, LockedRow, Locker, Snapshot, Snapshots, Transition, Tx};
use backoffice_core::crud;
use backoffice_core::db::{KeyColumn, Recurring};
use backoffice_core::{Feature, Rejection, Result, Scope, Timestamp};
use diesel::pg::Pg;
use diesel::{ExpressionMethods, Insertable, QueryDsl, Queryable, Selectable, SelectableHelper, update};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::config::Settings;
use crate::schema::directory_organizations as organizations;
use crate::{Error, acl, query, tree};

/// An organization. It is deleted by setting `deleted_at`; rows of other modules that refer to it stay.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable, Insertable, Serialize, Deserialize)]
#[diesel(table_name = organizations, treat_none_as_default_value = false, check_for_backend(Pg))]
#[serde(rename_all = "camelCase")]
pub struct Organization {
    /// The tenant.
    pub tenant_id: Uuid,
    /// The id.
    pub id: Uuid,
    /// The name, 1 to 200 characters.
    pub name: String,
    /// The slug, unique among the live organizations of the tenant.
    pub slug: String,
    /// The parent organization.
    pub parent_id: Option<Uuid>,
    /// Address of the logo.
    pub logo_url: Option<String>,
    /// Whether users of the organization may sign in.
    pub is_active: bool,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

impl Entity for Organization {
    const KIND: &'static str = "directory.organization";
    const VOLATILE: &'static [&'static str] = &["organizationId", "updatedAt"];
    const NOT_FOUND: &'static str = "Organization not found";
    const VIEW: Option<Feature> = Some(acl::ORGANIZATIONS_VIEW);
    const IS_ORGANIZATION: bool = true;
    const TOMBSTONES: Option<&'static str> = Some("directory_organizations");

    async fn lock(locker: Locker<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        let scope = locker.scope();
        // Weaker than `for update`: children that are created meanwhile may refer to the row, and wait for the lock of the tree instead.
        let locked = query::organizations_in_scope(scope)
            .filter(scope.within(organizations::id))
            .filter(query::in_live_tenant(locker.context(), organizations::tenant_id))
            .filter(organizations::id.one_of(ids))
            .order(organizations::id)
            .select(Self::as_select())
            .for_no_key_update();
        Ok(crud::locked(locked.load(&mut locker.connection()).await?))
    }

    /// The log files the entries of an organization under its own id.
    async fn load(tx: &mut Tx<'_>, ids: &[Uuid], _depth: Depth) -> Result<Snapshots> {
        let rows = crud::read::<Self>(tx, ids).await?;
        let snapshot = |row: &Self| Ok((row.id, Snapshot::of(row)?.with_organization(Some(row.id))));
        rows.iter().map(snapshot).collect()
    }

    async fn store(tx: &mut Tx<'_>, snapshots: &[Snapshot]) -> Result<Vec<String>> {
        crud::store::<Self>(tx, snapshots).await
    }

    async fn remove(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<()> {
        let (tenant, now) = (tx.tenant(), tx.now());
        update(query::organizations_of(tenant).filter(organizations::id.one_of(ids)))
            .set((organizations::deleted_at.eq(now), organizations::updated_at.eq(now)))
            .prepared()
            .execute(tx.conn())
            .await?;
        Ok(())
    }

    async fn guard(tx: &mut Tx<'_>, step: &Transition<'_>) -> Result<()> {
        let parent = |snapshot: Option<&Snapshot>| snapshot.and_then(|snapshot| snapshot.get("parentId").cloned());
        if parent(step.from) == parent(step.to) && step.from.is_some() == step.to.is_some() {
            return Ok(());
        }
        tree::lock(tx).await?;
        let settings = tx.context().call().provided::<Settings>()?;
        let position = tree::position(tx, step.id).await?;
        let verdict = match step.to {
            Some(to) => may_stand(&position, &settings, step.from.is_none(), to.row::<Self>()?.parent_id),
            None => may_go(&position),
        };
        verdict.map_err(|error| {
            if step.restoring {
                error.while_restoring()
            } else {
                error.into()
            }
        })?;
        match (step.from, step.to) {
            // A command checks the parent itself, and the bus checks that of an organization which comes back.
            (Some(_), Some(to)) if step.restoring => check_restored_parent(tx.scope(), to.row::<Self>()?.parent_id),
            _ => Ok(()),
        }
    }

    fn parent(snapshot: &Snapshot) -> Option<EntityRef> {
        let id = snapshot.get("parentId")?.as_str()?.parse().ok()?;
        Some(EntityRef { kind: Self::KIND, id })
    }
}

/// Rejects the return of an organization below a parent that the caller does not see, or to the top level by a caller who is limited to
/// organizations: the entry may be of another caller, or the caller may have lost the parent since.
fn check_restored_parent(scope: &Scope, parent: Option<Uuid>) -> Result<()> {
    let is_visible = match parent {
        Some(parent) => scope.reads_organization(Some(parent)),
        None => scope.allowed.is_none(),
    };
    match is_visible {
        true => Ok(()),
        false => Err(Rejection::organization_scope_violation().into()),
    }
}

/// Validates the current position of an organization in the tree.
fn may_stand(
    position: &tree::Position,
    settings: &Settings,
    is_new: bool,
    parent: Option<Uuid>,
) -> std::result::Result<(), Error> {
    let limits = &settings.directory;
    if position.circular {
        return Err(Error::Cycle);
    }
    if parent.is_some() && position.depth == 0 {
        return Err(Error::ParentNotFound);
    }
    if i64::from(position.depth) + i64::from(position.height) > i64::from(limits.max_depth) {
        return Err(Error::TooDeep { max: limits.max_depth });
    }
    if is_new && position.organizations > i64::from(limits.max_organizations) {
        return Err(Error::TooMany {
            max: limits.max_organizations,
        });
    }
    Ok(())
}

/// Validates the deletion of an organization.
fn may_go(position: &tree::Position) -> std::result::Result<(), Error> {
    if position.has_children {
        return Err(Error::InUse);
    }
    if position.organizations == 0 {
        return Err(Error::LastOrganization);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(depth: i32, height: i32) -> tree::Position {
        tree::Position {
            depth,
            height,
            circular: false,
            organizations: 3,
            has_children: false,
        }
    }

    #[test]
    fn a_subtree_counts_with_its_whole_height() {
        let settings = Settings::default();

        assert_eq!(may_stand(&at(18, 2), &settings, false, Some(Uuid::nil())), Ok(()));
        assert_eq!(
            may_stand(&at(19, 2), &settings, false, Some(Uuid::nil())),
            Err(Error::TooDeep { max: 20 })
        );
    }

    #[test]
    fn a_deleted_parent_is_not_found() {
        assert_eq!(
            may_stand(&at(0, 0), &Settings::default(), true, Some(Uuid::nil())),
            Err(Error::ParentNotFound)
        );
        assert_eq!(may_stand(&at(0, 0), &Settings::default(), true, None), Ok(()));
    }

    #[test]
    fn the_last_organization_and_one_with_children_stay() {
        assert_eq!(
            may_go(&tree::Position {
                organizations: 0,
                ..at(0, 0)
            }),
            Err(Error::LastOrganization)
        );
        assert_eq!(
            may_go(&tree::Position {
                has_children: true,
                ..at(0, 0)
            }),
            Err(Error::InUse)
        );
        assert_eq!(may_go(&at(0, 0)), Ok(()));
    }
}
