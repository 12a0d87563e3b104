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

/// The live secrets of a tenant.
pub(super) struct Signer(Vec<hmac::Key>);

impl Signer {
    /// Opens the live secrets of a tenant. The first one is created if there is none.
    pub(super) async fn of(call: &Call, tenant: Uuid) -> Result<Self> {
        let live = Self::open(call, tenant).await?;
        if !live.0.is_empty() {
            return Ok(live);
        }
        let identity = Identity::limited("webhooks".to_owned(), tenant, None, &[acl::MANAGE.id.to_owned()]);
        let ctx = RequestContext::limited(call, identity).await?;
        let command = CreateWebhookSecret::first(&ctx, tenant);
        match RequestContext::execute(&ctx, &command, |()| Json(Done::OK)).await {
            // Another worker, or a user, was faster.
            Ok(_) | Err(Error::Rejected(_)) => Self::open(call, tenant).await,
            Err(error) => Err(error),
        }
    }

    async fn open(call: &Call, tenant: Uuid) -> Result<Self> {
        let scope = Scope::tenant(tenant);
        let connection = call.database().read_briefly(&scope).await?;
        let rows = secrets_in_scope(&scope)
            .filter(secrets::tenant_id.eq(tenant))
            .order(secrets::id)
            .select((secrets::id, secrets::secret));
        let rows: Vec<(Uuid, Option<Vec<u8>>)> = rows.load(&mut &**connection).await?;
        drop(connection);
        let vault = call.platform().vault();
        let mut keys = Vec::with_capacity(rows.len());
        for (id, sealed) in rows {
            let opened = vault.open(tenant, WEBHOOK_SECRET.of(id), sealed.as_deref().unwrap_or_default())?;
            keys.push(hmac::Key::new(hmac::HMAC_SHA256, opened.expose_secret()));
        }
        Ok(Self(keys))
    }

    /// Returns the header with one signature for each secret.
    pub(super) fn sign(&self, id: Uuid, seconds: i64, body: &str) -> String {
        let content = format!("{id}.{seconds}.{body}");
        let signature = |key: &hmac::Key| format!("v1,{}", STANDARD.encode(hmac::sign(key, content.as_bytes())));
        let signatures: Vec<String> = self.0.iter().map(signature).collect();
        signatures.join(" ")
    }
}
