use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::db::Recurring;
use backoffice_core::ids::PLATFORM_TENANT;
use backoffice_core::jobs::enqueue_with;
use backoffice_core::{Error, Feature, Rejection, Result, Timestamp};
use diesel::{ExpressionMethods, insert_into};
use diesel_async::RunQueryDsl;
use secrecy::{ExposeSecret, SecretString};
use uuid::Uuid;

use crate::jobs::SendLink;
use crate::model::{EMAIL, EXISTING, NEW, PENDING, Request};
use crate::schema::onboarding_requests as requests;

/// The key that a second request with the same status token violates.
const STATUS_TOKEN_KEY: &str = "onboarding_requests_tenant_id_status_token_hash_key";
/// Code of the rejection of a request whose status token another request has.
const STATUS_TOKEN_TAKEN: &str = "status_token_taken";

/// Stores the request of a person, with the job that sends its mail.
#[derive(Debug, Clone)]
pub struct SubmitRequest {
    /// The id.
    pub id: Uuid,
    /// Whether the address has an account.
    pub has_account: bool,
    /// E-mail address, valid and trimmed.
    pub email: String,
    /// Fingerprint of the normalized address.
    pub email_hash: Vec<u8>,
    /// First name.
    pub first_name: String,
    /// Last name.
    pub last_name: String,
    /// Name of the future tenant.
    pub organization_name: String,
    /// Hash of the password.
    pub password_hash: SecretString,
    /// Language of the mails.
    pub locale: String,
    /// Whether the person agreed to advertising.
    pub marketing_consent: bool,
    /// Hash of the token that shows the status.
    pub status_token_hash: Vec<u8>,
    /// Time until which the request can be verified.
    pub expires_at: Timestamp,
    /// Whether a mail is sent. It is not if the address has received too many.
    pub sends_mail: bool,
}

impl Command for SubmitRequest {
    const ID: &'static str = "onboarding.request.submit";
    const CLASS: Class = Class::Create;
    const LABEL: &'static str = "Submit onboarding request";
    const FEATURES: &'static [Feature] = &[];
    const UNDOABLE: bool = false;
    type Entity = Request;
    type Output = ();

    fn target(&self) -> Target {
        Target::New {
            tenant: PLATFORM_TENANT,
            id: self.id,
        }
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        let (now, context) = (tx.now(), tx.context());
        let vault = context.platform().vault();
        let sealed = vault.seal(PLATFORM_TENANT, EMAIL.of(self.id), self.email.as_bytes())?;
        let row = Request {
            tenant_id: PLATFORM_TENANT,
            id: self.id,
            kind: if self.has_account { EXISTING } else { NEW }.to_owned(),
            status: PENDING.to_owned(),
            first_name: self.first_name.clone(),
            last_name: self.last_name.clone(),
            organization_name: self.organization_name.clone(),
            locale: self.locale.clone(),
            marketing_consent: self.marketing_consent,
            terms_accepted_at: now,
            expires_at: self.expires_at,
            verified_at: None,
            ended_at: None,
            wrong_passwords: 0,
            provisioning_job_id: None,
            new_tenant_id: None,
            new_user_id: None,
            email_sent_at: None,
            ready_email_sent_at: None,
            client_ip: context.call().ip.map(|ip| ip.to_string()),
            created_at: now,
            updated_at: now,
        };
        insert_into(requests::table)
            .values((
                row,
                requests::email.eq(sealed),
                requests::email_hash.eq(&self.email_hash),
                requests::password_hash.eq(self.password_hash.expose_secret()),
                requests::status_token_hash.eq(&self.status_token_hash),
            ))
            .prepared()
            .execute(tx.conn())
            .await
            .map_err(|error| taken(error.into()))?;
        tx.wrote_secret("passwordHash");
        if self.sends_mail {
            enqueue_with(tx, &SendLink::of(self.id).job()).await?;
        }
        Ok(())
    }
}

impl SubmitRequest {
    /// Returns whether the command was rejected because another request has the status token.
    pub(crate) fn is_taken(error: &Error) -> bool {
        matches!(error, Error::Rejected(rejection) if rejection.code.as_deref() == Some(STATUS_TOKEN_TAKEN))
    }
}

fn taken(error: Error) -> Error {
    match error.violated_constraint() {
        Some(STATUS_TOKEN_KEY) => Rejection::conflict("The form has been submitted")
            .code(STATUS_TOKEN_TAKEN)
            .into(),
        _ => error,
    }
}
