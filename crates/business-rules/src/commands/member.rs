//! Puts rules into sets, and takes them out.

use backoffice_core::command::{Entity, Tx};
use backoffice_core::crud::{self, CommandName, Create, Delete, Record, Update};
use backoffice_core::db::{KeyColumn, PreparedIf, ReplaceRow};
use backoffice_core::input::{Input, Validator, rules};
use backoffice_core::{Error, Feature, Patch, Placement, Rejection, RequestContext, Result, Timestamp};
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl, SelectableHelper, insert_into};
use diesel_async::RunQueryDsl;
use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::model::{RuleSet, SetMember};
use crate::schema::{
    business_rules_rules as rule_rows, business_rules_set_members as members, business_rules_sets as sets,
};
use crate::{acl, query};

/// Puts a rule into a set.
pub type CreateMember = Create<SetMember>;
/// Changes the position of a rule in a set.
pub type UpdateMember = Update<SetMember>;
/// Takes a rule out of a set.
pub type DeleteMember = Delete<SetMember>;

/// The fields of a member: absent fields keep their values.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
#[schema(as = BusinessRuleSetMemberInput)]
pub struct MemberInput {
    /// The set, from the path.
    #[serde(skip)]
    #[schema(ignore)]
    pub set: Uuid,
    /// Id of a rule; required.
    #[schema(value_type = Uuid, required = true)]
    pub rule_id: Patch<Uuid>,
    /// The position, by default 0.
    #[schema(value_type = i32, minimum = 0, maximum = 2_147_483_647)]
    pub sequence: Patch<i32>,
    /// Whether the rule runs with the set; by default true.
    #[schema(value_type = bool)]
    pub enabled: Patch<bool>,
}

impl Input for MemberInput {
    fn require(&self, validator: &mut Validator) {
        validator.require("ruleId", &self.rule_id);
    }

    fn validate(&self, validator: &mut Validator) {
        crud::validate::<SetMember>(self, validator);
    }
}

impl Record for SetMember {
    type Input = MemberInput;
    const CREATE: CommandName = CommandName::new("business_rules.set_member.create", "Put rule into set");
    const UPDATE: CommandName = CommandName::new("business_rules.set_member.update", "Change rule in set");
    const DELETE: CommandName = CommandName::new("business_rules.set_member.delete", "Take rule out of set");
    const MANAGE: &'static [Feature] = &[acl::MANAGE_SETS];

    fn blank(placement: Placement, id: Uuid, now: Timestamp) -> Self {
        Self {
            tenant_id: placement.tenant,
            id,
            organization_id: None,
            set_id: Uuid::nil(),
            rule_id: Uuid::nil(),
            sequence: 0,
            enabled: true,
            created_at: now,
            updated_at: now,
        }
    }

    fn key(&self) -> (Uuid, Uuid) {
        (self.tenant_id, self.id)
    }

    fn organization(&self) -> Option<Uuid> {
        self.organization_id
    }

    fn updated_at(&mut self) -> &mut Timestamp {
        &mut self.updated_at
    }

    fn fill(&mut self, input: &MemberInput, validator: &mut Validator) {
        validator.value("ruleId", &input.rule_id, &mut self.rule_id, rules::any);
        validator.value("sequence", &input.sequence, &mut self.sequence, rules::at_least(0));
        validator.value("enabled", &input.enabled, &mut self.enabled, rules::any);
    }

    async fn placement(ctx: &RequestContext, _input: &MemberInput) -> Result<Placement> {
        Ok(Placement {
            tenant: ctx.tenant()?,
            ..Placement::UNKNOWN
        })
    }

    async fn place(&mut self, tx: &mut Tx<'_>, input: &MemberInput) -> Result<()> {
        let set = query::sets::in_scope(tx.scope()).filter(sets::tenant_id.eq(tx.tenant()));
        let set = set.filter(sets::id.eq(input.set)).select(sets::organization_id);
        let found: Option<Option<Uuid>> = set.for_key_share().first(tx.conn()).await.optional()?;
        self.organization_id = found.ok_or_else(|| Rejection::not_found(RuleSet::NOT_FOUND))?;
        self.set_id = input.set;
        let rule = query::rules::in_scope(tx.scope()).filter(rule_rows::tenant_id.eq(tx.tenant()));
        let rule = rule.filter(rule_rows::id.eq(self.rule_id)).select(rule_rows::id);
        let found: Option<Uuid> = rule.for_key_share().first(tx.conn()).await.optional()?;
        match found {
            Some(_) => Ok(()),
            None => Err(Rejection::unknown_reference("ruleId").into()),
        }
    }

    async fn check(&mut self, _tx: &mut Tx<'_>, input: &MemberInput, before: Option<&Self>) -> Result<bool> {
        match before {
            Some(before) if before.set_id != input.set => Err(Rejection::not_found(Self::NOT_FOUND).into()),
            _ => Ok(false),
        }
    }

    async fn read(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<Vec<Self>> {
        let rows = members::table.filter(members::tenant_id.eq(tx.tenant()));
        let rows = rows.filter(members::id.one_of(ids)).select(Self::as_select());
        Ok(rows.load(tx.conn()).await?)
    }

    async fn write(tx: &mut Tx<'_>, rows: &[Self]) -> Result<Vec<Self>> {
        let statement = insert_into(members::table)
            .values(rows)
            .on_conflict((members::tenant_id, members::id))
            .do_update()
            .set(ReplaceRow::<members::table>::default())
            .returning(Self::as_returning());
        Ok(PreparedIf(statement, rows.len() == 1).get_results(tx.conn()).await?)
    }

    fn rejection(error: Error) -> Error {
        match error.violated_constraint() {
            Some("business_rules_set_members_tenant_id_set_id_rule_id_key") => {
                Rejection::conflict("The rule is in the set already")
                    .code("rule_in_set")
                    .into()
            }
            _ => error,
        }
    }
}
