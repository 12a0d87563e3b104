//! The first tenant, its organization and its first administrator.

use std::net::SocketAddr;

use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use crate::Result;
#[cfg(feature = "directory")]
use crate::cli::tenant::{create_tenant, list_tenants};
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
            if password.is_some() {
                text.push_str("The password is shown this once. Sign in with:\n\n");
            }
            for (email, password) in &self.demo {
                text.push_str(&format!(
                    "  demo account   {email}, password {}\n",
                    password.expose_secret()
                ));
            }
            let body = json!({"email": email, "password": shown});
            text.push_str(&format!(
                "  curl -s {base}/auth/login -H 'content-type: application/json' -d '{body}'\n"
            ));
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

/// Creates what is missing, also after an interrupted start.
#[cfg(feature = "directory")]
pub(crate) async fn run(host: &Host, requested: &Requested) -> Result<Option<Welcome>> {
    if !host.has("directory") {
        return Ok(None);
    }
    let context = host.context();
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

#[cfg(feature = "auth")]
async fn administrator(
    host: &Host,
    context: &backoffice_core::RequestContext,
    tenant: uuid::Uuid,
    requested: &Requested,
) -> Result<Option<(String, Option<SecretString>)>> {
    if !host.has("auth") || !backoffice_auth::list_accounts(context).await?.is_empty() {
        return Ok(None);
    }
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
            format!("demo-{role}@example.com"),
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
