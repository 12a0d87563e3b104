//! The state of the module at run time, and the addresses to which persons are led.

use std::sync::OnceLock;

use backoffice_auth::Site;
use backoffice_core::http::wire_tenant;
use backoffice_core::{Error, Platform, Result};
use uuid::Uuid;

use crate::config::OnboardingConfig;

/// Path of the form.
pub(crate) const FORM: &str = "/onboarding";
/// Path of the page that waits for the tenant.
pub(crate) const PREPARING: &str = "/onboarding/preparing";
/// The form, with the advice that a link did not work.
pub(crate) const INVALID: &str = "/onboarding?status=invalid";
/// Address of the link in mails.
const VERIFY: &str = "/api/onboarding/onboarding/verify";

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
    match tenant.and_then(wire_tenant) {
        Some(tenant) if page.contains('?') => format!("{page}&tenant={tenant}"),
        Some(tenant) => format!("{page}?tenant={tenant}"),
        None => page,
    }
}
