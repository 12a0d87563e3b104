//! Creates, updates and deletes rules.

use backoffice_core::command::Tx;
use backoffice_core::crud::{self, CommandName, Create, Delete, Record, Update};
use backoffice_core::db::{PreparedIf, ReplaceRow};
use backoffice_core::input::{Input, Validator, rules, schema};
use backoffice_core::{Error, Feature, Patch, Placement, Rejection, Result, Timestamp};
use diesel::{ExpressionMethods, QueryDsl, SelectableHelper, insert_into};
use diesel_async::RunQueryDsl;
use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::acl;
use crate::model::Rule;
use crate::schema::business_rules_rules as rules;

/// Creates a rule.
pub type CreateRule = Create<Rule>;
/// Updates a rule.
pub type UpdateRule = Update<Rule>;
/// Deletes a rule.
pub type DeleteRule = Delete<Rule>;

backoffice_core::text_schemas! {
    /// Name of a rule.
    BusinessRulesRuleName: schema::line(200);
}

/// The fields of a rule: absent fields keep their values, null clears.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
#[schema(as = BusinessRulesRuleInput)]
pub struct RuleInput {
    /// The organization of a new rule, by default the one in which the request writes; cannot be changed later.
    #[schema(value_type = Option<Uuid>)]
    pub organization_id: Patch<Uuid>,
    /// 1 to 200 characters, unique in the organization; required for a new rule.
    #[schema(value_type = BusinessRulesRuleName, required = true)]
    pub name: Patch<String>,
    /// At most 4000 characters.
    #[schema(value_type = Option<String>, max_length = 4000)]
    pub note: Patch<String>,
}

impl Input for RuleInput {
    fn organization(&self) -> Patch<Uuid> {
        self.organization_id
    }

    fn require(&self, validator: &mut Validator) {
        validator.require("name", &self.name);
    }

    fn validate(&self, validator: &mut Validator) {
        crud::validate::<Rule>(self, validator);
    }
}

impl Record for Rule {
    type Input = RuleInput;
    const CREATE: CommandName = CommandName::new("business_rules.rule.create", "Create rule");
    const UPDATE: CommandName = CommandName::new("business_rules.rule.update", "Update rule");
    const DELETE: CommandName = CommandName::new("business_rules.rule.delete", "Delete rule");
    const MANAGE: &'static [Feature] = &[acl::RULES_MANAGE];

    fn blank(placement: Placement, id: Uuid, now: Timestamp) -> Self {
        Self {
            tenant_id: placement.tenant,
            id,
            organization_id: placement.organization,
            name: String::new(),
            note: None,
            created_at: now,
            updated_at: now,
        }
    }

    fn key(&self) -> (Uuid, Uuid) {
        (self.tenant_id, self.id)
    }

    fn organization(&self) -> Option<Uuid> {
        Some(self.organization_id)
    }

    fn updated_at(&mut self) -> &mut Timestamp {
        &mut self.updated_at
    }

    fn fill(&mut self, input: &RuleInput, validator: &mut Validator) {
        validator.text("name", &input.name, &mut self.name, rules::line(200));
        validator.optional_text("note", &input.note, &mut self.note, rules::text(4000));
    }

    async fn place(&mut self, tx: &mut Tx<'_>, _input: &RuleInput) -> Result<()> {
        Placement::lock(tx, self.organization_id).await
    }

    async fn read(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<Vec<Self>> {
        let rows = rules::table.filter(rules::tenant_id.eq(tx.tenant()));
        let rows = rows.filter(rules::id.eq_any(ids)).select(Self::as_select());
        Ok(rows.load(tx.conn()).await?)
    }

    async fn write(tx: &mut Tx<'_>, rows: &[Self]) -> Result<Vec<Self>> {
        let statement = insert_into(rules::table)
            .values(rows)
            .on_conflict((rules::tenant_id, rules::id))
            .do_update()
            .set(ReplaceRow::<rules::table>::default())
            .returning(Self::as_returning());
        Ok(PreparedIf(statement, rows.len() == 1).get_results(tx.conn()).await?)
    }

    fn rejection(error: Error) -> Error {
        match error.violated_constraint() {
            Some("business_rules_rules_tenant_id_organization_id_name_key") => Rejection::not_unique("name").into(),
            _ => error,
        }
    }
}
