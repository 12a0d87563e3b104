//! The enabled rules of a tenant, compiled once for each version of its rules.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use backoffice_core::cache::TenantCache;
use backoffice_core::command::{Entity, Tx};
use backoffice_core::db::Prepared;
use backoffice_core::input::Validator;
use backoffice_core::{Call, Platform, Result, Timestamp};
use diesel::sql_types::{Nullable, Uuid as SqlUuid};
use diesel::{ExpressionMethods, QueryDsl, QueryableByName, SelectableHelper, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::future::BoxFuture;
use serde_json::Value;
use uuid::Uuid;

use crate::action::Action;
use crate::condition::{self, Condition, Reference};
use crate::model::{Rule, validates};
use crate::schema::business_rules_rules as rules;

/// The kind whose rows are the tree of organizations.
pub(crate) const ORGANIZATION: &str = "directory.organization";
/// The kinds whose rows decide which rules apply.
const KINDS: &[&str] = &[Rule::KIND, ORGANIZATION];
/// Events that the command bus emits by itself, one for each change. An event starts a rule without an event type only if it is one of these, so that
/// the rule runs once for a change, whatever further events the change has.
const CHANGES: [&str; 3] = ["created", "updated", "deleted"];

/// A rule, ready to run.
#[derive(Debug)]
pub(crate) struct CompiledRule {
    pub(crate) id: Uuid,
    pub(crate) key: String,
    pub(crate) name: String,
    pub(crate) rule_type: String,
    pub(crate) organization: Option<Uuid>,
    event_type: Option<String>,
    priority: i32,
    effective_from: Option<Timestamp>,
    effective_to: Option<Timestamp>,
    pub(crate) effect_features: Vec<String>,
    /// Condition and actions; `None` if they are not valid any more, because the module of their kind is missing.
    pub(crate) body: Option<RuleBody>,
}

/// What a rule does.
#[derive(Debug)]
pub(crate) struct RuleBody {
    pub(crate) condition: Condition,
    pub(crate) success: Vec<Action>,
    pub(crate) failure: Vec<Action>,
    /// Whether the rule needs the e-mail address of the user.
    pub(crate) needs_email: bool,
    /// Whether the rule needs the date in the zone of the record's organization.
    pub(crate) needs_local_date: bool,
}

impl CompiledRule {
    fn from_row(row: Rule, platform: &Platform) -> Self {
        let mut validator = Validator::default();
        let [success, failure] = row.actions(platform, None, &mut validator);
        let condition = row.condition_expression.as_ref().unwrap_or(&Value::Null);
        let condition = condition::compile(condition).ok().filter(|_| validator.check().is_ok());
        let mentions = |condition: &Condition, name: &str| {
            let mut actions = [&row.success_actions, &row.failure_actions].into_iter();
            condition.mentions(&Reference::parse(name)) || actions.any(|actions| actions.to_string().contains(name))
        };
        let body = condition.map(|condition| RuleBody {
            needs_email: mentions(&condition, "user.email"),
            needs_local_date: mentions(&condition, "localToday"),
            condition,
            success,
            failure,
        });
        Self {
            id: row.id,
            key: row.rule_key,
            name: row.rule_name,
            rule_type: row.rule_type,
            organization: row.organization_id,
            event_type: row.event_type,
            priority: row.priority,
            effective_from: row.effective_from,
            effective_to: row.effective_to,
            effect_features: row.effect_features,
            body,
        }
    }

    /// Compiles a rule that is not in the cache: a disabled one, which is executed by its id.
    pub(crate) fn alone(row: Rule, platform: &Platform) -> Arc<Self> {
        Arc::new(Self::from_row(row, platform))
    }

    /// Whether the rule applies at this instant.
    pub(crate) fn is_effective(&self, now: Timestamp) -> bool {
        self.effective_from.is_none_or(|from| from <= now) && self.effective_to.is_none_or(|to| now <= to)
    }

    /// Whether the rule validates changes before they are committed.
    pub(crate) fn validates(&self) -> bool {
        validates(&self.rule_type)
    }

    /// Returns the name that a change with these names has for the rule: its own event type if it is one of them, else the first one.
    pub(crate) fn name_of<'n>(&self, names: &'n [String]) -> Option<&'n str> {
        let own = names.iter().find(|name| self.event_type.as_ref() == Some(*name));
        own.or_else(|| names.first()).map(String::as_str)
    }

    fn takes(&self, changes: Option<&[&str]>, is_event: bool) -> bool {
        match (&self.event_type, changes) {
            (_, None) => true,
            (Some(own), Some(changes)) => changes.contains(&own.as_str()),
            (None, Some(changes)) => !is_event || changes.iter().any(|change| CHANGES.contains(change)),
        }
    }
}

/// The enabled rules of a tenant.
#[derive(Debug, Default)]
pub(crate) struct TenantRules {
    /// By kind of records, in the order in which they run.
    by_kind: HashMap<String, Vec<Arc<CompiledRule>>>,
    /// The organizations of rules, with those below each of them.
    below: HashMap<Uuid, HashSet<Uuid>>,
    /// The organizations of rules, with those above each of them.
    above: HashMap<Uuid, HashSet<Uuid>>,
    bytes: usize,
}

/// To which rules a run is limited.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CandidateFilter<'a> {
    pub(crate) entity_type: &'a str,
    /// The changes; `None` for rules of all changes.
    pub(crate) changes: Option<&'a [&'a str]>,
    /// Whether an event starts the rules.
    pub(crate) is_event: bool,
    /// The organization of the record.
    pub(crate) organization: Option<Uuid>,
    pub(crate) now: Timestamp,
}

impl TenantRules {
    /// Returns the rules that apply, in the order in which they run.
    pub(crate) fn candidates<'a>(&'a self, filter: CandidateFilter<'a>) -> impl Iterator<Item = &'a Arc<CompiledRule>> {
        let of_kind = self.by_kind.get(filter.entity_type).into_iter().flatten();
        of_kind.filter(move |rule| {
            rule.takes(filter.changes, filter.is_event)
                && rule.is_effective(filter.now)
                && self.concerns(rule.organization, filter.organization)
        })
    }

    /// Whether there are rules for this kind of records.
    pub(crate) fn has(&self, entity_type: &str) -> bool {
        self.by_kind.contains_key(entity_type)
    }

    /// Returns a rule by its id.
    pub(crate) fn find(&self, id: Uuid) -> Option<&Arc<CompiledRule>> {
        self.by_kind.values().flatten().find(|rule| rule.id == id)
    }

    fn concerns(&self, rule: Option<Uuid>, record: Option<Uuid>) -> bool {
        match (rule, record) {
            (None, _) => true,
            (Some(rule), Some(record)) => self.below.get(&rule).is_some_and(|below| below.contains(&record)),
            (Some(_), None) => false,
        }
    }

    /// Whether users of these organizations (`None`: of the whole tenant) have the organization of a rule in their scope.
    pub(crate) fn covers(&self, held: Option<&[Uuid]>, rule: Option<Uuid>) -> bool {
        match (held, rule) {
            (None, _) | (_, None) => true,
            (Some(held), Some(rule)) => {
                let above = self.above.get(&rule);
                held.iter().any(|id| above.is_some_and(|above| above.contains(id)))
            }
        }
    }
}

/// The cache of compiled rules.
pub(crate) type RuleCache = TenantCache<TenantRules>;

pub(crate) fn new_cache() -> RuleCache {
    TenantCache::new(KINDS, |rules: &TenantRules| rules.bytes)
}

/// Returns the rules of a tenant without a statement if this node keeps them; otherwise on this connection, whose transaction must not have changed
/// organizations or rules.
///
/// # Errors
/// When the database can't be reached.
pub(crate) async fn rules_of(
    connection: &mut AsyncPgConnection,
    call: &Call,
    tenant: Uuid,
) -> Result<Arc<TenantRules>> {
    let cache = call.provided::<RuleCache>()?;
    let platform = Arc::clone(&call.runtime.platform);
    cache
        .get(connection, tenant, move |connection, tenant| {
            load(connection, tenant, platform)
        })
        .await
}

/// Returns the rules of a tenant with the tree of organizations as this transaction sees it. Only the transaction uses them: no other one may see
/// what it has not committed.
///
/// # Errors
/// When the database can't be reached.
pub(crate) async fn uncommitted_rules(
    connection: &mut AsyncPgConnection,
    call: &Call,
    tenant: Uuid,
) -> Result<Arc<TenantRules>> {
    let platform = Arc::clone(&call.runtime.platform);
    Ok(Arc::new(load(connection, tenant, platform).await?))
}

/// Drops the rules of the transaction's tenant on this node: now, because an earlier record of the transaction may have had them read beside its
/// changes, and when the transaction is committed.
///
/// # Errors
/// When the module was not started.
pub(crate) fn forget(tx: &mut Tx<'_>) -> Result<()> {
    let (cache, tenant) = (tx.context().call().provided::<RuleCache>()?, tx.tenant());
    cache.forget(tenant);
    tx.after_commit(move || cache.forget(tenant));
    Ok(())
}

#[derive(QueryableByName)]
struct Organization {
    #[diesel(sql_type = SqlUuid)]
    id: Uuid,
    #[diesel(sql_type = Nullable<SqlUuid>)]
    parent_id: Option<Uuid>,
}

fn load(
    connection: &mut AsyncPgConnection,
    tenant: Uuid,
    platform: Arc<Platform>,
) -> BoxFuture<'_, Result<TenantRules>> {
    Box::pin(async move {
        let rows = rules::table.filter(rules::tenant_id.eq(tenant)).filter(rules::enabled);
        let rows: Vec<Rule> = rows.select(Rule::as_select()).load(connection).await?;
        let mut loaded = TenantRules::default();
        let owners: HashSet<Uuid> = rows.iter().filter_map(|rule| rule.organization_id).collect();
        if !owners.is_empty() {
            let statement = sql_query("select id, parent_id from directory_organizations where tenant_id = $1");
            let tree: Vec<Organization> = Prepared(statement.bind::<SqlUuid, _>(tenant)).load(connection).await?;
            let parents: HashMap<Uuid, Option<Uuid>> = tree.iter().map(|one| (one.id, one.parent_id)).collect();
            for id in parents.keys() {
                let line = line(*id, &parents);
                for above in line.iter().filter(|above| owners.contains(above)) {
                    loaded.below.entry(*above).or_default().insert(*id);
                }
                if owners.contains(id) {
                    loaded.above.insert(*id, line.into_iter().collect());
                }
            }
        }
        for row in rows {
            loaded.bytes += bytes(&row);
            let kind = row.entity_type.clone();
            let compiled = Arc::new(CompiledRule::from_row(row, &platform));
            loaded.by_kind.entry(kind).or_default().push(compiled);
        }
        loaded.bytes += (loaded.below.values().chain(loaded.above.values()))
            .map(|ids| ids.len() * size_of::<Uuid>() * 2)
            .sum::<usize>();
        for rules in loaded.by_kind.values_mut() {
            rules.sort_by(|one, other| (other.priority, &one.key).cmp(&(one.priority, &other.key)));
        }
        Ok(loaded)
    })
}

/// Returns an organization and those above it, the nearest first.
fn line(id: Uuid, parents: &HashMap<Uuid, Option<Uuid>>) -> Vec<Uuid> {
    let (mut line, mut next) = (Vec::new(), Some(id));
    while let Some(id) = next
        && !line.contains(&id)
    {
        line.push(id);
        next = parents.get(&id).copied().flatten();
    }
    line
}

/// Estimates the memory of a compiled rule. Compiled patterns are not a part of it.
fn bytes(rule: &Rule) -> usize {
    let condition = rule
        .condition_expression
        .as_ref()
        .map_or(0, |one| one.to_string().len());
    let actions = rule.success_actions.to_string().len() + rule.failure_actions.to_string().len();
    1024 + 4 * (condition + actions)
}
