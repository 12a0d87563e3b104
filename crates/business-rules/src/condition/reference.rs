//! References to values in texts: `{{today}}`, `{{user.id}}`, `{{data.amount}}`.

use std::borrow::Cow;

use serde_json::Value;

use super::budget::TextBudget;
use super::path::FieldPath;

/// A referenced value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reference {
    /// A value of the context.
    Fact(Fact),
    /// A value of the data.
    Data(FieldPath),
    /// All data.
    AllData,
    /// A text that is not a path: its value is null.
    Nothing,
}

/// A value of the context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fact {
    Today,
    LocalToday,
    Now,
    UserId,
    UserEmail,
    UserRole,
    TenantId,
    OrganizationId,
    EntityType,
    EntityId,
    EventType,
}

/// The values of the context, and the data of a run.
#[derive(Debug)]
pub(crate) struct Facts<'a> {
    pub(crate) data: &'a Value,
    /// The UTC date.
    pub(crate) today: Cow<'a, str>,
    /// The date in the zone of the record's organization, if a rule of the run needs it; the UTC date without an organization.
    pub(crate) local_today: Cow<'a, str>,
    /// The instant of the run.
    pub(crate) now: Cow<'a, str>,
    pub(crate) user: RunUser,
    pub(crate) tenant: Cow<'a, str>,
    pub(crate) organization: Option<Cow<'a, str>>,
    pub(crate) entity_type: &'a str,
    pub(crate) entity_id: Option<&'a str>,
    pub(crate) event_type: Option<&'a str>,
    /// What the actions of the run may build from these values.
    pub(crate) budget: TextBudget,
}

/// The user of a run; nothing for the platform and for API keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RunUser {
    pub(crate) id: Option<String>,
    pub(crate) email: Option<String>,
    /// The first role by name.
    pub(crate) role: Option<String>,
}

impl Reference {
    /// Parses the text between the braces.
    pub(crate) fn parse(text: &str) -> Self {
        let fact = match text {
            "today" => Fact::Today,
            "localToday" => Fact::LocalToday,
            "now" => Fact::Now,
            "user.id" => Fact::UserId,
            "user.email" => Fact::UserEmail,
            "user.role" => Fact::UserRole,
            "tenantId" => Fact::TenantId,
            "organizationId" => Fact::OrganizationId,
            "entityType" => Fact::EntityType,
            "entityId" => Fact::EntityId,
            "eventType" => Fact::EventType,
            "data" => return Self::AllData,
            _ => {
                let path = text.strip_prefix("data.").unwrap_or(text);
                return FieldPath::parse(path).map_or(Self::Nothing, Self::Data);
            }
        };
        Self::Fact(fact)
    }

    /// Returns the reference if the text is nothing else: `{{path}}`.
    pub(crate) fn whole(text: &str) -> Option<Self> {
        let inner = text.trim().strip_prefix("{{")?.strip_suffix("}}")?;
        let is_single = !inner.contains("{{") && !inner.contains("}}");
        is_single.then(|| Self::parse(inner.trim()))
    }

    /// Returns the value; null if it is missing.
    pub(crate) fn resolve<'a>(&self, facts: &'a Facts<'_>) -> Cow<'a, Value> {
        let fact = match self {
            Self::Data(path) => return Cow::Borrowed(path.find(facts.data).unwrap_or(&Value::Null)),
            Self::AllData => return Cow::Borrowed(facts.data),
            Self::Nothing => return Cow::Owned(Value::Null),
            Self::Fact(fact) => fact,
        };
        let text: Option<&str> = match fact {
            Fact::Today => Some(&facts.today),
            Fact::LocalToday => Some(&facts.local_today),
            Fact::Now => Some(&facts.now),
            Fact::UserId => facts.user.id.as_deref(),
            Fact::UserEmail => facts.user.email.as_deref(),
            Fact::UserRole => facts.user.role.as_deref(),
            Fact::TenantId => Some(&facts.tenant),
            Fact::OrganizationId => facts.organization.as_deref(),
            Fact::EntityType => Some(facts.entity_type),
            Fact::EntityId => facts.entity_id,
            Fact::EventType => facts.event_type,
        };
        Cow::Owned(text.map_or(Value::Null, |text| Value::String(text.to_owned())))
    }
}

#[cfg(test)]
impl<'a> Facts<'a> {
    pub(crate) fn for_test(data: &'a Value) -> Self {
        Self {
            data,
            today: "2026-11-20".into(),
            local_today: "2026-11-21".into(),
            now: "2026-11-20T08:15:30.123Z".into(),
            user: RunUser::default(),
            tenant: "00000000-0000-0000-0000-000000000001".into(),
            organization: None,
            entity_type: "sample.thing",
            entity_id: None,
            event_type: None,
            budget: TextBudget::default(),
        }
    }
}
