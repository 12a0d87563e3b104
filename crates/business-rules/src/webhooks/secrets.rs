//! Signatures of webhooks, as Standard Webhooks defines them.

use aws_lc_rs::hmac;
use backoffice_core::http::{Done, Json};
use backoffice_core::identity::Identity;
use backoffice_core::{Call, Error, RequestContext, Result, Scope};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use diesel::{ExpressionMethods, QueryDsl};
use diesel_async::RunQueryDsl;
use secrecy::ExposeSecret;
use uuid::Uuid;

use crate::acl;
use crate::commands::CreateWebhookSecret;
use crate::model::WEBHOOK_SECRET;
use crate::query::webhooks::secrets_in_scope;
use crate::schema::business_rules_webhook_secrets as secrets;

/// The live secrets of a tenant that could be opened.
pub(super) struct Signer(Vec<hmac::Key>);

impl Signer {
    /// Opens the live secrets of a tenant. The first one is created if there is none.
    pub(super) async fn of(call: &Call, tenant: Uuid) -> Result<Self> {
        if let Some(live) = Self::open(call, tenant).await? {
            return Ok(live);
        }
        let identity = Identity::limited("webhooks".to_owned(), tenant, None, &[acl::MANAGE.id.to_owned()]);
        let ctx = RequestContext::limited(call, identity).await?;
        let command = CreateWebhookSecret::first(&ctx, tenant);
        match RequestContext::execute(&ctx, &command, |()| Json(Done::OK)).await {
            // Another worker, or a user, was faster.
            Ok(_) | Err(Error::Rejected(_)) => {
                let live = Self::open(call, tenant).await?;
                live.ok_or_else(|| Error::internal("a tenant has no secret for webhooks"))
            }
            Err(error) => Err(error),
        }
    }

    /// Opens the live secrets of a tenant; `None` if it has none. A secret that can't be opened is left out.
    async fn open(call: &Call, tenant: Uuid) -> Result<Option<Self>> {
        let scope = Scope::tenant(tenant);
        let connection = call.database().read_briefly(&scope).await?;
        let rows = secrets_in_scope(&scope)
            .filter(secrets::tenant_id.eq(tenant))
            .order(secrets::id)
            .select((secrets::id, secrets::secret));
        let rows: Vec<(Uuid, Option<Vec<u8>>)> = rows.load(&mut &**connection).await?;
        drop(connection);
        if rows.is_empty() {
            return Ok(None);
        }
        let vault = call.platform().vault();
        let open = |(id, sealed): (Uuid, Option<Vec<u8>>)| {
            let opened = vault.open(tenant, WEBHOOK_SECRET.of(id), sealed.as_deref().unwrap_or_default());
            let opened = opened.inspect_err(|error| {
                tracing::error!(%error, webhook_secret.id = %id, "a secret for webhooks can't be opened");
            });
            Some(hmac::Key::new(hmac::HMAC_SHA256, opened.ok()?.expose_secret()))
        };
        Ok(Some(Self(rows.into_iter().filter_map(open).collect())))
    }

    /// Returns the header with one signature for each secret; `None` if no secret could be opened.
    pub(super) fn sign(&self, id: Uuid, seconds: i64, body: &str) -> Option<String> {
        let content = format!("{id}.{seconds}.{body}");
        let signature = |key: &hmac::Key| format!("v1,{}", STANDARD.encode(hmac::sign(key, content.as_bytes())));
        let signatures: Vec<String> = self.0.iter().map(signature).collect();
        (!signatures.is_empty()).then(|| signatures.join(" "))
    }
}
