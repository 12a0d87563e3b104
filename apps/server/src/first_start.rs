//! The first tenant, its organization and its first administrator.

use std::net::SocketAddr;

use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use crate::Result;
#[cfg(feature = "directory")]
use crate::cli::tenant::{create_tenant, list_tenants};
#[cfg(feature = "directory")]
use crate::database;
use crate::host::Host;

/// The first tenant to create.
#[derive(Debug)]
pub(crate) struct Requested {
    /// Name of the tenant.
    pub(crate) tenant: String,
    /// Name of its root organization.
    pub(crate) organization: String,
    /// Address of the first administrator.
    pub(crate) email: String,
    /// The administrator's password; generated when absent.
    pub(crate) password: Option<SecretString>,
    /// Whether to create a demonstration administrator and employee of the tenant as well.
    pub(crate) demo: bool,
}

impl Default for Requested {
    fn default() -> Self {
        Self {
            tenant: "Main".to_owned(),
            organization: "Main".to_owned(),
            email: "admin@example.com".to_owned(),
            password: None,
            demo: false,
        }
    }
}

/// The created records.
#[derive(Debug)]
pub(crate) struct Welcome {
    tenant: String,
    /// Address, and the password if it was generated. Absent when no module has accounts.
    administrator: Option<(String, Option<SecretString>)>,
    /// Addresses and passwords of the demonstration accounts.
    demo: Vec<(String, SecretString)>,
}

impl Welcome {
    /// Everything that the operator needs to begin, including the password, which is shown only once.
    pub(crate) fn text(&self, listen: SocketAddr) -> String {
        let base = format!("http://{listen}/api");
        let mut text = format!("\nBackoffice at {base}\n\n  tenant         {}\n", self.tenant);
        if let Some((email, password)) = &self.administrator {
            let shown = password
                .as_ref()
                .map_or("(as given)", |password| password.expose_secret());
            text.push_str(&format!("  administrator  {email}\n  password       {shown}\n\n"));
            for (email, password) in &self.demo {
                text.push_str(&format!(
                    "  demo account   {email}, password {}\n",
                    password.expose_secret()
                ));
            }
            if !self.demo.is_empty() {
                text.push('\n');
            }
            text.push_str(&match password {
                Some(_) => {
                    let body = json!({"email": email, "password": shown});
                    format!(
                        "The password is shown this once. Sign in with:\n\n  \
                         curl -s {base}/auth/login -H 'content-type: application/json' -d '{body}'\n"
                    )
                }
                None => format!("Sign in by `POST {base}/auth/login` with this address and the given password.\n"),
            });
        }
        text
    }

    /// The same as JSON.
    pub(crate) fn to_json(&self) -> Value {
        let administrator = self.administrator.as_ref();
        json!({
            "tenant": self.tenant,
            "email": administrator.map(|(email, _)| email),
            "password": administrator.and_then(|(_, password)| password.as_ref()).map(ExposeSecret::expose_secret),
            "demo": self.demo.iter().map(|(email, password)| json!({"email": email, "password": password.expose_secret()}))
                .collect::<Vec<_>>(),
        })
    }
}

/// Creates what is missing, also after an interrupted start.
#[cfg(not(feature = "directory"))]
pub(crate) async fn run(_host: &Host, requested: &Requested) -> Result<Option<Welcome>> {
    // Without the module there are no tenants to report.
    let _unused = (
        &requested.tenant,
        &requested.organization,
        &requested.email,
        &requested.password,
        requested.demo,
    );
    Ok(None)
}

/// Creates what is missing, also after an interrupted start. Nothing is created if the administrator is invalid.
#[cfg(feature = "directory")]
pub(crate) async fn run(host: &Host, requested: &Requested) -> Result<Option<Welcome>> {
    if !host.has("directory") {
        return Ok(None);
    }
    let context = host.context();
    let _alone = lock(host).await?;
    check_administrator(host, &context, requested).await?;
    let tenants = list_tenants(&context, 1).await?;
    let tenant = match tenants.first() {
        Some(tenant) => tenant.id,
        None => {
            create_tenant(&context, &requested.tenant, Some(requested.organization.clone()))
                .await?
                .id
        }
    };
    let administrator = administrator(host, &context, tenant, requested).await?;
    if !tenants.is_empty() && administrator.is_none() {
        return Ok(None);
    }
    let name = tenants
        .into_iter()
        .next()
        .map_or_else(|| requested.tenant.clone(), |tenant| tenant.name);
    let demo = match requested.demo && administrator.is_some() {
        true => demo_accounts(&context, tenant).await?,
        false => Vec::new(),
    };
    Ok(Some(Welcome {
        tenant: name,
        administrator,
        demo,
    }))
}

/// Waits for other processes that create the first tenant. They wait until the connection is dropped.
#[cfg(feature = "directory")]
async fn lock(host: &Host) -> Result<tokio_postgres::Client> {
    let options = host.office.database_options();
    let client = database::connect(&database::parse("database.url", &options.url, &options.tls)?).await?;
    client
        .batch_execute("begin; select pg_advisory_xact_lock(hashtext('backoffice.init'))")
        .await?;
    Ok(client)
}

#[cfg(all(feature = "directory", not(feature = "auth")))]
async fn administrator(
    _host: &Host,
    _context: &backoffice_core::RequestContext,
    _tenant: uuid::Uuid,
    requested: &Requested,
) -> Result<Option<(String, Option<SecretString>)>> {
    let _unused = (&requested.email, &requested.password);
    Ok(None)
}

#[cfg(all(feature = "directory", not(feature = "auth")))]
async fn check_administrator(
    _host: &Host,
    _context: &backoffice_core::RequestContext,
    _requested: &Requested,
) -> Result<()> {
    Ok(())
}

/// Rejects an invalid address or password of the administrator, if one is missing, and the address of a demonstration account.
#[cfg(feature = "auth")]
async fn check_administrator(
    host: &Host,
    context: &backoffice_core::RequestContext,
    requested: &Requested,
) -> Result<()> {
    if lacks_accounts(host, context).await? {
        backoffice_auth::check_account(context, &requested.email, requested.password.as_ref())?;
        let mut reserved = backoffice_auth::TENANT_ROLES.iter().map(|role| demo_address(role));
        if requested.demo && reserved.any(|address| address.eq_ignore_ascii_case(requested.email.trim())) {
            return Err(crate::Error::other(format!(
                "`--demo` creates an account with the address {}; give the administrator another `--email`",
                requested.email
            )));
        }
    }
    Ok(())
}

#[cfg(feature = "auth")]
async fn lacks_accounts(host: &Host, context: &backoffice_core::RequestContext) -> Result<bool> {
    Ok(host.has("auth") && backoffice_auth::list_accounts(context).await?.is_empty())
}

#[cfg(feature = "auth")]
async fn administrator(
    host: &Host,
    context: &backoffice_core::RequestContext,
    tenant: uuid::Uuid,
    requested: &Requested,
) -> Result<Option<(String, Option<SecretString>)>> {
    if !lacks_accounts(host, context).await? {
        return Ok(None);
    }
    // The tenant may have been created while the module was not enabled, and lack the role.
    backoffice_auth::sync_roles(context, Some(tenant)).await?;
    let generated = requested
        .password
        .is_none()
        .then(|| SecretString::from(backoffice_auth::generate_password(context.ids())));
    let account = backoffice_auth::NewAccount {
        tenant: Some(tenant),
        organization: Some(crate::cli::organization::root_organization(context, tenant).await?),
        email: requested.email.clone(),
        name: None,
        password: requested.password.clone().or_else(|| generated.clone()),
        roles: vec!["admin".to_owned()],
        super_admin: true,
    };
    backoffice_auth::create_account(context, account).await?;
    Ok(Some((requested.email.clone(), generated)))
}

#[cfg(all(feature = "directory", not(feature = "auth")))]
async fn demo_accounts(
    _context: &backoffice_core::RequestContext,
    _tenant: uuid::Uuid,
) -> Result<Vec<(String, SecretString)>> {
    Ok(Vec::new())
}

#[cfg(feature = "auth")]
fn demo_address(role: &str) -> String {
    format!("demo-{role}@example.com")
}

/// Creates one account for each of the tenant's seeded roles, with generated passwords.
#[cfg(feature = "auth")]
async fn demo_accounts(
    context: &backoffice_core::RequestContext,
    tenant: uuid::Uuid,
) -> Result<Vec<(String, SecretString)>> {
    let organization = crate::cli::organization::root_organization(context, tenant).await?;
    let mut created = Vec::new();
    for role in backoffice_auth::TENANT_ROLES {
        let (email, password) = (
            demo_address(role),
            SecretString::from(backoffice_auth::generate_password(context.ids())),
        );
        let account = backoffice_auth::NewAccount {
            tenant: Some(tenant),
            organization: Some(organization),
            email: email.clone(),
            name: None,
            password: Some(password.clone()),
            roles: vec![role.to_owned()],
            super_admin: false,
        };
        backoffice_auth::create_account(context, account).await?;
        created.push((email, password));
    }
    Ok(created)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(password: Option<&str>) -> String {
        let welcome = Welcome {
            tenant: "Main".to_owned(),
            administrator: Some(("a@example.com".to_owned(), password.map(SecretString::from))),
            demo: Vec::new(),
        };
        welcome.text(SocketAddr::from(([127, 0, 0, 1], 8080)))
    }

    #[test]
    fn a_command_to_sign_in_is_shown_with_a_generated_password_only() {
        let (generated, given) = (text(Some("invented")), text(None));

        assert!(
            generated.contains("curl") && generated.contains(r#""password":"invented""#),
            "{generated}"
        );
        assert!(
            !given.contains("curl") && given.contains("POST http://127.0.0.1:8080/api/auth/login"),
            "{given}"
        );
    }
}
