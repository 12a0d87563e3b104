//! A test message, sent while its user waits.

use backoffice_core::db::Prepared;
use backoffice_core::{Call, Rejection, RequestContext, Result, Scope};
use diesel::sql_query;
use diesel::sql_types::{Integer, Jsonb, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use serde_json::Map;
use uuid::Uuid;

use super::Providers;
use super::attempt::{attempt, label, obstacle};
use super::deliveries::{self, remove_tokens};
use super::message::{Message, Payload, base_code};
use super::outcome::Outcome;
use super::recipients::{NOT_OWNER, Recipient, recipients};

/// The type of test messages. No notification has it.
const KIND: &str = "devices.device.test";

/// Title and text by language; English is the first.
const TEXTS: [(&str, &str, &str); 4] = [
    ("en", "Test message", "Notifications arrive on this device."),
    ("pl", "Wiadomość testowa", "Powiadomienia docierają na to urządzenie."),
    (
        "es",
        "Mensaje de prueba",
        "Las notificaciones llegan a este dispositivo.",
    ),
    ("de", "Testnachricht", "Benachrichtigungen erreichen dieses Gerät."),
];

/// The outcome of a test message.
pub(crate) struct Tested {
    /// Whether the provider accepted it.
    pub(crate) is_sent: bool,
    /// The code of the reason why not.
    pub(crate) error: Option<&'static str>,
}

/// Sends a test message to a device of the caller, and notes the outcome. Holds no connection to the database while the provider responds.
///
/// # Errors
/// 404 when the device was deactivated meanwhile; or the database can't be reached.
pub(crate) async fn test(ctx: &RequestContext, device: Uuid) -> Result<Tested> {
    let (call, tenant, user) = (ctx.call(), ctx.tenant()?, ctx.user_id()?);
    let providers = call.provided::<Providers>()?;
    let row = deliveries::device(call, tenant, device).await?;
    let row = row.ok_or_else(|| Rejection::not_found("Device not found"))?;
    let Some(recipient) = recipients(call, &providers, tenant, vec![row]).await?.pop() else {
        return Err(Rejection::not_found("Device not found").into());
    };
    let payload = payload(recipient.row.locale.as_deref());
    let message = payload.message(call.platform(), None, ctx.new_id(), None);
    let outcome = match obstacle(&providers, &recipient, ctx.now()) {
        Some(outcome) => outcome,
        None => attempt(&providers, &recipient, &message, ctx.now()).await,
    };
    let tested = tested(outcome);
    let provider = label(&providers, &recipient.provider);
    let result = if tested.is_sent { "sent" } else { "failed" };
    metrics::counter!("push_deliveries_total", "provider" => provider, "outcome" => result).increment(1);
    note(call, (tenant, user), &recipient, (&message, &payload), outcome).await?;
    Ok(tested)
}

fn payload(locale: Option<&str>) -> Payload {
    let language = base_code(locale);
    let (_, title, body) = TEXTS.iter().find(|(code, ..)| *code == language).unwrap_or(&TEXTS[0]);
    Payload {
        kind: KIND.to_owned(),
        severity: "info".to_owned(),
        link_href: None,
        params: Map::new(),
        title: (*title).to_owned(),
        body: (*body).to_owned(),
        topic: None,
    }
}

fn tested(outcome: Outcome) -> Tested {
    let error = match outcome {
        Outcome::Sent => None,
        // Whether another tenant has registered the token is not the caller's business (decision 40).
        Outcome::Retry(_) | Outcome::Skipped(NOT_OWNER) => Some("not_accepted"),
        Outcome::Skipped(reason) | Outcome::Failed(reason) => Some(reason),
        Outcome::Unregistered => Some("unregistered"),
        Outcome::Stopped(_) => Some("provider_rejects_keys"),
    };
    Tested {
        is_sent: error.is_none(),
        error,
    }
}

const NOTE: &str = "\
insert into devices_push_deliveries (tenant_id, id, device_row_id, user_id, batch_id, provider, token_last4, payload, status, attempts, due_at,
    error, created_at, updated_at)
values ($1, $2, $3, $4, $2, $5, $6, $7, $8, $9, $11, $10, $11, $11)";

/// Notes the delivery, which is not attempted again, and removes a token that is no longer valid.
async fn note(
    call: &Call,
    (tenant, user): (Uuid, Uuid),
    recipient: &Recipient,
    (message, payload): (&Message, &Payload),
    outcome: Outcome,
) -> Result<()> {
    let tested = tested(outcome);
    let now = call.platform().clock().now();
    let mut transaction = call.database().transaction(&Scope::tenant(tenant)).await?;
    let connection = transaction.connection();
    let statement = sql_query(NOTE)
        .bind::<SqlUuid, _>(tenant)
        .bind::<SqlUuid, _>(message.id)
        .bind::<SqlUuid, _>(recipient.row.id)
        .bind::<SqlUuid, _>(user)
        .bind::<Text, _>(&recipient.provider)
        .bind::<Nullable<Text>, _>(recipient.last4())
        .bind::<Jsonb, _>(serde_json::to_value(payload)?)
        .bind::<Text, _>(if tested.is_sent { "sent" } else { "failed" })
        .bind::<Integer, _>(1)
        .bind::<Nullable<Text>, _>(tested.error)
        .bind::<Timestamptz, _>(now);
    Prepared(statement).execute(&mut **connection).await?;
    if outcome == Outcome::Unregistered {
        remove_tokens(connection, call, (tenant, now), &[recipient]).await?;
    }
    transaction.commit().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_base_code_of_a_language_tag_counts() {
        for (locale, title) in [
            (Some("es-MX"), "Mensaje de prueba"),
            (Some("DE_at"), "Testnachricht"),
            (Some("pl"), "Wiadomość testowa"),
            (Some("est"), "Test message"),
            (Some("fr"), "Test message"),
            (None, "Test message"),
        ] {
            assert_eq!(payload(locale).title, title, "{locale:?}");
        }
    }
}
