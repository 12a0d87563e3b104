//! Rules of sets.

use std::collections::HashSet;

use backoffice_core::command::{Depth, Entity, EntityRef, LockedRow, Locker, Snapshot, Snapshots, Transition, Tx};
use backoffice_core::crud::{self, Record};
use backoffice_core::db::KeyColumn;
use backoffice_core::{Feature, Rejection, Result, Timestamp};
use diesel::pg::Pg;
use diesel::{
    ExpressionMethods, Insertable, OptionalExtension, QueryDsl, Queryable, Selectable, SelectableHelper, delete,
};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::RuleSet;
use crate::commands::limits;
use crate::schema::{
    business_rules_rules as rules, business_rules_set_members as members, business_rules_sets as sets,
};
use crate::{acl, query};

/// A rule in a set, the entity `business_rules.set_member`.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable, Insertable, Serialize, Deserialize)]
#[diesel(table_name = members, treat_none_as_default_value = false, check_for_backend(Pg))]
#[serde(rename_all = "camelCase")]
pub struct SetMember {
    /// The tenant.
    pub tenant_id: Uuid,
    /// The id.
    pub id: Uuid,
    /// The organization of the set.
    pub organization_id: Option<Uuid>,
    /// The set.
    pub set_id: Uuid,
    /// The rule.
    pub rule_id: Uuid,
    /// The position: members run in ascending order, then by id.
    pub sequence: i32,
    /// Whether the rule runs with the set.
    pub enabled: bool,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

/// The resource whose deletion deletes members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    Rule,
    Set,
}

/// Adds the members that are deleted and restored with the resources of snapshots, locked until the end of the transaction so that the snapshots
/// show exactly what is deleted.
pub(super) async fn with_members(tx: &mut Tx<'_>, by: By, snapshots: Snapshots) -> Result<Snapshots> {
    let ids: Vec<Uuid> = snapshots.keys().copied().collect();
    let rows = members::table.filter(members::tenant_id.eq(tx.tenant()));
    let rows = rows.order(members::id).select(SetMember::as_select());
    let rows: Vec<SetMember> = match by {
        By::Rule => {
            let of_rules = rows.filter(members::rule_id.one_of(ids));
            of_rules.for_no_key_update().load(tx.conn()).await?
        }
        By::Set => {
            let of_sets = rows.filter(members::set_id.one_of(ids));
            of_sets.for_no_key_update().load(tx.conn()).await?
        }
    };
    let owner = |member: &SetMember| match by {
        By::Rule => member.rule_id,
        By::Set => member.set_id,
    };
    let with_own = |(id, snapshot): (Uuid, Snapshot)| {
        let own: Vec<&SetMember> = rows.iter().filter(|member| owner(member) == id).collect();
        Ok((id, snapshot.with_children(SetMember::KIND, &own)?))
    };
    snapshots.into_iter().map(with_own).collect()
}

/// Rejects a restored member whose rule the caller may not see, as if the rule were deleted: `undo_conflict`.
async fn check_restored(tx: &mut Tx<'_>, to: &Snapshot) -> Result<()> {
    let row: SetMember = to.row()?;
    let rule = query::rules::in_scope(tx.scope()).filter(rules::id.eq(row.rule_id));
    let found: Option<Uuid> = rule.select(rules::id).first(tx.conn()).await.optional()?;
    match found {
        Some(_) => Ok(()),
        None => Err(Rejection::undo_conflict(&["ruleId"]).into()),
    }
}

impl SetMember {
    /// Restores the members that were deleted with the resources of snapshots. Those whose other side was deleted since are left out.
    pub(super) async fn restore(tx: &mut Tx<'_>, snapshots: &[Snapshot]) -> Result<Vec<String>> {
        let mut rows = Vec::new();
        for snapshot in snapshots {
            rows.extend(snapshot.children::<Self>(Self::KIND)?.unwrap_or_default());
        }
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let number = rows.len();
        let rules: HashSet<Uuid> = rules::table
            .filter(rules::tenant_id.eq(tx.tenant()))
            .filter(rules::id.one_of(rows.iter().map(|row| row.rule_id).collect::<Vec<_>>()))
            .select(rules::id)
            .for_key_share()
            .load(tx.conn())
            .await?
            .into_iter()
            .collect();
        let sets: HashSet<Uuid> = sets::table
            .filter(sets::tenant_id.eq(tx.tenant()))
            .filter(sets::id.one_of(rows.iter().map(|row| row.set_id).collect::<Vec<_>>()))
            .select(sets::id)
            .for_key_share()
            .load(tx.conn())
            .await?
            .into_iter()
            .collect();
        rows.retain(|row| rules.contains(&row.rule_id) && sets.contains(&row.set_id));
        for row in &mut rows {
            row.updated_at = tx.now();
        }
        let dropped = rows.len() < number;
        if !rows.is_empty() {
            Self::write(tx, &rows).await?;
        }
        Ok(if dropped {
            vec!["members".to_owned()]
        } else {
            Vec::new()
        })
    }
}

impl Entity for SetMember {
    const KIND: &'static str = "business_rules.set_member";
    const NOT_FOUND: &'static str = "Member not found";
    const VIEW: Option<Feature> = Some(acl::VIEW);

    async fn lock(locker: Locker<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        let visible = query::sets::visible_members(locker.scope()).filter(members::id.one_of(ids));
        let locked = visible.order(members::id).select(Self::as_select()).for_update();
        Ok(crud::locked(locked.load(&mut locker.connection()).await?))
    }

    async fn load(tx: &mut Tx<'_>, ids: &[Uuid], _depth: Depth) -> Result<Snapshots> {
        crud::load::<Self>(tx, ids).await
    }

    async fn store(tx: &mut Tx<'_>, snapshots: &[Snapshot]) -> Result<Vec<String>> {
        crud::store::<Self>(tx, snapshots).await
    }

    async fn remove(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<()> {
        let rows = members::table.filter(members::tenant_id.eq(tx.tenant()));
        delete(rows.filter(members::id.one_of(ids))).execute(tx.conn()).await?;
        Ok(())
    }

    async fn guard(tx: &mut Tx<'_>, step: &Transition<'_>) -> Result<()> {
        limits::check_whole_tenant(tx, step)?;
        match step.to {
            Some(to) if step.restoring => check_restored(tx, to).await,
            _ => Ok(()),
        }
    }

    fn parent(snapshot: &Snapshot) -> Option<EntityRef> {
        let id = snapshot.get("setId")?.as_str()?.parse().ok()?;
        Some(EntityRef {
            kind: RuleSet::KIND,
            id,
        })
    }
}
