//! The state of the module at run time, and the addresses to which persons are led.

use std::sync::OnceLock;

use actix_web::HttpRequest;
use backoffice_auth::{Site, Visit, login_address};
use backoffice_core::http::wire_tenant;
use backoffice_core::{Call, Error, Platform, Result};
use uuid::Uuid;

use crate::config::OnboardingConfig;

/// Path of the form.
pub(crate) const FORM: &str = "/onboarding";
/// Path of the page that waits for the tenant.
pub(crate) const PREPARING: &str = "/onboarding/preparing";
/// The page that waits, in a browser that has confirmed a request without its cookie.
pub(crate) const CONFIRMED: &str = "/onboarding/preparing?status=confirmed";
/// The form, with the advice that a link did not work.
pub(crate) const INVALID: &str = "/onboarding?status=invalid";
/// Address of the link in mails.
pub(crate) const VERIFY: &str = "/api/onboarding/onboarding/verify";

/// Configuration and frame of the pages.
#[derive(Debug)]
pub(crate) struct SignUp {
    pub(crate) config: OnboardingConfig,
    site: OnceLock<Site>,
}

impl SignUp {
    pub(crate) const fn new(config: OnboardingConfig) -> Self {
        Self {
            config,
            site: OnceLock::new(),
        }
    }

    /// Returns the pages for the sender of a request.
    pub(crate) async fn visit<'a>(&'a self, call: &Call, request: &'a HttpRequest) -> Result<Visit<'a>> {
        Ok(self.site(call.platform())?.visit(call, request).await)
    }

    /// Returns the frame of the pages.
    pub(crate) fn site(&self, platform: &Platform) -> Result<&Site> {
        if let Some(site) = self.site.get() {
            return Ok(site);
        }
        let site = Site::of(platform).ok_or_else(|| Error::internal("the pages have no frame"))?;
        Ok(self.site.get_or_init(|| site))
    }
}

/// Returns the public address of a path on this site.
pub(crate) fn public(platform: &Platform, path: &str) -> String {
    let origin = platform.app().public_url.as_deref().unwrap_or_default();
    format!("{}{path}", origin.trim_end_matches('/'))
}

/// Returns the link that verifies a request.
pub(crate) fn verification_link(platform: &Platform, token: &str) -> String {
    public(platform, &format!("{VERIFY}?token={token}"))
}

/// Returns the address of the sign-in, to a tenant.
pub(crate) fn login_url(platform: &Platform, tenant: Option<Uuid>) -> String {
    let path = &platform.app().login_path;
    let page = match path.starts_with('/') {
        true => public(platform, path),
        false => path.clone(),
    };
    let query = tenant.and_then(wire_tenant).map(|tenant| format!("tenant={tenant}"));
    login_address(&page, query.as_deref().unwrap_or_default())
}
