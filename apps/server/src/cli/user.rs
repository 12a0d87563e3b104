//! `user` and `roles`.

use backoffice_auth::NewAccount;
use backoffice_core::RequestContext;
use backoffice_core::config::ConfigError;
use backoffice_core::ids::PLATFORM_TENANT;
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use uuid::Uuid;

use super::arguments::{NamedUser, NewPassword, NewUser, UserCommand};
use super::organization::root_organization;
use super::output::{Output, table};
use super::password::PasswordSource;
use super::tenant::{find_tenant, tenant_if_named};
use crate::host::Host;
use crate::{Error, Result};

/// Runs the command.
pub(super) async fn run(host: &Host, command: UserCommand, output: Output) -> Result<()> {
    let context = host.context();
    match command {
        UserCommand::Create(user) => create(&context, user, output).await,
        UserCommand::SetPassword(requested) => set_password(&context, requested, output).await,
        UserCommand::List => list(&context, output).await,
        UserCommand::Enable(user) => set_active(&context, user, true, output).await,
        UserCommand::Disable(user) => set_active(&context, user, false, output).await,
    }
}

async fn create(context: &RequestContext, user: NewUser, output: Output) -> Result<()> {
    if user.password.invite {
        check_mail(context)?;
    }
    let (password, generated) = if user.password.invite {
        (None, None)
    } else {
        let (password, generated) = password(context, &user.password.source)?;
        (Some(password), generated)
    };
    let tenant = if user.platform {
        None
    } else {
        Some(find_tenant(context, user.tenant.as_deref()).await?)
    };
    let organization = match (user.organization, tenant) {
        (None, Some(tenant)) => Some(root_organization(context, tenant).await?),
        (organization, _) => organization,
    };
    let email = user.email.clone();
    let account = NewAccount {
        tenant,
        organization,
        email: user.email,
        name: user.name,
        password,
        roles: user.roles,
        super_admin: user.super_admin,
    };
    let id = backoffice_auth::create_account(context, account).await?;
    if user.password.invite {
        let sent = backoffice_auth::send_link(context, id).await;
        sent.map_err(|error| {
            let error = Error::from(error);
            Error::other(format!(
                "user {email} was created, but the invitation was not sent: {error}; send it with `backoffice user set-password {email} --invite`"
            ))
        })?;
    }
    let shown = generated.as_ref().map(ExposeSecret::expose_secret);
    let after = match shown {
        Some(password) => format!("\npassword, shown this once: {password}"),
        None if user.password.invite => "\nan invitation was sent".to_owned(),
        None => String::new(),
    };
    output.print(
        &format!("user {email}: {id}{after}"),
        &json!({"id": id, "email": email, "password": shown, "emailSent": user.password.invite}),
    )
}

/// Rejects an invitation if no mail with a link can be sent.
fn check_mail(context: &RequestContext) -> Result<()> {
    let platform = context.call().platform();
    if platform.mailer().is_none() {
        let message = "is `none`, so that no invitation can be sent; set it to `smtp` or `file`";
        return Err(ConfigError::new("mail.transport", message).into());
    }
    if platform.app().public_url.is_none() {
        let message = "is not set, so that the mail can't carry a link; set the origin that users see";
        return Err(ConfigError::new("app.public_url", message).into());
    }
    Ok(())
}

async fn set_password(context: &RequestContext, requested: NewPassword, output: Output) -> Result<()> {
    let tenant = tenant_of(context, &requested.user).await?;
    if requested.password.invite {
        check_mail(context)?;
        let id = backoffice_auth::find_account(context, &requested.user.email, tenant).await?;
        backoffice_auth::send_link(context, id).await?;
        output.print(
            &format!("a link to choose a password was sent to {}", requested.user.email),
            &json!({"email": requested.user.email, "password": null, "emailSent": true}),
        )?;
        return Ok(());
    }
    let (password, generated) = password(context, &requested.password.source)?;
    backoffice_auth::set_password(context, &requested.user.email, tenant, password).await?;
    let shown = generated.as_ref().map(ExposeSecret::expose_secret);
    let text = match shown {
        Some(shown) => format!("password of {}, shown this once: {shown}", requested.user.email),
        None => format!("password of {} set; its sessions have ended", requested.user.email),
    };
    output.print(&text, &json!({"email": requested.user.email, "password": shown}))
}

async fn set_active(context: &RequestContext, user: NamedUser, is_active: bool, output: Output) -> Result<()> {
    let tenant = tenant_of(context, &user).await?;
    backoffice_auth::set_active(context, &user.email, tenant, is_active).await?;
    let state = if is_active {
        "may sign in"
    } else {
        "may no longer sign in; its sessions have ended"
    };
    output.print(
        &format!("{} {state}", user.email),
        &json!({"email": user.email, "isActive": is_active}),
    )
}

async fn list(context: &RequestContext, output: Output) -> Result<()> {
    let accounts = backoffice_auth::list_accounts(context).await?;
    let rows: Vec<Vec<String>> = accounts
        .iter()
        .map(|account| {
            let tenant = if account.tenant_id.is_nil() {
                "platform".to_owned()
            } else {
                account.tenant_id.to_string()
            };
            let state = if account.is_active { "active" } else { "inactive" };
            let name = account.name.clone().unwrap_or_default();
            vec![
                account.id.to_string(),
                tenant,
                state.to_owned(),
                account.email.clone(),
                name,
            ]
        })
        .collect();
    let tenant_id = |id: Uuid| if id.is_nil() { None } else { Some(id) };
    let values: Vec<_> = accounts
        .iter()
        .map(|account| {
            json!({"id": account.id, "tenantId": tenant_id(account.tenant_id), "email": account.email, "name": account.name,
                   "isActive": account.is_active})
        })
        .collect();
    output.print(&table(&rows), &json!(values))
}

/// Adds new default grants to the seeded roles.
pub(super) async fn sync_roles(host: &Host, tenant: Option<String>, output: Output) -> Result<()> {
    let context = host.context();
    let tenant = tenant_if_named(&context, tenant.as_deref()).await?;
    let granted = backoffice_auth::sync_roles(&context, tenant).await?;
    output.print(&format!("{granted} default grants added"), &json!({"granted": granted}))
}

/// Returns the tenant in which to look for an account; `None` = in all, the platform included.
async fn tenant_of(context: &RequestContext, user: &NamedUser) -> Result<Option<Uuid>> {
    match user.platform {
        true => Ok(Some(PLATFORM_TENANT)),
        false => tenant_if_named(context, user.tenant.as_deref()).await,
    }
}

/// Returns the password, and a second time for display if it was generated.
fn password(context: &RequestContext, source: &PasswordSource) -> Result<(SecretString, Option<SecretString>)> {
    if source.generate() {
        let generated = SecretString::from(backoffice_auth::generate_password(context.ids()));
        return Ok((generated.clone(), Some(generated)));
    }
    let given = source
        .read()?
        .ok_or_else(|| Error::other("a password is required: pass --password-file, --generate or --invite"))?;
    Ok((given, None))
}
