//! Consents of users.

use std::sync::Arc;

use backoffice_core::access_log::{AccessType, Record};
use backoffice_core::command::Target;
use backoffice_core::http::{Access, CheckedQuery, Json, Query, QueryInput, Routes, requires};
use backoffice_core::input::{Input, Validator};
use backoffice_core::list::{ById, Page, PageQuery, Window};
use backoffice_core::{ErrorShape, Rejection, RequestContext, Result, Scope, Timestamp, Violations};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::commands::UpdateConsent;
use super::model::Consent;
use super::query;
use crate::accounts::Accounts;
use crate::http::required_id;
use crate::{Error, acl, users, values};

pub(crate) fn routes(routes: &mut Routes) {
    routes
        .get("/auth/users/consents", requires(&[acl::USERS_EDIT]), list_user_consents)
        .across_tenants()
        .about("What a user agreed to")
        .reads("auth.consent")
        .errors(ErrorShape::OkFalse)
        .rejects(&[404]);
    routes
        .get("/auth/profile/consents", Access::Authenticated, list_own_consents)
        .about("What the caller agreed to")
        .errors(ErrorShape::OkFalse);
    routes
        .put("/auth/profile/consents", Access::Authenticated, update_own_consent)
        .about("Agree to something, or withdraw that")
        .errors(ErrorShape::OkFalse)
        .rejects(&[409]);
}

/// The user whose consents are listed.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct UserConsentsQuery {
    /// The user.
    #[param(value_type = Uuid)]
    user_id: Option<String>,
}

impl UserConsentsQuery {
    fn user(&self) -> Result<Uuid> {
        required_id("userId", self.user_id.as_deref(), "Invalid userId")
    }
}

impl QueryInput for UserConsentsQuery {
    fn validate(&self, violations: &mut Violations) {
        violations.keep(self.user());
    }
}

/// A consent.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ConsentItem {
    id: Uuid,
    /// The subject of the consent; the set is open.
    consent_type: String,
    is_granted: bool,
    granted_at: Option<Timestamp>,
    withdrawn_at: Option<Timestamp>,
    /// Where the user decided: `profile`, or what another module has written, such as `onboarding`; the set is open.
    source: Option<String>,
    ip_address: Option<String>,
    /// Whether the record is unchanged since it was written.
    integrity_verified: bool,
    created_at: Timestamp,
    updated_at: Timestamp,
}

// An alias, so that the schema of the page is the one that `Page` names.
type Consents = Page<ConsentItem>;

/// A page of consents, newest first.
#[derive(Debug, Serialize, ToSchema)]
struct ConsentPage {
    /// Always true.
    ok: bool,
    #[serde(flatten)]
    page: Consents,
}

fn item(accounts: &Accounts, row: Consent) -> ConsentItem {
    ConsentItem {
        integrity_verified: accounts.integrity.fits(&row),
        id: row.id,
        consent_type: row.consent_type,
        is_granted: row.is_granted,
        granted_at: row.granted_at,
        withdrawn_at: row.withdrawn_at,
        source: row.source,
        ip_address: row.ip_address,
        created_at: row.created_at,
        updated_at: row.updated_at,
    }
}

async fn list_user_consents(
    ctx: RequestContext,
    query: CheckedQuery<UserConsentsQuery>,
    page: Query<PageQuery>,
    by_id: Query<ById>,
) -> Result<Json<ConsentPage>> {
    let mut violations = Violations::default();
    let id = violations.keep(query.0.user());
    let (window, ids) = listed(page.0, &by_id.0, &mut violations);
    violations.check()?;
    let accounts: Arc<Accounts> = ctx.call().provided()?;
    let mut connection = ctx.read().await?;
    ctx.read_version_first(&connection).await?;
    let Some(user) = users::query::find(&mut connection, &ctx, id).await? else {
        return Err(Rejection::not_found("User not found").into());
    };
    let page = query::list(&connection, &ctx, (user.tenant_id, id), ids.as_deref(), window)
        .await?
        .map(|row| item(&accounts, row));
    let record = |consent: &ConsentItem| Record::new(consent.id, Some(user.tenant_id)).of(user.organization_id);
    ctx.log_reads(&connection, AccessType::List, &page.items, record)
        .await?;
    Ok(Json(ConsentPage { ok: true, page }))
}

/// Returns the requested page and ids.
fn listed(page: PageQuery, by_id: &ById, violations: &mut Violations) -> (Window, Option<Vec<Uuid>>) {
    (violations.keep(page.window()), violations.keep(by_id.requested()))
}

async fn list_own_consents(
    ctx: RequestContext,
    page: Query<PageQuery>,
    by_id: Query<ById>,
) -> Result<Json<ConsentPage>> {
    let id = ctx.user_id()?;
    let mut violations = Violations::default();
    let (window, ids) = listed(page.0, &by_id.0, &mut violations);
    violations.check()?;
    let accounts: Arc<Accounts> = ctx.call().provided()?;
    let tenant = ctx.identity().tenant;
    let connection = ctx.database().read(&Scope::tenant(tenant)).await?;
    let page = query::list(&connection, &ctx, (tenant, id), ids.as_deref(), window).await?;
    Ok(Json(ConsentPage {
        ok: true,
        page: page.map(|row| item(&accounts, row)),
    }))
}

/// A decision.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ConsentPatch {
    /// 1 to 64 lower-case letters, digits, `_`, `.` and `-`; a letter first.
    #[schema(pattern = "^[a-z][a-z0-9_.-]{0,63}$")]
    consent_type: String,
    /// Whether the caller agrees.
    is_granted: bool,
}

/// The decision as it was stored.
#[derive(Debug, Serialize, ToSchema)]
struct ConsentWritten {
    /// Always true.
    ok: bool,
    item: ConsentItem,
}

impl Input for ConsentPatch {
    fn validate(&self, validator: &mut Validator) {
        validator.accept("consentType", values::consent_type(&self.consent_type));
    }
}

async fn update_own_consent(ctx: RequestContext, body: Json<ConsentPatch>) -> Result<Json<ConsentWritten>> {
    let user = ctx.user_id()?;
    let patch = body.0;
    let mut validator = Validator::default();
    patch.validate(&mut validator);
    validator.check()?;
    let accounts: Arc<Accounts> = ctx.call().provided()?;
    // The caller's own row is in their own tenant, whatever is selected.
    let tenant = ctx.identity().tenant;
    let ctx = ctx.with_scope(Scope::tenant(tenant));
    let decide = async || {
        let stored = {
            let mut connection = ctx.read().await?;
            query::find(&mut connection, tenant, user, &patch.consent_type).await?
        };
        let command = UpdateConsent {
            target: match stored {
                Some(row) => Target::Existing(row.id),
                None => Target::New {
                    tenant,
                    id: ctx.new_id(),
                },
            },
            user,
            consent_type: patch.consent_type.clone(),
            is_granted: patch.is_granted,
            source: "profile",
        };
        let response = |row| {
            Json(ConsentWritten {
                ok: true,
                item: item(&accounts, row),
            })
        };
        ctx.execute(&command, response).await
    };
    match decide().await {
        // Another request created the row at the same time. The row exists now, and is not deleted while its user exists.
        Err(error) if Error::ConsentExists.is(&error) => decide().await,
        outcome => outcome,
    }
}
