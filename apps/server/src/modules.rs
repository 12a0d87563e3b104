//! The only list of modules. A new module needs one line here and one Cargo feature in the manifest.

use backoffice_core::Module;
use backoffice_core::config::ConfigError;

/// Returns the compiled-in modules. The order does not matter: the platform sorts them by their requirements.
#[must_use]
pub fn compiled() -> Vec<&'static Module> {
    vec![
        #[cfg(feature = "access")]
        &backoffice_access::MODULE,
        #[cfg(feature = "alerts")]
        &backoffice_alerts::MODULE,
        #[cfg(feature = "api-docs")]
        &backoffice_api_docs::MODULE,
        #[cfg(feature = "api-keys")]
        &backoffice_api_keys::MODULE,
        #[cfg(feature = "attachments")]
        &backoffice_attachments::MODULE,
        #[cfg(feature = "audit-logs")]
        &backoffice_audit_logs::MODULE,
        #[cfg(feature = "auth")]
        &backoffice_auth::MODULE,
        #[cfg(feature = "business-rules")]
        &backoffice_business_rules::MODULE,
        #[cfg(feature = "calendar")]
        &backoffice_calendar::MODULE,
        #[cfg(feature = "customers")]
        &backoffice_customers::MODULE,
        #[cfg(feature = "catalog")]
        &backoffice_catalog::MODULE,
        #[cfg(feature = "devices")]
        &backoffice_devices::MODULE,
        #[cfg(feature = "directory")]
        &backoffice_directory::MODULE,
        #[cfg(feature = "dispatch")]
        &backoffice_dispatch::MODULE,
        #[cfg(feature = "events")]
        &backoffice_events::MODULE,
        #[cfg(feature = "notifications")]
        &backoffice_notifications::MODULE,
        #[cfg(feature = "onboarding")]
        &backoffice_onboarding::MODULE,
        #[cfg(feature = "progress")]
        &backoffice_progress::MODULE,
    ]
}

/// Returns the enabled modules: all compiled-in ones, unless `modules` lists some.
///
/// # Errors
/// Names a listed module that is not compiled in, or that is listed twice.
pub fn enabled(requested: Option<&[String]>) -> crate::Result<Vec<&'static Module>> {
    let compiled = compiled();
    let Some(requested) = requested else {
        return Ok(compiled);
    };
    for (at, name) in requested.iter().enumerate() {
        if requested[..at].contains(name) {
            return Err(ConfigError::new("modules", format!("`{name}` is listed twice; remove one of them")).into());
        }
    }
    requested.iter().map(|name| find(&compiled, name)).collect()
}

fn find(compiled: &[&'static Module], name: &str) -> crate::Result<&'static Module> {
    compiled
        .iter()
        .find(|module| module.name == name)
        .copied()
        .ok_or_else(|| {
            let known: Vec<&str> = compiled.iter().map(|module| module.name).collect();
            let message = format!("`{name}` is not compiled in; this build has: {}", known.join(", "));
            ConfigError::new("modules", message).into()
        })
}
