use backoffice_auth::{FirstConsent, FirstUser, has_account};
use backoffice_core::command::{Class, Command, EntityRef, Target, Tx};
use backoffice_core::db::Recurring;
use backoffice_core::ids::PLATFORM_TENANT;
use backoffice_core::{Feature, Rejection, RequestContext, Result};
use backoffice_directory::commands::{CreateTenant, NewTenant};
use backoffice_directory::config::Settings;
use backoffice_directory::model::Tenant;
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl, update};
use diesel_async::RunQueryDsl;
use secrecy::SecretString;
use uuid::Uuid;

use super::lock_address;
use crate::model::{PROCESSING, Request};
use crate::schema::onboarding_requests as requests;

/// Code of the rejection for an address that has got an account in the meantime.
pub(crate) const ACCOUNT_EXISTS: &str = "account_exists";
/// Code of the rejection for a request whose tenant exists, or which has ended.
pub(crate) const NOT_PROCESSING: &str = "not_processing";
/// Longest name of a user, in characters.
const LONGEST_NAME: usize = 120;

/// Creates the tenant of a request, its organization, everything that modules seed, and its first user, an administrator. The scope of the context must
/// include all tenants.
#[derive(Debug, Clone)]
pub struct CreateWorkspace {
    request: Uuid,
    email_hash: Vec<u8>,
    tenant: CreateTenant,
    user: FirstUser,
}

impl CreateWorkspace {
    /// Prepares the tenant of a request with this address and hash of the password.
    ///
    /// # Errors
    /// 400 if the name of the tenant is not valid.
    pub fn new(
        ctx: &RequestContext,
        request: &Request,
        email: String,
        email_hash: Vec<u8>,
        password_hash: SecretString,
    ) -> Result<Self> {
        let settings = ctx.call().provided::<Settings>()?;
        let input = NewTenant {
            name: request.organization_name.clone(),
            locales: settings.i18n.locales_that_begin_with(&request.locale),
            ..NewTenant::default()
        };
        let tenant = CreateTenant::new(ctx, input)?;
        let consent = |consent_type: &str, is_granted| FirstConsent {
            id: ctx.new_id(),
            consent_type: consent_type.to_owned(),
            is_granted,
        };
        let name = format!("{} {}", request.first_name, request.last_name);
        let user = FirstUser {
            id: ctx.new_id(),
            organization: tenant.created().organization_id,
            email,
            name: name.chars().take(LONGEST_NAME).collect(),
            password_hash,
            consents: vec![
                consent("terms", true),
                consent("marketing_email", request.marketing_consent),
            ],
            consent_source: "onboarding",
            ip_address: request.client_ip.clone(),
        };
        Ok(Self {
            request: request.id,
            email_hash,
            tenant,
            user,
        })
    }
}

impl Command for CreateWorkspace {
    const ID: &'static str = "onboarding.workspace.create";
    const CLASS: Class = Class::Create;
    const LABEL: &'static str = "Create workspace";
    const FEATURES: &'static [Feature] = &[];
    const UNDOABLE: bool = false;
    type Entity = Tenant;
    type Output = ();

    fn target(&self) -> Target {
        self.tenant.target()
    }

    fn also_creates(&self) -> Vec<EntityRef> {
        self.user.resources()
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        lock_address(tx, &self.email_hash).await?;
        let row = requests::table.find((PLATFORM_TENANT, self.request)).for_update();
        let row: Option<(String, Option<Uuid>)> = row
            .select((requests::status, requests::new_tenant_id))
            .first(tx.conn())
            .await
            .optional()?;
        if row.is_none_or(|(status, tenant)| status != PROCESSING || tenant.is_some()) {
            let rejection = Rejection::conflict("The request is not being processed").code(NOT_PROCESSING);
            return Err(rejection.into());
        }
        if has_account(tx.conn(), &self.user.email).await? {
            let rejection = Rejection::conflict("The address has an account").code(ACCOUNT_EXISTS);
            return Err(rejection.into());
        }
        self.tenant.insert(tx).await?;
        self.user.insert(tx).await?;
        let now = tx.now();
        update(requests::table.find((PLATFORM_TENANT, self.request)))
            .set((
                requests::new_tenant_id.eq(Some(self.tenant.created().id)),
                requests::new_user_id.eq(Some(self.user.id)),
                requests::updated_at.eq(now),
            ))
            .prepared()
            .execute(tx.conn())
            .await?;
        Ok(())
    }
}
