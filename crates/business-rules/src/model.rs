//! Rows and entities.

use backoffice_core::command::{Depth, Entity, LockedRow, Locker, Snapshot, Snapshots, Tx};
use backoffice_core::{Feature, Result, Timestamp, crud};
use diesel::pg::Pg;
use diesel::{ExpressionMethods, Insertable, QueryDsl, Queryable, Selectable, SelectableHelper, delete};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::schema::business_rules_rules as rules;
use crate::{acl, query};

/// A rule, the entity `business_rules.rule`.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable, Insertable, Serialize, Deserialize, ToSchema)]
#[diesel(table_name = rules, check_for_backend(Pg))]
#[serde(rename_all = "camelCase")]
#[schema(as = BusinessRulesRule)]
pub struct Rule {
    /// The tenant.
    pub tenant_id: Uuid,
    /// The id.
    pub id: Uuid,
    /// The organization.
    pub organization_id: Uuid,
    /// 1 to 200 characters, unique in the organization.
    pub name: String,
    /// At most 4000 characters.
    pub note: Option<String>,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

impl Entity for Rule {
    const KIND: &'static str = "business_rules.rule";
    const NOT_FOUND: &'static str = "Rule not found";
    const VIEW: Option<Feature> = Some(acl::RULES_VIEW);

    async fn lock(locker: Locker<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        let visible = query::in_scope(locker.scope()).filter(rules::id.eq_any(ids));
        let locked = visible.order(rules::id).select(Self::as_select()).for_update();
        Ok(crud::locked(locked.load(&mut locker.connection()).await?))
    }

    async fn load(tx: &mut Tx<'_>, ids: &[Uuid], _depth: Depth) -> Result<Snapshots> {
        crud::load::<Self>(tx, ids).await
    }

    async fn store(tx: &mut Tx<'_>, snapshots: &[Snapshot]) -> Result<Vec<String>> {
        crud::store::<Self>(tx, snapshots).await
    }

    async fn remove(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<()> {
        let rows = rules::table.filter(rules::tenant_id.eq(tx.tenant()));
        delete(rows.filter(rules::id.eq_any(ids))).execute(tx.conn()).await?;
        Ok(())
    }
}
