//! Passwords in bodies: the policy for new ones, and the confirmation by the present one.

use std::sync::Arc;

use backoffice_core::http::{Describe, Extract, Incoming, Json, Schemas};
use backoffice_core::input::Input;
use backoffice_core::{Detail, Error as CoreError, RequestContext, Result, Scope, Violations};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa::openapi::path::OperationBuilder;

use crate::Error;
use crate::accounts::Accounts;
use crate::sessions::http::{count_attempt, forgive_attempts, has_typed_length};
use crate::users::model::User;
use crate::users::query;

/// A JSON body that may set a password. The policy is configured, so the rules of a body can't contain it: this reports a password that violates it
/// together with the other faults of the body. The handler applies the policy to a valid body.
#[derive(Debug)]
pub(super) struct WithPassword<T>(pub(super) Json<T>);

/// The fields that the policy refers to, whatever else the body contains.
#[derive(Debug, Deserialize)]
struct Credentials {
    #[serde(default)]
    email: Value,
    #[serde(default)]
    password: Option<SecretString>,
}

impl<T: Input> Extract for WithPassword<T> {
    fn extract(incoming: &Incoming<'_>) -> Result<Self> {
        let body = Json::extract(incoming).map_err(|error| with_details(error, problem(incoming)))?;
        Ok(Self(body))
    }

    fn report(&self, incoming: &Incoming<'_>, violations: &mut Violations) {
        self.0.report(incoming, violations);
        if let Some(detail) = problem(incoming) {
            violations.add(detail);
        }
    }
}

impl<T: ToSchema> Describe for WithPassword<T> {
    fn describe(operation: OperationBuilder, schemas: &mut Schemas) -> OperationBuilder {
        Json::<T>::describe(operation, schemas)
    }
}

/// Returns the rule that the password of a body violates, if any.
fn problem(incoming: &Incoming<'_>) -> Option<Detail> {
    let credentials: Credentials = serde_json::from_slice(incoming.body).ok()?;
    let accounts: Arc<Accounts> = incoming.call.provided().ok()?;
    let address = credentials.email.as_str().unwrap_or_default();
    accounts.password_problem(&credentials.password?, address)
}

fn with_details(error: CoreError, details: impl IntoIterator<Item = Detail>) -> CoreError {
    let mut rejection = error.to_rejection();
    rejection.details.extend(details);
    rejection.into()
}

/// Adds the rule that the password violates to the rejection of other fields.
pub(super) fn joined(rejected: CoreError, policy: Result<()>) -> CoreError {
    match policy {
        Ok(()) => rejected,
        Err(policy) => with_details(rejected, policy.to_rejection().details),
    }
}

/// Rejects a new password that breaks a rule.
pub(super) fn check_password(ctx: &RequestContext, password: Option<&SecretString>, address: &str) -> Result<()> {
    let accounts: Arc<Accounts> = ctx.call().provided()?;
    match password {
        Some(password) => Ok(accounts.policy.check(password, address)?),
        None => Ok(()),
    }
}

/// Validates a new password and returns its hash.
pub(super) async fn hashed(ctx: &RequestContext, password: &SecretString, address: &str) -> Result<SecretString> {
    let accounts: Arc<Accounts> = ctx.call().provided()?;
    accounts.policy.check(password, address)?;
    let hash = accounts.hasher.hash_for(ctx.identity(), ctx.ids(), password).await?;
    Ok(hash.into())
}

/// Rejects a change of the caller's own credentials without the current password; failures count like failed sign-ins. Returns the hash that the
/// password matches, which the command compares with the stored one again; `None` if no current password is required.
pub(super) async fn confirm_own(
    ctx: &RequestContext,
    user: &User,
    current: Option<&SecretString>,
) -> Result<Option<SecretString>> {
    let accounts: Arc<Accounts> = ctx.call().provided()?;
    if !accounts.config.profile.require_current_password {
        return Ok(None);
    }
    let Some(current) = current else {
        return Err(Error::CurrentPasswordRequired.into());
    };
    let call = ctx.call();
    count_attempt(call, &user.email).await?;
    let stored: Option<SecretString> = {
        let mut connection = ctx.database().read(&Scope::tenant(ctx.identity().tenant)).await?;
        let hash = query::password_hash(&mut connection, user.tenant_id, user.id).await?;
        hash.map(SecretString::from)
    };
    if !has_typed_length(current) {
        return Err(Error::CurrentPasswordIncorrect.into());
    }
    let verified = accounts
        .hasher
        .verify_for(
            ctx.identity(),
            current,
            stored.as_ref().map(ExposeSecret::expose_secret),
        )
        .await?;
    if !verified.matches {
        return Err(Error::CurrentPasswordIncorrect.into());
    }
    forgive_attempts(call, &user.email).await?;
    Ok(stored)
}
