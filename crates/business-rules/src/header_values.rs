//! Values of secret headers of webhooks. They are sealed in a table of their own; actions name them by id, as `{"sealed": "<id>"}`. Responses show
//! [`REDACTED`] instead, and a client that sends that back keeps the value.

use std::collections::{BTreeMap, BTreeSet};

use backoffice_core::command::Tx;
use backoffice_core::db::KeyColumn;
use backoffice_core::input::Validator;
use backoffice_core::vault::SealedColumn;
use backoffice_core::{Call, Patch, Result, Scope};
use diesel::{ExpressionMethods, QueryDsl, insert_into};
use diesel_async::RunQueryDsl;
use secrecy::SecretSlice;
use serde_json::{Map, Value, json};
use url::Url;
use uuid::Uuid;

use crate::action;
use crate::commands::RuleInput;
use crate::engine::redact::is_secret;
use crate::model::Rule;
use crate::schema::business_rules_header_values as values;

/// The sealed column with the values.
pub(crate) const HEADER_VALUE: SealedColumn = SealedColumn {
    table: "business_rules_header_values",
    column: "value",
};
/// What responses show in place of a value.
pub(crate) const REDACTED: &str = "[redacted]";
/// The member of an action's header that names a sealed value.
const SEALED: &str = "sealed";

/// The opened values of a batch of webhooks; `None` for a value that can't be opened.
pub(crate) type OpenedValues = BTreeMap<Uuid, Option<SecretSlice<u8>>>;

/// Returns the value of a header that names a sealed value.
pub(crate) fn reference(id: Uuid) -> Value {
    json!({ SEALED: id })
}

/// Returns the id of the sealed value that a header names.
pub(crate) fn referenced(header: &Value) -> Option<Uuid> {
    let fields = header.as_object().filter(|fields| fields.len() == 1)?;
    fields.get(SEALED)?.as_str()?.parse().ok()
}

/// Returns the configurations of the webhooks among some actions, with their positions.
fn webhooks(actions: &mut Value) -> impl Iterator<Item = (usize, &mut Map<String, Value>)> {
    let actions = actions.as_array_mut().into_iter().flatten().enumerate();
    actions.filter_map(|(index, action)| {
        let is_webhook = action.get("type").and_then(Value::as_str) == Some(action::WEBHOOK);
        let config = action.get_mut("config").filter(|_| is_webhook);
        Some((index, config?.as_object_mut()?))
    })
}

fn headers(config: &mut Map<String, Value>) -> impl Iterator<Item = (&String, &mut Value)> {
    config
        .get_mut("headers")
        .and_then(Value::as_object_mut)
        .into_iter()
        .flatten()
}

/// Replaces the names of sealed values in the actions of a rule by [`REDACTED`], for responses.
pub(crate) fn redact(rule: &mut Rule) {
    for actions in [&mut rule.success_actions, &mut rule.failure_actions] {
        for (_, config) in webhooks(actions) {
            for (_, value) in headers(config).filter(|(_, value)| referenced(value).is_some()) {
                *value = json!(REDACTED);
            }
        }
    }
}

/// The scheme, host and port of an address, which its references do not change.
fn receiver(config: &Map<String, Value>) -> Option<String> {
    let text = config.get("url")?.as_str()?;
    let end = text.find("{{").unwrap_or(text.len());
    let url = Url::parse(text.get(..end)?).ok()?;
    Some(url.origin().ascii_serialization())
}

/// A sealed value of a stored rule, with the header that names it.
struct StoredValue {
    id: Uuid,
    receiver: String,
    /// Name of the header, in lower case.
    header: String,
    /// The branch, and the position of the action in it.
    branch: usize,
    index: usize,
}

/// The sealed values of a stored rule.
#[derive(Default)]
struct StoredValues {
    /// The actions of both branches as responses show them.
    shown: [Value; 2],
    values: Vec<StoredValue>,
}

/// A header of a request that keeps the stored value.
struct KeptHeader<'a> {
    receiver: &'a str,
    header: &'a str,
    /// The requested actions of its branch.
    actions: &'a Value,
    branch: usize,
    index: usize,
}

/// Returns a part of an action by which it is recognized.
type PartOfAction = fn(Option<&Value>) -> Option<&Value>;

impl StoredValues {
    fn of(rule: &Rule) -> Self {
        let mut rule = rule.clone();
        let mut values = Vec::new();
        let branches = [&mut rule.success_actions, &mut rule.failure_actions];
        for (branch, actions) in branches.into_iter().enumerate() {
            for (index, config) in webhooks(actions) {
                let Some(receiver) = receiver(config) else { continue };
                values.extend(headers(config).filter_map(|(name, value)| {
                    Some(StoredValue {
                        id: referenced(value)?,
                        receiver: receiver.clone(),
                        header: name.to_ascii_lowercase(),
                        branch,
                        index,
                    })
                }));
            }
        }
        redact(&mut rule);
        Self {
            shown: [rule.success_actions, rule.failure_actions],
            values,
        }
    }

    /// Returns the value that a header keeps: that of the closest stored webhook. Of several with different values it is the one at the same position, as
    /// long as no action has moved; otherwise it is unknown which one is meant.
    fn find(&self, kept: &KeptHeader<'_>) -> Option<Uuid> {
        let closest = self.closest(kept);
        let [first, ..] = closest.as_slice() else { return None };
        if closest.iter().all(|one| one.id == first.id) {
            return Some(first.id);
        }
        let is_here = |one: &&&StoredValue| one.branch == kept.branch && one.index == kept.index;
        let here = closest.iter().find(is_here)?;
        (!self.have_moved(kept)).then_some(here.id)
    }

    /// Returns the values of the same header for the same receiver: those of equal actions, wherever they were, if there are any, else those of actions
    /// with the same address, else all.
    fn closest(&self, kept: &KeptHeader<'_>) -> Vec<&StoredValue> {
        let is_of_header = |one: &&StoredValue| one.receiver == kept.receiver && one.header == kept.header;
        let all: Vec<&StoredValue> = self.values.iter().filter(is_of_header).collect();
        let own = list(kept.actions).get(kept.index);
        let kinds: [PartOfAction; 2] = [|action| action, |action| action?.pointer(ADDRESS)];
        for part in kinds {
            let is_alike = |one: &&StoredValue| part(self.action(one)) == part(own);
            let alike: Vec<&StoredValue> = all.iter().copied().filter(is_alike).collect();
            if !alike.is_empty() {
                return alike;
            }
        }
        all
    }

    fn action(&self, one: &StoredValue) -> Option<&Value> {
        self.shown
            .get(one.branch)
            .and_then(|actions| list(actions).get(one.index))
    }

    /// Whether actions of a branch have other positions than the stored ones, as far as a comparison shows it: some were removed, or one is equal to a
    /// stored one at another position.
    fn have_moved(&self, kept: &KeptHeader<'_>) -> bool {
        let stored = self.shown.get(kept.branch).map(list).unwrap_or_default();
        let requested = list(kept.actions);
        let has_moved = |(index, action): (usize, &Value)| stored.get(index) != Some(action) && stored.contains(action);
        requested.len() < stored.len() || requested.iter().enumerate().any(has_moved)
    }
}

/// The address of a webhook in its action.
const ADDRESS: &str = "/config/url";

fn list(actions: &Value) -> &[Value] {
    actions.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Seals the values of secret headers in the actions that the input contains. [`REDACTED`] keeps the stored value of the same header for the same
/// receiver, so that a change of the address reveals no value to another receiver.
///
/// # Errors
/// 400 `secrets_required` for a value to keep that is not stored, or that is one of several, `invalid_value` for a header that is not a text.
pub(crate) async fn seal(tx: &mut Tx<'_>, rule: &mut Rule, input: &RuleInput, before: Option<&Rule>) -> Result<()> {
    let stored = before.map(StoredValues::of).unwrap_or_default();
    let mut validator = Validator::default();
    let mut new: Vec<(Uuid, String)> = Vec::new();
    let branches = [
        ("successActions", &input.success_actions, &mut rule.success_actions),
        ("failureActions", &input.failure_actions, &mut rule.failure_actions),
    ];
    let given = branches
        .into_iter()
        .enumerate()
        .filter(|(_, (_, given, _))| matches!(given, Patch::Set(_)));
    for (branch, (field, _, actions)) in given {
        let requested = actions.clone();
        for (index, config) in webhooks(actions) {
            let receiver = receiver(config);
            let path = format!("{field}[{index}].config.headers");
            for (name, value) in headers(config) {
                let name = name.to_ascii_lowercase();
                let Some(text) = value.as_str() else {
                    validator.reject(&path, "must have texts as values", "invalid_value");
                    continue;
                };
                if !is_secret(&name) {
                    continue;
                }
                let keep = |receiver: &str| {
                    stored.find(&KeptHeader {
                        receiver,
                        header: &name,
                        actions: &requested,
                        branch,
                        index,
                    })
                };
                if text != REDACTED {
                    let id = tx.new_id();
                    new.push((id, text.to_owned()));
                    *value = reference(id);
                } else if let Some(id) = receiver.as_deref().and_then(keep) {
                    *value = reference(id);
                } else {
                    let message = format!(
                        "must have the value of {name} again: the header or the receiver is another one, or has several values"
                    );
                    validator.reject(&path, message, "secrets_required");
                }
            }
        }
    }
    validator.check()?;
    store(tx, new).await
}

async fn store(tx: &mut Tx<'_>, new: Vec<(Uuid, String)>) -> Result<()> {
    if new.is_empty() {
        return Ok(());
    }
    let (tenant, now) = (tx.tenant(), tx.now());
    let ctx = tx.context();
    let vault = ctx.platform().vault();
    let row = |(id, text): (Uuid, String)| {
        let sealed = vault.seal(tenant, HEADER_VALUE.of(id), text.as_bytes())?;
        Ok((
            values::tenant_id.eq(tenant),
            values::id.eq(id),
            values::value.eq(sealed),
            values::created_at.eq(now),
            values::updated_at.eq(now),
        ))
    };
    let rows = new.into_iter().map(row).collect::<Result<Vec<_>>>()?;
    insert_into(values::table).values(rows).execute(tx.conn()).await?;
    Ok(())
}

/// Opens the values that these headers name. A value that does not exist any more is left out.
///
/// # Errors
/// When the database can't be reached.
pub(crate) async fn open<'a>(
    call: &Call,
    tenant: Uuid,
    headers: impl Iterator<Item = &'a Value>,
) -> Result<OpenedValues> {
    let of_one = |headers: &'a Value| {
        headers
            .as_object()
            .into_iter()
            .flat_map(|own| own.values().filter_map(referenced))
    };
    let ids: BTreeSet<Uuid> = headers.flat_map(of_one).collect();
    if ids.is_empty() {
        return Ok(OpenedValues::new());
    }
    let connection = call.database().read_briefly(&Scope::tenant(tenant)).await?;
    let rows = values::table
        .filter(values::tenant_id.eq(tenant))
        .filter(values::id.one_of(Vec::from_iter(ids)));
    let rows: Vec<(Uuid, Vec<u8>)> = rows
        .select((values::id, values::value))
        .load(&mut &**connection)
        .await?;
    drop(connection);
    let vault = call.platform().vault();
    let open = |(id, sealed): (Uuid, Vec<u8>)| {
        let opened = vault.open(tenant, HEADER_VALUE.of(id), &sealed);
        let opened = opened.inspect_err(|error| {
            tracing::error!(%error, header_value.id = %id, "the value of a header can't be opened");
        });
        (id, opened.ok())
    };
    Ok(rows.into_iter().map(open).collect())
}
