//! Creates, updates and deletes sets of rules.

use backoffice_core::command::Tx;
use backoffice_core::crud::{self, CommandName, Create, Delete, Record, Update};
use backoffice_core::db::{KeyColumn, PreparedIf, ReplaceRow};
use backoffice_core::input::{Input, Validator, rules};
use backoffice_core::{Error, Feature, Patch, Placement, Rejection, RequestContext, Result, Timestamp};
use diesel::{ExpressionMethods, QueryDsl, SelectableHelper, insert_into};
use diesel_async::RunQueryDsl;
use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{organization, placement};
use crate::acl;
use crate::documented::{BusinessRuleName, BusinessRuleWord};
use crate::model::RuleSet;
use crate::schema::business_rules_sets as sets;

/// Creates a set.
pub type CreateSet = Create<RuleSet>;
/// Updates a set.
pub type UpdateSet = Update<RuleSet>;
/// Deletes a set with its members; the rules remain.
pub type DeleteSet = Delete<RuleSet>;

/// The fields of a set: absent fields keep their values, null clears.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
#[schema(as = BusinessRuleSetInput)]
pub struct SetInput {
    /// The organization of a new set; null for the whole tenant. By default the one in which the request writes. It cannot be changed later.
    #[schema(value_type = Option<Uuid>)]
    pub organization_id: Patch<Uuid>,
    /// The key, 1 to 50 characters, unique in the tenant; required for a new set.
    #[schema(value_type = BusinessRuleWord, required = true)]
    pub set_id: Patch<String>,
    /// 1 to 200 characters; required for a new set.
    #[schema(value_type = BusinessRuleName, required = true)]
    pub set_name: Patch<String>,
    /// At most 5000 characters.
    #[schema(value_type = Option<String>, max_length = 5000)]
    pub description: Patch<String>,
    /// By default true.
    #[schema(value_type = bool)]
    pub enabled: Patch<bool>,
}

impl Input for SetInput {
    const MAY_HAVE_NO_ORGANIZATION: bool = true;

    fn organization(&self) -> Patch<Uuid> {
        self.organization_id
    }

    fn require(&self, validator: &mut Validator) {
        validator.require("setId", &self.set_id);
        validator.require("setName", &self.set_name);
    }

    fn validate(&self, validator: &mut Validator) {
        crud::validate::<RuleSet>(self, validator);
    }
}

impl Record for RuleSet {
    type Input = SetInput;
    const CREATE: CommandName = CommandName::new("business_rules.set.create", "Create set of rules");
    const UPDATE: CommandName = CommandName::new("business_rules.set.update", "Update set of rules");
    const DELETE: CommandName = CommandName::new("business_rules.set.delete", "Delete set of rules");
    const MANAGE: &'static [Feature] = &[acl::MANAGE_SETS];

    fn blank(placement: Placement, id: Uuid, now: Timestamp) -> Self {
        Self {
            tenant_id: placement.tenant,
            id,
            organization_id: organization(placement),
            set_key: String::new(),
            set_name: String::new(),
            description: None,
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

    fn fill(&mut self, input: &SetInput, validator: &mut Validator) {
        validator.text("setId", &input.set_id, &mut self.set_key, rules::line(50));
        validator.text("setName", &input.set_name, &mut self.set_name, rules::line(200));
        validator.optional_text(
            "description",
            &input.description,
            &mut self.description,
            rules::text(5000),
        );
        validator.value("enabled", &input.enabled, &mut self.enabled, rules::any);
    }

    async fn placement(ctx: &RequestContext, input: &SetInput) -> Result<Placement> {
        placement(ctx, input.organization_id)
    }

    async fn place(&mut self, tx: &mut Tx<'_>, _input: &SetInput) -> Result<()> {
        match self.organization_id {
            Some(organization) => Placement::lock(tx, organization).await,
            None => Ok(()),
        }
    }

    async fn read(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<Vec<Self>> {
        let rows = sets::table.filter(sets::tenant_id.eq(tx.tenant()));
        let rows = rows.filter(sets::id.one_of(ids)).select(Self::as_select());
        Ok(rows.load(tx.conn()).await?)
    }

    async fn write(tx: &mut Tx<'_>, rows: &[Self]) -> Result<Vec<Self>> {
        let statement = insert_into(sets::table)
            .values(rows)
            .on_conflict((sets::tenant_id, sets::id))
            .do_update()
            .set(ReplaceRow::<sets::table>::default())
            .returning(Self::as_returning());
        Ok(PreparedIf(statement, rows.len() == 1).get_results(tx.conn()).await?)
    }

    fn rejection(error: Error) -> Error {
        match error.violated_constraint() {
            Some("business_rules_sets_tenant_id_set_key_key") => Rejection::conflict("Set id is taken already")
                .code("set_id_taken")
                .into(),
            _ => error,
        }
    }
}
