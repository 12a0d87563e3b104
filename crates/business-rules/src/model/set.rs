//! Sets of rules.

use backoffice_core::command::{Depth, Entity, LockedRow, Locker, Snapshot, Snapshots, Transition, Tx};
use backoffice_core::db::KeyColumn;
use backoffice_core::{Feature, Result, Timestamp, crud};
use diesel::pg::Pg;
use diesel::{ExpressionMethods, Insertable, QueryDsl, Queryable, Selectable, SelectableHelper, delete};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::SetMember;
use super::member::{By, with_members};
use crate::commands::limits;
use crate::schema::business_rules_sets as sets;
use crate::{acl, query};

/// A set of rules that run in an order of their own, the entity `business_rules.set`.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable, Insertable, Serialize, Deserialize, ToSchema)]
#[diesel(table_name = sets, treat_none_as_default_value = false, check_for_backend(Pg))]
#[serde(rename_all = "camelCase")]
#[schema(as = BusinessRuleSet)]
pub struct RuleSet {
    /// The tenant.
    pub tenant_id: Uuid,
    /// The id.
    pub id: Uuid,
    /// The organization; null for the whole tenant.
    #[schema(required = true)]
    pub organization_id: Option<Uuid>,
    /// The key, unique in the tenant.
    #[serde(rename = "setId")]
    pub set_key: String,
    /// The name.
    pub set_name: String,
    /// What the set is for.
    #[schema(required = true)]
    pub description: Option<String>,
    /// Whether the set can be executed.
    pub enabled: bool,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

impl Entity for RuleSet {
    const KIND: &'static str = "business_rules.set";
    const NOT_FOUND: &'static str = "Set not found";
    const VIEW: Option<Feature> = Some(acl::VIEW);

    async fn lock(locker: Locker<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        let visible = query::sets::in_scope(locker.scope()).filter(sets::id.one_of(ids));
        let locked = visible.order(sets::id).select(Self::as_select()).for_update();
        Ok(crud::locked(locked.load(&mut locker.connection()).await?))
    }

    async fn load(tx: &mut Tx<'_>, ids: &[Uuid], depth: Depth) -> Result<Snapshots> {
        let snapshots = crud::load::<Self>(tx, ids).await?;
        match depth {
            Depth::Own => Ok(snapshots),
            Depth::Tree => with_members(tx, By::Set, snapshots).await,
        }
    }

    async fn store(tx: &mut Tx<'_>, snapshots: &[Snapshot]) -> Result<Vec<String>> {
        crud::store::<Self>(tx, snapshots).await?;
        SetMember::restore(tx, snapshots).await
    }

    /// Deletes sets; the foreign key deletes their members.
    async fn remove(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<()> {
        let rows = sets::table.filter(sets::tenant_id.eq(tx.tenant()));
        delete(rows.filter(sets::id.one_of(ids))).execute(tx.conn()).await?;
        Ok(())
    }

    async fn guard(tx: &mut Tx<'_>, step: &Transition<'_>) -> Result<()> {
        limits::check_whole_tenant(tx, step)
    }
    fn fields_of_constraint(constraint: &str) -> &'static [&'static str] {
        match constraint {
            "business_rules_sets_tenant_id_set_key_key" => &["setId"],
            _ => &[],
        }
    }
}
