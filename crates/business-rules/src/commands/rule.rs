//! Creates, updates and deletes rules.

use std::collections::BTreeSet;

use backoffice_core::command::Tx;
use backoffice_core::crud::{self, CommandName, Create, Delete, Record, Update};
use backoffice_core::db::{KeyColumn, PreparedIf, ReplaceRow};
use backoffice_core::identity::ActorKind;
use backoffice_core::input::{Input, Validator, Violation, rules};
use backoffice_core::{
    Detail, Error, Feature, Patch, Placement, Platform, Rejection, RequestContext, Result, Timestamp, document,
};
use backoffice_egress::Egress;
use diesel::{ExpressionMethods, QueryDsl, SelectableHelper, insert_into};
use diesel_async::RunQueryDsl;
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::ToSchema;
use uuid::Uuid;

use super::{limits, organization, placement, platform_calls};
use crate::acl;
use crate::action::{self, Action};
use crate::condition;
use crate::documented::{BusinessRuleName, BusinessRuleOptionalWord, BusinessRuleType, BusinessRuleWord};
use crate::header_values;
use crate::model::{RULE_TYPES, Rule, validates};
use crate::schema::business_rules_rules as table;
use crate::webhooks::Sender;

/// Creates a rule.
pub type CreateRule = Create<Rule>;
/// Updates a rule.
pub type UpdateRule = Update<Rule>;
/// Deletes a rule with its memberships of sets.
pub type DeleteRule = Delete<Rule>;

/// The fields of a rule: absent fields keep their values, null clears.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
#[schema(as = BusinessRuleInput)]
pub struct RuleInput {
    /// The organization to whose records a new rule applies, with those below; null for the whole tenant. By default the one in which the request
    /// writes. It cannot be changed later.
    #[schema(value_type = Option<Uuid>)]
    pub organization_id: Patch<Uuid>,
    /// The key, 1 to 50 characters, unique in the tenant; required for a new rule.
    #[schema(value_type = BusinessRuleWord, required = true)]
    pub rule_id: Patch<String>,
    /// 1 to 200 characters; required for a new rule.
    #[schema(value_type = BusinessRuleName, required = true)]
    pub rule_name: Patch<String>,
    /// At most 5000 characters.
    #[schema(value_type = Option<String>, max_length = 5000)]
    pub description: Patch<String>,
    /// Guards and validations validate a change before it is committed, the other types act after that. Required for a new rule.
    #[schema(value_type = BusinessRuleType, required = true)]
    pub rule_type: Patch<String>,
    /// A word by which rules are grouped, at most 50 characters.
    #[schema(value_type = Option<BusinessRuleOptionalWord>)]
    pub rule_category: Patch<String>,
    /// The kind of records to which the rule applies: one of those that `GET /business_rules/entity-types` lists, or a word of the client's own, 1 to
    /// 50 characters. Required for a new rule.
    #[schema(value_type = BusinessRuleWord, required = true)]
    pub entity_type: Patch<String>,
    /// The change to which the rule applies, such as `updated`, at most 50 characters; null for every change.
    #[schema(value_type = Option<BusinessRuleOptionalWord>)]
    pub event_type: Patch<String>,
    /// The condition, at most 64 KiB with at most 50 comparisons by `MATCHES`, whose values are nested at most 16 deep; null is always true.
    #[schema(value_type = Option<Object>)]
    pub condition_expression: Patch<Value>,
    /// At most 20 actions if the condition is true, at most 64 KiB; the values in `config` are nested at most 16 deep. The values of secret headers of
    /// webhooks are shown as `[redacted]`, which keeps them when it is sent back. Calls of the platform name an endpoint and a key of
    /// `GET /business_rules/platform-call-options`.
    #[schema(value_type = Vec<Object>, max_items = 20)]
    pub success_actions: Patch<Value>,
    /// At most 20 actions if the condition is false, at most 64 KiB; the values in `config` are nested at most 16 deep.
    #[schema(value_type = Vec<Object>, max_items = 20)]
    pub failure_actions: Patch<Value>,
    /// By default true.
    #[schema(value_type = bool)]
    pub enabled: Patch<bool>,
    /// Rules of a higher priority run first. 0 to 9999, by default 100.
    #[schema(value_type = i32, minimum = 0, maximum = 9999)]
    pub priority: Patch<i32>,
    /// The instant from which the rule applies.
    #[schema(value_type = Option<Timestamp>)]
    pub effective_from: Patch<Timestamp>,
    /// The instant until which the rule applies, after `effectiveFrom`.
    #[schema(value_type = Option<Timestamp>)]
    pub effective_to: Patch<Timestamp>,
}

impl Input for RuleInput {
    const MAY_HAVE_NO_ORGANIZATION: bool = true;

    fn organization(&self) -> Patch<Uuid> {
        self.organization_id
    }

    fn require(&self, validator: &mut Validator) {
        validator.require("ruleId", &self.rule_id);
        validator.require("ruleName", &self.rule_name);
        validator.require("ruleType", &self.rule_type);
        validator.require("entityType", &self.entity_type);
    }

    fn validate(&self, validator: &mut Validator) {
        crud::validate::<Rule>(self, validator);
    }
}

fn priority(value: &i32) -> Result<i32, Violation> {
    match value {
        0..=9999 => Ok(*value),
        _ => Err(Violation::new("must be between 0 and 9999", "out_of_range")),
    }
}

fn of_some_size(value: &Value) -> Result<Value, Violation> {
    match document::check_size("", value) {
        Ok(()) => Ok(value.clone()),
        Err(detail) => Err(Violation::new(detail.message, "too_long")),
    }
}

fn list_of_some_size(value: &Value) -> Result<Value, Violation> {
    if value.is_array() {
        of_some_size(value)
    } else {
        Err(Violation::new("must be an array", "invalid_type"))
    }
}

/// Records faults of a part of a rule under the name of its field.
fn report(validator: &mut Validator, field: &str, details: Vec<Detail>) {
    for Detail { path, message, code } in details {
        let dot = if path.is_empty() || path.starts_with('[') {
            ""
        } else {
            "."
        };
        validator.reject(&format!("{field}{dot}{path}"), message, code);
    }
}

impl Rule {
    /// Whether the rule is disabled, and nothing that its actions need has changed. Every caller who may change rules may disable one. Its actions are checked
    /// again when it is enabled.
    fn is_off_and_acts_like(&self, before: &Self) -> bool {
        !self.enabled
            && self.organization_id == before.organization_id
            && self.rule_type == before.rule_type
            && self.entity_type == before.entity_type
            && self.success_actions == before.success_actions
            && self.failure_actions == before.failure_actions
    }

    /// Parses the actions of both branches.
    ///
    /// # Errors
    /// The violated rules of both, beside the names of the fields.
    pub(crate) fn actions(
        &self,
        platform: &Platform,
        egress: Option<&Egress>,
        validator: &mut Validator,
    ) -> [Vec<Action>; 2] {
        let rules = action::ActionRules {
            may_change: !validates(&self.rule_type),
            kind: platform.record_kind(&self.entity_type).filter(|kind| kind.guardable),
            platform,
            egress,
        };
        let mut parsed = |field, branch| match action::parse_branch(branch, rules) {
            Ok(actions) => actions,
            Err(details) => {
                report(validator, field, details);
                Vec::new()
            }
        };
        [
            parsed("successActions", &self.success_actions),
            parsed("failureActions", &self.failure_actions),
        ]
    }

    /// Returns the features that the actions need.
    fn needed_features(&self, platform: &Platform, actions: &[Vec<Action>; 2]) -> Vec<String> {
        let changes = |action: &Action| matches!(action, Action::SetField { .. });
        let mut needed = BTreeSet::new();
        if actions.iter().flatten().any(changes)
            && let Some(kind) = platform.record_kind(&self.entity_type)
        {
            needed.extend(kind.manage.iter().map(|feature| feature.id.to_owned()));
        }
        let calls = |action: &Action| matches!(action, Action::CallPlatform(_));
        if actions.iter().flatten().any(calls) {
            needed.insert(backoffice_api_keys::acl::CREATE.id.to_owned());
        }
        needed.into_iter().collect()
    }
}

/// Validates the body of a new rule with its actions, which depend on the modules of the platform.
///
/// # Errors
/// 400 with all violated rules.
pub(crate) fn validate_new(ctx: &RequestContext, input: &RuleInput) -> Result<()> {
    let mut validator = Validator::default();
    input.require(&mut validator);
    let mut row = Rule::blank(Placement::UNKNOWN, Uuid::nil(), Timestamp::UNIX_EPOCH);
    row.fill(input, &mut validator);
    if RULE_TYPES.contains(&row.rule_type.as_str()) {
        let sender = ctx.call().provided::<Sender>()?;
        row.actions(ctx.platform(), Some(sender.egress()), &mut validator);
    }
    validator.check()
}

impl Record for Rule {
    type Input = RuleInput;
    const CREATE: CommandName = CommandName::new("business_rules.rule.create", "Create rule");
    const UPDATE: CommandName = CommandName::new("business_rules.rule.update", "Update rule");
    const DELETE: CommandName = CommandName::new("business_rules.rule.delete", "Delete rule");
    const MANAGE: &'static [Feature] = &[acl::MANAGE];

    fn blank(placement: Placement, id: Uuid, now: Timestamp) -> Self {
        Self {
            tenant_id: placement.tenant,
            id,
            organization_id: organization(placement),
            rule_key: String::new(),
            rule_name: String::new(),
            description: None,
            rule_type: String::new(),
            rule_category: None,
            entity_type: String::new(),
            event_type: None,
            condition_expression: None,
            success_actions: json!([]),
            failure_actions: json!([]),
            enabled: true,
            priority: 100,
            version: 1,
            effective_from: None,
            effective_to: None,
            effect_features: Vec::new(),
            created_by: None,
            updated_by: None,
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

    fn fill(&mut self, input: &RuleInput, validator: &mut Validator) {
        validator.text("ruleId", &input.rule_id, &mut self.rule_key, rules::line(50));
        validator.text("ruleName", &input.rule_name, &mut self.rule_name, rules::line(200));
        validator.optional_text(
            "description",
            &input.description,
            &mut self.description,
            rules::text(5000),
        );
        validator.text(
            "ruleType",
            &input.rule_type,
            &mut self.rule_type,
            rules::one_of(&RULE_TYPES),
        );
        validator.optional_text(
            "ruleCategory",
            &input.rule_category,
            &mut self.rule_category,
            rules::line(50),
        );
        validator.text("entityType", &input.entity_type, &mut self.entity_type, rules::line(50));
        validator.optional_text("eventType", &input.event_type, &mut self.event_type, rules::line(50));
        validator.optional(
            "conditionExpression",
            &input.condition_expression,
            &mut self.condition_expression,
            of_some_size,
        );
        if let Patch::Set(condition) = &input.condition_expression
            && let Err(details) = condition::check(condition)
        {
            report(validator, "conditionExpression", details);
        }
        validator.value(
            "successActions",
            &input.success_actions,
            &mut self.success_actions,
            list_of_some_size,
        );
        validator.value(
            "failureActions",
            &input.failure_actions,
            &mut self.failure_actions,
            list_of_some_size,
        );
        let branches = [
            ("successActions", &input.success_actions),
            ("failureActions", &input.failure_actions),
        ];
        for (field, branch) in branches {
            if let Patch::Set(branch) = branch {
                report(validator, field, action::too_deep(branch));
            }
        }
        validator.value("enabled", &input.enabled, &mut self.enabled, rules::any);
        validator.value("priority", &input.priority, &mut self.priority, priority);
        validator.optional(
            "effectiveFrom",
            &input.effective_from,
            &mut self.effective_from,
            rules::any,
        );
        validator.optional("effectiveTo", &input.effective_to, &mut self.effective_to, rules::any);
        if let (Some(from), Some(to)) = (self.effective_from, self.effective_to)
            && to <= from
        {
            validator.reject("effectiveTo", "must be after effectiveFrom", "out_of_range");
        }
    }

    async fn placement(ctx: &RequestContext, input: &RuleInput) -> Result<Placement> {
        placement(ctx, input.organization_id)
    }

    async fn place(&mut self, tx: &mut Tx<'_>, _input: &RuleInput) -> Result<()> {
        match self.organization_id {
            Some(organization) => Placement::lock(tx, organization).await,
            None => Ok(()),
        }
    }

    async fn check(&mut self, tx: &mut Tx<'_>, input: &RuleInput, before: Option<&Self>) -> Result<bool> {
        let ctx = tx.context();
        let mut validator = Validator::default();
        let sender = ctx.call().provided::<Sender>()?;
        if !before.is_some_and(|before| self.is_off_and_acts_like(before)) {
            let actions = self.actions(ctx.platform(), Some(sender.egress()), &mut validator);
            validator.check()?;
            self.effect_features = self.needed_features(ctx.platform(), &actions);
            limits::check_ceiling(ctx, &self.effect_features, self.organization_id)?;
            platform_calls::check(tx, self, &actions).await?;
        }
        header_values::seal(tx, self, input, before).await?;
        let identity = ctx.identity();
        let user = identity.id.filter(|_| identity.kind == ActorKind::User);
        match before {
            None => (self.created_by, self.updated_by) = (user, user),
            Some(before) if self != before => {
                (self.version, self.updated_by) = (before.version.saturating_add(1), user);
            }
            Some(_) => {}
        }
        Ok(false)
    }

    async fn read(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<Vec<Self>> {
        let rows = table::table.filter(table::tenant_id.eq(tx.tenant()));
        let rows = rows.filter(table::id.one_of(ids)).select(Self::as_select());
        Ok(rows.load(tx.conn()).await?)
    }

    async fn write(tx: &mut Tx<'_>, rows: &[Self]) -> Result<Vec<Self>> {
        let statement = insert_into(table::table)
            .values(rows)
            .on_conflict((table::tenant_id, table::id))
            .do_update()
            .set(ReplaceRow::<table::table>::default())
            .returning(Self::as_returning());
        Ok(PreparedIf(statement, rows.len() == 1).get_results(tx.conn()).await?)
    }

    fn rejection(error: Error) -> Error {
        match error.violated_constraint() {
            Some("business_rules_rules_tenant_id_rule_key_key") => Rejection::conflict("Rule id is taken already")
                .code("rule_id_taken")
                .into(),
            _ => error,
        }
    }
}
