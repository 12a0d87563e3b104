//! Reports rules whose effects have failed.

use backoffice_core::Result;
use backoffice_core::events::Event;
use backoffice_notifications::{New, Severity};
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

use super::recipients;
use super::settle::{Leavings, RuleNotice};
use crate::acl;
use crate::compiled::CompiledRule;
use crate::schema::business_rules_rules as rules;
use crate::texts::FAILED;

/// What a report says of a rule.
pub(crate) struct FailedRule {
    id: Uuid,
    key: String,
    name: String,
    pub(crate) organization: Option<Uuid>,
}

impl From<&CompiledRule> for FailedRule {
    fn from(rule: &CompiledRule) -> Self {
        Self {
            id: rule.id,
            key: rule.key.clone(),
            name: rule.name.clone(),
            organization: rule.organization,
        }
    }
}

impl FailedRule {
    /// Reads key and name of a rule, which may be disabled; a deleted one has its id as key and name.
    pub(crate) async fn find(
        connection: &mut AsyncPgConnection,
        tenant: Uuid,
        id: Uuid,
        organization: Option<Uuid>,
    ) -> Result<Self> {
        let row = rules::table
            .filter(rules::tenant_id.eq(tenant))
            .filter(rules::id.eq(id));
        let row = row.select((rules::rule_key, rules::rule_name));
        let found: Option<(String, String)> = row.first(connection).await.optional()?;
        let (key, name) = found.unwrap_or_else(|| (id.to_string(), id.to_string()));
        Ok(Self {
            id,
            key,
            name,
            organization,
        })
    }
}

/// Announces the failure of a rule, and notifies those who manage rules in its organization.
///
/// # Errors
/// When the database can't be reached.
pub(crate) async fn report(
    connection: &mut AsyncPgConnection,
    tenant: Uuid,
    rule: &FailedRule,
    reason: &str,
    leavings: &mut Leavings,
) -> Result<()> {
    let recipients = managers(connection, tenant, rule.organization).await?;
    announce(rule, reason, recipients, leavings);
    Ok(())
}

/// Returns the users who manage rules in this organization; `None`: in the whole tenant.
///
/// # Errors
/// When the database can't be reached.
pub(crate) async fn managers(
    connection: &mut AsyncPgConnection,
    tenant: Uuid,
    organization: Option<Uuid>,
) -> Result<Vec<Uuid>> {
    recipients::holders(connection, tenant, acl::MANAGE, organization).await
}

/// Announces the failure of a rule, and notifies these users.
pub(crate) fn announce(rule: &FailedRule, reason: &str, recipients: Vec<Uuid>, leavings: &mut Leavings) {
    let event = Event::new("business_rules.rule.execution_failed", rule.id)
        .with("ruleId", rule.key.clone())
        .with("reason", reason)
        .in_organization(rule.organization)
        .shown_to(acl::VIEW);
    leavings.events.push(event);
    let new = New {
        severity: Severity::Error,
        organization: rule.organization,
        group_key: Some(rule.id.to_string()),
        ..New::of(FAILED, Uuid::nil())
            .with("rule", rule.name.clone())
            .with("reason", reason)
    };
    leavings.notifications.push(RuleNotice { new, recipients });
}
