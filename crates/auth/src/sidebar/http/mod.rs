//! Sidebars: preferences of users and roles, and variants.

mod preferences;
mod scope;
mod variants;

use backoffice_core::http::Routes;
use backoffice_core::input::Validator;
use backoffice_core::{RequestContext, Scope};

use crate::sidebar::{SettingsInput, SidebarSettings};

pub(crate) fn routes(routes: &mut Routes) {
    preferences::routes(routes);
    variants::routes(routes);
}

/// Returns the scope of the caller's own tenant, which holds the caller's settings whatever tenant is selected.
fn own_scope(ctx: &RequestContext) -> Scope {
    Scope::tenant(ctx.identity().tenant)
}

/// Validates the field `settings`, if present.
fn nested(input: Option<&SettingsInput>, validator: &mut Validator) -> Option<SidebarSettings> {
    validator.set_prefix("settings.");
    let settings = input.map(|input| input.checked(validator));
    validator.set_prefix("");
    settings
}
