//! An event before it is written to the outbox, and its audience.

use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::acl::Feature;
use crate::ids::wire_tenant;

/// Longest payload as JSON; a longer one is reduced to the fields of every event.
const LONGEST_PAYLOAD: usize = 64 * 1024;

/// One event: `<module>.<entity>.<past verb>` and its payload (without secrets). It stays inside the process unless it is
/// [shown to](Event::shown_to) holders of a right or meant [for a principal](Event::for_principal).
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The name.
    pub name: String,
    /// Fields besides `id`, `tenantId` and `organizationId`, which the bus adds.
    pub payload: Map<String, Value>,
    /// Id of the resource that the event is about.
    pub id: String,
    feature: Option<Feature>,
    audience: Option<Uuid>,
    scope: EventScope,
}

/// The organization that an event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EventScope {
    /// The organization of the command or announcement.
    Common,
    Own(Option<Uuid>),
}

impl Event {
    /// Creates an event about a resource.
    #[must_use]
    pub fn new(name: impl Into<String>, id: Uuid) -> Self {
        Self {
            name: name.into(),
            payload: Map::new(),
            id: id.to_string(),
            feature: None,
            audience: None,
            scope: EventScope::Common,
        }
    }

    /// Adds a field.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.payload.insert(name.to_owned(), value.into());
        self
    }

    /// Adds fields.
    #[must_use]
    pub fn with_fields(mut self, fields: Map<String, Value>) -> Self {
        self.payload.extend(fields);
        self
    }

    /// Sends the event also to browsers of users who hold this right.
    #[must_use]
    pub fn shown_to(mut self, feature: Feature) -> Self {
        self.feature = Some(feature);
        self
    }

    /// Sends the event also to browsers of this principal, regardless of the principal's rights; without a right, to no other browsers.
    #[must_use]
    pub fn for_principal(mut self, id: Uuid) -> Self {
        self.audience = Some(id);
        self
    }

    /// Sets the organization that the event is about, instead of that of the command's resource.
    #[must_use]
    pub fn in_organization(mut self, organization: Option<Uuid>) -> Self {
        self.scope = EventScope::Own(organization);
        self
    }

    /// Shows the event to users with the view right of the entity, if there is one.
    pub(crate) fn shown_to_viewers(self, view: Option<Feature>) -> Self {
        Self { feature: view, ..self }
    }

    fn organization(&self, common: Option<Uuid>) -> Option<Uuid> {
        match self.scope {
            EventScope::Common => common,
            EventScope::Own(organization) => organization,
        }
    }

    /// Returns the payload with the fields of every event; only these if the payload is too long.
    fn full_payload(&self, tenant: Uuid, organization: Option<Uuid>) -> Value {
        let about = Map::from_iter([
            ("id".to_owned(), json!(self.id)),
            ("tenantId".to_owned(), json!(wire_tenant(tenant))),
            ("organizationId".to_owned(), json!(organization)),
        ]);
        if self.payload.is_empty() {
            return Value::Object(about);
        }
        let mut payload = about.clone();
        payload.extend(self.payload.clone());
        let payload = Value::Object(payload);
        if payload.to_string().len() > LONGEST_PAYLOAD {
            return Value::Object(about);
        }
        payload
    }
}

/// Columns of new rows of the outbox, for one statement.
#[derive(Debug, Default)]
pub(crate) struct EventRows {
    pub(crate) ids: Vec<Uuid>,
    pub(crate) names: Vec<String>,
    pub(crate) payloads: Vec<Value>,
    pub(crate) organizations: Vec<Option<Uuid>>,
    pub(crate) browsers: Vec<bool>,
    pub(crate) features: Vec<Option<&'static str>>,
    pub(crate) audiences: Vec<Option<Uuid>>,
}

impl EventRows {
    /// Adds an event of a tenant; `organization` is that of the command or announcement.
    pub(crate) fn push(&mut self, id: Uuid, event: &Event, tenant: Uuid, organization: Option<Uuid>) {
        let organization = event.organization(organization);
        self.ids.push(id);
        self.names.push(event.name.clone());
        self.payloads.push(event.full_payload(tenant, organization));
        self.organizations.push(organization);
        self.browsers.push(event.feature.is_some() || event.audience.is_some());
        self.features.push(event.feature.map(|feature| feature.id));
        self.audiences.push(event.audience);
    }

    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    pub(super) fn append(&mut self, mut other: Self) {
        self.ids.append(&mut other.ids);
        self.names.append(&mut other.names);
        self.payloads.append(&mut other.payloads);
        self.organizations.append(&mut other.organizations);
        self.browsers.append(&mut other.browsers);
        self.features.append(&mut other.features);
        self.audiences.append(&mut other.audiences);
    }

    /// Adds a row that is not inserted.
    pub(super) fn push_nothing(&mut self, id: Uuid) {
        self.ids.push(id);
        self.names.push(String::new());
        self.payloads.push(Value::Null);
        self.organizations.push(None);
        self.browsers.push(false);
        self.features.push(None);
        self.audiences.push(None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TENANT: Uuid = Uuid::from_u128(1);
    const SEE: Feature = Feature::new("sample.thing.view", "See things");

    fn row(event: &Event) -> EventRows {
        let mut rows = EventRows::default();
        rows.push(TENANT, event, TENANT, Some(TENANT));
        rows
    }

    #[test]
    fn a_payload_of_more_than_64_kib_says_only_what_it_is_about() {
        let event = |length: usize| Event::new("sample.thing.created", TENANT).with("text", "x".repeat(length));
        let payload = |length| row(&event(length)).payloads.remove(0);
        let around = payload(0).to_string().len();
        let about = row(&Event::new("sample.thing.created", TENANT)).payloads.remove(0);

        assert_eq!(payload(LONGEST_PAYLOAD - around).to_string().len(), LONGEST_PAYLOAD);
        assert_eq!(payload(LONGEST_PAYLOAD - around + 1), about);
        assert_eq!(
            about,
            json!({"id": TENANT, "tenantId": TENANT, "organizationId": TENANT})
        );
    }

    #[test]
    fn an_event_stays_inside_unless_it_says_who_sees_it() {
        let event = || Event::new("sample.thing.created", TENANT);
        let shown = |event: Event| {
            let rows = row(&event);
            (rows.browsers[0], rows.features[0], rows.audiences[0])
        };

        assert_eq!(shown(event()), (false, None, None));
        assert_eq!(shown(event().shown_to_viewers(None)), (false, None, None));
        assert_eq!(shown(event().shown_to(SEE)), (true, Some(SEE.id), None));
        assert_eq!(shown(event().for_principal(TENANT)), (true, None, Some(TENANT)));
    }

    #[test]
    fn an_event_is_about_the_organization_of_what_is_announced_unless_it_names_its_own() {
        let event = Event::new("sample.thing.created", TENANT);
        assert_eq!(row(&event).organizations, [Some(TENANT)]);

        let rows = row(&event.in_organization(None));
        assert_eq!(rows.organizations, [None]);
        assert_eq!(rows.payloads[0]["organizationId"], Value::Null);
    }
}
