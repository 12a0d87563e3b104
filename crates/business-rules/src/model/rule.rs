//! Rules.

use backoffice_core::command::{Depth, Entity, LockedRow, Locker, Snapshot, Snapshots, Transition, Tx};
use backoffice_core::db::KeyColumn;
use backoffice_core::{Feature, Result, Timestamp, crud};
use diesel::pg::Pg;
use diesel::{ExpressionMethods, Insertable, QueryDsl, Queryable, Selectable, SelectableHelper, delete};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use super::SetMember;
use super::member::{By, with_members};
use crate::commands::{limits, platform_calls};
use crate::documented::BusinessRuleType;
use crate::schema::business_rules_rules as rules;
use crate::{acl, compiled, query};

/// A rule, the entity `business_rules.rule`.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable, Insertable, Serialize, Deserialize, ToSchema)]
#[diesel(table_name = rules, treat_none_as_default_value = false, check_for_backend(Pg))]
#[serde(rename_all = "camelCase")]
#[schema(as = BusinessRule)]
pub struct Rule {
    /// The tenant.
    pub tenant_id: Uuid,
    /// The id.
    pub id: Uuid,
    /// The organization to whose records the rule applies, with those below; null for the whole tenant.
    #[schema(required = true)]
    pub organization_id: Option<Uuid>,
    /// The key, unique in the tenant.
    #[serde(rename = "ruleId")]
    pub rule_key: String,
    /// The name.
    pub rule_name: String,
    /// What the rule is for.
    #[schema(required = true)]
    pub description: Option<String>,
    /// `GUARD`, `VALIDATION`, `CALCULATION`, `ACTION` or `ASSIGNMENT`.
    #[schema(value_type = BusinessRuleType)]
    pub rule_type: String,
    /// A word by which rules are grouped.
    #[schema(required = true)]
    pub rule_category: Option<String>,
    /// The kind of records to which the rule applies. Modules define the kinds: the set is open.
    pub entity_type: String,
    /// The change to which the rule applies; null for every change. Modules define further ones: the set is open.
    #[schema(required = true)]
    pub event_type: Option<String>,
    /// The condition; null is always true.
    #[schema(required = true, value_type = Option<Object>)]
    pub condition_expression: Option<Value>,
    /// The actions if the condition is true.
    #[schema(value_type = Vec<Object>)]
    pub success_actions: Value,
    /// The actions if the condition is false.
    #[schema(value_type = Vec<Object>)]
    pub failure_actions: Value,
    /// Whether the rule applies at all.
    pub enabled: bool,
    /// Rules of a higher priority run first.
    pub priority: i32,
    /// Number of changes of the rule, from 1.
    pub version: i32,
    /// The instant from which the rule applies.
    #[schema(required = true)]
    pub effective_from: Option<Timestamp>,
    /// The instant until which the rule applies.
    #[schema(required = true)]
    pub effective_to: Option<Timestamp>,
    /// The features with which the effects of the rule act.
    pub effect_features: Vec<String>,
    /// The user who has created the rule.
    #[schema(required = true)]
    pub created_by: Option<Uuid>,
    /// The user who has changed the rule last.
    #[schema(required = true)]
    pub updated_by: Option<Uuid>,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

impl Entity for Rule {
    const KIND: &'static str = "business_rules.rule";
    const VOLATILE: &'static [&'static str] = &["updatedAt", "version", "createdBy", "updatedBy"];
    const NOT_FOUND: &'static str = "Rule not found";
    const VIEW: Option<Feature> = Some(acl::VIEW);

    async fn lock(locker: Locker<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        let visible = query::rules::in_scope(locker.scope()).filter(rules::id.one_of(ids));
        let locked = visible.order(rules::id).select(Self::as_select()).for_update();
        Ok(crud::locked(locked.load(&mut locker.connection()).await?))
    }

    async fn load(tx: &mut Tx<'_>, ids: &[Uuid], depth: Depth) -> Result<Snapshots> {
        let snapshots = crud::load::<Self>(tx, ids).await?;
        match depth {
            Depth::Own => Ok(snapshots),
            Depth::Tree => with_members(tx, By::Rule, snapshots).await,
        }
    }

    async fn store(tx: &mut Tx<'_>, snapshots: &[Snapshot]) -> Result<Vec<String>> {
        crud::store::<Self>(tx, snapshots).await?;
        SetMember::restore(tx, snapshots).await
    }

    /// Deletes rules; the foreign key deletes their memberships.
    async fn remove(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<()> {
        let rows = rules::table.filter(rules::tenant_id.eq(tx.tenant()));
        delete(rows.filter(rules::id.one_of(ids))).execute(tx.conn()).await?;
        Ok(())
    }

    async fn guard(tx: &mut Tx<'_>, step: &Transition<'_>) -> Result<()> {
        limits::check_whole_tenant(tx, step)?;
        let Some(to) = step.to else { return Ok(()) };
        let rule: Self = to.row()?;
        if step.restoring {
            limits::check_ceiling(tx.context(), &rule.effect_features, rule.organization_id)?;
            platform_calls::check_restored(tx, &rule).await?;
        }
        let before = step.from.map(Snapshot::row::<Self>).transpose()?;
        limits::check_numbers(tx, before.as_ref(), &rule).await
    }

    async fn after_transition(tx: &mut Tx<'_>, _step: &Transition<'_>) -> Result<()> {
        compiled::forget(tx)
    }
    fn fields_of_constraint(constraint: &str) -> &'static [&'static str] {
        match constraint {
            "business_rules_rules_tenant_id_rule_key_key" => &["ruleId"],
            _ => &[],
        }
    }
}
