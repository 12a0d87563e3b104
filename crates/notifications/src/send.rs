//! Sending notifications, in the transaction of what they are about.

use std::collections::HashMap;

use backoffice_core::command::{EntityRef, Tx};
use backoffice_core::db::Prepared;
use backoffice_core::events::{Event, announce};
use backoffice_core::jobs::{NewJob, enqueue, enqueue_with, notify_after_commit};
use backoffice_core::{Call, Error, Result};
use diesel::sql_query;
use diesel::sql_types::{Array, Bool, Integer, Jsonb, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::channel::{self, Written};
use crate::config::NotificationsConfig;
use crate::jobs::SendMails;
use crate::types::{NotificationType, Wording};

/// Notifications that one statement writes at most; more are written with several.
pub const MOST_IN_A_STATEMENT: usize = 1000;
/// Longest link and group, in characters.
const LONGEST: usize = 1000;

/// How important a notification is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// Something happened.
    Info,
    /// Something needs attention.
    Warning,
    /// Something succeeded.
    Success,
    /// Something failed.
    Error,
}

impl Severity {
    /// Returns the word of the severity in the database and in messages.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Success => "success",
            Self::Error => "error",
        }
    }
}

/// A notification for a user of the tenant.
#[derive(Debug, Clone)]
pub struct New {
    /// The type. Its name begins with the name of the module that sends it.
    pub notification_type: NotificationType,
    /// The user. Inactive and deleted ones, those of a deleted tenant, and those who have switched the type off, get none.
    pub recipient: Uuid,
    /// Values for the texts. They are shown to the recipient only.
    pub params: Map<String, Value>,
    /// How important it is.
    pub severity: Severity,
    /// The organization that it is about.
    pub organization: Option<Uuid>,
    /// The resource that it is about.
    pub source: Option<EntityRef>,
    /// Path on this site, with one leading `/`, at most 1000 characters.
    pub link_href: Option<String>,
    /// Notifications of a type with the same group are one: a further one takes the place of the one that the recipient has not dismissed, and is
    /// unread. At most 1000 characters.
    pub group_key: Option<String>,
}

impl New {
    /// Creates a notification of severity `info` without parameters.
    #[must_use]
    pub fn of(notification_type: NotificationType, recipient: Uuid) -> Self {
        Self {
            notification_type,
            recipient,
            params: Map::new(),
            severity: Severity::Info,
            organization: None,
            source: None,
            link_href: None,
            group_key: None,
        }
    }

    /// Sets a parameter.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.params.insert(name.to_owned(), value.into());
        self
    }

    /// Writes title and text in a language, or else in the first language of the type.
    #[must_use]
    pub fn wording(&self, locale: &str) -> Wording {
        self.notification_type.wording(locale, &self.params)
    }

    fn check(&self) -> Result<()> {
        let is_long = |text: &Option<String>| text.as_ref().is_some_and(|text| text.chars().count() > LONGEST);
        let is_path = |link: &String| {
            let second = link.as_bytes().get(1);
            link.starts_with('/') && !matches!(second, Some(b'/' | b'\\')) && !link.contains(char::is_control)
        };
        if is_long(&self.link_href) || is_long(&self.group_key) || !self.link_href.as_ref().is_none_or(is_path) {
            let name = self.notification_type.id;
            return Err(Error::internal(format!(
                "invalid link or group of a notification of type {name}"
            )));
        }
        Ok(())
    }
}

/// Sends notifications inside of a command. Writes them with one statement for each 1000, and enqueues the mails with another one; the channels of
/// other modules add their own, and the events are stored with those of the command. Returns how many users got one.
///
/// # Errors
/// If a link is not a path, or the database can't be reached.
pub async fn send(tx: &mut Tx<'_>, new: &[New]) -> Result<usize> {
    let (call, tenant) = (tx.context().call().clone(), tx.tenant());
    let mut sent = 0;
    for chunk in new.chunks(MOST_IN_A_STATEMENT) {
        let written = write(tx.conn(), &call, tenant, chunk).await?;
        if let Some(job) = mails(&call, tenant, &written) {
            enqueue_with(tx, &job).await?;
        }
        if channel::deliver(tx.conn(), &call, tenant, chunk, &written).await? {
            notify_after_commit(tx);
        }
        for event in events(&written) {
            tx.emit(event);
        }
        sent += written.len();
    }
    Ok(sent)
}

/// Sends notifications as the last step of a transaction that sees the tenant (of a job, or of a subscriber). At most three statements for each
/// 1000, and those of the channels of other modules. Returns how many users got one.
///
/// # Errors
/// If a link is not a path, or the database can't be reached.
pub async fn send_last(connection: &mut AsyncPgConnection, call: &Call, tenant: Uuid, new: &[New]) -> Result<usize> {
    let mut all = Vec::new();
    for chunk in new.chunks(MOST_IN_A_STATEMENT) {
        let written = write(connection, call, tenant, chunk).await?;
        if let Some(job) = mails(call, tenant, &written) {
            enqueue(connection, call, &job).await?;
        }
        channel::deliver(connection, call, tenant, chunk, &written).await?;
        all.extend(written);
    }
    if !all.is_empty() {
        let events: Vec<Event> = events(&all).collect();
        announce(connection, call, tenant, None, &events).await?;
    }
    Ok(all.len())
}

/// Returns the events for the recipients. They are about no organization: that of the command has nothing to do with the recipient.
fn events(written: &[Written]) -> impl Iterator<Item = Event> {
    written.iter().map(|one| {
        Event::new("notifications.notification.created", one.id)
            .with("type", one.type_id.clone())
            .for_principal(one.recipient)
            .in_organization(None)
    })
}

/// Returns the job that sends the mails; `None` without mails, or if mail is not configured.
fn mails(call: &Call, tenant: Uuid, written: &[Written]) -> Option<NewJob<SendMails>> {
    let notifications: Vec<Uuid> = written.iter().filter(|one| one.by_mail).map(|one| one.id).collect();
    let is_needed = !notifications.is_empty() && call.platform().mailer().is_some();
    is_needed.then(|| NewJob::of_system(tenant, SendMails::new(notifications)))
}

/// The columns of a statement.
#[derive(Default)]
struct Rows {
    ids: Vec<Uuid>,
    recipients: Vec<Uuid>,
    organizations: Vec<Option<Uuid>>,
    types: Vec<&'static str>,
    params: Vec<Value>,
    titles: Vec<String>,
    bodies: Vec<String>,
    severities: Vec<&'static str>,
    modules: Vec<&'static str>,
    source_kinds: Vec<Option<&'static str>>,
    source_ids: Vec<Option<Uuid>>,
    links: Vec<Option<String>>,
    groups: Vec<Option<String>>,
    in_app: Vec<bool>,
    by_mail: Vec<bool>,
    by_push: Vec<bool>,
    /// The index of each in the given notifications.
    indexes: Vec<i32>,
}

impl Rows {
    /// Collects the columns. Of several notifications of a group, only the last one counts.
    fn of(call: &Call, new: &[New]) -> Result<Self> {
        let mut last: HashMap<(Uuid, &str, &str), usize> = HashMap::new();
        for (index, one) in new.iter().enumerate() {
            one.check()?;
            if let Some(group) = &one.group_key {
                last.insert((one.recipient, one.notification_type.id, group), index);
            }
        }
        let mut rows = Self::default();
        for (index, one) in new.iter().enumerate() {
            let name = one.notification_type.id;
            if let Some(group) = &one.group_key
                && last.get(&(one.recipient, name, group.as_str())) != Some(&index)
            {
                continue;
            }
            let wording = one.notification_type.default_wording(&one.params);
            rows.ids.push(call.platform().ids().at(call.now));
            rows.recipients.push(one.recipient);
            rows.organizations.push(one.organization);
            rows.types.push(name);
            rows.params.push(Value::Object(one.params.clone()));
            rows.titles.push(wording.title);
            rows.bodies.push(wording.body);
            rows.severities.push(one.severity.word());
            rows.modules.push(name.split('.').next().unwrap_or(name));
            rows.source_kinds.push(one.source.as_ref().map(|source| source.kind));
            rows.source_ids.push(one.source.as_ref().map(|source| source.id));
            rows.links.push(one.link_href.clone());
            rows.groups.push(one.group_key.clone());
            rows.in_app.push(one.notification_type.channels.in_app);
            rows.by_mail.push(one.notification_type.channels.email);
            rows.by_push.push(one.notification_type.channels.push);
            rows.indexes.push(i32::try_from(index).unwrap_or(i32::MAX));
        }
        Ok(rows)
    }
}

/// Rows are locked in the order of their recipients, so that two transactions do not wait for each other. The platform, whose users get notifications
/// too, has no row among the tenants.
const WRITE: &str = "\
with wanted as (
    select * from unnest($4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)
        as w (id, recipient, organization_id, type, params, title, body, severity, source_module, source_kind, source_id, link, group_key,
            in_app, by_mail, by_push, index)
), eligible as (
    select w.*, coalesce(p.email, w.by_mail) as mailed, coalesce(p.push, w.by_push) as pushed
    from wanted w
    join auth_users u on u.tenant_id = $1 and u.id = w.recipient and u.is_active and u.deleted_at is null
    left join notifications_preferences p on p.tenant_id = $1 and p.user_id = w.recipient and p.type = w.type
    where coalesce(p.in_app, w.in_app)
        and not exists (select from directory_tenants t where t.tenant_id = $1 and t.id = $1 and t.deleted_at is not null)
), written as (
    insert into notifications_notifications as n (tenant_id, id, organization_id, recipient_user_id, type, params, title, body, severity,
        source_module, source_entity_type, source_entity_id, link_href, group_key, status, expires_at, created_at, updated_at)
    select $1, id, organization_id, recipient, type, params, title, body, severity, source_module, source_kind, source_id, link, group_key,
        'unread', $3, $2, $2
    from eligible order by recipient, type, group_key, id
    on conflict (tenant_id, recipient_user_id, type, group_key) where group_key is not null and status <> 'dismissed'
    do update set organization_id = excluded.organization_id, params = excluded.params, title = excluded.title, body = excluded.body,
        severity = excluded.severity, source_entity_type = excluded.source_entity_type, source_entity_id = excluded.source_entity_id,
        link_href = excluded.link_href, status = 'unread', read_at = null, expires_at = excluded.expires_at,
        created_at = excluded.created_at, updated_at = excluded.updated_at
    returning n.id, n.recipient_user_id, n.type, n.group_key
)
select n.id, n.recipient_user_id as recipient, n.type as type_id, e.mailed as by_mail, e.pushed as by_push, e.index
from written n join eligible e
    on e.recipient = n.recipient_user_id and e.type = n.type and (e.id = n.id or e.group_key = n.group_key)";

async fn write(connection: &mut AsyncPgConnection, call: &Call, tenant: Uuid, new: &[New]) -> Result<Vec<Written>> {
    let rows = Rows::of(call, new)?;
    if rows.ids.is_empty() {
        return Ok(Vec::new());
    }
    let config = call.provided::<NotificationsConfig>()?;
    let shown = time::Duration::try_from(config.retention).unwrap_or(time::Duration::DAY);
    let statement = sql_query(WRITE)
        .bind::<SqlUuid, _>(tenant)
        .bind::<Timestamptz, _>(call.now)
        .bind::<Timestamptz, _>(call.now.after(shown))
        .bind::<Array<SqlUuid>, _>(rows.ids)
        .bind::<Array<SqlUuid>, _>(rows.recipients)
        .bind::<Array<Nullable<SqlUuid>>, _>(rows.organizations)
        .bind::<Array<Text>, _>(rows.types)
        .bind::<Array<Jsonb>, _>(rows.params)
        .bind::<Array<Text>, _>(rows.titles)
        .bind::<Array<Text>, _>(rows.bodies)
        .bind::<Array<Text>, _>(rows.severities)
        .bind::<Array<Text>, _>(rows.modules)
        .bind::<Array<Nullable<Text>>, _>(rows.source_kinds)
        .bind::<Array<Nullable<SqlUuid>>, _>(rows.source_ids)
        .bind::<Array<Nullable<Text>>, _>(rows.links)
        .bind::<Array<Nullable<Text>>, _>(rows.groups)
        .bind::<Array<Bool>, _>(rows.in_app)
        .bind::<Array<Bool>, _>(rows.by_mail)
        .bind::<Array<Bool>, _>(rows.by_push)
        .bind::<Array<Integer>, _>(rows.indexes);
    let written: Vec<Written> = Prepared(statement).get_results(connection).await?;
    metrics::counter!("notifications_created_total").increment(u64::try_from(written.len()).unwrap_or(u64::MAX));
    Ok(written)
}
