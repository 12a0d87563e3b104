use backoffice_auth::{UserMail, mail_user};
use backoffice_core::db::{Prepared, Recurring};
use backoffice_core::jobs::{Job, NewJob, Queue, Step, Work, enqueue};
use backoffice_core::{Call, Error, Result, Scope, Timestamp};
use diesel::sql_types::{Jsonb, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl, QueryableByName, sql_query, update};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::mail_limits;
use crate::schema::notifications_notifications as notifications;
use crate::{texts, types};

/// The time in which the recipient gets one mail about a group.
const PAUSE: time::Duration = time::Duration::minutes(10);

/// Attempts to send a mail before a job with several continues with the next one. The wait between them slows the job down while the mail server does not
/// work at all.
const ATTEMPTS_AMONG_OTHERS: i32 = 2;

/// Mails notifications, one mail for each; those over a limit get none. Its cursor counts those that are done, so a mail is repeated only after a crash
/// between sending it and noting that. A mail that can't be sent does not stop the others: it gets a job of its own.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SendMails {
    /// The notifications.
    pub(crate) notifications: Vec<Uuid>,
    /// Whether the limits have counted the mails already.
    #[serde(default)]
    pub(crate) is_counted: bool,
}

/// What became of a mail.
enum Outcome {
    Sent,
    /// There is none to send: the notification is not due, or its recipient over a limit.
    Dropped,
    /// It could not be sent.
    Failed(Error),
}

#[derive(QueryableByName)]
struct Due {
    #[diesel(sql_type = SqlUuid)]
    recipient_user_id: Uuid,
    #[diesel(sql_type = Text)]
    address: String,
    #[diesel(sql_type = Text)]
    type_id: String,
    #[diesel(sql_type = Jsonb)]
    params: Value,
    #[diesel(sql_type = Text)]
    title: String,
    #[diesel(sql_type = Text)]
    body: String,
    #[diesel(sql_type = Nullable<Text>)]
    link_href: Option<String>,
}

/// An unread notification whose recipient is active, has a confirmed address, and got no mail about it, or about another one of its group, since an
/// instant.
const DUE: &str = "\
select n.recipient_user_id, u.email_norm as address, n.type as type_id, n.params, n.title, n.body, n.link_href
from notifications_notifications n
join auth_users u on u.tenant_id = $1 and u.id = n.recipient_user_id and u.is_active and u.is_confirmed and u.deleted_at is null
where n.tenant_id = $1 and n.id = $2 and n.status = 'unread' and n.expires_at > $3
    and (n.email_sent_at is null or n.email_sent_at <= $4)
    and not exists (select from notifications_notifications o where o.tenant_id = $1 and o.recipient_user_id = n.recipient_user_id
        and o.type = n.type and o.group_key = n.group_key and o.email_sent_at > $4)";

impl Job for SendMails {
    const KIND: &'static str = "notifications.notification.send_mails";
    const QUEUE: Queue = Queue::Network;

    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        let (tenant, now) = (work.tenant(), work.now());
        let done = usize::try_from(work.cursor()).unwrap_or(usize::MAX);
        let Some(id) = self.notifications.get(done).copied() else {
            return Ok(Step::Done);
        };
        let outcome = match self.send(work, id, now).await? {
            Outcome::Failed(error) if self.notifications.len() == 1 || work.attempt() < ATTEMPTS_AMONG_OTHERS => {
                return Err(error);
            }
            outcome => outcome,
        };
        let (call, cursor, attempt) = (work.call().clone(), work.cursor() + 1, work.attempt());
        let mut chunk = work.begin(&Scope::tenant(tenant)).await?;
        match outcome {
            Outcome::Sent => note_sent(chunk.connection(), tenant, id, now).await?,
            Outcome::Dropped => {}
            Outcome::Failed(error) => {
                let retry = NewJob {
                    run_at: Some(now.after(Self::backoff(attempt, &error))),
                    ..NewJob::of_system(tenant, Self::alone(id))
                };
                enqueue(chunk.connection(), &call, &retry).await?;
            }
        }
        chunk.advance(cursor).await?;
        match done + 1 < self.notifications.len() {
            true => Ok(Step::More),
            false => Ok(Step::Done),
        }
    }
}

impl SendMails {
    /// Creates the payload of a job that sends these mails for the first time.
    pub(crate) const fn new(notifications: Vec<Uuid>) -> Self {
        Self {
            notifications,
            is_counted: false,
        }
    }

    /// Creates the payload of a job that retries one mail.
    fn alone(id: Uuid) -> Self {
        Self {
            notifications: vec![id],
            is_counted: true,
        }
    }

    /// Sends the mail of a notification.
    async fn send(&self, work: &Work<'_>, id: Uuid, now: Timestamp) -> Result<Outcome> {
        let (call, tenant) = (work.call(), work.tenant());
        if call.platform().mailer().is_none() {
            return Ok(Outcome::Dropped);
        }
        let Some(due) = find(call, tenant, id, now).await? else {
            return Ok(Outcome::Dropped);
        };
        if !self.is_counted && !mail_limits::allow(work, &due.address).await? {
            return Ok(Outcome::Dropped);
        }
        Ok(match mail(call, tenant, &due).await {
            Ok(true) => Outcome::Sent,
            Ok(false) => Outcome::Dropped,
            Err(error) => Outcome::Failed(error),
        })
    }
}

/// Notes when the mail of a notification was sent.
async fn note_sent(connection: &mut AsyncPgConnection, tenant: Uuid, id: Uuid, now: Timestamp) -> Result<()> {
    update(notifications::table.filter(notifications::tenant_id.eq(tenant)))
        .filter(notifications::id.eq(id))
        .set(notifications::email_sent_at.eq(now))
        .prepared()
        .execute(connection)
        .await?;
    Ok(())
}

async fn find(call: &Call, tenant: Uuid, id: Uuid, now: Timestamp) -> Result<Option<Due>> {
    let connection = call.database().read_briefly(&Scope::tenant(tenant)).await?;
    let statement = sql_query(DUE)
        .bind::<SqlUuid, _>(tenant)
        .bind::<SqlUuid, _>(id)
        .bind::<Timestamptz, _>(now)
        .bind::<Timestamptz, _>(now.before(PAUSE));
    Ok(Prepared(statement).get_result(&mut &**connection).await.optional()?)
}

/// Returns the lines of a text that are not blank.
fn paragraphs(text: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.map(str::to_owned).collect()
}

/// Sends the mail, in the language of the tenant. Returns false if the user or the tenant has been deleted.
async fn mail(call: &Call, tenant: Uuid, due: &Due) -> Result<bool> {
    let params = due.params.as_object().cloned().unwrap_or_else(Map::new);
    let known = types::find(call.platform(), &due.type_id);
    let origin = call.platform().app().public_url.as_deref();
    mail_user(call, tenant, due.recipient_user_id, |locale| {
        let own = texts::of(locale);
        let wording = known.map(|known| known.wording(locale, &params));
        let (title, body) = match wording {
            Some(wording) => (wording.title, wording.body),
            None => (due.title.clone(), due.body.clone()),
        };
        let link = due.link_href.as_deref().zip(origin);
        UserMail {
            subject: title,
            lines: paragraphs(&body),
            link: link.map(|(path, origin)| (own.open, format!("{}{path}", origin.trim_end_matches('/')))),
            hint: own.hint,
        }
    })
    .await
}
